// Labels from messages, and single changes that make labels better.
#pragma once

#include "solvers/labels/algorithms/dual_ascent/messages.hpp"

namespace solvers::labels {

// Sets labels one variable after the other, against the direction of the last sweep. Each gets the
// best value given the labelled variables, with the fields and messages of the node for the others.
//
// Args:
//     labels: `[n]`, written.
//     scratch: `[k]`.
void decode(const Graph& graph, const Node& node, Direction direction, std::span<Index> labels,
            std::span<Index> scratch);

// The score of labels `[n]`; FORBIDDEN_FIELD if they are forbidden.
Index score_of(Matrix<const Index> unary, const Graph& graph, std::span<const Index> labels);

// Gives variables better values, given the others, until no change gains, for some rounds at most,
// or until `stop`.
void ascend(Matrix<const Index> unary, const Graph& graph, std::span<const Index> sizes,
            std::span<Index> labels, Index rounds, std::span<Index> scratch, Stop stop);

}  // namespace solvers::labels
