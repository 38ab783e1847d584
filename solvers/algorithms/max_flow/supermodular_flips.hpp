// Bit flips that make a problem supermodular; supermodular_flips.py explains when there are any.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::max_flow {

// Writes the flips of each instance that make all pairwise scores >= 0, and whether such flips
// exist.
//
// Args:
//     edges: `[e, 2]`.
//     pairwise: `[batch, e]`; edges of score zero do not count.
//     flips: `[batch, n]`, written where flips exist, else unchanged.
//     exist: `[batch]`, written.
template <class Score>
void fill_flips(Matrix<const Index> edges, Matrix<const Score> pairwise, Matrix<std::int8_t> flips,
                std::span<bool> exist);

}  // namespace solvers::max_flow
