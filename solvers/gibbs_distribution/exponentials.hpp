// exp, and sums of exponentials, of many numbers at once in whole vectors.
//
// With k = round(x / log 2) and r = x - k log 2, exp(x) = 2^k exp(r) where abs(r) <= log(2) / 2:
// there the Taylor polynomial of degree 13 is exact to rounding. Adding 1.5 * 2^52 rounds to an
// integer, and leaves it in the low bits, from where it is shifted to the exponent's place.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::gibbs_distribution {

// Least number whose exp is a normal number; subnormal ones would be slow, and are negligible.
inline constexpr double LOWEST = -700.0;

// Replaces each number of `x`, at most 709, by its exp, and numbers below LOWEST by 0.
void exponentiate(std::span<double> x);

// Fills log(exp(one) + exp(zero)) of each pair of finite numbers, and the share of exp(one) in that
// sum.
//
// Args: `[size]` each; `logs` and `shares` overlap nothing.
void sum_exponentials(std::span<const double> ones, std::span<const double> zeros, double* logs,
                      double* shares);

}  // namespace solvers::gibbs_distribution
