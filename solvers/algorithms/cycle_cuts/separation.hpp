// Separation of violated odd-cycle inequalities: a spanning tree finds many at once, shortest paths
// find one if one exists.
//
// An edge costs x outside of F and 1 - x in F; the inequality of a cycle is violated where it costs
// less than 1. Two copies of the graph, joined by the edges in F, turn odd cycles through a vertex
// into paths between its two copies. A cycle with a chord costs one less than the two cycles that
// the chord splits it into, so one of these is violated too.
//
// References:
//     Barahona, Mahjoub (1986), On the cut polytope.
//     Barahona, Grötschel, Jünger, Reinelt (1988), An application of combinatorial optimization to
//     statistical physics and circuit layout design.
#pragma once

#include <vector>

#include "solvers/algorithms/cycle_cuts/graph.hpp"
#include "solvers/algorithms/cycle_cuts/sides.hpp"
#include "solvers/compiled/stop.hpp"

namespace solvers::cycle_cuts {

// Cycles, stored one after the other.
struct Cycles {
    std::vector<Index> starts = {0};  // [cycles + 1]
    std::vector<Index> edges;
    std::vector<char> odd;     // whether each edge is in F
    std::vector<double> cost;  // [cycles]
    std::vector<Index> mark;   // [cycles]: a hash of edges and F, by which equal cycles are found
};

// Returns the violated cycles of a forest and one more edge each; `stop` ends the search early.
//
// F contains the edges of x > 1/2; if they are even, the edge nearest to 1/2 is moved.
Cycles fundamental_cycles(const Graph& graph, std::span<const double> x, const Forest& forest,
                          Stop stop);

// Returns a cheapest odd cycle through every source that has a violated one; `stop` ends it early.
Cycles cheapest_cycles(const Graph& graph, std::span<const double> x,
                       std::span<const Index> sources, Stop stop);

}  // namespace solvers::cycle_cuts
