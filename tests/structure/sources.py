"""Rules on source text. Each check takes (path, text) pairs and returns one sentence for each violation."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 450  # lines

# Includes point one way: each layer may include itself and those named here.
LAYERS = {
    "base": set(),
    "kernels": {"base"},
    "load": {"base"},
    "text": {"base"},
    "nn": {"base", "kernels", "load", "text"},
    "run": {"base", "kernels", "load", "text", "nn"},
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b.*", re.M)
PLATFORM = re.compile(
    r"\b(_WIN32|_WIN64|_MSC_VER|__MINGW\w*|__CYGWIN__|__linux__|__unix__|__APPLE__|__FreeBSD__|__ANDROID__|__EMSCRIPTEN\w*"
    r"|__wasm\w*|__x86_64__|__i386__|_M_X64|_M_ARM64|__aarch64__|__arm__|__ARM_\w+|__SSE\w*|__AVX\w*|__FMA__)\b"
)
PLATFORM_FILES = re.compile(r"engine/kernels/.*|engine/base/system(_\w+)?\.cpp|engine/base/f32x16\w*\.h|native/system\.cpp")
INTRINSICS = {"immintrin.h", "arm_neon.h", "wasm_simd128.h"}
KERNEL_HEADERS = {
    "engine/kernels/kernel.h",
    "engine/kernels/layout.h",
    "engine/base/cpu.h",
    "engine/base/f32x16.h",
    "engine/base/tensor_type.h",
}


def files(*folders, suffixes):
    """The sources of the project below the folders, as (path relative to the root, text)."""
    skipped = {"node_modules", "build", "dist", "golden", "__pycache__", "seeds"}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            relative = path.relative_to(ROOT)
            if path.is_file() and path.suffix in suffixes and not skipped & set(relative.parts):
                yield relative.as_posix(), path.read_text(encoding="utf-8", errors="replace")


def includes(text):
    """(quoted or angle bracket, name) of each include."""
    return INCLUDE.findall(text)


def layer_of(path):
    """'base' ... 'run' for files of a layer, 'engine' for engine.h, capi.h and what implements them, else the folder."""
    parts = path.split("/")
    if parts[0] != "engine":
        return parts[0]
    return parts[1] if len(parts) > 2 and parts[1] in LAYERS else "engine"


def include_rule(sources):
    """base <- {kernels, load, text} <- nn <- run <- engine.h <- {native, wasm}."""
    problems = []
    for path, text in sources:
        source = layer_of(path)
        for _, name in includes(text):
            if posixpath.normpath(name) != name or name.startswith("../"):
                problems.append(f"{path} includes {name}: includes are written from the root, as engine/...")
            if not name.startswith(("engine/", "native/", "wasm/", "tests/")):
                continue
            target = layer_of(name)
            if source in LAYERS:
                # The members of engine.h's classes are defined in run/: its .cpp files see the public header.
                implements = source == "run" and path.endswith(".cpp") and name == "engine/engine.h"
                allowed = target == source or target in LAYERS[source] or implements
            elif source == "engine":
                allowed = target in LAYERS or target == "engine"
            elif source in ("native", "wasm"):
                allowed = target == source or target in LAYERS or target == "engine"
            else:
                allowed = True
            if not allowed:
                problems.append(f"{path} ({source}) includes {name} ({target}), which lies above it")
    return problems


def thin_front_ends(sources):
    """native/ and wasm/ see the engine through engine.h and capi.h, and through base."""
    problems = []
    for path, text in sources:
        for _, name in includes(text):
            if name.startswith("engine/") and layer_of(name) not in ("engine", "base"):
                problems.append(f"{path} includes {name}: only engine/engine.h, engine/capi.h and engine/base/ are for it")
    return problems


def kernel_includes(sources):
    """Kernel files and what they include see their interface, the vector type and intrinsics only: any inline code of
    another header, compiled for a wider instruction set, could replace the same code of the whole program."""
    problems = []
    for path, text in sources:
        for bracket, name in includes(text):
            private = re.fullmatch(r"engine/kernels/\w+\.inc", name)
            vector = "f32x16" in path and re.fullmatch(r"engine/base/f32x16_\w+\.h", name)
            if bracket == "<":
                allowed = name in INTRINSICS or name in ("cstdint", "cstddef")
            else:
                allowed = name in KERNEL_HEADERS or private or vector
            if not allowed:
                problems.append(f"{path} includes {name}: not for kernel files (tests/structure/sources.py has the list)")
    return problems


def platform_conditionals(sources):
    problems = []
    for path, text in sources:
        if PLATFORM_FILES.fullmatch(path):
            continue
        for line in CONDITIONAL.findall(text):
            if match := PLATFORM.search(line):
                problems.append(f"{path}: a conditional on {match[1]} belongs into system.cpp or a kernel")
    return problems


def no_iostream(sources):
    streams = {"iostream", "ostream", "istream", "fstream", "sstream", "iomanip", "print"}
    return [
        f"{path} includes <{name}>: the engine reports through Status" for path, text in sources
        for bracket, name in includes(text) if bracket == "<" and name in streams
    ]


def file_length(sources):
    return [
        f"{path} has {lines} lines, more than {LONGEST_FILE}: it has more than one subject" for path, text in sources
        if (lines := text.count("\n")) > LONGEST_FILE
    ]
