"""What the object files of kernels may hold, by nm and objdump. Each check returns one sentence for each violation."""

import re
import shutil
import subprocess
from pathlib import Path

LLVM = Path("/usr/lib/llvm-19/bin")
# Compilers write calls of the first three for plain loops; __builtin_cpu_supports reads the last two.
RUNTIME = {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail", "__cpu_model", "__cpu_features2"}
RUNTIME |= {f"bitwin::system::{name}()" for name in ("cpu_has_avx_vnni", "request_amx_int8", "cpu_has_dotprod", "cpu_has_i8mm")}
WASM_RUNTIME = RUNTIME | {"__stack_pointer", "__linear_memory", "__indirect_function_table", "__memory_base"}
FUSED = re.compile(r"\b(vfn?m(?:add|sub)\w*|fn?madd|fn?msub|fml[as]\w*|bfml\w*|[\w.]*relaxed_n?madd)\b")


def is_wasm(path):
    return path.read_bytes()[:4] == b"\0asm"


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def is_arm(path):
    return path.read_bytes()[18:20] == b"\xb7\0"  # the machine of an ELF file


def tool(path, name):
    """nm or objdump for this object, or None when it is not installed."""
    if is_wasm(path):
        return LLVM / f"llvm-{name}" if (LLVM / f"llvm-{name}").exists() else shutil.which(f"llvm-{name}")
    return shutil.which(f"aarch64-linux-gnu-{name}" if is_arm(path) else name)


def symbols(path):
    """(type letter as nm writes it, demangled name) of each symbol."""
    for line in run(tool(path, "nm"), "-C", path).splitlines():
        if match := re.match(r"^[0-9a-f]* +([A-Za-z?-]) (.+)$", line):
            yield match[1], match[2]


def symbol_rule(path, table):
    """Exports the one symbol `table`; holds nothing weak, which the linker could take for the rest of the program; runs
    nothing before main, where nobody has asked what the processor can do; needs nothing of the C++ runtime or of libm."""
    problems = []
    exported = []
    for letter, name in symbols(path):
        if letter in "WVuvwi":
            problems.append(f"{path.name} holds the weak symbol {name} ({letter})")
        elif name.startswith("_GLOBAL__sub_I"):
            problems.append(f"{path.name} initialises something at the start of the program")
        elif letter == "U":
            if name not in (WASM_RUNTIME if is_wasm(path) else RUNTIME):
                problems.append(f"{path.name} needs {name}")
        elif letter.isupper():
            exported.append(name)
    if exported != [table]:
        problems.append(f"{path.name} exports {exported}, not only {table}")
    return problems


def name_relaxed(line):
    """LLVM 19 does not name instructions whose number has two bytes: all of relaxed SIMD (0xfd, then 0x100 to 0x113)."""
    found = re.search(r"\bfd ([0-9a-f]{2}) 02\s+<unknown>", line)
    if not found:
        return line
    opcode = 0x100 + int(found[1], 16) - 0x80
    named = {0x105: "f32x4.relaxed_madd", 0x106: "f32x4.relaxed_nmadd", 0x107: "f64x2.relaxed_madd", 0x108: "f64x2.relaxed_nmadd"}
    return named.get(opcode, "relaxed" if opcode <= 0x113 else line)


def fused_rule(path):
    """No product and sum in one rounding: it would differ from kernels that round twice."""
    features = ["--mattr=+simd128,+relaxed-simd,+atomics,+bulk-memory,+sign-ext,+nontrapping-fptoint"] if is_wasm(path) else []
    listing = [name_relaxed(line) for line in run(tool(path, "objdump"), "-d", *features, path).splitlines()]
    found = {name for line in listing for name in FUSED.findall(line) + re.findall(r"<unknown>|\(bad\)", line)}
    return [f"{path.name} holds {name}" for name in sorted(found)]
