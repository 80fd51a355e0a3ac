"""The stages of tools/test: what is built, which suites run, how long each stage may take."""

import argparse
import os
import sys
from pathlib import Path

from lib_runner import Runner

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
# Catch2's tags of the files whose tests run whole passes.
ABOVE_KERNELS = "[#forward_test],[#session_test],[#engine_test]"
STAGES = {}  # name: (function, seconds, stages it needs)


def stage(name, seconds, needs=()):
    """Declares a stage with its budget on two cores, the first time on a new machine. Its text is its help."""

    def declare(function):
        STAGES[name] = (function, seconds, needs)
        return function

    return declare


def configure_and_build(run, preset, *targets, options=()):
    run.need("cmake", "--preset", preset, *options)
    run.need("cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else []))


@stage("build", 420)
def build(run):
    """the program, its unit tests and the tiny model"""
    configure_and_build(run, "native", options=["-DBITWIN_TESTS=ON"])
    (BUILD / "tiny").mkdir(exist_ok=True)
    run.need(BUILD / "native/tests/make-tiny-model", os.environ["BITWIN_TINY"])
    run.need("tools/unpack-vocab", os.environ["BITWIN_VOCAB_DIR"])


@stage("unit", 120, ["build"])
def unit(run):
    """unit tests, with the kernel that this processor likes best"""
    run.suite("unit tests", BUILD / "native/tests/unit_tests")


@stage("kernels", 120, ["build"])
def kernels(run):
    """the tests of the forward pass and of all above it, once with each other kernel"""
    # The first kernel is the one of the stage `unit`.
    for kernel in run.output(BUILD / "native/bitwin", "info", "--kernels").split()[1:]:
        run.suite(kernel, BUILD / "native/tests/unit_tests", "-#", ABOVE_KERNELS, env={"BITWIN_KERNEL": kernel})


@stage("cli", 120, ["build"])
def cli(run):
    """the program at pipes and terminals, with the tiny model"""
    run.node_tests("cli", [t for t in sorted(ROOT.glob("tests/node/cli/*.test.mjs")) if t.name != "smollm2.test.mjs"])


@stage("golden", 180, ["build"])
def golden(run):
    """SmolLM2 against float32 logits, golden ids and the golden fingerprint"""
    model = run.output("tools/fetch-models", "smollm2").strip()
    run.node_tests("golden", [ROOT / "tests/node/cli/smollm2.test.mjs"], env={"BITWIN_SMOLLM2": model})


@stage("asan", 600, ["build"])
def asan(run):
    """unit tests and the fuzz targets' seeds under AddressSanitizer and UndefinedBehaviorSanitizer"""
    configure_and_build(run, "asan")
    run.suite("unit tests", BUILD / "asan/tests/unit_tests")
    for target in sorted((BUILD / "asan/tests/fuzz").glob("*_fuzz")):
        seeds = ROOT / "tests/fuzz/seeds" / target.name.removesuffix("_fuzz")
        run.suite(f"{target.name}: seeds", target, seeds, counts="exit status")


@stage("wasm", 900, ["build"])
def wasm(run):
    """the WebAssembly modules, the unit tests as modules, the page"""
    configure_and_build(run, "wasm")
    run.need("npm", "--prefix", "web", "run", "build")


@stage("structure", 60, ["build", "wasm"])
def structure(run):
    """include rule, kernel objects and other rules on the sources"""
    run.suite("structure", sys.executable, "-m", "unittest", "-v", cwd=ROOT / "tests/structure", env={"BITWIN_REQUIRE_OBJECTS": "1"})


@stage("wasm-unit", 300, ["wasm"])
def wasm_unit(run):
    """unit tests as WebAssembly under Node"""
    for module in sorted((BUILD / "wasm").glob("unit_tests-*.js")):
        run.suite(module.stem, "node", module)
    run.node_tests("modules", sorted(ROOT.glob("tests/node/wasm/*.test.mjs")))


@stage("parity", 300, ["build", "wasm"])
def parity(run):
    """the same bits from every kernel and build, threads and chunk sizes, natively and in Chromium"""
    run.suite("tiny model", "tools/parity", "-m", os.environ["BITWIN_TINY"], counts="exit status")
    model = run.output("tools/fetch-models", "smollm2").strip()
    run.suite("smollm2", "tools/parity", "-m", model, counts="exit status")


@stage("browser", 240, ["build", "wasm"])
def browser(run):
    """the page in Chromium"""
    model = run.output("tools/fetch-models", "smollm2").strip()
    run.node_tests("browser", sorted(ROOT.glob("tests/browser/*.test.mjs")), env={"BITWIN_SMOLLM2": model})


def main():
    parser = argparse.ArgumentParser(prog="tools/test")
    parser.add_argument("--only", action="append", choices=list(STAGES), metavar="STAGE")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        for name, (function, seconds, _) in STAGES.items():
            print(f"{name:10} {seconds:4} s  {function.__doc__}")
        return 0

    chosen = set(arguments.only or STAGES)
    for name in reversed(list(STAGES)):  # what a stage needs stands before it
        if name in chosen:
            chosen |= set(STAGES[name][2])

    os.chdir(ROOT)
    os.environ["BITWIN_TINY"] = str(BUILD / "tiny/mixed.gguf")
    os.environ["BITWIN_VOCAB_DIR"] = str(BUILD / "vocab")
    for name in ("BITWIN_KERNEL", "BITWIN_BIN", "BITWIN_BUILD", "BITWIN_SMOLLM2"):
        os.environ.pop(name, None)

    runner = Runner(BUILD / "test-logs")
    runner.report("setup", int(os.environ.get("BITWIN_SETUP_SECONDS", 0)), 300)
    for name, (function, seconds, needs) in STAGES.items():
        if name in chosen:
            runner.stage(name, function, seconds, needs)
    return runner.finish()


if __name__ == "__main__":
    sys.exit(main())
