// What is left of a graph when all its tree-like parts are taken off.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

struct Peeled {
    Index vertices;  // that went
    Index edges;     // that are left
};

// Takes off vertices with at most one neighbour left, again and again.
//
// Args:
//     edges: `[e, 2]`, distinct pairs.
//     order: `[n]`, written: the vertices that went, in this order, then the others, sorted.
//     inner: `[e, 2]`, written: the edges between the others, by their places among those.
Peeled peel(Matrix<const Index> edges, std::span<Index> order, Matrix<Index> inner);

}  // namespace solvers::elimination
