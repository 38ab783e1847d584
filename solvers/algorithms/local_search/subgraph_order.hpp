// Random large parts of a graph that have a small width: the rest, once some vertices are taken
// out.
#pragma once

#include <vector>

#include "solvers/compiled/random.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::local_search {

// An order in which some of the vertices can be eliminated with separators of at most `width`.
//
// Vertices of least degree go first, ties at random; when all degrees exceed `width`, one of
// greatest degree is taken out of the graph.
//
// Args:
//     n: number of vertices.
//     edges: `[e, 2]`, distinct pairs.
//     width: at least 0.
std::vector<Index> subgraph_order(Index n, Matrix<const Index> edges, Index width, Random& random);

}  // namespace solvers::local_search
