// Graphs of up to some thousand vertices as bit matrices, and the costs of orders of their
// vertices.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "solvers/compiled/random.hpp"
#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

using Word = std::uint64_t;

// The width of an order, and the entries of all its tables; infinitely many if it failed.
struct Cost {
    Index width;
    double entries;
};

// The criterion of a greedy order: the cost of each remaining vertex.
struct Greed {
    double fill;    // cost of an edge that its elimination adds
    double degree;  // cost of a neighbour
    double jitter;  // greatest random cost
    std::uint64_t seed;
};

// The limits of an order: it fails above this width, and from this many entries on.
struct Limits {
    Index width;
    double entries;
};

class BitGraph {
public:
    BitGraph(Index n, Matrix<const Index> edges);

    Index size() const { return size_; }

    // Writes the order `[n]` that eliminates the vertex of the least cost, again and again; it
    // fails where `stop` is set.
    Cost greedy(const Greed& greed, const Limits& limits, std::span<Index> order, Stop stop) const;

    // Returns the cost of an order `[n]`, a permutation.
    Cost follow(std::span<const Index> order, Index width_limit) const;

    // Writes all vertices, those of the component of `start` first, by their distance from a vertex
    // far off.
    void breadth_first(Index start, std::span<Index> order) const;

private:
    Index size_;
    Index words_;             // a row
    std::vector<Word> bits_;  // [n, words]
};

}  // namespace solvers::elimination
