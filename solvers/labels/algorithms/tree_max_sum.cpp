#include "solvers/labels/algorithms/tree_max_sum.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "solvers/compiled/vectors.hpp"

namespace solvers::labels {
namespace {

constexpr double LOWEST = -std::numeric_limits<double>::infinity();

// message[x] = max_y sums[y] + factor * table[y, x].
void fill_message(std::span<const double> sums, Matrix<const double> table, double factor,
                  std::span<double> message) {
    const Index size = length(message);
    if (factor == 0.0) {  // as beyond the end of a chain: whatever the table is
        std::ranges::fill(message, *std::ranges::max_element(sums));
        return;
    }
    if (factor != 1.0 || size < LANES) {
        std::ranges::fill(message, LOWEST);
        for (Index y = 0; y < length(sums); ++y)
            for (Index x = 0; x < size; ++x) {
                const double value = sums[y] + factor * table(y, x);
                message[x] = value > message[x] ? value : message[x];
            }
        return;
    }
    for (Index start = 0; start < size; start += LANES) {
        const Index here = std::min(start, size - LANES);  // the last columns may come twice
        Vector largest = fill(LOWEST);
        for (Index y = 0; y < length(sums); ++y)
            largest = larger(fill(sums[y]) + load(&table(y, here)), largest);
        store(&message[here], largest);
    }
}

// argmax_y sums[y] + factor * table[y, x].
Index choice(std::span<const double> sums, Matrix<const double> table, Index x, double factor) {
    if (factor == 0.0) return std::ranges::max_element(sums) - sums.begin();
    double best = LOWEST;
    Index chosen = 0;
    for (Index y = 0; y < length(sums); ++y) {
        const double value = sums[y] + factor * table(y, x);
        if (value > best) {
            best = value;
            chosen = y;
        }
    }
    return chosen;
}

// The tables of one instance.
struct Instance {
    const ForestTables& forest;
    Index table;
    Index weight;

    Matrix<const double> table_of(Index edge, bool first) const {
        return (first ? forest.rows : forest.turned).of(table, forest.table_of[edge]);
    }
    double factor(Index edge) const {
        return forest.weights.columns ? forest.weights(weight, edge) : 1.0;
    }
};

}  // namespace

void best_labels(const ForestTables& forest, Cube<const double> unary, std::span<const Index> table,
                 std::span<const Index> weight, Matrix<Index> labels) {
    const Index n = unary.rows;
    const Index k = unary.columns;
    std::vector<double> sum_values(n * k);
    std::vector<double> message(k);
    const Matrix<double> sums{sum_values.data(), n, k};
    const auto sums_of = [&](Index v) { return sums[v].first(forest.sizes[v]); };
    for (Index b = 0; b < unary.depth; ++b) {
        const Instance instance{forest, table[b], weight[b]};
        // Forwards, children before parents: m(x) = max_y s_v(y) + w T(y, x), with s_v the sum of
        // the unary scores of v and of the messages of its children. Invariant: before step t,
        // `sums` of each variable has the messages of those of its children that came before.
        std::copy_n(&unary(b, 0, 0), n * k, sum_values.begin());
        for (Index t = 0; t < n; ++t) {
            const Index parent = forest.steps(t, 1);
            if (parent < 0) continue;
            const Index edge = forest.steps(t, 2);
            const std::span<double> to_parent = std::span(message).first(forest.sizes[parent]);
            fill_message(sums_of(forest.steps(t, 0)), instance.table_of(edge, forest.steps(t, 3)),
                         instance.factor(edge), to_parent);
            for (Index x = 0; x < length(std::span<const double>(to_parent)); ++x)
                sums(parent, x) += to_parent[x];
        }
        // Backwards, parents first: the maximum again, x_v = argmax_y s_v(y) + w T(y, x_parent),
        // at the one value that the parent has. So no choices are kept.
        for (Index t = n - 1; t >= 0; --t) {
            const Index v = forest.steps(t, 0);
            const Index parent = forest.steps(t, 1);
            if (parent < 0) {
                labels(b, v) = std::ranges::max_element(sums_of(v)) - sums_of(v).begin();
                continue;
            }
            const Index edge = forest.steps(t, 2);
            labels(b, v) = choice(sums_of(v), instance.table_of(edge, forest.steps(t, 3)),
                                  labels(b, parent), instance.factor(edge));
        }
    }
}

}  // namespace solvers::labels
