#include "tests/support/tiny_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

#include "tests/support/gguf_writer.h"
#include "tests/support/random.h"

namespace bitwin::testing {
namespace {

using Bytes = std::vector<uint8_t>;

// Merged tokens in order of rank; each pair's parts are bytes or earlier results. U+0120 stands for a space.
constexpr std::string_view kSpace = "\u0120";
constexpr std::array<std::array<std::string_view, 2>, 61> kMerges = {{
    {"_", "t"},  {"h", "e"},   {"i", "n"},   {"r", "e"},    {"o", "n"},  {"_t", "he"}, {"e", "r"},  {"_", "a"},
    {"_", "s"},  {"a", "t"},   {"_", "w"},   {"o", "u"},    {"_", "o"},  {"_", "c"},   {"e", "n"},  {"i", "s"},
    {"i", "t"},  {"n", "d"},   {"_", "b"},   {"o", "r"},    {"e", "s"},  {"_", "f"},   {"in", "g"}, {"_", "m"},
    {"_", "p"},  {"_o", "f"},  {"_a", "nd"}, {"a", "l"},    {"_t", "o"}, {"a", "r"},   {"_", "in"}, {"a", "n"},
    {"_", "d"},  {"l", "l"},   {"l", "e"},   {"e", "d"},    {"_", "h"},  {"i", "c"},   {"_", "is"}, {"ou", "r"},
    {"s", "t"},  {"v", "e"},   {"u", "r"},   {"_", "re"},   {"o", "m"},  {"a", "s"},   {"r", "o"},  {"_", "n"},
    {"h", "at"}, {"c", "e"},   {"_w", "he"}, {"u", "s"},    {"er", "s"}, {"_h", "ou"}, {"o", "_w"}, {"or", "ld"},
    {"l", "d"},  {"us", "er"}, {"s", "y"},   {"_re", "st"}, {"as", "s"},
}};

std::string from_pattern(std::string_view pattern) {
  std::string text;
  for (char c : pattern) {
    if (c == '_')
      text += kSpace;
    else
      text += c;
  }
  return text;
}

// GPT-2's alphabet: printable bytes stand for themselves, the others for the characters from U+0100 on.
std::vector<std::string> byte_alphabet() {
  const auto printable = [](int byte) { return (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173); };
  const auto utf8 = [](int code) {
    if (code < 128) return std::string(1, static_cast<char>(code));
    return std::string{static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
  };
  std::vector<std::string> alphabet;
  for (int byte = 0; byte < 256; ++byte) {
    if (printable(byte)) alphabet.push_back(utf8(byte));
  }
  for (int byte = 0, code = 256; byte < 256; ++byte) {
    if (!printable(byte)) alphabet.push_back(utf8(code++));
  }
  return alphabet;
}

void add_vocabulary(GgufWriter& writer) {
  std::vector<std::string> tokens = byte_alphabet();
  std::vector<std::string> merges;
  for (const auto& [left, right] : kMerges) {
    merges.push_back(from_pattern(left) + " " + from_pattern(right));
    tokens.push_back(from_pattern(left) + from_pattern(right));
  }
  std::vector<int64_t> kinds(tokens.size(), 1);
  for (const char* text :
       {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|extra_0|>", "<|extra_1|>", "<|extra_2|>"}) {
    tokens.push_back(text);
    kinds.push_back(3);
  }
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", "qwen2");
  writer.add_strings("tokenizer.ggml.tokens", tokens);
  writer.add_integers("tokenizer.ggml.token_type", GgufType::i32, kinds);
  writer.add_strings("tokenizer.ggml.merges", merges);
  writer.add_u32("tokenizer.ggml.eos_token_id", kTinyImEnd);
  writer.add_u32("tokenizer.ggml.padding_token_id", kTinyEndOfText);
  writer.add_u32("tokenizer.ggml.bos_token_id", kTinyEndOfText);
  writer.add_bool("tokenizer.ggml.add_bos_token", false);
}

// Writes random blocks of one tensor type.
class BlockSource {
 public:
  BlockSource(Bytes& out, double deviation, uint64_t seed, bool lowest_int8)
      : out_(out), deviation_(deviation), random_(seed), lowest_int8_(lowest_int8) {}

  void block(TensorType type) {
    switch (type) {
      case TensorType::f32:
        append_le(out_, std::bit_cast<uint32_t>(static_cast<float>(deviation_ * random_.normal())), 4);
        return;
      case TensorType::f16:
        append_le(out_, to_f16(static_cast<float>(deviation_ * random_.normal())), 2);
        return;
      case TensorType::bf16:
        append_le(out_, to_bf16(static_cast<float>(deviation_ * random_.normal())), 2);
        return;
      case TensorType::q8_0:
        half(signed_scale(127 / std::sqrt(3.0)));
        for (int i = 0; i < 32; ++i)
          append_le(out_, static_cast<uint64_t>(random_.integer(lowest_int8_ ? -128 : -127, 127)), 1);
        return;
      case TensorType::q4_0:
        half(signed_scale(kDeviation4));
        bytes(16);
        return;
      case TensorType::q4_1:
        scale_and_min(kDeviation4, 7.5);
        bytes(16);
        return;
      case TensorType::q5_0:
        half(signed_scale(kDeviation5));
        bytes(4 + 16);
        return;
      case TensorType::q5_1:
        scale_and_min(kDeviation5, 15.5);
        bytes(4 + 16);
        return;
      case TensorType::q4_k:
        k_scales(kDeviation4, 7.5);
        bytes(128);
        return;
      case TensorType::q5_k:
        k_scales(kDeviation5, 15.5);
        bytes(32 + 128);
        return;
      case TensorType::q6_k:
        bytes(128 + 64 + 16);
        half(signed_scale(kDeviation6 * kDeviationInt8));
        return;
    }
  }

 private:
  // Standard deviations of uniformly distributed integers of 4, 5, 6 and 8 bits, and the root mean square of 0..63.
  static constexpr double kDeviation4 = 4.6, kDeviation5 = 9.2, kDeviation6 = 18.5, kDeviationInt8 = 73.9, kRms6 = 36.5;

  double signed_scale(double unit) {
    const double scale = deviation_ / unit * random_.uniform(0.7, 1.3);
    return random_.integer(0, 7) == 0 ? -scale : scale;
  }

  void half(double value) { append_le(out_, to_f16(static_cast<float>(value)), 2); }

  void bytes(int count) {
    for (int i = 0; i < count; ++i) out_.push_back(static_cast<uint8_t>(random_.next()));
  }

  void scale_and_min(double unit, double middle) {
    const double scale = signed_scale(unit);
    half(scale);
    half(-scale * (middle + random_.uniform(-1, 1)));
  }

  // d, dmin, and eight 6-bit scales and mins in 12 bytes; mins near their scales keep the mean near zero.
  void k_scales(double unit, double middle) {
    const double scale = std::abs(signed_scale(unit * kRms6));
    half(scale);
    half(scale * middle);
    std::array<int64_t, 8> scales{}, mins{};
    for (size_t i = 0; i < 8; ++i) {
      scales[i] = random_.integer(0, 63);
      mins[i] = std::clamp<int64_t>(scales[i] + random_.integer(-3, 3), 0, 63);
    }
    std::array<int64_t, 12> packed{};
    for (size_t i = 0; i < 4; ++i) {
      packed[i] = scales[i] | (scales[i + 4] >> 4) << 6;
      packed[i + 4] = mins[i] | (mins[i + 4] >> 4) << 6;
      packed[i + 8] = (scales[i + 4] & 15) | (mins[i + 4] & 15) << 4;
    }
    for (int64_t byte : packed) out_.push_back(static_cast<uint8_t>(byte));
  }

  Bytes& out_;
  double deviation_;
  Random random_;
  bool lowest_int8_;
};

// Adds tensors, each with its own seed.
class TensorSource {
 public:
  TensorSource(GgufWriter& writer, const TinyModelOptions& options) : writer_(writer), options_(options) {}

  void matrix(const std::string& name, int64_t rows, int64_t cols, TensorType type) {
    const double deviation = 1 / std::sqrt(static_cast<double>(cols));
    writer_.add_tensor(name, type, {static_cast<uint64_t>(cols), static_cast<uint64_t>(rows)},
                       random_rows(type, rows, cols, deviation, next_seed(), options_.lowest_int8));
  }

  // A matrix of a layer; without a fixed type each takes the next of the eleven.
  void layer_matrix(const std::string& name, int64_t rows, int64_t cols) {
    const auto& types = all_tensor_types();
    matrix(name, rows, cols, options_.type.value_or(types[(matrices_++ + 3) % types.size()]));
  }

  void vector(const std::string& name, int64_t length, double mean, double deviation) {
    Random random(next_seed());
    Bytes data;
    for (int64_t i = 0; i < length; ++i) {
      append_le(data, std::bit_cast<uint32_t>(static_cast<float>(mean + deviation * random.normal())), 4);
    }
    writer_.add_tensor(name, TensorType::f32, {static_cast<uint64_t>(length)}, std::move(data));
  }

 private:
  uint64_t next_seed() { return options_.seed * 1000003 + ++tensors_; }

  GgufWriter& writer_;
  const TinyModelOptions& options_;
  uint64_t tensors_ = 0;
  size_t matrices_ = 0;
};

void add_tensors(GgufWriter& writer, const TinyModelOptions& options) {
  TensorSource source(writer, options);
  const TensorType table = options.embedding_type.value_or(options.type.value_or(TensorType::q8_0));
  const int64_t q_width = options.heads * options.head_dim;
  const int64_t kv_width = options.kv_heads * options.head_dim;
  source.matrix("token_embd.weight", kTinyVocabulary, options.width, table);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    source.vector(block + "attn_norm.weight", options.width, 1, 0.1);
    source.layer_matrix(block + "attn_q.weight", q_width, options.width);
    source.layer_matrix(block + "attn_k.weight", kv_width, options.width);
    source.layer_matrix(block + "attn_v.weight", kv_width, options.width);
    if (options.biases) {
      source.vector(block + "attn_q.bias", q_width, 0, 0.3);
      source.vector(block + "attn_k.bias", kv_width, 0, 0.3);
      source.vector(block + "attn_v.bias", kv_width, 0, 0.3);
    }
    source.layer_matrix(block + "attn_output.weight", options.width, q_width);
    source.vector(block + "ffn_norm.weight", options.width, 1, 0.1);
    source.layer_matrix(block + "ffn_gate.weight", options.ffn, options.width);
    source.layer_matrix(block + "ffn_up.weight", options.ffn, options.width);
    source.layer_matrix(block + "ffn_down.weight", options.width, options.ffn);
  }
  source.vector("output_norm.weight", options.width, 1, 0.1);
  if (options.rope_factors) source.vector("rope_freqs.weight", options.head_dim / 2, 4, 0.5);
  if (!options.tied) source.matrix("output.weight", kTinyVocabulary, options.width, table);
}

}  // namespace

const std::vector<TensorType>& all_tensor_types() {
  static const std::vector<TensorType> types = {TensorType::f32,  TensorType::f16,  TensorType::q4_0, TensorType::q4_1,
                                                TensorType::q5_0, TensorType::q5_1, TensorType::q8_0, TensorType::q4_k,
                                                TensorType::q5_k, TensorType::q6_k, TensorType::bf16};
  return types;
}

std::vector<uint8_t> random_rows(TensorType type, int64_t rows, int64_t cols, double deviation, uint64_t seed,
                                 bool lowest_int8) {
  const int64_t block = tensor_type_info(type)->block;
  std::vector<uint8_t> data;
  data.reserve(static_cast<size_t>(rows * (cols / block) * tensor_type_info(type)->bytes));
  BlockSource source(data, deviation, seed, lowest_int8);
  for (int64_t i = 0; i < rows * (cols / block); ++i) source.block(type);
  return data;
}

std::vector<uint8_t> make_tiny_model(const TinyModelOptions& options) {
  GgufWriter writer;
  const std::string& arch = options.architecture;
  const auto number = [&](const char* key, int64_t value) { writer.add_u32(arch + key, static_cast<uint32_t>(value)); };
  writer.add_string("general.architecture", arch);
  writer.add_string("general.name", "tiny " + arch + " with random weights");
  number(".block_count", options.layers);
  number(".context_length", options.context);
  number(".embedding_length", options.width);
  number(".feed_forward_length", options.ffn);
  number(".attention.head_count", options.heads);
  number(".attention.head_count_kv", options.kv_heads);
  number(".attention.key_length", options.head_dim);
  number(".attention.value_length", options.head_dim);
  number(".rope.dimension_count", options.head_dim);
  number(".vocab_size", kTinyVocabulary);
  writer.add_f32(arch + ".rope.freq_base", static_cast<float>(options.rope_base));
  writer.add_f32(arch + ".attention.layer_norm_rms_epsilon", 1e-6f);
  add_vocabulary(writer);
  if (!options.vocabulary_only) add_tensors(writer, options);
  return writer.finish();
}

}  // namespace bitwin::testing
