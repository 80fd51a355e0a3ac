// Loading a model from a file by name, in pieces, with a progress bar.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace bitwin::native {

struct ModelOptions {
  std::string path;
  int threads = 0;          // 0: chosen by the engine
  std::string kernel;       // empty: BITWIN_KERNEL, else the best
  bool quiet = false;       // no progress bar
  bool pack_cache = false;  // use and write packed copies (pack_cache.h)
};

enum class Want { vocabulary, weights };

// Failure with exit code 2 when the kernel is not available here, else 1: the file cannot be read, is damaged,
// or holds no weights where they are wanted.
std::shared_ptr<const Model> load_model(const ModelOptions& options, Want want);

// Failure (usage) when the named kernel, or the one in BITWIN_KERNEL when the name is empty, is not available here.
void check_kernel(const std::string& kernel);

}  // namespace bitwin::native
