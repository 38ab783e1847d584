// Biconnected components: subgraphs that share single nodes, at which they come apart.
#pragma once

#include <vector>

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::presolve {

struct Blocks {
    std::vector<Index> block;  // [e]: the block of every edge
    Index count;
};

// Read from the last block to the first, each shares at most one node with all blocks before it.
//
// Args:
//     nodes: number of nodes.
//     edges: `[e, 2]`, distinct.
//     stop: where it asks to end, all edges are one block.
//
// References:
//     Hopcroft, Tarjan (1973), Algorithm 447: efficient algorithms for graph manipulation.
Blocks blocks_of(Index nodes, Matrix<const Index> edges, Stop stop);

struct Numbered {
    std::vector<Index> names;  // the nodes that have edges, in their order
    std::vector<Index> ends;   // [e, 2]: the edges between their places in `names`
};

Numbered numbered(Index nodes, Matrix<const Index> edges);

}  // namespace solvers::presolve
