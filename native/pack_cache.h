// Packed copies of models in a folder of the user's, so that a later load need not pack (--pack-cache).
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace bitwin::native {

// The folder: BITWIN_CACHE_DIR, else "bitwin/packed" in the system's folder for such things; empty when there is none.
std::string pack_cache_folder();

// The place of one model's copy. Nothing here fails loudly: a copy that cannot be used or written is done without.
class PackCache {
 public:
  // Of the GGUF file `path`. `enabled` false, or a path that names no regular file: nothing is found or written.
  PackCache(const std::string& path, bool enabled);

  bool enabled() const { return !copy_.empty(); }

  // Hands the loader, which has just read the header, the weights of a copy that fits. `restored`: whether it has
  // them now; an error: the loader is spoilt.
  Status restore(Loader& loader, bool* restored);

  // Writes a copy of a model that was loaded without one. A sentence on standard error when that fails.
  void write(const Model& model, bool quiet) const;

 private:
  // Why no copy was written, or nothing.
  std::string try_to_write(const Model& model, bool quiet) const;

  std::string path_, copy_;
  CopySource source_;
  bool known_ = false;  // source_ is complete
};

}  // namespace bitwin::native
