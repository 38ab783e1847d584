// All 2^n states of small pairwise problems, scored in integers; host.py explains why the answer is
// exact.
#pragma once

#include "solvers/algorithms/exhaustive/pairs.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

// Writes a maximiser of each instance.
//
// Args:
//     pairs: of n variables.
//     unary: `[batch, n]`, finite.
//     pairwise: `[batch, e]`, finite.
//     z: `[batch, n]`, written.
template <class Score>
void maximise(const Pairs& pairs, Matrix<const Score> unary, Matrix<const Score> pairwise,
              Matrix<std::int8_t> z);

}  // namespace solvers::exhaustive
