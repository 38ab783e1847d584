// The states of highest score, in order, from the tables of an elimination; best_states.py explains
// it.
#pragma once

#include <vector>

#include "solvers/algorithms/elimination/forest.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

// An elimination, by step: the later variables that the table of each step depends on.
class Buckets {
public:
    // Plans for the order `[n]`, a permutation; edges `[e, 2]` are distinct pairs.
    Buckets(Matrix<const Index> edges, std::span<const Index> order);

    // Returns the entries of all tables, two for each state of the later variables; a huge number
    // if they cannot be counted.
    Index entries() const { return tables_.back(); }
    Index size() const { return static_cast<Index>(order_.size()); }
    Index edges() const { return static_cast<Index>(ends_.size() / 2); }

    // Writes the best states `[count, n]` of one instance, the best first; at least `count` exist.
    void rank(std::span<const double> unary, std::span<const double> pairwise,
              Matrix<std::int8_t> states) const;

private:
    std::span<const Index> later(Index t) const { return later_.of(t); }
    Index place_of(Index t, const std::int8_t* z) const;
    void fill(std::span<const double> unary, std::span<const double> pairwise,
              std::span<double> table) const;
    void add_edge(Index t, Index other, double weight, std::span<double> table) const;
    void hand_on(Index t, std::span<double> table) const;
    void complete(std::span<const double> table, Index before, std::span<std::int8_t> z,
                  std::span<double> losses) const;

    std::vector<Index> order_;   // [n]
    Separators later_;           // steps, ascending
    std::vector<Index> tables_;  // [n + 1], where the table of each step starts
    std::vector<Index> ends_;    // [e, 2], the steps of each edge, ascending
};

}  // namespace solvers::elimination
