// Maximum flow on dense graphs of any size, in integers, on a matrix of residual capacities.
#pragma once

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::max_flow {

// The distance of a node from which no deficit can be reached.
inline constexpr Index UNREACHED = -1;

// Writes a maximiser of each supermodular instance, and twice its maximum, certified by the flow.
//
// Args:
//     ends: `[e, 2]`, distinct pairs.
//     stop: where it asks to end, states may be no maximisers, and `doubled` has upper bounds.
//     unary: `[batch, n]`.
//     pairwise: `[batch, e]`, >= 0; four times the absolute scores of an instance fit int64.
//     z: `[batch, n]`, written.
//     doubled: `[batch]`, written.
void cut_dense(Matrix<const std::uint32_t> ends, Stop stop, Matrix<const Index> unary,
               Matrix<const Index> pairwise, Matrix<std::int8_t> z, std::span<Index> doubled);

}  // namespace solvers::max_flow
