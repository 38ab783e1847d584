// The states of highest score among all 2^n, in order.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

// Writes the best states of each instance, bit i for variable i, the best first.
//
// Args:
//     unary: `[batch, n]`.
//     pairwise: `[batch, n, n]`, symmetric.
//     codes: `[batch, count]`, written; 2^n >= count.
void best_codes(Matrix<const double> unary, Cube<const double> pairwise, Matrix<Index> codes);

}  // namespace solvers::exhaustive
