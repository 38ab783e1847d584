// One small supermodular instance from its raw scores to a certified maximiser, in one call;
// compiled/checks/at_once.hpp explains why.
#pragma once

#include <optional>

#include "solvers/compiled/checks/at_once.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::max_flow {

// Finds a maximiser over given pairs.
//
// Args:
//     edges: `[e, 2]`, within 0 .. n - 1.
//     unary: `[1, n]`, 1 <= n <= ONE_WORD_NODES.
//     pairwise: `[1, e]`.
//     largest: magnitude above which sums could overflow.
//     z: `[1, n]`, written.
//
// Returns nothing if the scores are not finite, too large, or such that rounding could confuse
// them, or if a pairwise score is negative.
std::optional<checks::Certified> maximise_pairs(Matrix<const Index> edges,
                                                Matrix<const double> unary,
                                                Matrix<const double> pairwise, double largest,
                                                Matrix<std::int8_t> z);

// Finds a maximiser of a matrix `[1, n, n]` of pairwise scores.
//
// Returns nothing also if the matrix is neither upper triangular nor symmetric, has an entry on its
// diagonal, or scores no pair.
std::optional<checks::Certified> maximise_matrix(Matrix<const double> unary,
                                                 Cube<const double> matrix, double largest,
                                                 Matrix<std::int8_t> z);

}  // namespace solvers::max_flow
