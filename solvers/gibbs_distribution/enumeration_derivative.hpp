// Derivatives over all 2^n states: of the marginals along a direction, and of conditionals of
// samples.
//
// That of the marginals is Cov(phi, phi . direction), with phi the z_i and the z_i z_j of the
// edges: the mean of phi times what phi . direction has beyond its own mean. That of
// P(z_v = 1 | drawn before) is a difference of two means of phi, over the runs of states
// (enumeration_completions.hpp) with z_v = 1 and with z_v = 0. All are sums of phi times the weight
// and a factor of the state, so one pass over all weights gives their sum.
#pragma once

#include "solvers/gibbs_distribution/enumeration_completions.hpp"

namespace solvers::gibbs_distribution {

// Samples, and what a derivative weighs the conditionals of their variables by.
struct Drawn {
    Cube<const std::int8_t> z;   // [batch, samples, n], zeros and ones
    Cube<const Index> chosen;    // [batch, samples, m], variables
    Cube<const double> changes;  // [batch, samples, m], at most 1
};

struct Directions {
    Matrix<const double> coefficients;  // [batch, n + e], at most 1 in absolute value
    std::span<const double> means;      // [batch], direction . marginals
    std::span<const double> totals;     // [batch], of the weights of all states
};

// Writes to `products` `[batch, n + e]` that of direction . marginals and of the sum of
// changes * P(z_v = 1 | drawn before).
//
// `running` has the sums of each block by itself.
void derive(const Triangle& triangle, Stop stop, const Running& running, const Drawn& drawn,
            const Directions& directions, Matrix<double> products);

}  // namespace solvers::gibbs_distribution
