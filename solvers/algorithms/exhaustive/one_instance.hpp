// One small instance from its raw scores to a certified maximiser, in one call;
// compiled/checks/one_instance.hpp explains why.
#pragma once

#include <optional>

#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

// More variables take so long to search that the checks do not matter.
inline constexpr int ONE_INSTANCE_VARIABLES = 16;

// Finds a maximiser over given pairs.
//
// Args:
//     positions: `[n + e]`, as `maximise` takes them.
//     edges: `[e, 2]`, within 0 .. n - 1.
//     unary: `[1, n]`, 1 <= n <= ONE_INSTANCE_VARIABLES.
//     pairwise: `[1, e]`.
//     largest: magnitude above which sums could overflow.
//     z: `[1, n]`, written.
//
// Returns the score of z, or nothing if the scores are not finite, too large, or such that rounding
// could confuse them.
std::optional<double> maximise_pairs(std::span<const std::uint64_t> positions,
                                     Matrix<const Index> edges, Matrix<const double> unary,
                                     Matrix<const double> pairwise, double largest,
                                     Matrix<std::int8_t> z);

// Finds a maximiser of a matrix `[n, n]` of pairwise scores.
//
// Returns nothing also if the matrix is neither upper triangular nor symmetric, has an entry on its
// diagonal, or scores no pair.
std::optional<double> maximise_matrix(Matrix<const double> unary, Cube<const double> matrix,
                                      double largest, Matrix<std::int8_t> z);

}  // namespace solvers::exhaustive
