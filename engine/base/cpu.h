// Processor features that the compiler's own query does not know, or that the operating system must grant. Plain
// declarations, so that kernel files may include this. Each is false on other processors and where nobody can tell.
#pragma once

namespace bitwin::system {

// x86: vpdpbusd in its VEX form. Says nothing about the operating system's support of AVX.
bool cpu_has_avx_vnni();

// x86: AMX with 8-bit integers. Asks the operating system to let this process use tiles: Linux gives each thread their
// 8 KiB of state only on request. Threads that exist already gain the right, too.
bool request_amx_int8();

// Arm: the dot product instructions (FEAT_DotProd), and the 8-bit matrix product (FEAT_I8MM).
bool cpu_has_dotprod();
bool cpu_has_i8mm();

}  // namespace bitwin::system
