// Maximum flow on small dense graphs, with a node's residual arcs as the bits of one word;
// one_word.py has the identity.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::max_flow {

// Node sets are the bits of one word; bit 63 stays free.
inline constexpr Index ONE_WORD_NODES = 62;

// Writes a maximiser of each supermodular instance, and an upper bound on its maximum that is
// attained up to rounding.
//
// Args:
//     ends: `[e, 2]`, the two nodes of each edge.
//     unary: `[batch, n]`, n <= ONE_WORD_NODES.
//     pairwise: `[batch, e]`, >= 0.
//     z: `[batch, n]`, written.
//     bound: `[batch]`, written.
template <class Score>
void cut_in_one_word(Matrix<const std::uint8_t> ends, Matrix<const Score> unary,
                     Matrix<const Score> pairwise, Matrix<std::int8_t> z, std::span<double> bound);

}  // namespace solvers::max_flow
