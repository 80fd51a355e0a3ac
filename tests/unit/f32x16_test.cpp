// The vector type with the backend that the tests are compiled for; the kernels' tests compare the others with it.
#include "engine/base/f32x16.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/reference.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

uint32_t bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}

float exp_of(float x) {
  float lanes[16];
  store(lanes, exp(splat(x)));
  return lanes[7];
}

TEST_CASE("the sum of the lanes is the fixed tree") {
  testing::Random random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<float> x(16);
    for (float& v : x) v = static_cast<float>(random.normal() * std::pow(10.0, random.uniform(-5, 5)));
    CHECK(bits(reduce_add(load(x.data()))) == bits(testing::lane_sum(x)));
  }
}

TEST_CASE("the maximum is a < b ? b : a") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, std::numeric_limits<float>::infinity(), nan};
  for (const float a : values)
    for (const float b : values) {
      float lanes[16];
      store(lanes, max(splat(a), splat(b)));
      CHECK(bits(lanes[3]) == bits(a < b ? b : a));
    }
}

TEST_CASE("every FP16 value is read exactly and written back as it was") {
  for (uint32_t first = 0; first < 0x10000; first += 16) {
    if ((first & 0x7c00) == 0x7c00) continue;  // infinities and NaN
    uint16_t halves[16], again[16];
    float lanes[16];
    for (uint32_t i = 0; i < 16; ++i) halves[i] = static_cast<uint16_t>(first + i);
    store(lanes, load_half(halves));
    store_half(again, load_half(halves));
    for (int i = 0; i < 16; ++i) {
      REQUIRE(bits(lanes[i]) == bits(testing::half_value(halves[i])));
      REQUIRE(again[i] == halves[i]);
    }
  }
}

TEST_CASE("exp is within two units in the last place, and has no denormals or infinities") {
  for (int i = -87000; i <= 87000; i += 7) {
    const float x = static_cast<float>(i) / 1000.0f;
    const double exact = std::exp(static_cast<double>(x));
    const double unit =
        static_cast<double>(std::nextafter(static_cast<float>(exact), 1e38f) - static_cast<float>(exact));
    CAPTURE(x);
    REQUIRE(std::fabs(static_cast<double>(exp_of(x)) - exact) <= 2 * unit);
  }
  CHECK(exp_of(0.0f) == 1.0f);
  CHECK(bits(exp_of(-87.001f)) == 0);
  CHECK(bits(exp_of(-std::numeric_limits<float>::infinity())) == 0);
  CHECK(exp_of(-87.0f) >= std::numeric_limits<float>::min());
  CHECK(exp_of(1e30f) == exp_of(87.0f));
  CHECK(std::isfinite(exp_of(87.0f)));
}

TEST_CASE("partial loads and stores touch no more than they are asked to") {
  for (int64_t n = 0; n <= 16; ++n) {
    std::vector<float> x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
    float lanes[16];
    store(lanes, load_first(x.data(), n, -5.0f));
    for (int64_t i = 0; i < 16; ++i) CHECK(lanes[i] == (i < n ? static_cast<float>(i + 1) : -5.0f));
    std::vector<float> out(17, 9.0f);
    store_first(out.data(), load(lanes), n);
    for (int64_t i = 0; i < 17; ++i) CHECK(out[static_cast<size_t>(i)] == (i < n ? static_cast<float>(i + 1) : 9.0f));
  }
}

}  // namespace
}  // namespace bitwin
