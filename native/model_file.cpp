#include "native/model_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "native/input.h"
#include "native/output.h"
#include "native/progress.h"
#include "native/system.h"

namespace bitwin::native {

namespace {

constexpr size_t kPiece = 4u << 20;

std::string base_name(const std::string& path) {
  size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

void check_kernel(const std::string& kernel) {
  std::string name = kernel.empty() ? environment_variable("BITWIN_KERNEL") : kernel;
  if (name.empty()) return;
  std::vector<std::string> available = kernels();
  if (std::find(available.begin(), available.end(), name) != available.end()) return;
  std::string list;
  for (const std::string& one : available) list += (list.empty() ? "" : ", ") + one;
  throw Failure((kernel.empty() ? "BITWIN_KERNEL: " : "--kernel: ") + std::string("the kernel '") + name +
                    "' is not available on this machine, which has: " + list,
                kExitUsage);
}

std::shared_ptr<const Model> load_model(const ModelOptions& options, Want want) {
  check_kernel(options.kernel);
  const std::string& path = options.path;
  InputFile file(path);

  LoadOptions load;
  load.threads = options.threads;
  load.kernel = options.kernel;
  load.file_size = file.size();
  load.vocabulary_only = want == Want::vocabulary;
  std::unique_ptr<Loader> loader = value_of(Loader::create(load));

  Progress progress("Loading " + harmless(base_name(path), false), Progress::Unit::bytes, file.size(), options.quiet);
  std::vector<uint8_t> piece(kPiece);
  while (!loader->complete()) {
    size_t count = file.read(piece.data(), piece.size());
    if (count == 0) break;
    check_status(loader->feed({piece.data(), count}), path);
    progress.update(loader->bytes_fed());
  }
  progress.clear();
  if (loader->bytes_fed() == 0) throw Failure(path + ": the file is empty");
  std::shared_ptr<const Model> model = value_of(loader->finish(), path);
  if (want == Want::weights && !model->info().has_weights) {
    throw Failure(path +
                  ": this file holds no weights, only a vocabulary; 'bitwin info' and 'bitwin tokenize' can use it");
  }
  return model;
}

}  // namespace bitwin::native
