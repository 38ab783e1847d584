// Graph of an instance, with whole scores.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::labels {

// Lower bound on sums of allowed scores.
inline constexpr Index IMPOSSIBLE = -(Index{1} << 60);

// No field is lower, so that sums of some of them stay whole numbers of 64 bits.
inline constexpr Index FORBIDDEN_FIELD = 2 * IMPOSSIBLE;

struct Graph {
    std::span<const Index> starts;    // [n + 1]: the first neighbour of every variable
    std::span<const Index> near;      // [2 e]: the neighbours
    std::span<const Index> edge;      // [2 e]: the edges to them
    std::span<const Index> side;      // [2 e]: which end of that edge the variable itself is
    std::span<const Index> table_of;  // [e]: which table an edge has
    Cube<const Index>
        tables[2];  // [t, k, k] each: a row for each value of the first end, and of the second
    std::span<const Index> weights;  // [e], of equal values, in place of tables; or empty

    Index variables() const { return length(starts) - 1; }
    bool weighted() const { return !weights.empty(); }
    Matrix<const Index> table(Index e, Index side_of_rows) const {
        return tables[side_of_rows][table_of[e]];
    }

    // The score of value a of the variable at a side of an edge, with value b at the other.
    Index score(Index e, Index side_of_a, Index a, Index b) const {
        if (weighted()) return a == b ? weights[e] : 0;
        return table(e, side_of_a)(a, b);
    }
};

}  // namespace solvers::labels
