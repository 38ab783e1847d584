// Depth-first branch and bound whose nodes are bounded by messages along the edges; all scores are
// int64.
//
// A child continues with the messages of its parent, so that a few sweeps suffice. The search
// branches on the variable with the strongest free edges: without it the rest of a sparse graph
// soon falls apart into trees, on which the bounds are exact.
#pragma once

#include <vector>

#include "solvers/algorithms/dual_ascent/messages.hpp"
#include "solvers/compiled/best.hpp"
#include "solvers/compiled/stop.hpp"

namespace solvers::dual_ascent {

class DualSearch {
public:
    // Args:
    //     graph: the pairs of the problem.
    //     unary: `[n]`, integer scores.
    //     states: `[count, n]`, distinct assignments, the best first.
    //     scores: `[count]`, their scores.
    //     depth: initial depth of the stack, at least 2.
    DualSearch(Graph graph, std::vector<Index> unary, std::vector<std::int8_t> states,
               std::vector<Index> scores, Index depth);

    // Handles up to `nodes` nodes, until the stack is full or `stop` is set; returns how many.
    Index run(Index nodes, Stop stop);

    bool finished() const { return depth_ < 0; }
    bool full() const { return depth_ + 1 == capacity(); }
    Index bytes() const;
    void double_stack();

    // Returns an upper bound on all integer scores except those of the states.
    Index bound() const;

    bool offer(Index score, std::span<const std::int8_t> z) { return best().take(score, z); }

    Index variables() const { return graph_.variables(); }
    Best<Index> best();
    const std::vector<Index>& scores() const { return scores_; }
    // `[count * n]`, the best state first.
    std::vector<std::int8_t> states() const;

private:
    Index capacity() const { return static_cast<Index>(bound_.size()); }
    Node node(Index depth);
    void keep(Index depth, const Node& node);
    void tighten(Index depth, Stop stop);
    bool choose(Index depth);
    bool choose_single(Index depth);
    void take_leaf(Index depth);
    void branch(Index depth);
    void resize(Index depth);

    Graph graph_;
    Index n_;
    Index e_;
    Index depth_ = 0;
    std::vector<Index> scores_;        // [count]
    std::vector<Index> places_;        // [count]
    std::vector<std::int8_t> states_;  // [count, n]
    // The nodes from the root to the current one.
    std::vector<std::int8_t> state_;  // [depth, n]
    std::vector<Index> field_;        // [depth, n]
    std::vector<Index> message_;      // [depth, e, 2]
    std::vector<Index> constant_;     // [depth]
    std::vector<Index> bound_;        // [depth]
    std::vector<Index> variable_;     // [depth]: to branch on
    std::vector<std::int8_t> value_;  // [depth]: the first value to try
    std::vector<std::int8_t> tried_;  // [depth]: how many values were tried
};

}  // namespace solvers::dual_ascent
