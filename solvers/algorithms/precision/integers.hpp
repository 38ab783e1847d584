// Real scores as integer multiples of a power of two.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::precision {

// Writes the nearest integers to scores times both factors of their instance, and the total change
// of the scores of an instance.
//
// Args:
//     scores: `[batch, m]`.
//     factors: `[batch, 2]`, whose product is a power of two; one factor alone might exceed
//         float64.
//     nearest: `[batch, m]`, written.
//     moved: `[batch]`, written.
template <class Score>
void round_instances(Matrix<const Score> scores, Matrix<const double> factors,
                     Matrix<Index> nearest, std::span<double> moved);

}  // namespace solvers::precision
