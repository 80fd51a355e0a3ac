"""The stages of tools/test: what is built, which suites run, how long each stage may take."""

import os
import sys

from lib_runner import BUILD, ROOT, Plan

# Catch2's tags of the files whose tests run whole passes.
ABOVE_KERNELS = "[#forward_test],[#session_test],[#engine_test]"
TEST = Plan("tools/test")


@TEST.stage("build", 420)
def build(run):
    """the program, its unit tests and the tiny model"""
    run.build("native", options=["-DBITWIN_TESTS=ON"])
    (BUILD / "tiny").mkdir(exist_ok=True)
    run.need(BUILD / "native/tests/make-tiny-model", os.environ["BITWIN_TINY"])
    run.need("tools/unpack-vocab", os.environ["BITWIN_VOCAB_DIR"])


@TEST.stage("unit", 120, ["build"])
def unit(run):
    """unit tests, with the kernel that this processor likes best"""
    run.suite("unit tests", BUILD / "native/tests/unit_tests")


@TEST.stage("kernels", 120, ["build"])
def kernels(run):
    """the tests of the forward pass and of all above it, once with each other kernel"""
    # The first kernel is the one of the stage `unit`.
    for kernel in run.output(BUILD / "native/bitwin", "info", "--kernels").split()[1:]:
        run.suite(kernel, BUILD / "native/tests/unit_tests", "-#", ABOVE_KERNELS, env={"BITWIN_KERNEL": kernel})


@TEST.stage("cli", 120, ["build"])
def cli(run):
    """the program at pipes and terminals, with the tiny model"""
    run.node_tests("cli", [t for t in sorted(ROOT.glob("tests/node/cli/*.test.mjs")) if t.name != "smollm2.test.mjs"])


@TEST.stage("golden", 180, ["build"])
def golden(run):
    """SmolLM2 against float32 logits, golden ids and the golden fingerprint"""
    model = run.output("tools/fetch-models", "smollm2").strip()
    run.node_tests("golden", [ROOT / "tests/node/cli/smollm2.test.mjs"], env={"BITWIN_SMOLLM2": model})


@TEST.stage("asan", 600, ["build"])
def asan(run):
    """unit tests and the fuzz targets' seeds under AddressSanitizer and UndefinedBehaviorSanitizer"""
    # Not the program: instrumenting its command line takes minutes, and no test runs it.
    run.build("asan", "unit_tests", "gguf_fuzz", "tokenizer_fuzz")
    run.suite("unit tests", BUILD / "asan/tests/unit_tests")
    for target in sorted((BUILD / "asan/tests/fuzz").glob("*_fuzz")):
        seeds = ROOT / "tests/fuzz/seeds" / target.name.removesuffix("_fuzz")
        run.suite(f"{target.name}: seeds", target, seeds, counts="exit status")


@TEST.stage("arm64", 420, ["build"])
def arm64(run):
    """64-bit Arm under qemu: the kernels, the forward pass and all above it, with each kernel"""
    run.build("arm64", "unit_tests", "bitwin")
    emulated = ("qemu-aarch64", "-cpu", "max")
    run.suite("unit tests", *emulated, BUILD / "arm64/tests/unit_tests")
    for kernel in run.output(*emulated, BUILD / "arm64/bitwin", "info", "--kernels").split()[1:]:
        run.suite(kernel, *emulated, BUILD / "arm64/tests/unit_tests", "-#", ABOVE_KERNELS, env={"BITWIN_KERNEL": kernel})


@TEST.stage("wasm", 900)
def wasm(run):
    """the WebAssembly modules, the unit tests as modules, the page"""
    run.need("tools/unpack-vocab", os.environ["BITWIN_VOCAB_DIR"])
    run.build("wasm")
    run.need("npm", "--prefix", "web", "run", "build")


@TEST.stage("structure", 60, ["build", "arm64", "wasm"])
def structure(run):
    """include rule, kernel objects and other rules on the sources"""
    run.suite("structure", sys.executable, "-m", "unittest", "-v", cwd=ROOT / "tests/structure", env={"BITWIN_REQUIRE_OBJECTS": "1"})


@TEST.stage("wasm-unit", 300, ["build", "wasm"])
def wasm_unit(run):
    """unit tests as WebAssembly under Node"""
    for module in sorted((BUILD / "wasm").glob("unit_tests-*.js")):
        run.suite(module.stem, "node", module)
    run.node_tests("modules", sorted(ROOT.glob("tests/node/wasm/*.test.mjs")))


@TEST.stage("parity", 300, ["build", "arm64", "wasm"])
def parity(run):
    """the same bits from every kernel and build, threads and chunk sizes, natively, under qemu and in Chromium"""
    hosts = "native,arm64,node,chromium"
    run.suite("tiny model", "tools/parity", "-m", os.environ["BITWIN_TINY"], "--only", hosts, counts="exit status")
    model = run.output("tools/fetch-models", "smollm2").strip()
    run.suite("smollm2", "tools/parity", "-m", model, counts="exit status")


@TEST.stage("browser", 240, ["build", "wasm"])
def browser(run):
    """the page in Chromium"""
    model = run.output("tools/fetch-models", "smollm2").strip()
    run.node_tests("browser", sorted(ROOT.glob("tests/browser/*.test.mjs")), env={"BITWIN_SMOLLM2": model})


if __name__ == "__main__":
    sys.exit(TEST.main())
