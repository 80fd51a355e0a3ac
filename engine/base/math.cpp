#include "engine/base/math.h"

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>

// Methods: argument reduction in parts (Cody and Waite 1980), Taylor series on the small interval that is left, and
// double-double arithmetic where a plain double would lose bits (Dekker 1971). Every step is one IEEE-754 operation;
// -ffp-contract=off keeps it so. Series stop where the next term is below 2^-58 of the result.
namespace bitwin::math {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kExpMax = 0x1.62e42fefa39efp+9;  // 709.78: the largest whose exponential is finite
constexpr double kExpMin = -708.0;

// Adding and subtracting it rounds to the nearest whole number, even among equals, below 2^51.
constexpr double kRounder = 0x1.8p+52;

// An unevaluated sum; |lo| is at most half an ulp of hi.
struct Pair {
  double hi, lo;
};

// a + b without error, for |a| >= |b| or a = 0.
Pair fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// a + b without error (Knuth).
Pair two_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

// The upper 26 bits (Veltkamp's splitting), for |a| < 2^996.
double upper_half(double a) {
  const double scaled = a * 0x1.0000002p+27;
  return scaled - (scaled - a);
}

// a * b without error (Dekker), far from overflow and underflow.
Pair two_product(double a, double b) {
  const double product = a * b;
  const double a1 = upper_half(a), b1 = upper_half(b);
  const double a2 = a - a1, b2 = b - b1;
  return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

Pair add(Pair a, Pair b) {
  const Pair sum = two_sum(a.hi, b.hi);
  return fast_two_sum(sum.hi, sum.lo + (a.lo + b.lo));
}

Pair multiply(Pair a, Pair b) {
  const Pair product = two_product(a.hi, b.hi);
  return fast_two_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

Pair divide(Pair a, Pair b) {
  const double quotient = a.hi / b.hi;
  const Pair product = two_product(quotient, b.hi);
  const double rest = (((a.hi - product.hi) - product.lo) + a.lo) - quotient * b.lo;
  return fast_two_sum(quotient, rest / b.hi);
}

double power_of_two(int64_t exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

// e^(hi + lo) for kExpMin <= hi <= kExpMax and |lo| <= 2^-40.
double exp_sum(double hi, double lo) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2Upper = 0x1.62e42fefp-1;  // 33 bits: its product with k is exact
  constexpr double kLn2Lower = 0x1.473de6af278edp-34;
  const double k = (hi * kLog2E + kRounder) - kRounder;
  const double upper = hi - k * kLn2Upper;
  const double lower = k * kLn2Lower;
  const double r = upper - lower;  // |r| <= 0.347
  const double correction = ((upper - r) - lower) + lo;
  // (e^r - 1 - r) / r^2 by its even and its odd terms, two chains that a processor can work on at once.
  const double z = r * r;
  double even = 1.0 / 479001600.0;  // 1/12!
  for (const double c : {1.0 / 3628800.0, 1.0 / 40320.0, 1.0 / 720.0, 1.0 / 24.0, 1.0 / 2.0}) even = even * z + c;
  double odd = 1.0 / 6227020800.0;  // 1/13!
  for (const double c : {1.0 / 39916800.0, 1.0 / 362880.0, 1.0 / 5040.0, 1.0 / 120.0, 1.0 / 6.0}) odd = odd * z + c;
  const double tail = z * (even + r * odd);
  const double value = 1.0 + (r + (tail + correction * (1.0 + (r + tail))));
  // Two steps, since 2^1024 is no double.
  const int64_t exponent = static_cast<int64_t>(k);
  const int64_t half = exponent / 2;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

// ln(x) for finite x > 0, to about 2^-70 of the result.
Pair log_pair(double x) {
  int64_t exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  // x = 2^exponent * m with sqrt(1/2) <= m < sqrt(2).
  uint64_t bits = std::bit_cast<uint64_t>(x);
  exponent += static_cast<int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (m >= 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    ++exponent;
  }
  // ln(m) = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1), |s| <= 0.1716.
  const Pair s = divide({m - 1.0, 0.0}, two_sum(m, 1.0));
  const Pair z = multiply(s, s);
  double tail = 1.0 / 29.0;
  for (int n = 27; n >= 11; n -= 2) tail = tail * z.hi + 1.0 / n;
  Pair series{tail, 0.0};
  for (const double n : {9.0, 7.0, 5.0, 3.0, 1.0}) series = add(multiply(series, z), divide({1.0, 0.0}, {n, 0.0}));
  const Pair log_m = multiply({2.0 * s.hi, 2.0 * s.lo}, series);
  // ln(2) in three parts; the products of the first two with the exponent are exact.
  const double k = static_cast<double>(exponent);
  const Pair ln2 = add({k * 0x1.62e42fefa2p-1, 0.0}, {k * 0x1.9ef35793c6p-41, k * 0x1.673007e5ed5e8p-81});
  return add(ln2, log_m);
}

}  // namespace

double exp(double x) {
  if (!(x >= kExpMin)) return x != x ? x : 0.0;
  if (x > kExpMax) return kInfinity;
  return exp_sum(x, 0.0);
}

double log(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  if (x == kInfinity) return x;
  return log_pair(x).hi;
}

double pow(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1.0;
  if (!(base > 0) || base == kInfinity || exponent != exponent) {
    if (base != 0 && base != kInfinity) return kNaN;
    return (base == 0) == (exponent < 0) ? kInfinity : 0.0;
  }
  const Pair logarithm = log_pair(base);
  const double product = exponent * logarithm.hi;
  if (product > kExpMax) return kInfinity;
  if (product < kExpMin) return 0.0;
  const Pair exact = two_product(exponent, logarithm.hi);
  return exp_sum(exact.hi, exact.lo + exponent * logarithm.lo);
}

void sincos(double x, double* sine, double* cosine) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  const double shifted = x * kTwoOverPi + kRounder;
  const double k = shifted - kRounder;
  const unsigned quadrant = static_cast<unsigned>(std::bit_cast<uint64_t>(shifted)) & 3;
  // pi/2 in four parts; those of 27, 26 and 26 bits have exact products with k < 2^26.
  const double first = x - k * 0x1.921fb54p+0;
  const Pair second = two_sum(first, -(k * 0x1.10b461p-30));
  const Pair third = two_sum(second.hi, -(k * 0x1.a62633p-58));
  const double rest = (third.lo + second.lo) - k * 0x1.45c06e0e68948p-86;
  const Pair r = two_sum(third.hi, rest);  // |r| <= pi/4

  const double z = r.hi * r.hi;
  double s = 1.0 / 355687428096000.0;  // 1/17!, signs alternate
  for (const double c : {-1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0,
                         1.0 / 120.0, -1.0 / 6.0}) {
    s = s * z + c;
  }
  // sin(hi + lo) = sin(hi) + lo cos(hi).
  const double sine_r = r.hi + (s * (z * r.hi) + r.lo * (1.0 - 0.5 * z));

  double c = -1.0 / 6402373705728000.0;  // 1/18!
  for (const double d : {1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
                         1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0}) {
    c = c * z + d;
  }
  // 1 - z/2 keeps its rounding error; cos(hi + lo) = cos(hi) - lo sin(hi).
  const double half = 0.5 * z;
  const double head = 1.0 - half;
  const double cosine_r = head + (((1.0 - head) - half) + (c * (z * z) - r.hi * r.lo));

  *sine = (quadrant & 1) != 0 ? cosine_r : sine_r;
  *cosine = (quadrant & 1) != 0 ? sine_r : cosine_r;
  if (quadrant == 2 || quadrant == 3) *sine = -*sine;
  if (quadrant == 1 || quadrant == 2) *cosine = -*cosine;
}

}  // namespace bitwin::math
