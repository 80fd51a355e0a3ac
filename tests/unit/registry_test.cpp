#include "engine/kernels/registry.h"

#include <algorithm>
#include <string>

#include "engine/base/cpu.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

TEST_CASE("every supported kernel has a known name and can be chosen by it") {
  const auto names = kernel_names();
  REQUIRE_FALSE(supported_kernels().empty());
  for (const KernelTable* kernel : supported_kernels()) {
    INFO(kernel->name);
    CHECK(std::any_of(names.begin(), names.end(), [&](const char* name) { return std::string(name) == kernel->name; }));
    const auto chosen = select_kernel(kernel->name);
    REQUIRE(chosen.ok());
    CHECK(*chosen == kernel);
  }
}

TEST_CASE("the scalar kernel is always there, last") {
  const std::string last = supported_kernels().back()->name;
  CHECK((last == "scalar" || last == "wasm-scalar"));
}

TEST_CASE("a kernel that is unknown or missing is refused with the list of those that run here") {
  const auto unknown = select_kernel("avx9000");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.status().code() == Code::unsupported);
  CHECK(unknown.status().message().find("avx9000") != std::string::npos);
  for (const char* name : kernel_names()) {
    const auto& have = supported_kernels();
    if (std::any_of(have.begin(), have.end(), [&](const KernelTable* k) { return std::string(k->name) == name; }))
      continue;
    const auto missing = select_kernel(name);
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.status().message().find(name) != std::string::npos);
    CHECK(missing.status().message().find(have.front()->name) != std::string::npos);
  }
}

#if defined(__aarch64__)
TEST_CASE("the best kernel that this processor has is the active one") {
  std::string expected = "scalar";
  if (system::cpu_has_dotprod()) expected = system::cpu_has_i8mm() ? "neon-i8mm" : "neon-dotprod";
  CHECK(supported_kernels().front()->name == expected);
}
#elif (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
TEST_CASE("the best kernel that this processor has is the active one") {
  std::string expected = "scalar";
  if (__builtin_cpu_supports("sse4.1")) expected = "sse41";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) expected = "avx2";
  if (expected == "avx2" && system::cpu_has_avx_vnni()) expected = "avxvnni";
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw")) expected = "avx512vnni";
  if (expected == "avx512vnni" && system::request_amx_int8()) expected = "amx";
  CHECK(supported_kernels().front()->name == expected);
}
#endif

}  // namespace
}  // namespace bitwin
