// Bit flips that turn a problem supermodular; supermodular_flips.py says when there are any.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::max_flow {

// Writes the flips of each instance after which no pairwise score is negative, and whether there
// are any.
//
// Args:
//     edges: `[e, 2]`.
//     pairwise: `[batch, e]`; edges of score zero do not count.
//     flips: `[batch, n]`, written where there are flips, else left alone.
//     exist: `[batch]`, written.
template <class Score>
void fill_flips(Matrix<const Index> edges, Matrix<const Score> pairwise, Matrix<std::int8_t> flips,
                std::span<bool> exist);

}  // namespace solvers::max_flow
