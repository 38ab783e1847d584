#include "solvers/gibbs_distribution/exponentials.hpp"

#include <bit>
#include <cmath>

namespace solvers::gibbs_distribution {
namespace {

constexpr double INVERSE_LOG_2 = 1.4426950408889634074;
constexpr double ROUND = 0x1.8p52;
constexpr double LOG_2_HIGH = 0.693147180369123816490;  // its lowest bits are zero: times k < 2^11
                                                        // it is exact
constexpr double LOG_2_LOW = 1.90821492927058770002e-10;
constexpr int MANTISSA_BITS = 52;
constexpr std::uint64_t BIAS = 1023;

// a b + c, rounded once where the processor can.
inline double fused(double a, double b, double c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

// exp(r) for abs(r) <= log(2) / 2.
inline double taylor(double r) {
    double value = 1.0 / 6227020800.0;
    value = fused(value, r, 1.0 / 479001600.0);
    value = fused(value, r, 1.0 / 39916800.0);
    value = fused(value, r, 1.0 / 3628800.0);
    value = fused(value, r, 1.0 / 362880.0);
    value = fused(value, r, 1.0 / 40320.0);
    value = fused(value, r, 1.0 / 5040.0);
    value = fused(value, r, 1.0 / 720.0);
    value = fused(value, r, 1.0 / 120.0);
    value = fused(value, r, 1.0 / 24.0);
    value = fused(value, r, 1.0 / 6.0);
    value = fused(value, r, 1.0 / 2.0);
    value = fused(value, r, 1.0);
    return fused(value, r, 1.0);
}

inline double exponential(double x) {
    const double gain = x > LOWEST ? x : LOWEST;
    const double shifted = fused(gain, INVERSE_LOG_2, ROUND);
    const double k = shifted - ROUND;
    const double r = fused(-k, LOG_2_LOW, fused(-k, LOG_2_HIGH, gain));
    const auto exponent = (std::bit_cast<std::uint64_t>(shifted) + BIAS) << MANTISSA_BITS;
    const double power = taylor(r) * std::bit_cast<double>(exponent);
    return x >= LOWEST ? power : 0.0;
}

// log(1 + x) for 0 <= x <= 1, as 2 artanh(x / (2 + x)).
//
// The argument is at most 1 / 3, and the rest of its series beyond the 33rd power is below
// rounding.
inline double log_of_one_more(double x) {
    const double t = x / (2.0 + x);
    const double square = t * t;
    double value = 1.0 / 33.0;
    value = fused(value, square, 1.0 / 31.0);
    value = fused(value, square, 1.0 / 29.0);
    value = fused(value, square, 1.0 / 27.0);
    value = fused(value, square, 1.0 / 25.0);
    value = fused(value, square, 1.0 / 23.0);
    value = fused(value, square, 1.0 / 21.0);
    value = fused(value, square, 1.0 / 19.0);
    value = fused(value, square, 1.0 / 17.0);
    value = fused(value, square, 1.0 / 15.0);
    value = fused(value, square, 1.0 / 13.0);
    value = fused(value, square, 1.0 / 11.0);
    value = fused(value, square, 1.0 / 9.0);
    value = fused(value, square, 1.0 / 7.0);
    value = fused(value, square, 1.0 / 5.0);
    value = fused(value, square, 1.0 / 3.0);
    return 2.0 * fused(t * square, value, t);
}

}  // namespace

void exponentiate(std::span<double> x) {
    double* values = x.data();
    const Index size = length(x);
#pragma omp simd
    for (Index s = 0; s < size; ++s) values[s] = exponential(values[s]);
}

void sum_exponentials(std::span<const double> ones, std::span<const double> zeros, double* logs,
                      double* shares) {
    const double* with = ones.data();
    const double* without = zeros.data();
    const Index size = length(ones);
#pragma omp simd
    for (Index s = 0; s < size; ++s) {
        const double one = with[s];
        const double zero = without[s];
        const double decay = exponential(-std::abs(one - zero));
        logs[s] = (one > zero ? one : zero) + log_of_one_more(decay);
        shares[s] = (one > zero ? 1.0 : decay) / (1.0 + decay);
    }
}

}  // namespace solvers::gibbs_distribution
