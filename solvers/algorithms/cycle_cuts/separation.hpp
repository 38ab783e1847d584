// Violated odd-cycle inequalities: a spanning tree finds many at once, shortest paths find one if
// there is one.
//
// An edge costs x outside of F and 1 - x in F; the inequality of a cycle is violated where it costs
// less than 1. Two copies of the graph, joined by the edges in F, turn odd cycles through a vertex
// into paths between its copies. A cycle with a chord costs one less than the two cycles that the
// chord makes of it, one of which is violated, too.
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

// Cycles, one behind the other.
struct Cycles {
    std::vector<Index> starts = {0};  // [cycles + 1]
    std::vector<Index> edges;
    std::vector<char> odd;     // whether each edge is in F
    std::vector<double> cost;  // [cycles]
    std::vector<Index> mark;   // [cycles]: a hash of edges and F, by which equal cycles are found
};

// The violated cycles of a forest and one more edge; those found until `stop`.
//
// F are the edges of x > 1/2, and the one next to 1/2 is moved where those are even.
Cycles fundamental_cycles(const Graph& graph, std::span<const double> x, const Forest& forest,
                          Stop stop);

// A cheapest odd cycle through every source that has a violated one; those found until `stop`.
Cycles cheapest_cycles(const Graph& graph, std::span<const double> x,
                       std::span<const Index> sources, Stop stop);

}  // namespace solvers::cycle_cuts
