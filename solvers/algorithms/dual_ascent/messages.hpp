// Upper bounds of a pairwise problem by messages along its edges; search.py has the bound and its
// references.
#pragma once

#include <vector>

#include "solvers/compiled/views.hpp"

namespace solvers::dual_ascent {

inline constexpr std::int8_t FREE = -1;

// Who is joined with whom, and how strongly.
struct Graph {
    std::vector<Index> starts;    // [n + 1]: the first neighbour of every variable
    std::vector<Index> near;      // [2 e]: the neighbours
    std::vector<Index> edge;      // [2 e]: the edges to them
    std::vector<Index> side;      // [2 e]: which end of that edge the variable itself is
    std::vector<Index> pairwise;  // [e]: integer scores, none of them 0

    Index variables() const { return static_cast<Index>(starts.size()) - 1; }
    Index edges() const { return static_cast<Index>(pairwise.size()); }
};

enum class Direction { forward, backward };

// A node of the search: some variables are fixed, the others have fields and messages. Invariant:
//
//     bound = constant + sum_i max(0, field_i) + sum_e max(0, -m_i, -m_j, w - m_i - m_j)
//
// over the free variables and the edges between them is at least every score from here. All numbers
// are int64 and all steps exact, so the bound holds to the last bit.
struct Node {
    std::span<std::int8_t> state;  // [n]: 0, 1 or FREE
    std::span<Index> field;        // [n]
    Matrix<Index> message;         // [e, 2]: to the first and to the second end
    Index constant;                // score of the fixed variables
    Index bound;

    // Sets a free variable.
    void fix(const Graph& graph, Index i, Index value);

    // One visit to every free variable, in ascending or in descending order.
    //
    // Each takes from its edges what they could win by it, so that they no longer care about it:
    // then the bound with the other value is |field_i| lower, and where that does not lead above
    // `known`, the variable is fixed. Else it gives equal shares to the edges that lead on, which
    // leaves the bound as it is. Ends early once nothing leads above `known`.
    void sweep(const Graph& graph, Direction direction, Index known);

    struct Field {
        Index total;     // what the field is once the variable took all from its edges
        Index strength;  // the sum of |scores| of its edges to free variables
    };
    Field field_of(const Graph& graph, Index i) const;

private:
    struct Edges {
        Index ahead;
        Index behind;
    };
    Edges take(const Graph& graph, Index i, Direction direction);
    void give(const Graph& graph, Index i, Direction direction, const Edges& edges);
};

}  // namespace solvers::dual_ascent
