// Depth-first branch and bound over sets of variables that do not exclude each other; all scores
// are int64.
//
// A node bounds what its free variables add by cliques, and branches on the variables that the
// cliques do not cover. The last variables exclude most others, so their branches are small.
#pragma once

#include <vector>

#include "solvers/algorithms/clique_cover/cover.hpp"
#include "solvers/compiled/graphs.hpp"
#include "solvers/compiled/stop.hpp"

namespace solvers::clique_cover {

// An instance in whole units.
struct Scores {
    std::span<const Index> unary;            // [n]
    Matrix<const Index> edges;               // [e, 2], distinct pairs
    std::span<const Index> pairwise;         // [e]
    std::span<const std::uint8_t> excludes;  // [e]: some best state has no such pair at 1
};

class CliqueSearch {
public:
    // Prepares the search without handling any node but the root.
    //
    // Args:
    //     scores: the instance.
    //     state: `[n]`, a state to start from.
    //     score: its score.
    //     stop: ends the preparation early.
    CliqueSearch(const Scores& scores, std::span<const std::int8_t> state, Index score, Stop stop);

    // The cover refers to the conflicts.
    CliqueSearch(const CliqueSearch&) = delete;
    CliqueSearch& operator=(const CliqueSearch&) = delete;

    // Handles up to `nodes` nodes, until the end or until `stop` is set; returns how many.
    Index run(Index nodes, Stop stop);

    // Takes a state `[n]` if it scores more than the best one.
    void offer(std::span<const std::int8_t> state, Index score);

    bool finished() const { return nodes_.empty(); }
    Index variables() const { return n_; }
    Index score() const { return score_; }
    const std::vector<std::int8_t>& state() const { return state_; }

    // Returns an upper bound on all integer scores.
    Index bound() const;

    // Returns the share of the root's branches that are searched.
    double searched() const;

private:
    // The chosen variables are 1, and the free ones of this node may be 1 too.
    struct Node {
        Index score;   // of the chosen variables
        Index chosen;  // how many variables were chosen before this node
        Index begin;   // its first branch
        Index end;     // behind the last branch that is not searched yet
    };
    // The sets with a variable and without the variables of later branches.
    struct Branch {
        Index variable;
        Index bound;  // of these sets and those of earlier branches
    };

    Index depth() const { return length(std::span(nodes_)) - 1; }
    bool has_pairs() const { return !weights_.empty(); }
    std::span<Index> fields();
    void open(Index variable);
    void close();
    void expand(Stop stop);
    void choose(Index variable);
    void drop_worthless();
    void value_pairs();
    bool choose_dominant();
    bool dominates(Index variable) const;
    void take_chosen();
    void cover(Stop stop);

    Index n_;
    std::vector<Index> original_;  // [n]: the variable of the instance
    BitRows conflicts_;            // [n]: the variables that a variable excludes
    NeighbourLists pairs_;         // the pairs that exclude nothing
    std::vector<Index> weights_;   // of these pairs
    Cover cover_;
    Index score_;
    std::vector<std::int8_t> state_;  // [n], by variables of the instance
    Index root_bound_ = 0;
    Index root_branches_ = 0;
    // What a free variable of the last node adds, `[n]` each.
    std::vector<Index> worth_;  // at most, with half of each pair that raises the score
    std::vector<Index> most_;   // at most, with all of these pairs
    std::vector<Index> least_;  // at least
    // The nodes from the root to the last one.
    std::vector<Node> nodes_;
    std::vector<Index> chosen_;
    std::vector<Branch> branches_;
    BitRows free_;              // [depth]
    std::vector<Index> field_;  // [depth, n]: scores beside the chosen ones; [1, n] without pairs
};

}  // namespace solvers::clique_cover
