#include "solvers/algorithms/dual_ascent/messages.hpp"

#include <algorithm>
#include <cstdlib>

namespace solvers::dual_ascent {
namespace {

Index positive(Index value) {
    return std::max(Index{0}, value);
}

// Returns what an edge wins at most by its end being 1, when the other end costs it `other`.
Index gain(Index weight, Index other) {
    return positive(weight - other) - positive(-other);
}

// Returns max(0, -m_i, -m_j, w - m_i - m_j).
Index peak(Index weight, Index mine, Index other) {
    return std::max(positive(-mine), std::max(-other, weight - mine - other));
}

bool leads_on(Index from, Index to, Direction direction) {
    return (to > from) == (direction == Direction::forward);
}

}  // namespace

void Node::fix(const Graph& graph, Index i, Index value) {
    Index unary = field[i];
    Index change = -positive(field[i]);
    for (Index k = graph.starts[i]; k < graph.starts[i + 1]; ++k) {
        const Index j = graph.near[k];
        if (state[j] != FREE) continue;
        const Index e = graph.edge[k];
        const Index mine = message(e, graph.side[k]);
        const Index other = message(e, 1 - graph.side[k]);
        const Index before = field[j];
        unary -= mine;
        field[j] += graph.pairwise[e] * value - other;
        change += positive(field[j]) - positive(before) - peak(graph.pairwise[e], mine, other);
    }
    state[i] = static_cast<std::int8_t>(value);
    constant += unary * value;
    bound += change + unary * value;
}

void Node::sweep(const Graph& graph, Direction direction, Index incumbent) {
    const Index n = length(state);
    for (Index step = 0; step < n; ++step) {
        const Index i = direction == Direction::forward ? step : n - 1 - step;
        if (state[i] != FREE) continue;
        const Edges edges = take(graph, i, direction);
        if (bound - std::abs(field[i]) <= incumbent)
            fix(graph, i, field[i] > 0);
        else if (edges.ahead)
            give(graph, i, direction, edges);
        if (bound <= incumbent) break;
    }
}

Node::Field Node::field_of(const Graph& graph, Index i) const {
    Field result{field[i], 0};
    for (Index k = graph.starts[i]; k < graph.starts[i + 1]; ++k) {
        if (state[graph.near[k]] != FREE) continue;
        const Index e = graph.edge[k];
        const Index side = graph.side[k];
        result.total += gain(graph.pairwise[e], message(e, 1 - side)) - message(e, side);
        result.strength += std::abs(graph.pairwise[e]);
    }
    return result;
}

// Takes everything from the edges; returns how many free edges lie ahead and behind.
Node::Edges Node::take(const Graph& graph, Index i, Direction direction) {
    Edges edges{0, 0};
    Index total = field[i];
    Index change = -positive(field[i]);
    for (Index k = graph.starts[i]; k < graph.starts[i + 1]; ++k) {
        const Index j = graph.near[k];
        if (state[j] != FREE) continue;
        const Index e = graph.edge[k];
        const Index side = graph.side[k];
        const Index mine = message(e, side);
        const Index other = message(e, 1 - side);
        const Index taken = gain(graph.pairwise[e], other);
        change += positive(-other) - peak(graph.pairwise[e], mine, other);
        total += taken - mine;
        message(e, side) = taken;
        ++(leads_on(i, j, direction) ? edges.ahead : edges.behind);
    }
    field[i] = total;
    bound += change + positive(total);
    return edges;
}

// Gives a share to each edge ahead, rounded towards zero, so that no share has the other sign.
void Node::give(const Graph& graph, Index i, Direction direction, const Edges& edges) {
    const Index share = field[i] / std::max(edges.ahead, edges.behind);
    for (Index k = graph.starts[i]; k < graph.starts[i + 1]; ++k) {
        const Index j = graph.near[k];
        if (state[j] == FREE && leads_on(i, j, direction))
            message(graph.edge[k], graph.side[k]) -= share;
    }
    field[i] -= edges.ahead * share;
}

}  // namespace solvers::dual_ascent
