#include "solvers/labels/algorithms/tabu.hpp"

#include <algorithm>
#include <vector>

#include "solvers/compiled/random.hpp"

namespace solvers::labels {
namespace {

// Steps without better labels after which the search continues from the best ones, with a part of
// them changed.
constexpr Index STALLED = 300;
constexpr double CHANGED = 0.02;

// Minimum number of steps for which a variable does not return to a value.
constexpr Index TENURE = 10;

class Walk {
public:
    Walk(const Graph& graph, Matrix<const Index> unary, std::span<const Index> sizes,
         std::span<Index> labels, Index low)
        : graph_(graph),
          unary_(unary),
          sizes_(sizes),
          labels_(labels),
          low_(low),
          n_(unary.rows),
          field_values_(n_ * unary.columns),
          until_values_(n_ * unary.columns),
          field_{field_values_.data(), n_, unary.columns},
          until_{until_values_.data(), n_, unary.columns} {}

    // Sets the score of every value given the labels of the others.
    void fill() {
        for (Index i = 0; i < n_; ++i) {
            for (Index a = 0; a < sizes_[i]; ++a) field_(i, a) = std::max(low_, unary_(i, a));
            for (Index place = graph_.starts[i]; place < graph_.starts[i + 1]; ++place) {
                const Index b = labels_[graph_.near[place]];
                for (Index a = 0; a < sizes_[i]; ++a)
                    field_(i, a) += score(graph_.edge[place], graph_.side[place], a, b);
            }
        }
    }

    struct Change {
        Index variable = -1;
        Index value = 0;
    };

    // Returns the change of greatest gain; a tabu change only if it gains more than `short_by`, the
    // distance to the best score.
    Change best_change(Index step, Index short_by, Random& random) const {
        Change chosen;
        Index most = -(Index{1} << 62);
        const Index first = below(n_, random.bits());
        for (Index turn = 0; turn < n_; ++turn) {
            const Index i = first + turn < n_ ? first + turn : first + turn - n_;
            const Index own = field_(i, labels_[i]);
            for (Index a = 0; a < sizes_[i]; ++a) {
                const Index gain = field_(i, a) - own;
                if (gain <= most || a == labels_[i]) continue;
                if (until_(i, a) >= step && gain <= short_by) continue;
                chosen = {i, a};
                most = gain;
            }
        }
        return chosen;
    }

    // Forbids a variable to return to its value for some steps.
    void forbid_return(Index i, Index step, Random& random) {
        until_(i, labels_[i]) = step + TENURE + below(TENURE + n_ / 10, random.bits());
    }

    // Makes a change; returns by how much the score rises.
    Index make(const Change& change) {
        const Index i = change.variable;
        const Index before = labels_[i];
        labels_[i] = change.value;
        for (Index place = graph_.starts[i]; place < graph_.starts[i + 1]; ++place) {
            const Index e = graph_.edge[place];
            const Index side = graph_.side[place];
            const Index j = graph_.near[place];
            for (Index b = 0; b < sizes_[j]; ++b)
                field_(j, b) += score(e, side, change.value, b) - score(e, side, before, b);
        }
        return field_(i, change.value) - field_(i, before);
    }

    // Gives a part of the variables other values; returns by how much the score rises, which is
    // usually negative.
    Index shake(Random& random) {
        Index gained = 0;
        const Index count =
            std::max(Index{2}, static_cast<Index>(CHANGED * static_cast<double>(n_)));
        for (Index k = 0; k < count; ++k) {
            const Index i = below(n_, random.bits());
            gained += make({i, below(sizes_[i], random.bits())});
        }
        return gained;
    }

private:
    Index score(Index e, Index side, Index a, Index b) const {
        return std::max(low_, graph_.score(e, side, a, b));
    }

    const Graph& graph_;
    Matrix<const Index> unary_;
    std::span<const Index> sizes_;
    std::span<Index> labels_;
    Index low_;
    Index n_;
    std::vector<Index> field_values_;
    std::vector<Index> until_values_;
    Matrix<Index> field_;  // [n, k]
    Matrix<Index> until_;  // [n, k]: the step before which a variable does not return to a value
};

}  // namespace

void tabu_walk(const Graph& graph, Matrix<const Index> unary, std::span<const Index> sizes,
               std::span<Index> labels, std::span<Index> best, Index low, Index steps,
               std::uint64_t seed, Stop stop) {
    Random random = Random::seeded(seed);
    Walk walk(graph, unary, sizes, labels, low);
    walk.fill();
    Index gained = 0;  // since the start
    Index most = 0;    // by the best labels
    Index better = 0;  // the last step with better labels
    for (Index step = 1; step <= steps && !stop.requested(); ++step) {
        if (step - better > STALLED) {
            std::ranges::copy(best, labels.begin());
            walk.fill();
            gained = most + walk.shake(random);
            better = step;
        }
        const Walk::Change change = walk.best_change(step, most - gained, random);
        if (change.variable < 0) continue;
        walk.forbid_return(change.variable, step, random);
        gained += walk.make(change);
        if (gained > most) {
            most = gained;
            better = step;
            std::ranges::copy(labels, best.begin());
        }
    }
}

}  // namespace solvers::labels
