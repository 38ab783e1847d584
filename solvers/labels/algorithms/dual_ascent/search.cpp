#include "solvers/labels/algorithms/dual_ascent/search.hpp"

#include <algorithm>
#include <limits>

#include "solvers/labels/algorithms/dual_ascent/decoding.hpp"

namespace solvers::labels {
namespace {

// Maximum number of pairs of sweeps, one in each direction.
constexpr Index ROOT_SWEEPS = 500;
constexpr Index SWEEPS = 3;

// Sweeps continue while they gain more than the gap divided by this.
constexpr Index ROOT_PART = 1024;
constexpr Index PART = 32;

// Rounds of single changes after a sweep at the root.
constexpr Index ASCENT = 20;

}  // namespace

LabelSearch::LabelSearch(const Graph& graph, Matrix<const Index> unary,
                         std::span<const Index> sizes, std::span<const Index> alike,
                         Index below_all, Index step, Index depth)
    : graph_(graph),
      unary_(unary),
      sizes_(sizes),
      n_(unary.rows),
      k_(unary.columns),
      e_(length(graph.edge) / 2),
      step_(step),
      best_(below_all),
      labels_(n_),
      trial_(n_),
      scratch_(k_),
      ended_(n_, 1.0),
      seen_(2 * k_, 0) {
    for (Index i = 0; i < n_; ++i)
        labels_[i] = std::ranges::max_element(unary[i]) - unary[i].begin();
    resize(depth);
    std::ranges::copy(alike, alike_.begin());
    bound_[0] = Messages(graph_, node(0), scratch_).begin(unary_, sizes_);
}

void LabelSearch::resize(Index depth) {
    field_.resize(depth * n_ * k_);
    message_.resize(depth * e_ * 2 * k_);
    values_.resize(depth * n_ * k_);
    left_.resize(depth * n_);
    done_.resize(depth * n_);
    bound_.resize(depth);
    alike_.resize(depth * k_);
}

Index LabelSearch::bytes() const {
    const std::size_t words =
        field_.size() + message_.size() + left_.size() + bound_.size() + alike_.size();
    return static_cast<Index>(sizeof(Index) * words + sizeof(Value) * values_.size() +
                              done_.size());
}

Node LabelSearch::node(Index depth) {
    return {{field_.data() + depth * n_ * k_, n_, k_},
            {message_.data() + depth * e_ * 2 * k_, e_, 2, k_},
            {values_.data() + depth * n_ * k_, n_, k_},
            {left_.data() + depth * n_, static_cast<std::size_t>(n_)},
            {done_.data() + depth * n_, static_cast<std::size_t>(n_)}};
}

Index LabelSearch::bound() const {
    Index largest = best_;
    for (Index depth = 0; depth <= depth_; ++depth) largest = std::max(largest, bound_[depth]);
    return largest;
}

void LabelSearch::offer(std::span<const Index> labels) {
    const Index score = score_of(unary_, graph_, labels);
    if (score <= best_) return;
    best_ = score;
    std::ranges::copy(labels, labels_.begin());
}

Index LabelSearch::run(Index nodes, Stop stop) {
    Index handled = 0;
    while (depth_ >= 0 && handled < nodes && !full() && !stop.requested()) {
        ++handled;
        if (bound_[depth_] >= best_ + step_) tighten(depth_, stop);
        if (bound_[depth_] < best_ + step_) {
            --depth_;
        } else if (!stop.requested()) {
            branch(depth_);
            ++depth_;
        }
    }
    return handled;
}

// Sweeps in both directions while it pays; the resulting labels may be the best so far.
void LabelSearch::tighten(Index depth, Stop stop) {
    const Node current = node(depth);
    Messages messages(graph_, current, scratch_);
    const bool at_root = fresh_;
    fresh_ = false;
    const Index part = at_root ? ROOT_PART : PART;
    const Index pairs = at_root ? ROOT_SWEEPS : SWEEPS;
    for (Index pair = 0; pair < pairs; ++pair) {
        const Index before = bound_[depth];
        for (Direction direction : {Direction::forward, Direction::backward}) {
            const Messages::Swept swept =
                messages.sweep(direction, bound_[depth], best_ + step_ - 1, stop);
            bound_[depth] = swept.constant;
            if (swept.ended_at >= 0) {
                ended_[swept.ended_at] += 1;
                return;
            }
            if (stop.requested() && !at_root) return;
            read_labels(current, direction, at_root, stop);
        }
        if (stop.requested() || before - bound_[depth] <= (bound_[depth] - best_) / part) return;
    }
}

void LabelSearch::read_labels(const Node& current, Direction direction, bool at_root, Stop stop) {
    decode(graph_, current, direction, trial_, scratch_);
    if (at_root) ascend(unary_, graph_, sizes_, trial_, ASCENT, scratch_, stop);
    offer(trial_);
}

// Writes a child after its parent, which keeps the values that are not alike the child's.
void LabelSearch::branch(Index depth) {
    const Index child = depth + 1;
    std::copy_n(field_.data() + depth * n_ * k_, n_ * k_, field_.data() + child * n_ * k_);
    std::copy_n(message_.data() + depth * e_ * 2 * k_, e_ * 2 * k_,
                message_.data() + child * e_ * 2 * k_);
    std::copy_n(values_.data() + depth * n_ * k_, n_ * k_, values_.data() + child * n_ * k_);
    std::copy_n(left_.data() + depth * n_, n_, left_.data() + child * n_);
    std::copy_n(done_.data() + depth * n_, n_, done_.data() + child * n_);
    bound_[child] = bound_[depth];
    const Node parent = node(depth);
    const std::span<Index> same = alike(depth);
    const Index i = chosen(parent, same);
    Index place = 0;
    for (Index p = 1; p < parent.left[i]; ++p)
        if (parent.field(i, parent.values(i, p)) > parent.field(i, parent.values(i, place)))
            place = p;
    Messages(graph_, node(child), scratch_).keep(i, place, place + 1);
    const Value a = parent.values(i, place);
    const Index number = same[a];
    std::ranges::copy(same, alike(child).begin());
    alike(child)[a] = k_ + a;
    Messages rest(graph_, parent, scratch_);
    for (Index p = parent.left[i] - 1; p >= 0; --p)
        if (same[parent.values(i, p)] == number) rest.remove(i, p, p + 1);
    if (parent.left[i] == 0) bound_[depth] = FORBIDDEN_FIELD;  // the child stands for all
}

// Number of remaining values, where alike values count once.
Index LabelSearch::different(std::span<const Value> values, std::span<const Index> alike) {
    ++counts_;
    Index count = 0;
    for (Value a : values) {
        if (seen_[alike[a]] == counts_) continue;
        seen_[alike[a]] = counts_;
        ++count;
    }
    return count;
}

// Number of neighbours with several values, and at least 1.
Index LabelSearch::open_neighbours(const Node& current, Index i) const {
    Index count = 0;
    for (Index place = graph_.starts[i]; place < graph_.starts[i + 1]; ++place)
        if (current.left[graph_.near[place]] > 1) ++count;
    return std::max(count, Index{1});
}

// The variable with the fewest different values relative to its weight: the branches that it has
// ended, times its open neighbours, whose bounds its value changes.
Index LabelSearch::chosen(const Node& current, std::span<const Index> alike) {
    Index best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < n_; ++i) {
        if (current.left[i] <= 1) continue;
        const Index count = different(current.values_of(i), alike);
        const double weight = ended_[i] * static_cast<double>(open_neighbours(current, i));
        const double weighted = static_cast<double>(count) / weight;
        if (weighted >= least) continue;
        best = i;
        least = weighted;
    }
    return best;
}

}  // namespace solvers::labels
