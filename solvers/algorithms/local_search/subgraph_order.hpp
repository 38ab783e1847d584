// Random large subgraphs of small width, which remain once some vertices are removed.
#pragma once

#include <vector>

#include "solvers/compiled/random.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::local_search {

// Returns an order in which some vertices can be eliminated with separators of at most `width`.
//
// Vertices of least degree go first, with random ties; when all degrees exceed `width`, a vertex of
// greatest degree is removed from the graph.
//
// Args:
//     n: number of vertices.
//     edges: `[e, 2]`, distinct pairs.
//     width: at least 0.
std::vector<Index> subgraph_order(Index n, Matrix<const Index> edges, Index width, Random& random);

}  // namespace solvers::local_search
