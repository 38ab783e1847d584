// Spanning forests, and what fixed edges say of others.
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

// The spanning forest that takes edges in `order [m]`, where they join trees.
Forest spanning_forest(const Graph& graph, std::span<const Index> order);

// The sides of the vertices, whose edges in the forest have different ends where x > 1/2.
std::vector<std::int8_t> sides_of(const Forest& forest, std::span<const double> x);

// Fixes the edges between vertices that fixed edges join; false where those contradict each other.
//
// Args:
//     vertices: their number.
//     ends: `[m, 2]`.
//     fixed: `[m]`, 0, 1 or FREE, updated.
bool propagate(Index vertices, Matrix<const Index> ends, std::span<std::int8_t> fixed);

}  // namespace solvers::cycle_cuts
