// Elementary functions in double that are the same in every build: libm is not called anywhere in the engine.
// They serve tables and the sampler; the forward pass has its float versions in f32x16.h.
#pragma once

namespace bitwin::math {

// Natural exponential; 0 below -708, +infinity above 709.78.
double exp(double x);

// Natural logarithm of x > 0; -infinity at 0.
double log(double x);

// base^exponent for base > 0.
double pow(double base, double exponent);

// Sine and cosine for |x| <= 2^26 (radians), by Cody-Waite reduction to [-pi/4, pi/4].
void sincos(double x, double* sine, double* cosine);

}  // namespace bitwin::math
