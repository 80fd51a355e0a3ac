#include "engine/kernels/registry.h"

#include <string>

#include "engine/base/system.h"

namespace bitwin {

// kernel_list.inc is written by the build: X(name) for each kernel linked in, best first.
#define X(name) extern const KernelTable kernel_##name;
#include "kernel_list.inc"
#undef X

namespace {

constexpr const char* kNames[] = {"scalar",       "sse41",     "avx2",        "avxvnni",      "avx512vnni",  "amx",
                                  "neon-dotprod", "neon-i8mm", "wasm-scalar", "wasm-simd128", "wasm-relaxed"};

std::vector<const KernelTable*> find_supported() {
  std::vector<const KernelTable*> found;
#define X(name) \
  if (kernel_##name.supported()) found.push_back(&kernel_##name);
#include "kernel_list.inc"
#undef X
  return found;
}

}  // namespace

std::span<const char* const> kernel_names() { return kNames; }

const std::vector<const KernelTable*>& supported_kernels() {
  static const std::vector<const KernelTable*> kernels = find_supported();
  return kernels;
}

Result<const KernelTable*> select_kernel(std::string_view name) {
  const std::string from_environment = name.empty() ? system::environment("BITWIN_KERNEL") : std::string();
  const std::string wanted = name.empty() ? from_environment : std::string(name);
  const auto& kernels = supported_kernels();
  if (wanted.empty()) return kernels.front();
  std::string list;
  for (const KernelTable* kernel : kernels) {
    if (wanted == kernel->name) return kernel;
    if (!list.empty()) list += ", ";
    list += kernel->name;
  }
  const char* source = name.empty() ? " (from BITWIN_KERNEL)" : "";
  for (const char* known : kNames) {
    if (wanted == known)
      return error(Code::unsupported, "kernel %s%s does not run here; this build and processor have: %s", known, source,
                   list.c_str());
  }
  return error(Code::unsupported, "there is no kernel called '%.64s'%s; this build and processor have: %s",
               wanted.c_str(), source, list.c_str());
}

}  // namespace bitwin
