// Multi-start tabu search with one-flip moves, elite states and path relinking.
//
// References:
//     Glover, Lü, Hao (2010), Diversification-driven tabu search for unconstrained binary quadratic
//     problems. Wang, Lü, Glover, Hao (2012), Path relinking for unconstrained binary quadratic
//     programming.
#pragma once

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::local_search {

// Data that all instances share.
struct Graph {
    Matrix<const Index> edges;     // [e, 2]
    bool dense;                    // whether couplings become a matrix; else the adjacency below
    std::span<const Index> first;  // [n + 1]
    std::span<const std::int32_t> node;  // [2 e]
    std::span<const std::int32_t> edge;  // [2 e]
};

struct Effort {
    Index runs;      // tabu runs for each instance
    Index patience;  // flips without a new best after which a run ends
};

// A slice of the batch, with the elite states of each instance.
struct Instances {
    std::span<const bool> used;       // [batch]: the others stay as they are
    Matrix<const double> unary;       // [batch, n]
    Matrix<const double> pairwise;    // [batch, e]
    std::span<const double> scale;    // [batch], from `find_scales`
    std::span<const bool> symmetric;  // [batch]
    Cube<std::int8_t> pool;           // [batch, elites, n]
    Matrix<double> values;     // [batch, elites]: their scores; minus infinity for an empty place
    std::span<Index> stalled;  // [batch]: runs since the last new elite state
    std::span<std::uint64_t> random;  // [batch]: streams of random numbers
};

// Makes more runs for the instances in use, with gains of the type Gain.
template <class Gain>
void search_instances(const Graph& graph, Effort effort, Stop stop, const Instances& instances);

// Writes, for each instance, a power of two that brings all gains near 2^30, or 1 where rounding
// then loses too much; whether integers suffice; and whether flipping all variables keeps every
// score, as in maximum cuts.
void find_scales(Matrix<const Index> edges, Matrix<const double> unary,
                 Matrix<const double> pairwise, std::span<double> scale, std::span<bool> coarse,
                 std::span<bool> symmetric);

}  // namespace solvers::local_search
