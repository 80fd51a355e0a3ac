#include "tests/support/tiny_model.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "engine/base/hash.h"
#include "engine/base/tensor_type.h"
#include "tests/support/gguf_collector.h"
#include "tests/support/gguf_writer.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

using testing::TinyModelOptions;

TEST_CASE("The default tiny model is the same in every build") {
  const std::vector<uint8_t> file = testing::make_tiny_model({});
  CHECK(hex64(hash64(file.data(), file.size())) == "21a27d688b79cb36");
}

TEST_CASE("The default tiny model has all tensor types") {
  const std::vector<uint8_t> file = testing::make_tiny_model({});
  testing::GgufCollector sink;
  REQUIRE(testing::read_gguf(file, sink).ok());
  std::set<TensorType> types;
  for (const TensorInfo& tensor : sink.directory) types.insert(tensor.type);
  CHECK(types.size() == testing::all_tensor_types().size());
}

TEST_CASE("The options of a tiny model are found in its directory") {
  TinyModelOptions options;
  options.type = TensorType::q5_k;
  options.tied = false;
  options.biases = false;
  options.rope_factors = true;
  const std::vector<uint8_t> file = testing::make_tiny_model(options);
  testing::GgufCollector sink;
  REQUIRE(testing::read_gguf(file, sink).ok());
  std::set<std::string> names;
  for (const TensorInfo& tensor : sink.directory) {
    names.insert(tensor.name);
    if (tensor.dimensions == 2) CHECK(tensor.type == TensorType::q5_k);
  }
  CHECK(names.contains("output.weight"));
  CHECK(names.contains("rope_freqs.weight"));
  CHECK_FALSE(names.contains("blk.0.attn_q.bias"));
}

TEST_CASE("The tiny vocabulary is a complete byte-level BPE") {
  const std::vector<uint8_t> file = testing::make_tiny_model({});
  testing::GgufCollector sink;
  REQUIRE(testing::read_gguf(file, sink).ok());
  std::vector<std::string> tokens, merges;
  for (const GgufMetadata::Entry& entry : sink.entries) {
    if (entry.key == "tokenizer.ggml.tokens") tokens = entry.value.strings;
    if (entry.key == "tokenizer.ggml.merges") merges = entry.value.strings;
  }
  REQUIRE(tokens.size() == static_cast<size_t>(testing::kTinyVocabulary));
  const std::set<std::string> known(tokens.begin(), tokens.end());
  CHECK(known.size() == tokens.size());
  CHECK(merges.size() == tokens.size() - 256 - 6);
  for (const std::string& merge : merges) {
    const size_t space = merge.find(' ');
    REQUIRE(space != std::string::npos);
    CHECK(known.contains(merge.substr(0, space)));
    CHECK(known.contains(merge.substr(space + 1)));
    CHECK(known.contains(merge.substr(0, space) + merge.substr(space + 1)));
  }
  CHECK(tokens[testing::kTinyEndOfText] == "<|endoftext|>");
  CHECK(tokens[testing::kTinyImStart] == "<|im_start|>");
  CHECK(tokens[testing::kTinyImEnd] == "<|im_end|>");
}

TEST_CASE("Random Q8_0 blocks hold every integer, and -128 only on request") {
  for (bool lowest : {false, true}) {
    const std::vector<uint8_t> rows = testing::random_rows(TensorType::q8_0, 64, 1024, 1, 5, lowest);
    REQUIRE(rows.size() == 64u * 1024 / 32 * 34);
    std::set<int> values;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i % 34 >= 2) values.insert(static_cast<int8_t>(rows[i]));
    }
    CHECK(values.size() == (lowest ? 256u : 255u));
    CHECK(values.contains(-128) == lowest);
  }
}

TEST_CASE("Test data rounds to half precision as IEEE-754 does") {
  const auto bits = [](float value) { return testing::to_f16(value); };
  CHECK(bits(0.0f) == 0);
  CHECK(bits(-0.0f) == 0x8000);
  CHECK(bits(1.0f) == 0x3c00);
  CHECK(bits(-2.0f) == 0xc000);
  CHECK(bits(65504.0f) == 0x7bff);
  CHECK(bits(65519.0f) == 0x7bff);
  CHECK(bits(65520.0f) == 0x7c00);
  CHECK(bits(1e30f) == 0x7c00);
  CHECK(bits(std::numeric_limits<float>::infinity()) == 0x7c00);
  CHECK(bits(0x1p-14f) == 0x0400);
  CHECK(bits(0x1p-24f) == 0x0001);
  CHECK(bits(0x1p-25f) == 0x0000);
  CHECK(bits(0x1.8p-25f) == 0x0001);
  CHECK(bits(0x1.8p-24f) == 0x0002);
  CHECK(bits(1 + 0x1p-11f) == 0x3c00);
  CHECK(bits(1 + 0x1.8p-10f) == 0x3c02);
  // Every finite half, converted to a float and back.
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    const uint32_t exponent = half >> 10;
    const float value = exponent == 0
                            ? std::ldexp(static_cast<float>(half), -24)
                            : std::ldexp(static_cast<float>((half & 1023) | 1024), static_cast<int>(exponent) - 25);
    if (bits(value) != half) FAIL("half " << half);
  }
  CHECK(testing::to_bf16(1.0f) == 0x3f80);
  CHECK(testing::to_bf16(std::bit_cast<float>(0x3f808000u)) == 0x3f80);
  CHECK(testing::to_bf16(std::bit_cast<float>(0x3f818000u)) == 0x3f82);
}

}  // namespace
}  // namespace bitwin
