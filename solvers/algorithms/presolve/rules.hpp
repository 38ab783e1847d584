// Rules that take nodes out of a spin graph, one after the other, until none applies; rules.py
// lists them.
#pragma once

#include <vector>

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::presolve {

// The rules by number; the first four are numbered by the degree of the node.
enum Rule { ISOLATED, DEGREE_1, DEGREE_2, DEGREE_3, DOMINATED, PAIR, TWIN, RULES };

// Nodes that were taken out, in order: s_node = sign of sum_k weight_k s_near_k.
struct Log {
    std::vector<Index> node;    // [rows]
    std::vector<Index> near;    // [rows, 3]
    std::vector<Index> weight;  // [rows, 3]; 0 beside what is no neighbour
    std::vector<Index> counts;  // [RULES]: how many nodes each rule took out
    Index constant = 0;         // by how much the sums over the edges are smaller now
};

struct Shrunk {
    Log log;
    std::vector<Index> edges;   // [k, 2]: what is left
    std::vector<Index> weight;  // [k]
};

// Takes out nodes by the rules that are `allowed [RULES]`, until no rule applies or `stop` is set.
Shrunk shrink(Index nodes, Matrix<const Index> edges, std::span<const Index> weight,
              std::span<const bool> allowed, Stop stop);

// Sets the spins of the nodes in a log, the last one first; `spins [nodes]` has the spins of the
// remaining nodes.
void restore(std::span<const Index> node, Matrix<const Index> near, Matrix<const Index> weight,
             std::span<Index> spins);

}  // namespace solvers::presolve
