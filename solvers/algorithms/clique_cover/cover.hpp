// Upper bounds on what free variables add to a score, by cliques of variables that exclude each
// other; `search.py` has the bound and the references.
#pragma once

#include <vector>

#include "solvers/algorithms/clique_cover/bit_rows.hpp"
#include "solvers/compiled/stop.hpp"

namespace solvers::clique_cover {

// Cliques with weights that cover what the variables are worth.
//
// A set in which no variables exclude each other has at most one member of a clique. So the set
// adds at most
//
//     sum_C weight_C + sum of rest_v over its members v
//
// if worth_v <= rest_v + sum of weight_C over the cliques C with v, for every v. A cover keeps the
// first sum within a budget, and a search branches on the variables that have a rest.
class Cover {
public:
    // Args:
    //     conflicts: `[n]`, the variables that each variable excludes; it outlives the cover.
    //     n: number of variables.
    Cover(const BitRows& conflicts, Index n);

    // Covers what the variables of `free` are worth, as far as the budget goes.
    //
    // Variables that are worth nothing need no cover. After `stop`, more rests remain.
    void run(std::span<const Word> free, std::span<const Index> worth, Index budget, Stop stop);

    // Returns the sum of the weights of all cliques, at most the budget.
    Index total() const { return total_; }
    // Returns the part of the worth of a free variable that no clique covers.
    Index rest(Index v) const { return rest_[v]; }

private:
    // A variable that is 1 if all cliques are to have a member.
    struct Literal {
        Index variable;
        Index clique;  // of which it is the only remaining member; -1 for the first literal
    };

    Index grow();
    void add(Index weight);
    void absorb(Index v);
    bool contradicts(Index v);
    bool remove_excluded(Index literal);
    bool remove(Index v, Index literal);
    void take_single(Index clique);
    void blame(Index clique);

    Index count() const { return length(std::span(weights_)); }

    const BitRows& conflicts_;
    Index total_ = 0;
    std::vector<Index> rest_;    // [n]
    std::vector<Index> newest_;  // [n]: the last entry of a variable, -1 without one
    std::vector<Index> reason_;  // [n]: the literal that removed a variable
    BitRows sets_;               // open, next, covered and remaining variables
    std::vector<Index> clique_;  // the clique that grows
    // The cliques: members_[starts_[c] .. starts_[c + 1]) are the members of clique c.
    std::vector<Index> weights_;
    std::vector<Index> starts_;
    std::vector<Index> members_;
    std::vector<Index> owners_;  // the clique of an entry of `members_`
    std::vector<Index> older_;   // the entry before it of the same variable, or -1
    // The propagation.
    std::vector<Index> left_;  // by clique, how many members remain
    std::vector<Literal> literals_;
    std::vector<Index> singles_;  // cliques of which one member remains
    std::vector<Index> blamed_;   // the cliques of a contradiction
    std::vector<std::uint8_t> is_blamed_;
};

}  // namespace solvers::clique_cover
