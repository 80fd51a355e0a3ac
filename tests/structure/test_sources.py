"""The rules of sources.py hold for every source file; and each rule finds a violation where there is one."""

import unittest

import sources

CPP = {".cpp", ".h", ".inc"}
ALL = CPP | {".ts", ".mts", ".js", ".mjs", ".css", ".html", ".py", ".sh", ".cmake", ""}


class SourceRules(unittest.TestCase):
    def holds(self, check, found, at_least):
        found = list(found)
        self.assertGreaterEqual(len(found), at_least, "files were expected here")
        problems = check(found)
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def finds(self, check, path, text, count=1):
        problems = check([(path, text)])
        self.assertEqual(len(problems), count, problems)

    def test_includes_point_one_way(self):
        self.holds(sources.include_rule, sources.files("engine", "native", "wasm", suffixes=CPP), 60)

    def test_include_rule_can_fail(self):
        for path, name in [
            ("engine/base/hash.cpp", "engine/load/gguf.h"),
            ("engine/kernels/packed.cpp", "engine/load/gguf.h"),
            ("engine/load/gguf.cpp", "engine/text/tokenizer.h"),
            ("engine/text/bpe.cpp", "engine/kernels/kernel.h"),
            ("engine/nn/forward.cpp", "engine/run/sampler.h"),
            ("engine/nn/forward.cpp", "engine/engine.h"),
            ("engine/run/sampler.h", "engine/engine.h"),
            ("engine/engine.h", "native/options.h"),
            ("native/main.cpp", "tests/support/tiny_model.h"),
            ("engine/base/hash.cpp", "../load/gguf.h"),
        ]:
            self.finds(sources.include_rule, path, f'#include "{name}"\n')
        self.finds(sources.include_rule, "engine/base/a.h", '  #  include "engine/engine.h"', 1)
        self.finds(sources.include_rule, "engine/run/session.cpp", '#include "engine/engine.h"\n', 0)
        self.finds(sources.include_rule, "engine/nn/forward.h", '#include "engine/load/config.h"\n', 0)

    def test_native_and_wasm_use_the_public_interface(self):
        self.holds(sources.thin_front_ends, sources.files("native", "wasm", suffixes=CPP), 10)

    def test_public_interface_rule_can_fail(self):
        self.finds(sources.thin_front_ends, "native/main.cpp", '#include "engine/nn/forward.h"\n')

    def test_kernel_files_include_their_interface_only(self):
        def kernel_file(path):
            return path.startswith(("engine/kernels/kernel_", "engine/base/f32x16")) or path.endswith(".inc") or \
                path in sources.KERNEL_HEADERS

        found = [s for s in sources.files("engine/kernels", "engine/base", suffixes=CPP) if kernel_file(s[0])]
        self.holds(sources.kernel_includes, found, 10)

    def test_kernel_include_rule_can_fail(self):
        for line in ["#include <vector>", "#include <cmath>", '#include "engine/base/status.h"', '#include "kernel.h"']:
            self.finds(sources.kernel_includes, "engine/kernels/kernel_avx2.cpp", line + "\n")
        self.finds(sources.kernel_includes, "engine/kernels/kernel_avx2.cpp", "#include <immintrin.h>\n", 0)

    def test_platform_conditionals_stay_in_their_files(self):
        self.holds(sources.platform_conditionals, sources.files("engine", "native", suffixes=CPP), 60)

    def test_platform_rule_can_fail(self):
        for line in ["#ifdef _WIN32", "#if defined(__linux__) && 1", "#ifndef __AVX2__", "# elif defined __aarch64__"]:
            self.finds(sources.platform_conditionals, "engine/run/session.cpp", line + "\n")
        self.finds(sources.platform_conditionals, "engine/base/system.cpp", "#ifdef _WIN32\n", 0)

    def test_the_engine_has_no_iostream(self):
        self.holds(sources.no_iostream, sources.files("engine", suffixes=CPP), 50)

    def test_iostream_rule_can_fail(self):
        self.finds(sources.no_iostream, "engine/engine.cpp", "#include <iostream>\n#include <fstream>\n", 2)

    def test_files_have_one_subject(self):
        found = sources.files("engine", "native", "wasm", "web", "tools", "tests", "cmake", suffixes=ALL)
        self.holds(sources.file_length, found, 100)

    def test_length_rule_can_fail(self):
        self.finds(sources.file_length, "engine/engine.cpp", "\n" * (sources.LONGEST_FILE + 1))
        self.finds(sources.file_length, "engine/engine.cpp", "\n" * sources.LONGEST_FILE, 0)


if __name__ == "__main__":
    unittest.main()
