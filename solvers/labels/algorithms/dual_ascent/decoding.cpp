#include "solvers/labels/algorithms/dual_ascent/decoding.hpp"

#include <algorithm>

namespace solvers::labels {
namespace {

// Adds the gains of edges to labelled variables for each remaining value of i.
void add_decided(const Graph& graph, const Node& node, Direction direction, Index i,
                 std::span<const Index> labels, std::span<Index> scratch) {
    const std::span<const Value> values = node.values_of(i);
    for (Index place = graph.starts[i]; place < graph.starts[i + 1]; ++place) {
        const Index j = graph.near[place];
        const Index e = graph.edge[place];
        const Index side = graph.side[place];
        if (node.done[j] || !leads_on(i, j, direction)) continue;
        const Index b = labels[j];
        for (Index p = 0; p < length(values); ++p) {
            const Index a = values[p];
            const Index won = graph.score(e, side, a, b) - node.message(e, side, a) -
                              node.message(e, 1 - side, b);
            scratch[p] = std::max(FORBIDDEN_FIELD, scratch[p] + won);
        }
    }
}

// Gives a variable its best value; returns whether that gains.
bool improve(Index i, Matrix<const Index> unary, const Graph& graph, std::span<const Index> sizes,
             std::span<Index> labels, std::span<Index> scratch) {
    for (Index a = 0; a < sizes[i]; ++a) scratch[a] = unary(i, a);
    for (Index place = graph.starts[i]; place < graph.starts[i + 1]; ++place) {
        const Index e = graph.edge[place];
        const Index b = labels[graph.near[place]];
        if (graph.weighted()) {
            if (b < sizes[i]) scratch[b] += graph.weights[e];
            continue;
        }
        const Matrix<const Index> table = graph.table(e, 1 - graph.side[place]);
        for (Index a = 0; a < sizes[i]; ++a)
            scratch[a] = std::max(FORBIDDEN_FIELD, scratch[a] + table(b, a));
    }
    Index best = labels[i];
    for (Index a = 0; a < sizes[i]; ++a)
        if (scratch[a] > scratch[best]) best = a;
    const bool gains = best != labels[i];
    labels[i] = best;
    return gains;
}

}  // namespace

void decode(const Graph& graph, const Node& node, Direction direction, std::span<Index> labels,
            std::span<Index> scratch) {
    const Index n = length(labels);
    for (Index step = 0; step < n; ++step) {
        const Index i = direction == Direction::forward ? n - 1 - step : step;
        const std::span<const Value> values = node.values_of(i);
        for (Index p = 0; p < length(values); ++p) scratch[p] = node.field(i, values[p]);
        if (values.size() > 1) add_decided(graph, node, direction, i, labels, scratch);
        Index best = 0;
        for (Index p = 1; p < length(values); ++p)
            if (scratch[p] > scratch[best]) best = p;
        labels[i] = node.values(i, best);
    }
}

Index score_of(Matrix<const Index> unary, const Graph& graph, std::span<const Index> labels) {
    Index total = 0;
    for (Index i = 0; i < length(labels); ++i) {
        if (unary(i, labels[i]) <= IMPOSSIBLE) return FORBIDDEN_FIELD;
        total += unary(i, labels[i]);
        for (Index place = graph.starts[i]; place < graph.starts[i + 1]; ++place) {
            if (graph.side[place] != 0) continue;
            const Index more =
                graph.score(graph.edge[place], 0, labels[i], labels[graph.near[place]]);
            if (more <= IMPOSSIBLE) return FORBIDDEN_FIELD;
            total += more;
        }
    }
    return total;
}

void ascend(Matrix<const Index> unary, const Graph& graph, std::span<const Index> sizes,
            std::span<Index> labels, Index rounds, std::span<Index> scratch, Stop stop) {
    for (Index round = 0; round < rounds; ++round) {
        bool changed = false;
        for (Index i = 0; i < length(labels); ++i) {
            if (stop.requested()) return;
            changed |= improve(i, unary, graph, sizes, labels, scratch);
        }
        if (!changed) return;
    }
}

}  // namespace solvers::labels
