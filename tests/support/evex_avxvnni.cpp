// The AVX-VNNI kernel with the AVX-512 form of its one instruction, so that it is tested on processors that have only
// that form.
namespace bitwin {
namespace {

bool supported() {
  return __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

}  // namespace
}  // namespace bitwin

#define BITWIN_DPBUSD _mm256_dpbusd_epi32
#define BITWIN_TABLE kernel_evex_avxvnni
#define BITWIN_TABLE_NAME "avxvnni-evex"
#include "engine/kernels/kernel_avxvnni.cpp"
