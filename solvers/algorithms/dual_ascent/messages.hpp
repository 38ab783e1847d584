// Upper bounds of a pairwise problem by messages along its edges; search.py has the bound and the
// references.
#pragma once

#include <vector>

#include "solvers/compiled/views.hpp"

namespace solvers::dual_ascent {

inline constexpr std::int8_t FREE = -1;

// The pairs of a problem and their scores.
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
// over the free variables and the edges between them is at least every score below the node. All
// numbers are int64 and all steps exact, so the bound is exact too.
struct Node {
    std::span<std::int8_t> state;  // [n]: 0, 1 or FREE
    std::span<Index> field;        // [n]
    Matrix<Index> message;         // [e, 2]: to the first and to the second end
    Index constant;                // score of the fixed variables
    Index bound;

    // Sets a free variable.
    void fix(const Graph& graph, Index i, Index value);

    // Visits every free variable once, in ascending or in descending order.
    //
    // A variable takes from its edges what their bounds gain by it, so that these bounds no longer
    // depend on it. The bound for its other value is then |field_i| lower; if that is at most
    // `incumbent`, the variable is fixed. Otherwise it gives equal shares to the edges that lead
    // on, which leaves the bound as it is. The visit ends early once no bound exceeds `incumbent`.
    void sweep(const Graph& graph, Direction direction, Index incumbent);

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
