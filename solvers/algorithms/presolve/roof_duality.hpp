// Pairwise scores shared equally by their two variables; roof_duality.py has the resulting bound.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::presolve {

// Writes unary_i + sum_j w_ij / 2 to `field [batch, n]` and sum_(w < 0) |w| / 2 to `constant
// [batch]`.
template <class Score>
void halve(Matrix<const Index> edges, Matrix<const Score> unary, Matrix<const Score> pairwise,
           Matrix<double> field, std::span<double> constant);

}  // namespace solvers::presolve
