// Small instances from their raw scores to certified maximisers, in one call;
// compiled/checks/at_once.hpp explains why.
#pragma once

#include <optional>

#include "solvers/algorithms/exhaustive/pairs.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

// More variables take so long to search that the checks do not matter.
inline constexpr int AT_ONCE_VARIABLES = 16;

// Finds a maximiser of each instance over given pairs.
//
// Args:
//     pairs: of n variables, n <= AT_ONCE_VARIABLES.
//     unary: `[batch, n]`.
//     pairwise: `[batch, e]`.
//     largest: magnitude above which sums could overflow.
//     z: `[batch, n]`, written.
//     score: `[batch]`, written: the score of z, which is also the bound on all scores.
//
// Returns false if the scores of an instance are not finite, too large, or such that rounding could
// confuse them. Then what is written means nothing.
bool maximise_at_once(const Pairs& pairs, Matrix<const double> unary, Matrix<const double> pairwise,
                      double largest, Matrix<std::int8_t> z, std::span<double> score);

// Finds a maximiser of one instance with a matrix `[1, n, n]` of pairwise scores, and returns its
// score.
//
// Returns nothing also if the matrix is neither upper triangular nor symmetric, has an entry on its
// diagonal, or scores no pair.
std::optional<double> maximise_matrix(Matrix<const double> unary, Cube<const double> matrix,
                                      double largest, Matrix<std::int8_t> z);

}  // namespace solvers::exhaustive
