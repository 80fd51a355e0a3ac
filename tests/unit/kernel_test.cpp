// Every kernel that runs here against plain definitions, by equality of bits: all but the products (matmul_test.cpp).
#include "engine/kernels/kernel.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/kernels.h"
#include "tests/support/patterns.h"
#include "tests/support/random.h"
#include "tests/support/reference.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

using testing::activations;
using testing::differing;
using testing::kPatterns;
using testing::Pattern;
using testing::Quantized;
using testing::Random;

const KernelTable& scalar() { return *supported_kernels().back(); }

TEST_CASE("every kernel quantises activations as defined") {
  for (const KernelTable* kernel : testing::kernels()) {
    INFO(kernel->name);
    for (int64_t n = 1; n <= 130; ++n) {
      for (const Pattern pattern : kPatterns) {
        const int64_t misalign = n % 4;
        std::vector<float> x = activations(pattern, static_cast<size_t>(n + misalign), static_cast<uint64_t>(n));
        const Quantized expected = testing::quantize(x.data() + misalign, n);
        const size_t groups = expected.scale.size();
        // One row of `stride`; the others' groups stay as they were.
        const size_t stride = 1 + static_cast<size_t>(n % 3);
        std::vector<int8_t> q(groups * stride * 32, 99);
        std::vector<float> scale(groups * stride, -5.0f), offset(groups * stride, -5.0f);
        std::vector<int32_t> sum(groups * stride * 2, 99);
        std::vector<int8_t> expected_q = q;
        std::vector<float> expected_scale = scale, expected_offset = offset;
        std::vector<int32_t> expected_sum = sum;
        for (size_t g = 0; g < groups; ++g) {
          std::copy_n(expected.q.begin() + static_cast<std::ptrdiff_t>(g * 32), 32,
                      expected_q.begin() + static_cast<std::ptrdiff_t>(g * stride * 32));
          expected_scale[g * stride] = expected.scale[g];
          expected_offset[g * stride] = expected.offset[g];
          for (size_t half = 0; half < 2; ++half) expected_sum[g * stride * 2 + half] = expected.sum[g * 2 + half];
        }
        REQUIRE(kernel->quantize(x.data() + misalign, n, q.data(), scale.data(), sum.data(), offset.data(),
                                 static_cast<int64_t>(stride)));
        REQUIRE(q == expected_q);
        REQUIRE(sum == expected_sum);
        REQUIRE(differing(scale.data(), expected_scale.data(), scale.size()) == 0);
        REQUIRE(differing(offset.data(), expected_offset.data(), offset.size()) == 0);
      }
    }
  }
}

TEST_CASE("rounding of activations is to nearest, ties to even") {
  for (const KernelTable* kernel : testing::kernels()) {
    INFO(kernel->name);
    std::vector<float> x(32);
    x[0] = 127.0f;  // the scale is exactly 1
    for (int i = 1; i < 32; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i - 16) + 0.5f;
    std::vector<int8_t> q(32);
    float scale, offset;
    int32_t sum[2];
    REQUIRE(kernel->quantize(x.data(), 32, q.data(), &scale, sum, &offset, 1));
    CHECK(scale == 1.0f);
    for (int i = 1; i < 32; ++i) {
      const int below = i - 16;
      CHECK(q[static_cast<size_t>(i)] == (below % 2 == 0 ? below : below + 1));
    }
  }
}

TEST_CASE("a NaN or an infinity anywhere is noticed") {
  const float bad[] = {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  for (const KernelTable* kernel : testing::kernels()) {
    INFO(kernel->name);
    for (const int64_t n : {1, 5, 16, 31, 32, 33, 70}) {
      std::vector<float> x(static_cast<size_t>(n), std::numeric_limits<float>::max());
      std::vector<int8_t> q(96);
      std::vector<float> scale(3), offset(3);
      std::vector<int32_t> sum(6);
      REQUIRE(kernel->finite(x.data(), n));
      REQUIRE(kernel->quantize(x.data(), n, q.data(), scale.data(), sum.data(), offset.data(), 1));
      for (int64_t i = 0; i < n; ++i)
        for (const float value : bad) {
          x[static_cast<size_t>(i)] = value;
          CHECK_FALSE(kernel->finite(x.data(), n));
          CHECK_FALSE(kernel->quantize(x.data(), n, q.data(), scale.data(), sum.data(), offset.data(), 1));
          x[static_cast<size_t>(i)] = 1.0f;
        }
    }
  }
}

TEST_CASE("RMSNorm is 16 lanes, a tree, one square root and one division") {
  for (const KernelTable* kernel : testing::kernels()) {
    INFO(kernel->name);
    for (const int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 100, 576}) {
      const auto x = activations(Pattern::normal, static_cast<size_t>(n), 11);
      const auto weight = activations(Pattern::normal, static_cast<size_t>(n), 12);
      std::vector<float> squares;
      for (const float v : x) squares.push_back(v * v);
      const float mean = testing::lane_sum(squares) / static_cast<float>(n);
      const float inverse = 1.0f / std::sqrt(mean + 1e-6f);
      std::vector<float> expected, out = x;
      for (size_t i = 0; i < x.size(); ++i) {
        const float scaled = x[i] * inverse;
        expected.push_back(scaled * weight[i]);
      }
      kernel->rms_norm(out.data(), weight.data(), n, 1e-6f, out.data());
      CHECK(differing(out.data(), expected.data(), out.size()) == 0);
    }
  }
}

TEST_CASE("RoPE rotates pairs of either arrangement") {
  for (const KernelTable* kernel : testing::kernels()) {
    INFO(kernel->name);
    for (const int64_t dim : {2, 30, 32, 34, 64, 96}) {
      for (const bool adjacent : {false, true}) {
        const int64_t head_dim = 96, heads = 3, half = dim / 2;
        std::vector<float> cosine, sine;
        for (int64_t i = 0; i < half; ++i) {
          cosine.push_back(static_cast<float>(std::cos(0.3 * static_cast<double>(i))));
          sine.push_back(static_cast<float>(std::sin(0.3 * static_cast<double>(i))));
        }
        std::vector<float> x = activations(Pattern::normal, static_cast<size_t>(heads * head_dim), 13);
        std::vector<float> expected = x;
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t i = 0; i < half; ++i) {
            float* a = &expected[static_cast<size_t>(h * head_dim + (adjacent ? 2 * i : i))];
            float* b = adjacent ? a + 1 : a + half;
            const float c = cosine[static_cast<size_t>(i)], s = sine[static_cast<size_t>(i)];
            const float ac = *a * c, bs = *b * s, as = *a * s, bc = *b * c;
            *a = ac - bs;
            *b = as + bc;
          }
        kernel->rope(x.data(), heads, head_dim, dim, cosine.data(), sine.data(), adjacent);
        CHECK(differing(x.data(), expected.data(), x.size()) == 0);
      }
    }
  }
}

TEST_CASE("FP16 is written to nearest even and read back exactly") {
  // Around every FP16 value: itself, and points just below, at and above the middle to the next.
  std::vector<float> x;
  std::vector<uint16_t> expected;
  for (uint32_t h = 0; h < 0x7bff; ++h) {
    const float here = testing::half_value(static_cast<uint16_t>(h));
    const float next = testing::half_value(static_cast<uint16_t>(h + 1));
    const float middle = here + (next - here) / 2;
    const uint16_t low = static_cast<uint16_t>(h), high = static_cast<uint16_t>(h + 1);
    x.insert(x.end(), {here, std::nextafter(middle, here), middle, std::nextafter(middle, next), -here, -middle});
    const uint16_t even = h % 2 == 0 ? low : high;
    expected.insert(expected.end(),
                    {low, low, even, high, static_cast<uint16_t>(low | 0x8000), static_cast<uint16_t>(even | 0x8000)});
  }
  x.insert(x.end(), {65519.0f, 65520.0f, 1e30f, -1e30f, std::numeric_limits<float>::infinity(), 1e-30f, -1e-30f});
  expected.insert(expected.end(), {0x7bff, 0x7c00, 0x7c00, 0xfc00, 0x7c00, 0x0000, 0x8000});
  for (const KernelTable* kernel : testing::kernels()) {
    INFO(kernel->name);
    std::vector<uint16_t> out(x.size());
    kernel->store_half(x.data(), static_cast<int64_t>(x.size()), out.data(), 1);
    CHECK(out == expected);
    std::vector<uint16_t> strided(40, 7);
    kernel->store_half(x.data(), 13, strided.data(), 3);
    for (size_t i = 0; i < 40; ++i) CHECK(strided[i] == (i % 3 == 0 && i < 39 ? expected[i / 3] : 7));
  }
}

struct AttentionCase {
  int64_t group, head_dim, length;
};

std::vector<float> run_attention(const KernelTable& kernel, const AttentionCase& c, uint64_t seed) {
  const int64_t blocks = (c.length + kKvBlock - 1) / kKvBlock;
  Random random(seed);
  std::vector<std::vector<uint16_t>> keys(static_cast<size_t>(blocks)), values(static_cast<size_t>(blocks));
  std::vector<const uint16_t*> key_table, value_table;
  for (int64_t b = 0; b < blocks; ++b)
    for (auto* side : {&keys, &values}) {
      auto& block = (*side)[static_cast<size_t>(b)];
      const auto x = activations(Pattern::normal, static_cast<size_t>(kKvBlock * c.head_dim), random.next());
      block.resize(x.size());
      scalar().store_half(x.data(), static_cast<int64_t>(x.size()), block.data(), 1);
      (side == &keys ? key_table : value_table).push_back(block.data());
    }
  const auto q = activations(Pattern::normal, static_cast<size_t>(c.group * c.head_dim), seed + 1);
  std::vector<float> scores(static_cast<size_t>(c.group * ((c.length + 15) / 16 * 16)));
  std::vector<float> out(q.size());
  AttentionArgs args{q.data(), c.group, c.head_dim,    key_table.data(), value_table.data(),
                     c.length, 0.125f,  scores.data(), out.data()};
  kernel.attention(args);

  // The definition, with the weights that the kernel's own exp gave: scores first hold them when it returns.
  if (&kernel == &scalar()) {
    const int64_t padded = (c.length + 15) / 16 * 16;
    std::vector<float> expected(out.size());
    for (int64_t h = 0; h < c.group; ++h) {
      std::vector<float> weights(scores.begin() + h * padded, scores.begin() + h * padded + c.length);
      const float total = testing::lane_sum(weights);
      std::vector<double> exact;
      double largest = -1e30;
      for (int64_t t = 0; t < c.length; ++t) {
        float score = 0.0f;
        for (int64_t d = 0; d < c.head_dim; ++d) {
          const int64_t at = t % kKvBlock / 16 * 16 * c.head_dim + d * 16 + t % 16;
          const float product = q[static_cast<size_t>(h * c.head_dim + d)] *
                                testing::half_value(key_table[static_cast<size_t>(t / kKvBlock)][at]);
          score = score + product;
        }
        exact.push_back(static_cast<double>(score * 0.125f));
        largest = std::max(largest, exact.back());
      }
      for (int64_t t = 0; t < c.length; ++t) {
        const double weight = std::exp(exact[static_cast<size_t>(t)] - largest);
        CHECK(std::fabs(static_cast<double>(weights[static_cast<size_t>(t)]) - weight) <= 1e-6 * weight);
      }
      for (int64_t d = 0; d < c.head_dim; ++d) {
        float acc = 0.0f;
        for (int64_t t = 0; t < c.length; ++t) {
          const float v =
              testing::half_value(value_table[static_cast<size_t>(t / kKvBlock)][t % kKvBlock * c.head_dim + d]);
          const float product = weights[static_cast<size_t>(t)] * v;
          acc = acc + product;
        }
        expected[static_cast<size_t>(h * c.head_dim + d)] = acc / total;
      }
    }
    CHECK(differing(out.data(), expected.data(), out.size()) == 0);
  }
  return out;
}

TEST_CASE("attention is the same in every kernel, for any length, group and head size") {
  for (const int64_t length : {1, 2, 15, 16, 17, 63, 64, 65, 130, 300})
    for (const int64_t group : {1, 2, 3, 6, 7})
      for (const int64_t head_dim : {16, 64, 128}) {
        if (length > 130 && group != 6) continue;
        const AttentionCase c{group, head_dim, length};
        const auto expected = run_attention(scalar(), c, 17);
        for (const KernelTable* kernel : testing::kernels()) {
          INFO(kernel->name << " length " << length << " group " << group << " head " << head_dim);
          const auto out = run_attention(*kernel, c, 17);
          REQUIRE(differing(out.data(), expected.data(), out.size()) == 0);
        }
      }
}

TEST_CASE("SwiGLU and its exponential are the same in every kernel and close to the exact value") {
  std::vector<float> gate, up;
  for (int i = -3000; i <= 3000; ++i) gate.push_back(static_cast<float>(i) * 0.04f);
  for (const float x : {-1e30f, -100.0f, -87.5f, -87.0f, 87.0f, 87.5f, 100.0f, 1e30f, 0.0f, -0.0f, 1e-30f})
    gate.push_back(x);
  Random random(23);
  while (gate.size() % 16 != 5) gate.push_back(static_cast<float>(random.normal()));
  for (size_t i = 0; i < gate.size(); ++i) up.push_back(static_cast<float>(random.normal()));
  std::vector<float> expected = gate;
  scalar().swiglu(expected.data(), up.data(), static_cast<int64_t>(gate.size()));
  for (size_t i = 0; i < gate.size(); ++i) {
    const double g = static_cast<double>(gate[i]);
    if (std::fabs(g) > 80) continue;
    const double exact = g / (1 + std::exp(-g)) * static_cast<double>(up[i]);
    CHECK(std::fabs(static_cast<double>(expected[i]) - exact) <= 1e-6 * std::fabs(exact));
  }
  for (const KernelTable* kernel : testing::kernels()) {
    INFO(kernel->name);
    for (const size_t n : {gate.size(), size_t{1}, size_t{15}, size_t{33}}) {
      std::vector<float> out(gate.begin(), gate.begin() + static_cast<int64_t>(n));
      kernel->swiglu(out.data(), up.data(), static_cast<int64_t>(n));
      CHECK(differing(out.data(), expected.data(), n) == 0);
    }
  }
}

TEST_CASE("The sums that benchmarks compare with read every byte and do every round") {
  std::vector<uint8_t> bytes(3 * kReadStep);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 89 + i / 256);
  int8_t seed[64];
  for (int i = 0; i < 64; ++i) seed[i] = static_cast<int8_t>(i * 37 % 255 - 127);
  for (const KernelTable* kernel : testing::kernels()) {
    INFO(kernel->name);
    uint32_t total = 0;
    for (size_t at = 0; at < bytes.size(); at += 4) {
      uint32_t word;
      std::memcpy(&word, bytes.data() + at, 4);
      total += word;
      if ((at + 4) % kReadStep == 0)
        CHECK(static_cast<uint32_t>(kernel->read_sum(bytes.data(), static_cast<int64_t>(at + 4))) == total);
    }

    int64_t macs[4];
    int32_t sums[4];
    for (int i = 0; i < 4; ++i) macs[i] = kernel->dot_peak(16 * i, seed, &sums[i]);
    const uint32_t step = static_cast<uint32_t>(sums[1]) - static_cast<uint32_t>(sums[0]);
    CHECK(step != 0);
    CHECK(macs[0] == 0);
    CHECK(macs[1] > 0);
    for (int i = 2; i < 4; ++i) {
      CHECK(macs[i] == i * macs[1]);
      CHECK(static_cast<uint32_t>(sums[i]) - static_cast<uint32_t>(sums[i - 1]) == step);
    }
  }
}

}  // namespace
}  // namespace bitwin
