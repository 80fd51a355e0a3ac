"""The rules of objects.py hold for the kernel objects of the builds in build/native, build/arm64 and build/wasm (or in
the folders BITWIN_NATIVE_BUILD, BITWIN_ARM64_BUILD and BITWIN_WASM_BUILD); and each rule finds a violation where there is one."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import objects

ROOT = Path(__file__).resolve().parents[2]
KERNELS = re.findall(r"set\(BITWIN_KERNEL_(\w+) kernel_", (ROOT / "engine/CMakeLists.txt").read_text())

ARM = ["scalar", "neon_dotprod", "neon_i8mm"]


def kernel_objects(folder):
    """(object, symbol of its table) of each kernel object below a build folder."""
    for path in sorted(Path(folder).glob("**/kernel_*.cpp.o")):
        target = next(part for part in path.parts if part.endswith(".dir")).removesuffix(".dir")
        names = [name for name in KERNELS if target.endswith("_" + name)]
        if names:  # else it is a test
            yield path, "bitwin::kernel_" + max(names, key=len)


class KernelObjects(unittest.TestCase):
    def check(self, variable, default, expected):
        found = list(kernel_objects(os.environ.get(variable, ROOT / default)))
        if not found and not os.environ.get("BITWIN_REQUIRE_OBJECTS"):
            self.skipTest(f"{default} is not built")
        self.assertEqual({table for _, table in found}, {f"bitwin::kernel_{name}" for name in expected})
        problems = [p for path, table in found for p in objects.symbol_rule(path, table) + objects.fused_rule(path)]
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_native_kernels_export_only_their_table_and_never_fuse(self):
        arm = os.uname().machine == "aarch64"
        self.check("BITWIN_NATIVE_BUILD", "build/native", ARM if arm else ["scalar", "sse41", "avx2", "avxvnni", "avx512vnni", "amx"])

    def test_arm_kernels_export_only_their_table_and_never_fuse(self):
        self.check("BITWIN_ARM64_BUILD", "build/arm64", ARM)

    def test_wasm_kernels_export_only_their_table_and_never_fuse(self):
        self.check("BITWIN_WASM_BUILD", "build/wasm", ["wasm_scalar", "wasm_simd128", "wasm_relaxed"])


class RulesCanFail(unittest.TestCase):
    def compiled(self, code, *options, compiler=("g++",)):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        result = Path(folder.name) / "kernel_sample.o"
        subprocess.run([*compiler, "-std=c++20", "-O2", *options, "-x", "c++", "-", "-c", "-o", result], input=code, text=True,
                       check=True)
        return result

    def broken(self, code):
        return objects.symbol_rule(self.compiled(code), "table")

    def test_a_lone_table_is_allowed(self):
        self.assertEqual(self.broken("static int f() { return 1; } extern int (*const table)(); int (*const table)() = f;"), [])

    def test_a_second_export_is_found(self):
        self.assertEqual(len(self.broken("int table; int other;")), 1)

    def test_a_missing_table_is_found(self):
        self.assertEqual(len(self.broken("int other;")), 1)

    def test_a_weak_symbol_is_found(self):
        self.assertRegex(self.broken("inline int f() { return 1; } int (*table)() = f;")[0], "weak symbol f()")
        self.assertRegex(self.broken("template <class T> T v = 1; int* table = &v<int>;")[0], "weak symbol")

    def test_a_library_call_is_found(self):
        self.assertRegex(self.broken('extern "C" float expf(float); float table(float x) { return expf(x); }')[0], "needs expf")

    def test_an_initialiser_is_found(self):
        self.assertTrue(any("at the start" in p for p in self.broken("int f(); int table = f();")))

    @unittest.skipUnless(os.uname().machine == "x86_64", "compiles x86 code")
    def test_a_fused_product_and_sum_is_found(self):
        code = "float table(float a, float b, float c) { return a * b + c; }"
        self.assertNotEqual(objects.fused_rule(self.compiled(code, "-mfma", "-ffp-contract=fast")), [])
        self.assertEqual(objects.fused_rule(self.compiled(code, "-mfma", "-ffp-contract=off")), [])

    def test_a_relaxed_product_and_sum_is_found(self):
        clang = objects.LLVM / "clang"
        if not clang.exists():
            self.skipTest("clang 19 is not installed")
        code = """typedef float V __attribute__((vector_size(16)));
            V table(V a, V b, V c) { return __builtin_wasm_relaxed_%s_f32x4(a, b, c); }"""
        for name in ("madd", "nmadd"):
            sample = self.compiled(code % name, "--target=wasm32", "-msimd128", "-mrelaxed-simd", compiler=(str(clang),))
            self.assertEqual(objects.fused_rule(sample), [f"kernel_sample.o holds f32x4.relaxed_{name}"])


if __name__ == "__main__":
    unittest.main()
