// All 2^n states of small pairwise problems, scored in integers; host.py explains why the answer is
// exact.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

inline constexpr int MAX_VARIABLES = 25;

// Writes a maximiser of each instance.
//
// Args:
//     positions: `[n + e]`, the place of each coefficient in the flattened matrix of
//         MAX_VARIABLES^2 weights; column <= row.
//     n: number of variables, 1 to MAX_VARIABLES.
//     unary: `[batch, n]`, finite.
//     pairwise: `[batch, e]`, finite.
//     z: `[batch, n]`, written.
template <class Score>
void maximise(std::span<const std::uint64_t> positions, int n, Matrix<const Score> unary,
              Matrix<const Score> pairwise, Matrix<std::int8_t> z);

}  // namespace solvers::exhaustive
