// Depth-first branch and bound whose nodes are bounded by messages along the edges; all scores are
// int64.
//
// A child has one value of one variable, and its sibling the other values. Either continues with
// the messages of its parent, so that a few sweeps suffice. The variable is one of few values that
// has ended many branches (dom/wdeg).
//
// References:
//     Boussemart, Hemery, Lecoutre, Sais (2004), Boosting systematic search by weighting
//     constraints.
#pragma once

#include <vector>

#include "solvers/labels/algorithms/dual_ascent/messages.hpp"

namespace solvers::labels {

class LabelSearch {
public:
    // Args:
    //     graph: of the problem; its arrays outlive the search.
    //     unary: `[n, k]`, likewise.
    //     sizes: `[n]`, likewise.
    //     below_all: less than the score of any assignment.
    //     step: a better score is better by so much.
    //     depth: of the stack at first, at least 2.
    LabelSearch(const Graph& graph, Matrix<const Index> unary, std::span<const Index> sizes,
                Index below_all, Index step, Index depth);

    // Handles up to `nodes` nodes, as far as the stack reaches, or until `stop`; returns how many.
    Index run(Index nodes, Stop stop);

    // Takes labels `[n]` where they are better than its own.
    void offer(std::span<const Index> labels);

    bool finished() const { return depth_ < 0; }
    bool fresh() const { return fresh_; }  // whether the root is still to be bounded
    bool full() const { return depth_ + 1 == static_cast<Index>(bound_.size()); }
    Index bytes() const;
    void double_stack() { resize(2 * static_cast<Index>(bound_.size())); }
    Index variables() const { return n_; }

    // No whole score is larger; `below_all` where all assignments are forbidden.
    Index bound() const;
    // The best labels so far; they may change while another thread reads them.
    const std::vector<Index>& labels() const { return labels_; }

private:
    Node node(Index depth);
    void resize(Index depth);
    void tighten(Index depth, Stop stop);
    void read_labels(const Node& current, Direction direction, bool at_root, Stop stop);
    void branch(Index depth);
    Index chosen(const Node& current) const;

    const Graph& graph_;
    Matrix<const Index> unary_;
    std::span<const Index> sizes_;
    Index n_;
    Index k_;
    Index e_;
    Index step_;
    Index depth_ = 0;
    bool fresh_ = true;
    Index best_;                  // the score of labels_, or `below_all`
    std::vector<Index> labels_;   // [n]
    std::vector<Index> trial_;    // [n]
    std::vector<Index> scratch_;  // [k]
    std::vector<double>
        ended_;  // [n]: how many branches ended at a visit of each variable, plus one
    // The nodes from the root to the current one.
    std::vector<Index> field_;        // [depth, n, k]
    std::vector<Index> message_;      // [depth, e, 2, k]
    std::vector<Value> values_;       // [depth, n, k]
    std::vector<Index> left_;         // [depth, n]
    std::vector<std::uint8_t> done_;  // [depth, n]
    std::vector<Index> bound_;        // [depth]
};

}  // namespace solvers::labels
