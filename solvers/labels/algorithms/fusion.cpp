#include "solvers/labels/algorithms/fusion.hpp"

#include <algorithm>

namespace solvers::labels {

// With the scores A (0, 0), B (0, 1), C (1, 0) and D (1, 1) of an edge, the cut needs A + D >= B +
// C. If that fails, B is lowered until it holds.
void fill_move(Matrix<const Index> unary, const Graph& graph, Matrix<const Index> pairs,
               std::span<const Index> labels, std::span<const Index> proposal, Index least,
               Index shift, std::span<Index> field, std::span<Index> weights) {
    for (Index i = 0; i < length(labels); ++i)
        field[i] = unary(i, proposal[i]) - unary(i, labels[i]);
    for (Index e = 0; e < pairs.rows; ++e) {
        const Index i = pairs(e, 0);
        const Index j = pairs(e, 1);
        const Index neither = graph.score(e, 0, labels[i], labels[j]);
        Index second = std::max(least, graph.score(e, 0, labels[i], proposal[j]));
        const Index first = std::max(least, graph.score(e, 0, proposal[i], labels[j]));
        const Index both = std::max(least, graph.score(e, 0, proposal[i], proposal[j]));
        const Index weight = neither + both - first - second;
        second += std::min(weight, Index{0});
        field[i] += first - neither;
        field[j] += second - neither;
        weights[e] = std::max(weight, Index{0}) >> shift;
    }
    for (Index& score : field) score >>= shift;
}

}  // namespace solvers::labels
