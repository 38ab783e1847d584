// Depth-first branch and bound whose nodes are bounded by messages along the edges; all scores are
// int64.
//
// A child has one value of one variable, and its sibling the other values. Both continue with the
// messages of their parent, so that a few sweeps suffice. The branching variable has few values and
// has ended many branches (dom/wdeg).
//
// Labels are alike at a node if exchanging any two of them changes neither the problem nor the
// decisions of the branches above. The child with one value then represents all children with alike
// values, and the sibling loses all of these values. Only the child with a value distinguishes it
// from the others; values that bounds remove do not matter.
//
// References:
//     Boussemart, Hemery, Lecoutre, Sais (2004), Boosting systematic search by weighting
//     constraints.
//     Roney-Dougal, Gent, Kelsey, Linton (2004), Tractable symmetry breaking using restricted
//     search trees.
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
    //     below_all: a number below the score of any assignment.
    //     alike: `[k]`: labels with equal numbers below k may be exchanged in all variables.
    //     step: minimum difference of two different scores.
    //     depth: initial depth of the stack, at least 2.
    LabelSearch(const Graph& graph, Matrix<const Index> unary, std::span<const Index> sizes,
                std::span<const Index> alike, Index below_all, Index step, Index depth);

    // Handles up to `nodes` nodes, until the stack is full or `stop` is set; returns how many.
    Index run(Index nodes, Stop stop);

    // Replaces the incumbent by labels `[n]` if they are better.
    void offer(std::span<const Index> labels);

    bool finished() const { return depth_ < 0; }
    bool fresh() const { return fresh_; }  // whether the root is still to be bounded
    bool full() const { return depth_ + 1 == static_cast<Index>(bound_.size()); }
    Index bytes() const;
    void double_stack() { resize(2 * static_cast<Index>(bound_.size())); }
    Index variables() const { return n_; }

    // Upper bound on all whole scores; `below_all` if all assignments are forbidden.
    Index bound() const;
    // The best labels so far; they may change while another thread reads them.
    const std::vector<Index>& labels() const { return labels_; }

private:
    Node node(Index depth);
    void resize(Index depth);
    void tighten(Index depth, Stop stop);
    void read_labels(const Node& current, Direction direction, bool at_root, Stop stop);
    void branch(Index depth);
    Index open_neighbours(const Node& current, Index i) const;
    Index chosen(const Node& current, std::span<const Index> alike);
    Index different(std::span<const Value> values, std::span<const Index> alike);
    std::span<Index> alike(Index depth) {
        return {alike_.data() + depth * k_, static_cast<std::size_t>(k_)};
    }

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
    std::vector<Index> alike_;        // [depth, k]: numbers below 2 k, equal where labels are alike
    std::vector<Index> seen_;         // [2 k]: when a number was last counted
    Index counts_ = 0;
};

}  // namespace solvers::labels
