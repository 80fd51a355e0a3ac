#include "native/model_file.h"

#include <span>

#include "native/input.h"
#include "native/output.h"
#include "native/pack_cache.h"
#include "native/progress.h"
#include "native/read_ahead.h"

namespace bitwin::native {

namespace {

std::string base_name(const std::string& path) {
  size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Feeds the file to a loader, as far as that needs it. With a cache its packed copy takes the place of the tensors
// where there is one; null when that went wrong half-way.
std::unique_ptr<Loader> read_file(const ModelOptions& options, LoadOptions load, PackCache* cache, bool* restored) {
  InputFile file(options.path);
  load.file_size = file.size();
  std::unique_ptr<Loader> loader = value_of(Loader::create(load), "", kExitUsage);
  Progress progress("Loading " + harmless(base_name(options.path), false), Progress::Unit::bytes, file.size(),
                    options.quiet);
  ReadAhead pieces(file);
  while (!loader->complete()) {
    std::span<const uint8_t> piece = pieces.next();
    if (piece.empty()) break;
    check_status(loader->feed(piece), options.path);
    if (cache != nullptr && loader->header_bytes() > 0) {
      if (!cache->restore(*loader, restored).ok()) return nullptr;
      cache = nullptr;
    }
    if (!load.vocabulary_only && !*restored) pieces.expect(loader->bytes_needed());
    progress.update(loader->bytes_fed());
  }
  return loader;
}

}  // namespace

void check_kernel(const std::string& kernel) {
  LoadOptions load;
  load.threads = 1;
  load.kernel = kernel;
  value_of(Loader::create(load), "", kExitUsage);
}

std::shared_ptr<const Model> load_model(const ModelOptions& options, Want want) {
  const std::string& path = options.path;
  LoadOptions load;
  load.threads = options.threads;
  load.kernel = options.kernel;
  load.vocabulary_only = want == Want::vocabulary;
  PackCache cache(path, options.pack_cache && want == Want::weights);
  bool restored = false;
  std::unique_ptr<Loader> loader = read_file(options, load, cache.enabled() ? &cache : nullptr, &restored);
  // A copy that turns out to be damaged spoils what was loaded.
  if (!loader) loader = read_file(options, load, nullptr, &restored);

  if (loader->bytes_fed() == 0) throw Failure(path + ": the file is empty");
  std::shared_ptr<const Model> model = value_of(loader->finish(), path);
  if (want == Want::weights && !model->info().has_weights) {
    throw Failure(path +
                  ": this file holds no weights, only a vocabulary; 'bitwin info' and 'bitwin tokenize' can use it");
  }
  if (cache.enabled() && !restored) cache.write(*model, options.quiet);
  return model;
}

}  // namespace bitwin::native
