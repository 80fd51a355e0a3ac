// Fuzzes the GGUF reader and the hyper-parameters: no input may crash, and neither the outcome nor the rows may depend
// on the sizes of the pieces the file arrives in.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "engine/load/config.h"
#include "engine/load/gguf.h"

namespace {

using namespace bitwin;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

// Checks what GgufSink promises and sums up what came.
class CheckingSink : public GgufSink {
 public:
  Status on_header(GgufMetadata& metadata, std::span<const TensorInfo> tensors) override {
    const Result<ModelConfig> config = read_config(metadata, tensors);
    if (!config.ok()) {
      require(!config.status().message().empty(), "a configuration error has a message");
      config_error = config.status().message();
    } else {
      require(config->heads % config->kv_heads == 0 && config->head_dim % 16 == 0, "heads fit together");
      require(config->q_width() > 0 && config->vocabulary > 0 && config->norm_epsilon >= 0, "sizes are positive");
    }
    left = tensors.size();
    return {};
  }

  Status on_rows(const TensorInfo& tensor, int64_t first_row, int64_t rows, std::span<const uint8_t> bytes) override {
    require(first_row == next_row && first_row % 16 == 0 && rows > 0, "rows come in order");
    require(rows % 16 == 0 || first_row + rows == tensor.rows(), "rows come in groups of 16");
    require(bytes.size() == tensor.bytes / static_cast<uint64_t>(tensor.rows()) * static_cast<uint64_t>(rows),
            "rows are whole");
    next_row += rows;
    for (uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
    return {};
  }

  Status on_tensor_end(const TensorInfo& tensor) override {
    require(next_row == tensor.rows() && left > 0, "a tensor ends after its last row");
    next_row = 0;
    --left;
    return {};
  }

  size_t left = 0;
  int64_t next_row = 0;
  uint64_t hash = 0;
  std::string config_error;
};

Status read(std::span<const uint8_t> bytes, bool tell_size, uint64_t piece_seed, CheckingSink& sink) {
  GgufReader reader(sink, tell_size ? bytes.size() : 0);
  for (size_t at = 0; at < bytes.size();) {
    size_t piece = bytes.size();
    if (piece_seed != 0) {
      piece_seed = piece_seed * 6364136223846793005 + 1442695040888963407;
      piece = 1 + (piece_seed >> 33) % (uint64_t{1} << (piece_seed >> 61));
    }
    piece = std::min(piece, bytes.size() - at);
    const Status status = reader.feed(bytes.subspan(at, piece));
    if (!status.ok()) return status;
    at += piece;
  }
  const Status status = reader.finish();
  require(!status.ok() || (reader.header_complete() && sink.left == 0), "a good file is complete");
  return status;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  for (bool tell_size : {true, false}) {
    CheckingSink whole, parts;
    const Status at_once = read({data, size}, tell_size, 0, whole);
    const Status in_parts = read({data, size}, tell_size, data[size - 1] + uint64_t{1}, parts);
    require(at_once.ok() || !at_once.message().empty(), "an error has a message");
    require(at_once.code() == in_parts.code() && at_once.message() == in_parts.message(),
            "pieces do not change the outcome");
    require(!at_once.ok() || whole.hash == parts.hash, "pieces do not change the rows");
    require(whole.config_error == parts.config_error, "pieces do not change the configuration");
  }
  return 0;
}
