// Spanning forests, and the sides that fixed edges imply.
#pragma once

#include <vector>

#include "solvers/algorithms/cycle_cuts/graph.hpp"

namespace solvers::cycle_cuts {

inline constexpr std::int8_t FREE = -1;

struct Forest {
    std::vector<Index> parent;  // [n]: -1 at roots
    std::vector<Index> link;    // [n]: the edge to the parent, -1 at roots
    std::vector<Index> depth;   // [n]
};

// Returns the spanning forest that takes edges in `order [m]`, where they join trees.
Forest spanning_forest(const Graph& graph, std::span<const Index> order);

// Returns the sides of the vertices: edges of the forest have different ends where x > 1/2.
std::vector<std::int8_t> sides_of(const Forest& forest, std::span<const double> x);

// Fixes the edges between joined vertices; returns false where fixed edges contradict each other.
//
// Args:
//     vertices: number of vertices.
//     ends: `[m, 2]`.
//     fixed: `[m]`, 0, 1 or FREE, updated.
bool propagate(Index vertices, Matrix<const Index> ends, std::span<std::int8_t> fixed);

}  // namespace solvers::cycle_cuts
