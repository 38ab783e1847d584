// Upper bounds by messages along the edges, improved one variable after the other; values that
// cannot beat the incumbent are removed.
//
// An edge e = (i, j) sends m_i(a) to value a of i and m_j(b) to value b of j. The edge keeps T(a,
// b) - m_i(a) - m_j(b). The unary scores of i and the messages to i add up to its field h_i(a).
// Invariant: no remaining score of an edge or field is above zero, since positive amounts are moved
// into the constant. So the constant is a bound, and a state with value a of i scores at most
// constant + h_i(a). All numbers are int64 and all steps exact, so the bound holds to the last bit.
//
// References:
//     Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization.
//     Kolmogorov (2015), A new look at reweighted message passing.
//     Cooper, de Givry, Sanchez, Schiex, Zytnicki, Werner (2010), Soft arc consistency revisited.
#pragma once

#include "solvers/compiled/stop.hpp"
#include "solvers/labels/algorithms/dual_ascent/graph.hpp"

namespace solvers::labels {

using Value = std::uint16_t;

enum class Direction { forward, backward };

inline bool leads_on(Index from, Index to, Direction direction) {
    return (to > from) == (direction == Direction::forward);
}

// The remaining problem at a node of the search.
struct Node {
    Matrix<Index> field;   // [n, k], of the values that are left; none is above zero
    Cube<Index> message;   // [e, 2, k]: to the values of both ends; GONE to those that are not left
    Matrix<Value> values;  // [n, k]: the values that are left, first, in ascending order
    std::span<Index> left;  // [n]: how many are
    std::span<std::uint8_t>
        done;  // [n]: whether a variable has one value and its neighbours have all that comes of it

    std::span<const Value> values_of(Index i) const {
        return {&values(i, 0), static_cast<std::size_t>(left[i])};
    }
};

class Messages {
public:
    Messages(const Graph& graph, Node node, std::span<Index> scratch)
        : graph_(graph), node_(node), most_(scratch) {}

    // Sets the node of all allowed values; returns its constant.
    Index begin(Matrix<const Index> unary, std::span<const Index> sizes);

    struct Swept {
        Index constant;
        Index ended_at;  // the variable at which the constant fell to the cut, or -1
    };

    // Visits every variable of several values.
    //
    // Each variable takes from its edges their maximum for each of its values, and the largest
    // total moves into the constant. Values that lead to at most `cut` are removed. Then it gives
    // equal shares to its edges to later variables.
    Swept sweep(Direction direction, Index constant, Index cut, Stop stop);

    // Removes the values of a variable inside or outside of the places first .. last - 1 of its
    // list.
    void keep(Index i, Index first, Index last) { filter(i, first, last, true); }
    void remove(Index i, Index first, Index last) { filter(i, first, last, false); }

private:
    Index first_messages(Index i, Index j, Index e);
    void filter(Index i, Index first, Index last, bool inside);
    void forget(Index i, Index a);
    Index visit(Index i, Direction direction, Index constant, Index cut);
    Index normalise(Index i, Index constant, Index cut);
    void finish(Index i);
    struct Edges {
        Index ahead;
        Index behind;
    };
    Edges take(Index i, Direction direction);
    void take_most(Index i, std::span<Index> message);
    void most_of_pairs(Index i, Index j, Index e, Index side, std::span<const Index> other);
    void most_of_table(Index i, Matrix<const Index> table, std::span<const Index> other);
    void most_of_few(Index i, Index j, Matrix<const Index> table, std::span<const Index> other);
    void most_of_weight(Index i, Index weight, std::span<const Index> other);
    void give(Index i, Direction direction, const Edges& edges);

    const Graph& graph_;
    Node node_;
    std::span<Index>
        most_;  // [k], scratch: what each value of a variable wins at most from an edge
};

}  // namespace solvers::labels
