#include "solvers/labels/algorithms/mean_field.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace solvers::labels {

double raise_bound(const Tree& tree, Matrix<const double> unary, Matrix<double> q, Stop stop) {
    double moved = 0.0;
    std::vector<double> mean(q.columns);
    for (Index i = 0; i < q.rows && !stop.requested(); ++i) {
        const Index size = tree.sizes[i];
        for (Index a = 0; a < size; ++a) mean[a] = unary(i, a);
        for (Index at = tree.starts[i]; at < tree.starts[i + 1]; ++at) {
            const Index j = tree.near[at];
            for (Index b = 0; b < tree.sizes[j]; ++b) {
                if (q(j, b) <= 0.0) continue;
                for (Index a = 0; a < size; ++a)
                    mean[a] += q(j, b) * tree.score(tree.edge[at], tree.side[at], a, b);
            }
        }
        const double whole = log_sum(std::span<const double>(mean).first(size));
        for (Index a = 0; a < size; ++a) {
            const double next = std::exp(mean[a] - whole);
            moved = std::max(moved, std::abs(next - q(i, a)));
            q(i, a) = next;
        }
    }
    return moved;
}

double mean_and_entropy(const Tree& tree, Matrix<const double> unary, Matrix<const double> q) {
    double total = 0.0;
    for (Index i = 0; i < q.rows; ++i) {
        for (Index a = 0; a < tree.sizes[i]; ++a)
            if (q(i, a) > 0.0) total += q(i, a) * (unary(i, a) - std::log(q(i, a)));
        for (Index at = tree.starts[i]; at < tree.starts[i + 1]; ++at) {
            if (tree.side[at] != 0) continue;
            const Index j = tree.near[at];
            for (Index a = 0; a < tree.sizes[i]; ++a)
                for (Index b = 0; b < tree.sizes[j]; ++b) {
                    const double both = q(i, a) * q(j, b);
                    if (both > 0.0) total += both * tree.score(tree.edge[at], 0, a, b);
                }
        }
    }
    return total;
}

}  // namespace solvers::labels
