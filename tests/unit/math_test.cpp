#include "engine/base/math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "tests/unit/catch.h"

namespace math = bitwin::math;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Distance in units in the last place; the two have the same sign or are near zero.
uint64_t ulps(double a, double b) {
  const auto ordered = [](double x) {
    const int64_t bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
  };
  const int64_t x = ordered(a), y = ordered(b);
  return x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
               : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
}

struct Random {
  uint64_t state = 1;
  uint64_t next() {
    state = state * 6364136223846793005 + 1442695040888963407;
    return state ^ (state >> 29);
  }
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53); }
};

}  // namespace

TEST_CASE("exp is within one ulp of the C library's over its whole range") {
  uint64_t worst = 0;
  Random random;
  for (int i = 0; i < 400000; ++i) {
    for (const double range : {1e-6, 1.0, 30.0, 708.0}) {
      const double x = random.uniform(-range, range);
      worst = std::max(worst, ulps(math::exp(x), std::exp(x)));
    }
  }
  CHECK(worst <= 1);
}

TEST_CASE("exp has its documented limits") {
  CHECK(math::exp(0.0) == 1.0);
  CHECK(math::exp(-708.0000001) == 0.0);
  CHECK(math::exp(-708.0) > 0.0);
  CHECK(math::exp(-kInfinity) == 0.0);
  CHECK(math::exp(709.79) == kInfinity);
  CHECK(math::exp(kInfinity) == kInfinity);
  CHECK(std::isfinite(math::exp(709.782712893383)));
  CHECK(std::isnan(math::exp(std::nan(""))));
}

TEST_CASE("log is within one ulp of the C library's for normal and denormal numbers") {
  uint64_t worst = 0;
  Random random;
  for (int i = 0; i < 200000; ++i) {
    const double any = std::bit_cast<double>(random.next() >> 1);
    if (any > 0 && any < kInfinity) worst = std::max(worst, ulps(math::log(any), std::log(any)));
    const double near_one = random.uniform(0.5, 2.0);
    worst = std::max(worst, ulps(math::log(near_one), std::log(near_one)));
    const double nearer = 1.0 + random.uniform(-1e-9, 1e-9);
    worst = std::max(worst, ulps(math::log(nearer), std::log(nearer)));
  }
  CHECK(worst <= 1);
}

TEST_CASE("log has its documented limits") {
  CHECK(math::log(1.0) == 0.0);
  CHECK(math::log(0.0) == -kInfinity);
  CHECK(math::log(kInfinity) == kInfinity);
  CHECK(std::isnan(math::log(-1.0)));
  CHECK(std::isnan(math::log(std::nan(""))));
  CHECK(math::log(0x1p-1074) == -744.44007192138126);
}

TEST_CASE("pow is within one ulp of the C library's, also where the result is large") {
  uint64_t worst = 0;
  Random random;
  for (int i = 0; i < 300000; ++i) {
    const double base = math::exp(random.uniform(-14.0, 14.0));
    const double exponent = random.uniform(-50.0, 50.0);
    worst = std::max(worst, ulps(math::pow(base, exponent), std::pow(base, exponent)));
  }
  for (int dimension = 2; dimension <= 256; dimension += 2) {
    for (int i = 0; i < dimension; i += 2) {
      for (const double base : {10000.0, 500000.0, 1000000.0}) {
        const double exponent = -static_cast<double>(i) / dimension;
        worst = std::max(worst, ulps(math::pow(base, exponent), std::pow(base, exponent)));
      }
    }
  }
  CHECK(worst <= 1);
}

TEST_CASE("pow is exact where the result is a small whole power") {
  CHECK(math::pow(10.0, 3.0) == 1000.0);
  CHECK(math::pow(2.0, -10.0) == 0x1p-10);
  CHECK(math::pow(7.0, 0.0) == 1.0);
  CHECK(math::pow(1.0, 1e300) == 1.0);
  CHECK(math::pow(9.0, 0.5) == 3.0);
  CHECK(math::pow(2.0, 1e300) == kInfinity);
  CHECK(math::pow(2.0, -1e300) == 0.0);
  CHECK(math::pow(0.0, 2.0) == 0.0);
  CHECK(math::pow(0.0, -2.0) == kInfinity);
  CHECK(math::pow(kInfinity, 2.0) == kInfinity);
  CHECK(math::pow(kInfinity, -2.0) == 0.0);
  CHECK(std::isnan(math::pow(-2.0, 2.0)));
  CHECK(std::isnan(math::pow(2.0, std::nan(""))));
}

TEST_CASE("sine and cosine are within one ulp of the C library's up to 2^26, also next to multiples of pi/2") {
  uint64_t worst = 0;
  const auto compare = [&worst](double x) {
    double sine, cosine;
    math::sincos(x, &sine, &cosine);
    worst = std::max({worst, ulps(sine, std::sin(x)), ulps(cosine, std::cos(x))});
  };
  Random random;
  for (int i = 0; i < 300000; ++i) {
    for (const double range : {1e-5, 1.0, 100.0, 131072.0, 0x1p26}) compare(random.uniform(-range, range));
  }
  for (int k = -200000; k < 200000; ++k) {
    const double multiple = k * 211 * 1.5707963267948966;
    if (std::fabs(multiple) <= 0x1p26) compare(multiple);
  }
  CHECK(worst <= 1);
}

TEST_CASE("sine and cosine of zero are exact") {
  double sine, cosine;
  math::sincos(0.0, &sine, &cosine);
  CHECK(sine == 0.0);
  CHECK(cosine == 1.0);
}

TEST_CASE("elementary functions give the same bits in every build") {
  // The constants were computed once by this code; a build that differs in one bit fails.
  uint64_t mixed = 0;
  Random random;
  for (int i = 0; i < 10000; ++i) {
    double sine, cosine;
    math::sincos(random.uniform(-200000.0, 200000.0), &sine, &cosine);
    const double exponential = math::exp(random.uniform(-700.0, 700.0));
    const double logarithm = math::log(random.uniform(0.0, 1e6));
    const double base = random.uniform(0.0, 1e6);
    const double power = math::pow(base, random.uniform(-40.0, 40.0));
    for (const double value : {sine, cosine, exponential, logarithm, power}) {
      mixed = (mixed ^ std::bit_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15;
      mixed ^= mixed >> 31;
    }
  }
  CHECK(mixed == 0x4f78440037bdd6d5);
}
