// make-tiny-model: writes a tiny GGUF model with random weights.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tests/support/tiny_model.h"

namespace {

using bitwin::testing::TinyModelOptions;

constexpr const char* kUsage = R"(usage: make-tiny-model [options] OUT.gguf
Writes a tiny language model with random weights, the same for the same options.
  --arch NAME         qwen2 (default) or llama
  --type NAME         tensor type of every matrix, e.g. Q4_K; default: all eleven in turn
  --embedding-type NAME  tensor type of the embedding table and the output matrix
  --untied            with an output matrix of its own
  --no-biases         without q, k and v biases
  --rope-factors      with a rope_freqs.weight tensor
  --lowest-int8       Q8_0 blocks may hold -128
  --vocabulary-only   metadata and vocabulary without tensors
  --layers N --width N --heads N --kv-heads N --head-dim N --ffn N --context N --seed N
  --help
)";

int usage_error(const std::string& message) {
  std::fprintf(stderr, "make-tiny-model: %s\n", message.c_str());
  return 2;
}

const bitwin::TensorTypeInfo* find_type(std::string_view name) {
  for (bitwin::TensorType type : bitwin::testing::all_tensor_types()) {
    if (name == bitwin::tensor_type_info(type)->name) return bitwin::tensor_type_info(type);
  }
  return nullptr;
}

// Writes beside the target first, so that no reader ever sees half a file.
bool write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  const std::string temporary = path + ".part";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  bool written = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (file != nullptr && std::fclose(file) != 0) written = false;
  if (!written) {
    std::fprintf(stderr, "make-tiny-model: cannot write %s: %s\n", temporary.c_str(), std::strerror(errno));
    std::remove(temporary.c_str());
    return false;
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) std::fprintf(stderr, "make-tiny-model: cannot write %s: %s\n", path.c_str(), error.message().c_str());
  return !error;
}

// The sizes must fit the types: rows are whole blocks.
std::string check(const TinyModelOptions& options) {
  if (options.architecture != "qwen2" && options.architecture != "llama") return "--arch is qwen2 or llama";
  if (options.head_dim % 2 != 0) return "--head-dim is even";
  int64_t block = options.type ? bitwin::tensor_type_info(*options.type)->block : 256;
  if (options.embedding_type)
    block = std::max<int64_t>(block, bitwin::tensor_type_info(*options.embedding_type)->block);
  if (options.width % block != 0 || options.ffn % block != 0 || options.heads * options.head_dim % block != 0) {
    return "--width, --ffn and heads * head-dim are multiples of the type's block, " + std::to_string(block);
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  TinyModelOptions options;
  std::string path;
  const struct {
    std::string_view name;
    int64_t* value;
  } numbers[] = {{"--layers", &options.layers},     {"--width", &options.width},       {"--heads", &options.heads},
                 {"--kv-heads", &options.kv_heads}, {"--head-dim", &options.head_dim}, {"--ffn", &options.ffn},
                 {"--context", &options.context}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--help" || arg == "-h") return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
    if (arg == "--untied") {
      options.tied = false;
      continue;
    }
    if (arg == "--no-biases") {
      options.biases = false;
      continue;
    }
    if (arg == "--rope-factors") {
      options.rope_factors = true;
      continue;
    }
    if (arg == "--lowest-int8") {
      options.lowest_int8 = true;
      continue;
    }
    if (arg == "--vocabulary-only") {
      options.vocabulary_only = true;
      continue;
    }
    if (!arg.starts_with("--")) {
      if (!path.empty()) return usage_error("more than one output file");
      path = arg;
      continue;
    }
    if (i + 1 == argc) return usage_error(std::string(arg) + ": unknown, or its value is missing (see --help)");
    const char* value = argv[++i];
    if (arg == "--arch") {
      options.architecture = value;
      continue;
    }
    if (arg == "--type" || arg == "--embedding-type") {
      const bitwin::TensorTypeInfo* info = find_type(value);
      if (info == nullptr) return usage_error("unknown type " + std::string(value));
      (arg == "--type" ? options.type : options.embedding_type) = info->type;
      continue;
    }
    char* end = nullptr;
    if (arg == "--seed") {
      options.seed = std::strtoull(value, &end, 10);
      if (end == value || *end != '\0') return usage_error("--seed: not a number: " + std::string(value));
      continue;
    }
    bool known = false;
    for (const auto& number : numbers) {
      if (arg != number.name) continue;
      known = true;
      *number.value = std::strtoll(value, &end, 10);
      if (end == value || *end != '\0' || *number.value < 1 || *number.value > 65536) {
        return usage_error(std::string(arg) + ": a number from 1 to 65536, not " + value);
      }
    }
    if (!known) return usage_error("unknown option " + std::string(arg) + " (see --help)");
  }
  if (path.empty()) return usage_error("no output file (see --help)");
  if (const std::string problem = check(options); !problem.empty()) return usage_error(problem);
  return write_file(path, bitwin::testing::make_tiny_model(options)) ? 0 : 1;
}
