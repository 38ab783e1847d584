// Two labellings as a binary problem: each variable keeps its label or takes that of a proposal;
// fusion.py explains it.
#pragma once

#include "solvers/labels/algorithms/dual_ascent/graph.hpp"

namespace solvers::labels {

// Writes the scores of the move, in units of 2^shift, none of a pair below zero.
//
// Args:
//     unary: `[n, k]`.
//     pairs: `[e, 2]`.
//     labels: `[n]`.
//     proposal: `[n]`, allowed values.
//     least: lower scores count as this one.
//     shift: so that a cut has room in 64 bits.
//     field: `[n]`, written.
//     weights: `[e]`, written.
void fill_move(Matrix<const Index> unary, const Graph& graph, Matrix<const Index> pairs,
               std::span<const Index> labels, std::span<const Index> proposal, Index least,
               Index shift, std::span<Index> field, std::span<Index> weights);

}  // namespace solvers::labels
