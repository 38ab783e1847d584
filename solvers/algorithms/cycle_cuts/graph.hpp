// A graph as the kernels of cycle cuts see it.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::cycle_cuts {

struct Graph {
    std::span<const Index> starts;  // [n + 1]: the first neighbour of every vertex
    std::span<const Index> near;    // [2 m]
    std::span<const Index> edge;    // [2 m]: the edges to them
    Matrix<const Index> ends;       // [m, 2]

    Index vertices() const { return length(starts) - 1; }
    Index edges() const { return ends.rows; }
    Index other_end(Index e, Index v) const { return ends(e, 0) + ends(e, 1) - v; }
};

}  // namespace solvers::cycle_cuts
