// Depth-first search whose bounds are looked up in the tables of mini-buckets; all scores are
// int64.
//
// The variables are assigned in the reverse of the elimination order. The bound of a partial
// assignment is that of its parent, minus the loss of the new variable's mini-buckets by its state:
// until then, their maxima over the variable counted as messages. Where no bucket is split nothing
// is ever lost, and the first descent is optimal.
//
// References:
//     Dechter, Rish (2003), Mini-buckets: a general scheme for bounded inference.
//     Ihler, Flerova, Dechter, Otten (2012), Join-graph based cost-shifting schemes.
#pragma once

#include <optional>
#include <vector>

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::mini_buckets {

// Lists of different lengths, stored one after the other.
struct Lists {
    std::vector<Index> entries;
    std::vector<Index> starts;  // [lists + 1]

    std::span<const Index> operator[](Index list) const {
        return {entries.data() + starts[list],
                static_cast<std::size_t>(starts[list + 1] - starts[list])};
    }
};

// The terms and messages that are summed together; mini-buckets are numbered in the order of their
// filling.
struct Layout {
    std::vector<Index> order;  // [n]: variables as they are eliminated
    std::vector<Index>
        minis;  // [n + 1]: by step of the order, the first mini-bucket of its variable
    std::vector<Index> tables;  // [minis + 1]: the first entry of each table
    Lists scopes;  // by mini-bucket: its variables, except its bucket's own; the state of the k-th
                   // is bit k of an entry's index, that of the bucket's own variable the highest
    Lists term_edges;  // by mini-bucket: the edges of its pairwise terms
    Lists term_bits;   // by mini-bucket: the bits of their other variables
    Lists sources;     // by mini-bucket: the mini-buckets that its messages come from
    Lists places;  // by message, in the order of `sources`: the bit in the reader of each of its
                   // variables
    Lists shared;  // by mini-bucket of a split bucket: the bits of the variables that all of them
                   // have
};

class Search {
public:
    // Args:
    //     state: `[n]`, an assignment to start from.
    //     best: its score.
    Search(Layout layout, std::vector<std::int8_t> state, Index best);

    // Fills the tables in the order of elimination; returns the bound on every score, or nothing
    // once `stop` is set.
    std::optional<Index> fill(std::span<const Index> unary, std::span<const Index> pairwise,
                              Stop stop);

    // Handles up to `nodes` nodes from where the last call ended.
    void run(Index nodes);

    bool finished() const { return depth_ < 0; }
    Index best() const { return best_; }
    const std::vector<std::int8_t>& best_state() const { return best_state_; }
    const Layout& layout() const { return layout_; }

private:
    struct Losses {
        Index zero;
        Index one;
    };
    std::span<Index> table(Index mini);
    void fill_mini(Index mini, std::span<const Index> pairwise);
    void match(Index first, Index last);
    Losses losses(Index step) const;

    Layout layout_;
    std::vector<Index> table_;
    std::vector<Index> bound_;        // [n + 1]: by depth, of the variables assigned so far
    std::vector<Index> later_;        // [n]: by depth, the bound of the other state of its variable
    std::vector<std::int8_t> tried_;  // [n]: by depth, how many states were tried
    std::vector<std::int8_t> state_;  // [n]
    std::vector<std::int8_t> best_state_;
    Index best_;
    Index depth_ = 0;
};

}  // namespace solvers::mini_buckets
