// The products of every kernel that runs here against their definition, by equality of bits.
#include <algorithm>
#include <cstring>

#include "engine/kernels/kernel.h"
#include "engine/kernels/layout.h"
#include "engine/kernels/packed.h"
#include "tests/support/kernels.h"
#include "tests/support/patterns.h"
#include "tests/support/reference.h"
#include "tests/support/tiny_model.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

using testing::activations;
using testing::differing;
using testing::kPatterns;
using testing::Pattern;
using testing::Quantized;

struct Case {
  TensorType type;
  int64_t rows, cols, tokens;
  bool bias, accumulate, lowest;
  Pattern pattern;
  int64_t misalign;  // elements that x, out and the quantised activations lie off their alignment
};

// Runs one product with every kernel and compares with the definition. Returns the number of wrong values.
int64_t wrong_products(const Case& c, uint64_t seed) {
  const TensorTypeInfo* info = tensor_type_info(c.type);
  const int64_t row_bytes = c.cols / info->block * info->bytes;
  const auto source = testing::random_rows(c.type, c.rows, c.cols, 0.05, seed, c.lowest);
  auto matrix = PackedMatrix::allocate(c.type, c.rows, c.cols, "test");
  REQUIRE(matrix.ok());
  REQUIRE(matrix->pack_rows(*supported_kernels().back(), nullptr, 0, c.rows, source, "test").ok());
  const bool quantized = packed_format(c.type).bits != 0;

  const std::vector<float> x = activations(c.pattern, static_cast<size_t>(c.tokens * c.cols), seed + 1);
  const std::vector<float> bias = activations(Pattern::normal, static_cast<size_t>(c.rows), seed + 2);
  const std::vector<float> before = activations(Pattern::normal, static_cast<size_t>(c.tokens * c.rows), seed + 3);

  std::vector<float> expected(static_cast<size_t>(c.tokens * c.rows));
  const int64_t groups = (c.cols + 31) / 32;
  const int64_t stride = c.tokens + 1;
  std::vector<int8_t> q(static_cast<size_t>(groups * stride * 32 + c.misalign));
  std::vector<float> scale(static_cast<size_t>(groups * stride + c.misalign));
  std::vector<float> offset(scale.size());
  std::vector<int32_t> sum(static_cast<size_t>(groups * stride * 2 + c.misalign));
  for (int64_t t = 0; t < c.tokens; ++t) {
    const float* row = x.data() + t * c.cols;
    const Quantized a = testing::quantize(row, c.cols);
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t at = g * stride + t;
      std::memcpy(q.data() + c.misalign + at * 32, a.q.data() + g * 32, 32);
      scale[static_cast<size_t>(c.misalign + at)] = a.scale[static_cast<size_t>(g)];
      offset[static_cast<size_t>(c.misalign + at)] = a.offset[static_cast<size_t>(g)];
      std::memcpy(sum.data() + c.misalign + at * 2, a.sum.data() + g * 2, 8);
    }
    for (int64_t r = 0; r < c.rows; ++r) {
      const uint8_t* weights = source.data() + r * row_bytes;
      float value = quantized ? testing::quantized_dot(c.type, weights, c.cols, a)
                              : testing::float_dot(c.type, weights, c.cols, row);
      if (c.bias) value = value + bias[static_cast<size_t>(r)];
      const size_t at = static_cast<size_t>(t * c.rows + r);
      expected[at] = c.accumulate ? before[at] + value : value;
    }
  }

  int64_t wrong = 0;
  for (const KernelTable* kernel : testing::kernels()) {
    std::vector<float> x_copy(x.size() + static_cast<size_t>(c.misalign));
    std::copy(x.begin(), x.end(), x_copy.begin() + c.misalign);
    const int64_t out_stride = c.rows + 3;
    std::vector<float> out(static_cast<size_t>(c.tokens * out_stride + c.misalign), -77.0f);
    for (int64_t t = 0; t < c.tokens; ++t)
      std::copy_n(before.begin() + t * c.rows, c.rows, out.begin() + c.misalign + t * out_stride);
    MatmulArgs args{};
    args.weights = matrix->view();
    args.x = {q.data() + c.misalign, scale.data() + c.misalign, sum.data() + c.misalign, offset.data() + c.misalign,
              stride};
    args.x_float = x_copy.data() + c.misalign;
    args.x_stride = c.cols;
    args.tokens = c.tokens;
    args.bias = c.bias ? bias.data() : nullptr;
    args.out = out.data() + c.misalign;
    args.out_stride = out_stride;
    args.accumulate = c.accumulate;
    const int64_t blocks = (c.rows + 15) / 16;
    kernel->matmul(args, 0, blocks / 2);
    kernel->matmul(args, blocks / 2, blocks);
    int64_t here = 0;
    for (int64_t t = 0; t < c.tokens; ++t) {
      const float* row = out.data() + c.misalign + t * out_stride;
      here += differing(row, expected.data() + t * c.rows, static_cast<size_t>(c.rows));
      for (int64_t i = c.rows; i < out_stride; ++i) here += row[i] != -77.0f;  // nothing beyond the rows is touched
    }
    INFO(kernel->name);
    CHECK(here == 0);
    wrong += here;
  }
  return wrong;
}

TEST_CASE("every kernel's products equal the definition, for all types, odd sizes and batch sizes") {
  uint64_t seed = 1;
  for (const TensorType type : testing::all_tensor_types()) {
    const int64_t block = tensor_type_info(type)->block;
    std::vector<int64_t> columns = {1, 2, 3, 7, 8, 9, 17};  // blocks: 32 to 544 columns, 256 to 1792 for K types
    if (block == 1) columns = {1, 2, 3, 15, 16, 17, 33, 100};
    if (block == 256) columns = {1, 2, 3};
    for (const int64_t count : columns) {
      for (const int64_t rows : {1, 3, 15, 16, 17, 33}) {
        for (const int64_t tokens : {1, 2, 3, 4, 5, 7, 8, 9, 13, 17, 33, 66}) {
          ++seed;
          const Case c{type,
                       rows,
                       count * block,
                       tokens,
                       seed % 2 == 0,
                       seed % 3 == 0,
                       seed % 2 == 1,
                       kPatterns[seed % 5],
                       static_cast<int64_t>(seed % 4)};
          if (tokens > 9 && rows > 3) continue;
          INFO(tensor_type_info(type)->name << " rows " << rows << " cols " << count * block << " tokens " << tokens);
          REQUIRE(wrong_products(c, seed) == 0);
        }
      }
    }
  }
}

TEST_CASE("a token alone is right where its weights are read as several streams") {
  uint64_t seed = 900;
  for (const TensorType type : testing::all_tensor_types()) {
    if (packed_format(type).bits == 0) continue;
    ++seed;
    const int64_t cols = 1024;
    // Each of the two calls gets streams of more than 48 KiB, the least that kernels take, and three blocks besides.
    const int64_t stream = (48 << 10) / static_cast<int64_t>(packed_bytes(type, 16, cols)) + 1;
    const int64_t rows = 2 * (4 * stream + 3) * 16 - 5;
    const Case c{type, rows, cols, 1, seed % 2 == 0, seed % 3 == 0, false, Pattern::normal, 0};
    INFO(tensor_type_info(type)->name << " rows " << rows);
    REQUIRE(wrong_products(c, seed) == 0);
  }
}

TEST_CASE("batches of any size are products of single tokens") {
  uint64_t seed = 500;
  for (const TensorType type : testing::all_tensor_types())
    for (const int64_t tokens : {16, 31, 32, 33, 48, 63, 64, 65, 130}) {
      ++seed;
      INFO(tensor_type_info(type)->name << " tokens " << tokens);
      REQUIRE(wrong_products({type, 19, 512 + (tokens % 2) * 256, tokens, false, tokens % 3 == 0, tokens % 5 == 0,
                              kPatterns[seed % 5], static_cast<int64_t>(seed % 4)},
                             seed) == 0);
    }
}

TEST_CASE("activations at the ends of the range meet weights at the ends of theirs") {
  uint64_t seed = 1000;
  for (const TensorType type : testing::all_tensor_types())
    for (const Pattern pattern : kPatterns)
      for (const int64_t tokens : {1, 4, 8}) {
        INFO(tensor_type_info(type)->name << " pattern " << static_cast<int>(pattern) << " tokens " << tokens);
        REQUIRE(wrong_products({type, 32, 512, tokens, false, false, true, pattern, 0}, ++seed) == 0);
      }
}

}  // namespace
}  // namespace bitwin
