// All states of many small problems, with one instance in each lane of a vector.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

// With so few variables a vector has more lanes than one instance needs; the scores of all states
// of LANES instances still fit the L1 cache.
inline constexpr int LANE_VARIABLES = 8;

// Writes a maximiser of each instance, the same one as `maximise`, whose arguments it takes.
template <class Score>
void maximise_in_lanes(std::span<const std::uint64_t> positions, int n, Matrix<const Score> unary,
                       Matrix<const Score> pairwise, Matrix<std::int8_t> z);

}  // namespace solvers::exhaustive
