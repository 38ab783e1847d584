#include "solvers/algorithms/dual_ascent/search.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace solvers::dual_ascent {
namespace {

// Maximum number of pairs of sweeps, forwards and backwards.
constexpr Index ROOT_SWEEPS = 100;
constexpr Index SWEEPS = 3;

// Sweeps continue while they gain more than the gap divided by this.
constexpr Index ROOT_PART = 64;
constexpr Index PART = 32;

// Sweeps at the root times n + e: less than a second.
constexpr Index ROOT_VISITS = Index{1} << 22;

}  // namespace

DualSearch::DualSearch(Graph graph, std::vector<Index> unary, std::vector<std::int8_t> states,
                       std::vector<Index> scores, Index depth)
    : graph_(std::move(graph)),
      n_(graph_.variables()),
      e_(graph_.edges()),
      scores_(std::move(scores)),
      places_(scores_.size()),
      states_(std::move(states)) {
    std::iota(places_.begin(), places_.end(), Index{0});
    resize(depth);
    std::fill_n(state_.begin(), n_, FREE);
    std::ranges::copy(unary, field_.begin());
    for (Index score : unary) bound_[0] += std::max(score, Index{0});
    for (Index score : graph_.pairwise) bound_[0] += std::max(score, Index{0});
}

Best<Index> DualSearch::best() {
    return {scores_, places_, {states_.data(), static_cast<Index>(scores_.size()), n_}};
}

std::vector<std::int8_t> DualSearch::states() const {
    std::vector<std::int8_t> ordered;
    for (Index place : places_)
        ordered.insert(ordered.end(), states_.begin() + place * n_,
                       states_.begin() + (place + 1) * n_);
    return ordered;
}

Index DualSearch::bound() const {
    Index largest = scores_.back();
    for (Index depth = 0; depth <= depth_; ++depth)
        if (tried_[depth] < 2) largest = std::max(largest, bound_[depth]);
    return largest;
}

Index DualSearch::bytes() const {
    return static_cast<Index>(state_.size() + value_.size() + tried_.size() +
                              sizeof(Index) * (field_.size() + message_.size() + constant_.size() +
                                               bound_.size() + variable_.size()));
}

void DualSearch::double_stack() {
    resize(2 * capacity());
}

void DualSearch::resize(Index depth) {
    state_.resize(depth * n_);
    field_.resize(depth * n_);
    message_.resize(depth * e_ * 2);
    constant_.resize(depth);
    bound_.resize(depth);
    variable_.resize(depth);
    value_.resize(depth);
    tried_.resize(depth);
}

Node DualSearch::node(Index depth) {
    return {{&state_[depth * n_], static_cast<std::size_t>(n_)},
            {&field_[depth * n_], static_cast<std::size_t>(n_)},
            {message_.data() + depth * e_ * 2, e_, 2},
            constant_[depth],
            bound_[depth]};
}

void DualSearch::keep(Index depth, const Node& node) {
    constant_[depth] = node.constant;
    bound_[depth] = node.bound;
}

// Invariant: the node at depth_ is still to be bounded if none of its values was tried; every other
// node of the path has a value that leads to the next one, and `tried` counts its tried values.
Index DualSearch::run(Index nodes, Stop stop) {
    Index handled = 0;
    while (depth_ >= 0 && handled < nodes && depth_ + 1 < capacity() && !stop.requested()) {
        const Index depth = depth_;
        if (tried_[depth] == 0) {
            ++handled;
            tighten(depth, stop);
            if (bound_[depth] > scores_.back() && !choose(depth)) take_leaf(depth);
        }
        if (tried_[depth] == 2 || bound_[depth] <= scores_.back()) {
            --depth_;
        } else {
            branch(depth);
            ++depth_;
        }
    }
    return handled;
}

// Sweeps forwards and backwards while that pays.
void DualSearch::tighten(Index depth, Stop stop) {
    Node current = node(depth);
    const Index incumbent = scores_.back();
    Index divisor = PART;
    Index sweeps = SWEEPS;
    if (depth == 0) {
        divisor = ROOT_PART;
        sweeps = std::max(SWEEPS, std::min(ROOT_SWEEPS, ROOT_VISITS / (n_ + e_)));
    }
    for (Index pair = 0; pair < sweeps; ++pair) {
        const Index before = current.bound;
        for (Direction direction : {Direction::forward, Direction::backward})
            if (current.bound > incumbent && !stop.requested())
                current.sweep(graph_, direction, incumbent);
        if (before - current.bound <= (current.bound - incumbent) / divisor) break;
    }
    keep(depth, current);
}

// Chooses the variable to branch on and its first value; returns false if no edge joins two free
// variables.
//
// Where several assignments are wanted, other values of variables without edges count too: then it
// returns false only if no variable is free.
bool DualSearch::choose(Index depth) {
    const Node current = node(depth);
    Index strongest = 0;
    for (Index i = 0; i < n_; ++i) {
        if (current.state[i] != FREE) continue;
        const Node::Field field = current.field_of(graph_, i);
        if (field.strength <= strongest) continue;
        strongest = field.strength;
        variable_[depth] = i;
        value_[depth] = field.total > 0;
    }
    if (strongest == 0 && scores_.size() > 1) return choose_single(depth);
    return strongest > 0;
}

// Returns the free variable without edges that has the longest field, if there is one.
bool DualSearch::choose_single(Index depth) {
    const Node current = node(depth);
    Index longest = -1;
    for (Index i = 0; i < n_; ++i) {
        if (current.state[i] != FREE || std::abs(current.field[i]) <= longest) continue;
        longest = std::abs(current.field[i]);
        variable_[depth] = i;
        value_[depth] = current.field[i] > 0;
    }
    return longest >= 0;
}

// Without edges between free variables the bound is attained.
void DualSearch::take_leaf(Index depth) {
    const Node current = node(depth);
    std::vector<std::int8_t> z(n_);
    for (Index i = 0; i < n_; ++i)
        z[i] = current.state[i] == FREE ? static_cast<std::int8_t>(current.field[i] > 0)
                                        : current.state[i];
    best().take(bound_[depth], z);
    tried_[depth] = 2;
}

// Writes the next child after its parent.
void DualSearch::branch(Index depth) {
    const Index child = depth + 1;
    const Index value = value_[depth] ^ tried_[depth];
    ++tried_[depth];
    std::copy_n(&state_[depth * n_], n_, &state_[child * n_]);
    std::copy_n(&field_[depth * n_], n_, &field_[child * n_]);
    std::copy_n(message_.data() + depth * e_ * 2, e_ * 2, message_.data() + child * e_ * 2);
    constant_[child] = constant_[depth];
    bound_[child] = bound_[depth];
    Node next = node(child);
    next.fix(graph_, variable_[depth], value);
    keep(child, next);
    tried_[child] = 0;
}

}  // namespace solvers::dual_ascent
