// The rest of a graph after all its tree-like parts are removed.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

struct Peeled {
    Index vertices;  // that went
    Index edges;     // that are left
};

// Removes vertices with at most one remaining neighbour, again and again.
//
// Args:
//     edges: `[e, 2]`, distinct pairs.
//     order: `[n]`, written: the removed vertices in this order, then the others, sorted.
//     inner: `[e, 2]`, written: the edges between the others, by their places among those.
Peeled peel(Matrix<const Index> edges, std::span<Index> order, Matrix<Index> inner);

}  // namespace solvers::elimination
