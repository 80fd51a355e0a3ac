#include "engine/base/cpu.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace bitwin::system {

#if defined(__x86_64__)
namespace {

// CPUID leaf 7; zeros where the processor has no such leaf.
struct Leaf7 {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  explicit Leaf7(uint32_t subleaf) {
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return;
    if (subleaf == 0) return;
    const bool there = eax >= subleaf;
    eax = ebx = ecx = edx = 0;
    if (there) __get_cpuid_count(7, subleaf, &eax, &ebx, &ecx, &edx);
  }
};

}  // namespace

bool cpu_has_avx_vnni() { return (Leaf7(1).eax >> 4 & 1) != 0; }

bool request_amx_int8() {
#if defined(__linux__)
  constexpr uint32_t kTile = 1u << 24, kInt8 = 1u << 25;
  if ((Leaf7(0).edx & (kTile | kInt8)) != (kTile | kInt8)) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#else
bool cpu_has_avx_vnni() { return false; }
bool request_amx_int8() { return false; }
#endif

#if defined(__aarch64__) && defined(__linux__)
bool cpu_has_dotprod() {
  constexpr unsigned long kDotprod = 1ul << 20;  // HWCAP_ASIMDDP
  return (getauxval(AT_HWCAP) & kDotprod) != 0;
}
bool cpu_has_i8mm() {
  constexpr unsigned long kI8mm = 1ul << 13;  // HWCAP2_I8MM
  return (getauxval(AT_HWCAP2) & kI8mm) != 0;
}
#elif defined(__aarch64__) && defined(__APPLE__)
namespace {
bool has(const char* name) {
  int value = 0;
  size_t bytes = sizeof value;
  return sysctlbyname(name, &value, &bytes, nullptr, 0) == 0 && value != 0;
}
}  // namespace
bool cpu_has_dotprod() { return has("hw.optional.arm.FEAT_DotProd"); }
bool cpu_has_i8mm() { return has("hw.optional.arm.FEAT_I8MM"); }
#else
bool cpu_has_dotprod() { return false; }
bool cpu_has_i8mm() { return false; }
#endif

}  // namespace bitwin::system
