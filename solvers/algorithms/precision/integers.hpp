// Real scores as integer multiples of a power of two.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::precision {

// Writes the nearest integers to scores / 2^exponent, and the total change of those quotients.
//
// Args:
//     scores: `[batch, m]`.
//     exponent: `[batch]`, -1200 to 1200.
//     nearest: `[batch, m]`, written.
//     moved: `[batch]`, written.
template <class Score>
void round_instances(Matrix<const Score> scores, std::span<const std::int32_t> exponent,
                     Matrix<Index> nearest, std::span<double> moved);

}  // namespace solvers::precision
