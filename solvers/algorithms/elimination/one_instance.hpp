// One small instance of a graph with a known elimination, from its raw scores to a certified
// maximiser, in one call; compiled/checks/at_once.hpp explains why.
#pragma once

#include <optional>

#include "solvers/algorithms/elimination/schedule.hpp"
#include "solvers/compiled/checks/at_once.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

// Finds a maximiser over the pairs of a schedule.
//
// Args:
//     schedule: of the edges, with few entries: nothing stops the search.
//     edges: `[e, 2]`, those of the schedule.
//     unary: `[1, n]`.
//     pairwise: `[1, e]`.
//     largest: magnitude above which sums could overflow.
//     z: `[1, n]`, written.
//
// Returns nothing if the scores are not finite, too large, or such that rounding could confuse
// them.
std::optional<checks::Certified> maximise_pairs(const Schedule& schedule, Matrix<const Index> edges,
                                                Matrix<const double> unary,
                                                Matrix<const double> pairwise, double largest,
                                                Matrix<std::int8_t> z);

}  // namespace solvers::elimination
