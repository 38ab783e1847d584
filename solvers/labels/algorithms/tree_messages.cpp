#include "solvers/labels/algorithms/tree_messages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace solvers::labels {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Sets the first values of `sums` to u_i; returns log sum exp of them.
double gather(const Tree& tree, Index i, Matrix<const double> unary,
              std::span<const double> weights, Cube<const double> message, std::span<double> sums) {
    const Index size = tree.sizes[i];
    for (Index a = 0; a < size; ++a) sums[a] = unary(i, a);
    for (Index at = tree.starts[i]; at < tree.starts[i + 1]; ++at) {
        const Index e = tree.edge[at];
        for (Index a = 0; a < size; ++a) sums[a] += weights[e] * message(e, tree.side[at], a);
    }
    return log_sum(sums.first(size));
}

// log(a + b) for the logarithms of a and b.
double log_add(double left, double right) {
    if (left == right) return left + std::log(2.0);
    const double difference = left - right;
    return difference > 0 ? left + std::log1p(std::exp(-difference))
                          : right + std::log1p(std::exp(difference));
}

// One pass over the variables, with its scratch.
class Pass {
public:
    Pass(const Tree& tree, Matrix<double> unary, std::span<const double> weights,
         Cube<double> message, double damping)
        : tree_(tree),
          unary_(unary),
          weights_(weights),
          message_(message),
          damping_(damping),
          sums_(unary.columns),
          sent_(unary.columns),
          cavity_(unary.columns) {}

    Passed run(bool forward, Stop stop) {
        const Index n = tree_.variables();
        double total = 0.0;
        for (Index step = 0; step < n; ++step) {
            if (stop.requested()) return {INFINITE, INFINITE};
            const Index i = tree_.order[forward ? step : n - 1 - step];
            const double own = gather(tree_, i, unary_, weights_, message_, sums_);
            if (own == -INFINITE) return {-INFINITE, moved_};
            bool ahead = false;
            for (Index at = tree_.starts[i]; at < tree_.starts[i + 1]; ++at) {
                const Index j = tree_.near[at];
                if ((tree_.place[j] > tree_.place[i]) != forward) continue;
                ahead = true;
                const Index e = tree_.edge[at];
                total += weights_[e] * send(i, j, e, tree_.side[at]);
            }
            if (!ahead) total += own;
        }
        return {total, moved_};
    }

private:
    // Sends i's message to j, shifted so that its largest value is zero; returns the shift.
    double send(Index i, Index j, Index e, Index side) {
        const Index size = tree_.sizes[i];
        for (Index a = 0; a < size; ++a) cavity_[a] = sums_[a] - message_(e, side, a);
        const double whole =
            tree_.equal ? log_sum(std::span<const double>(cavity_).first(size)) : 0.0;
        double most = -INFINITE;
        for (Index b = 0; b < tree_.sizes[j]; ++b) {
            if (unary_(j, b) == -INFINITE) continue;
            sent_[b] =
                tree_.equal ? sum_with_equal(e, size, b, whole) : sum_with_table(e, side, size, b);
            most = std::max(most, sent_[b]);
        }
        for (Index b = 0; b < tree_.sizes[j]; ++b)
            if (unary_(j, b) != -INFINITE) deliver(j, e, 1 - side, b, most);
        return most;
    }

    // Log sum over a of exp(factor [a = b] / weight + cavity(a)): the sum of all, and what equal
    // values add to it.
    double sum_with_equal(Index e, Index size, Index b, double whole) const {
        if (b >= size) return whole;
        const double rise = std::expm1(tree_.factors[e] / weights_[e]);
        if (rise < INFINITE) return whole + std::log1p(rise * std::exp(cavity_[b] - whole));
        return log_add(whole, tree_.factors[e] / weights_[e] + cavity_[b]);
    }

    // Log sum over a of exp(score(a, b) / weight + cavity(a)).
    double sum_with_table(Index e, Index side, Index size, Index b) {
        double most = -INFINITE;
        for (Index a = 0; a < size; ++a)
            most = std::max(most, tree_.score(e, side, a, b) / weights_[e] + cavity_[a]);
        if (most == -INFINITE) return most;
        double total = 0.0;
        for (Index a = 0; a < size; ++a)
            total += std::exp(tree_.score(e, side, a, b) / weights_[e] + cavity_[a] - most);
        return most + std::log(total);
    }

    void deliver(Index j, Index e, Index side, Index b, double most) {
        double& message = message_(e, side, b);
        if (sent_[b] == -INFINITE) {  // nothing can go with b
            unary_(j, b) = -INFINITE;
            message = 0.0;
            moved_ = INFINITE;
            return;
        }
        const double next = (1.0 - damping_) * (sent_[b] - most) + damping_ * message;
        moved_ = std::max(moved_, std::abs(next - message));
        message = next;
    }

    const Tree& tree_;
    Matrix<double> unary_;
    std::span<const double> weights_;
    Cube<double> message_;
    double damping_;
    double moved_ = 0.0;
    std::vector<double> sums_;    // [k]
    std::vector<double> sent_;    // [k]
    std::vector<double> cavity_;  // [k]
};

// Writes the marginals of a pair; returns log Z_e - log Z_i - log Z_j.
double pair_belief(const Tree& tree, Index i, Index j, Index e, double weight,
                   Matrix<const double> message, Matrix<const double> logs, Matrix<double> belief) {
    double most = -INFINITE;
    for (Index a = 0; a < tree.sizes[i]; ++a)
        for (Index b = 0; b < tree.sizes[j]; ++b) {
            double value = logs(i, a) + logs(j, b);
            if (value > -INFINITE)
                value += tree.score(e, 0, a, b) / weight - message(0, a) - message(1, b);
            belief(a, b) = value;
            most = std::max(most, value);
        }
    double total = 0.0;
    for (Index a = 0; a < tree.sizes[i]; ++a)
        for (Index b = 0; b < tree.sizes[j]; ++b) {
            belief(a, b) = most > -INFINITE ? std::exp(belief(a, b) - most) : 0.0;
            total += belief(a, b);
        }
    for (Index a = 0; a < tree.sizes[i]; ++a)
        for (Index b = 0; b < tree.sizes[j]; ++b) belief(a, b) /= std::max(total, 1.0);
    return most + std::log(total);
}

}  // namespace

double Tree::score(Index e, Index side_of_a, Index a, Index b) const {
    const double entry = side_of_a == 0 ? tables(table_of[e], a, b) : tables(table_of[e], b, a);
    return entry == -INFINITE ? entry : entry * factors[e];
}

std::vector<Index> roots_last(std::span<const Index> starts, std::span<const Index> near) {
    const Index n = length(starts) - 1;
    std::vector<Index> order;
    std::vector<char> seen(n);
    for (Index root = 0; root < n; ++root) {
        if (seen[root]) continue;
        std::size_t head = order.size();
        order.push_back(root);
        seen[root] = true;
        for (; head < order.size(); ++head) {
            const Index v = order[head];
            for (Index place = starts[v]; place < starts[v + 1]; ++place) {
                if (seen[near[place]]) continue;
                order.push_back(near[place]);
                seen[near[place]] = true;
            }
        }
    }
    std::ranges::reverse(order);
    return order;
}

double log_sum(std::span<const double> values) {
    double most = -INFINITE;
    for (double value : values) most = std::max(most, value);
    if (most == -INFINITE) return most;
    double total = 0.0;
    for (double value : values) total += std::exp(value - most);
    return most + std::log(total);
}

Passed pass_on(const Tree& tree, Matrix<double> unary, std::span<const double> weights,
               Cube<double> message, bool forward, double damping, Stop stop) {
    return Pass(tree, unary, weights, message, damping).run(forward, stop);
}

double beliefs(const Tree& tree, Matrix<const double> unary, std::span<const double> weights,
               Cube<const double> message, Matrix<double> of_variables, Cube<double> of_pairs,
               Stop stop) {
    const Index n = tree.variables();
    const Index k = of_variables.columns;
    std::vector<double> sums(k);
    std::vector<double> log_values(n * k);
    const Matrix<double> logs{log_values.data(), n, k};
    double total = 0.0;
    for (Index i = 0; i < n; ++i) {
        if (stop.requested()) return INFINITE;
        const double own = gather(tree, i, unary, weights, message, sums);
        total += own;
        for (Index a = 0; a < tree.sizes[i]; ++a) {
            logs(i, a) = sums[a] - own;
            of_variables(i, a) = std::exp(logs(i, a));
        }
    }
    for (Index i = 0; i < n; ++i)
        for (Index at = tree.starts[i]; at < tree.starts[i + 1]; ++at) {
            if (tree.side[at] != 0) continue;
            if (stop.requested()) return INFINITE;
            const Index e = tree.edge[at];
            total +=
                pair_belief(tree, i, tree.near[at], e, weights[e], message[e], logs, of_pairs[e]);
        }
    return total;
}

}  // namespace solvers::labels
