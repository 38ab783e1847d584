// Log-partition function and marginals of p(z) ~ exp(score(z)) over all 2^n states.
//
// One pass over the blocks of weights (weights.hpp) gives the sum over all states, and sums over
// the states in which one or two given bits are 1 (sums.hpp). It keeps running sums, from which
// draws.hpp draws samples.
#pragma once

#include "solvers/gibbs_distribution/blocks.hpp"

namespace solvers::gibbs_distribution {

// Sums of 2^20 weights, each of exp(STEEP) at most, do not overflow.
inline constexpr int MAX_VARIABLES = 20;

// The results of `infer` for instances `[batch, n + e]`.
struct Inferred {
    std::span<double> references;  // [batch], the score of weight 1
    Matrix<double> cumulative;     // [batch, 2^depth], the weights up to the end of each block
    Matrix<double> weights;        // [batch, 2^depth], those of each block by itself
    std::span<double> log_z;       // [batch]
    Matrix<double> marginals;      // [batch, n + e]
};

void infer(const Triangle& triangle, Stop stop, Matrix<const double> coefficients,
           const Inferred& inferred);

}  // namespace solvers::gibbs_distribution
