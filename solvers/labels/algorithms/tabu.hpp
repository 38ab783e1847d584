// Tabu search with changes of one label.
//
// A forbidden value, or pair of values, has a score so low that few other scores compensate it. So
// a search may pass through forbidden labels, and find allowed labels from a forbidden start.
//
// References:
//     Glover (1989), Tabu search, part I.
//     Lourenço, Martin, Stützle (2003), Iterated local search.
#pragma once

#include "solvers/compiled/stop.hpp"
#include "solvers/labels/algorithms/dual_ascent/graph.hpp"

namespace solvers::labels {

// Takes up to `steps` steps, each the best that is not tabu, or until `stop`.
//
// Args:
//     unary: `[n, k]`.
//     sizes: `[n]`.
//     labels: `[n]`, where to start; changed.
//     best: `[n]`, the best labels; the start at first.
//     low: the score of what is forbidden.
//     seed: of the random numbers.
void tabu_walk(const Graph& graph, Matrix<const Index> unary, std::span<const Index> sizes,
               std::span<Index> labels, std::span<Index> best, Index low, Index steps,
               std::uint64_t seed, Stop stop);

}  // namespace solvers::labels
