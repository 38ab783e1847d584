// Orders of the vertices that keep a small frontier; frontier_order.py explains them.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

// The neighbours of vertex v are near[starts[v] .. starts[v + 1]).
struct Neighbours {
    std::span<const Index> starts;  // [n + 1]
    std::span<const Index> near;

    Index size() const { return length(starts) - 1; }
    std::span<const Index> of(Index v) const {
        return near.subspan(starts[v], starts[v + 1] - starts[v]);
    }
};

// Writes the number of steps from one vertex to each other on paths that avoid the hub; -1 without
// such a path.
void fill_distances(const Neighbours& graph, Index from, Index hub, std::span<Index> distance);

// Writes the same from all vertices that are farthest by such distances.
void fill_layers(const Neighbours& graph, std::span<const Index> distance, Index hub,
                 std::span<Index> layer);

// Where an order begins: with the hub, which is -1 for none, then `start`.
struct Beginning {
    Index start;
    Index hub;
};

// Takes next, of the lowest level, the vertex that leaves the smallest frontier, and on ties the
// one with the oldest neighbour.
//
// Returns the sum of 2^(size of the frontier); infinity where it reaches `most`.
double sweep(const Neighbours& graph, std::span<const Index> level, const Beginning& beginning,
             double most, std::span<Index> order);

}  // namespace solvers::elimination
