"""The stages of tools/check-full: larger models, another compiler, long loops."""

import json
import os
import sys

from lib_runner import BUILD, ROOT, Plan

FULL = Plan("tools/check-full")
NATIVE = BUILD / "native/bitwin"
CLANG = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", f"-DBITWIN_SOURCES={os.environ['BITWIN_SOURCES']}"]
FUZZ_SECONDS = int(os.environ.get("BITWIN_FUZZ_SECONDS", 300))  # for each target


def model(run, name):
    return run.output("tools/fetch-models", name).strip()


@FULL.stage("build", 900)
def build(run):
    """the program, also for 64-bit Arm, the wasm modules and the page"""
    run.build("native", options=["-DBITWIN_TESTS=ON"])
    run.build("arm64", "bitwin")
    run.build("wasm")
    run.need("npm", "--prefix", "web", "run", "build")


@FULL.stage("eval", 600, ["build"])
def evaluate(run):
    """Qwen2.5-Coder-0.5B against float32 logits"""
    limits = {"mean_kl": lambda value: value <= 0.0015, "same_top": lambda value: value >= 0.97}
    for reference in ("qwen05.text.json", "qwen05.json"):
        result = json.loads(run.output(NATIVE, "eval", "-m", model(run, "qwen05"), "--reference",
                                       ROOT / "tests/golden/logits" / reference))
        for key, holds in limits.items():
            run.check(f"{reference}: {key} {result[key]:.5f}", holds(result[key]))
    run.check(f"qwen05.json: greedy_agreement {result['greedy_agreement']}", result["greedy_agreement"] == 1)


@FULL.stage("parity", 3600, ["build"])
def parity(run):
    """the same bits from every kernel and build with both models; under qemu with the smaller one"""
    for name, hosts in (("smollm2", "native,arm64,node,chromium"), ("qwen05", "native,node,chromium")):
        run.suite(name, "tools/parity", "-m", model(run, name), "--only", hosts, counts="exit status")


@FULL.stage("large", 600, ["build"])
def large(run):
    """Qwen2.5-Coder-1.5B, 1.1 GB, answers"""
    answer = run.output(NATIVE, "run", "-m", model(run, "qwen15"), "--temp", "0", "--max-tokens", "40",
                        "What is the capital of France? Answer with one word.")
    run.check(f"the answer is {answer.strip()!r}", "Paris" in answer)


@FULL.stage("cycles", 600, ["build"])
def cycles(run):
    """50 loads of SmolLM2, each with the same answer"""
    command = (NATIVE, "run", "-m", model(run, "smollm2"), "--temp", "0", "--max-tokens", "8", "Count to five.")
    answers = {run.output(*command) for _ in range(50)}
    run.check(f"one answer, not {len(answers)}", len(answers) == 1)


@FULL.stage("clang", 900)
def clang(run):
    """warnings and unit tests with clang 19"""
    folder = BUILD / "clang"
    run.need("cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, *CLANG)
    run.need("cmake", "--build", folder)
    run.need("tools/unpack-vocab", os.environ["BITWIN_VOCAB_DIR"])
    run.suite("unit tests", folder / "tests/unit_tests")


@FULL.stage("threads", 900)
def threads(run):
    """unit tests under ThreadSanitizer (clang)"""
    folder = BUILD / "tsan"
    run.need("cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", *CLANG,
             "-DCMAKE_CXX_FLAGS=-fsanitize=thread")
    run.need("cmake", "--build", folder, "--target", "unit_tests")
    run.need("tools/unpack-vocab", os.environ["BITWIN_VOCAB_DIR"])
    run.suite("unit tests", folder / "tests/unit_tests")


@FULL.stage("fuzz", 4 * FUZZ_SECONDS + 300)
def fuzz(run):
    """the fuzz targets, BITWIN_FUZZ_SECONDS (300) each, from their seeds; finds land in build/fuzz/finds"""
    folder = BUILD / "fuzz"
    run.need("cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DBITWIN_FUZZ=ON", *CLANG)
    run.need("cmake", "--build", folder, "--target", "gguf_fuzz", "tokenizer_fuzz")
    for name in ("gguf", "tokenizer"):
        corpus, finds = folder / "corpus" / name, folder / "finds"
        corpus.mkdir(parents=True, exist_ok=True)
        finds.mkdir(exist_ok=True)
        run.suite(name, folder / f"tests/fuzz/{name}_fuzz", f"-max_total_time={FUZZ_SECONDS}", "-rss_limit_mb=2048", "-timeout=20",
                  f"-artifact_prefix={finds}/{name}-", corpus, ROOT / "tests/fuzz/seeds" / name, counts="exit status")


if __name__ == "__main__":
    sys.exit(FULL.main())
