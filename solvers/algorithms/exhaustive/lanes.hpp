// All states of many small problems, with one instance in each lane of a vector.
#pragma once

#include "solvers/algorithms/exhaustive/pairs.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

// With so few variables a vector has more lanes than one instance needs; the scores of all states
// of LANES instances still fit the L1 cache.
inline constexpr int LANE_VARIABLES = 8;

// Number of instances from which on lanes pay, even if some stay empty.
inline constexpr Index LANES_WORTH = 4;

// Returns whether lanes are faster than `maximise`.
inline bool pay_lanes(int n, Index batch) {
    return n <= LANE_VARIABLES && batch >= LANES_WORTH;
}

// Writes a maximiser of each instance, the same one as `maximise`, whose arguments it takes.
template <class Score>
void maximise_in_lanes(const Pairs& pairs, Matrix<const Score> unary, Matrix<const Score> pairwise,
                       Matrix<std::int8_t> z);

// Does the same as `maximise_at_once`, for at most LANE_VARIABLES variables.
bool maximise_at_once_in_lanes(const Pairs& pairs, Matrix<const double> unary,
                               Matrix<const double> pairwise, double largest, Matrix<std::int8_t> z,
                               std::span<double> score);

}  // namespace solvers::exhaustive
