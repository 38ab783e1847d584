#include "solvers/algorithms/branch_and_bound/tree.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "solvers/compiled/random.hpp"

namespace solvers::branch_and_bound {
namespace {

constexpr Index LEAF_VARIABLES = 9;  // enumerated
constexpr Index LEAST_RELAXED = 24;  // smaller levels keep the diagonal that they have
constexpr Sweeps ROOT_SWEEPS{200, 1e-6};
constexpr Sweeps LEVEL_SWEEPS{7, 1e-4};
constexpr Sweeps STEP_SWEEPS{6, 1e-4};  // before the multipliers of a level move
constexpr Sweeps LAGRANGIAN_SWEEPS{14, 1e-4};
constexpr int ROOT_ROUNDS = 3;
constexpr int BOX_SWEEPS = 20;
constexpr double LEAST_GAIN = 1e-3;  // of the gap: ascent that gains less ends

// Before a node gets a new level: maximum number of sweeps, and the gap share that each must close.
constexpr int LAST_SWEEPS = 20;
constexpr double LAST_GAIN = 0.1;

constexpr std::uint8_t NEVER = 0;

// Returns where the vector v_i puts x_i: from 0, opposite of e, to 1, along e.
double place_of(const Level& level, Index i) {
    return 0.5 + 0.5 * level.vectors[i * VECTOR_STRIDE];
}

}  // namespace

Tree::Tree(std::span<const double> unary, Matrix<const double> pairwise,
           std::vector<Inequality> inequalities, double step, Stop stop)
    : n_(length(unary)),
      step_(step),
      factor_(n_),
      fields_(padded(n_)),
      linear_(padded(n_)),
      candidate_(padded(n_)),
      table_(Index{1} << LEAF_VARIABLES),
      linear_table_(Index{1} << LEAF_VARIABLES),
      state_(n_) {
    order_.reserve(n_);
    copy_problem(unary, pairwise);
    levels_[0].inequalities = std::move(inequalities);
    begin_root(stop);
}

Level& Tree::level_at(Index depth) {
    for (auto count = static_cast<Index>(levels_.size()); count <= depth; ++count)
        levels_.emplace_back(n_ - LEVEL_STEP * count, n_, count);
    return levels_[depth];
}

Node& Tree::node_at(Index depth) {
    while (static_cast<Index>(nodes_.size()) <= depth) nodes_.emplace_back(n_);
    return nodes_[depth];
}

void Tree::copy_problem(std::span<const double> unary, Matrix<const double> pairwise) {
    Level& level = level_at(0);
    level.resize(n_);
    for (Index i = 0; i < n_; ++i) {
        level.variable[i] = i;
        level.unary[i] = unary[i];
        std::ranges::copy(pairwise[i], level.scores()[i]);
        for (double weight : pairwise[i])
            level.diagonal[i] += std::abs(weight);  // dominance: concave, and exact
    }
}

void Tree::begin_root(Stop stop) {
    Node& root = node_at(0);
    Level& level = levels_[0];
    Random random = Random::seeded(0);
    for (Index i = 0; i < n_; ++i) {
        double* vector = &level.vectors[i * VECTOR_STRIDE];
        double square = 0.0;
        for (Index r = 0; r < RANK; ++r) {
            vector[r] = 2.0 * random.uniform() - 1.0;
            square += vector[r] * vector[r];
        }
        for (Index r = 0; r < RANK; ++r) vector[r] /= std::sqrt(square);
        root.x()[i] = 0.5;
    }
    root.start(level);
    level.compose();
    if (!level.inequalities.empty())
        relax_lagrangian(root, ROOT_SWEEPS, ROOT_ROUNDS, stop);
    else if (n_ > LEAF_VARIABLES)
        relax(root, ROOT_SWEEPS, ROOT_ROUNDS, stop);
    root.begin();
    root.bound = root_bound_ = std::numeric_limits<double>::infinity();
}

// Gives the level of a node the diagonal of its own semidefinite relaxation if that lowers the
// bound at its point, which becomes the point of the node.
void Tree::relax(Node& node, Sweeps sweeps, int rounds, Stop stop) {
    const Level& level = node.level();
    mix_level(node, sweeps, stop);
    if (!make_concave(level.pairwise(), candidate_.data(), factor_, rounds)) return;
    double saved = 0.0;
    for (Index i = 0; i < level.size; ++i) {
        const double at = place_of(level, i);
        saved += (level.diagonal[i] - candidate_[i]) * at * (1.0 - at);
    }
    if (saved > 0.0) take_diagonal(node);
}

// Moves the multipliers of the level of a node, then gives the level the diagonal of its own
// Lagrangian. The diagonal of the level above belongs to another function, so it may not stay. If
// no diagonal is certified, the level gives up its inequalities, and diagonal dominance makes the
// score concave: d_i is the sum of |W_ij|, which is exact.
void Tree::relax_lagrangian(Node& node, Sweeps sweeps, int rounds, Stop stop) {
    Level& level = node.level();
    if (level.depth > 0) {
        mix_level(node, STEP_SWEEPS, stop);
        update_multipliers(level.inequalities, level.vectors.data(), step_);
        level.compose();
    }
    mix_level(node, sweeps, stop);
    if (!make_concave(level.pairwise(), candidate_.data(), factor_, rounds)) {
        level.inequalities.clear();
        level.compose();
        for (Index i = 0; i < level.size; ++i) candidate_[i] = node.high()[i] - node.low()[i];
    }
    take_diagonal(node);
}

// Moves the vectors of the level of a node; their fields' lengths become the candidate diagonal.
void Tree::mix_level(Node& node, Sweeps sweeps, Stop stop) {
    Level& level = node.level();
    for (Index i = 0; i < level.size; ++i)
        linear_[i] = node.high()[i] + node.low()[i] + level.pull[i];  // 2 u + W 1
    mix(level.pairwise(), linear_.data(), level.vectors.data(), candidate_.data(), sweeps, stop);
}

// The node moves to where the vectors put it.
void Tree::take_diagonal(Node& node) {
    Level& level = node.level();
    for (Index i = 0; i < level.size; ++i) {
        level.diagonal[i] = candidate_[i];
        node.x()[i] = std::clamp(place_of(level, i), 0.0, 1.0);
    }
}

double Tree::scale() const {
    double total = 0.0;
    for (Index i = 0; i < n_; ++i) total += levels_[0].diagonal[i];
    return total / static_cast<double>(std::max(n_, Index{1}));
}

// Packs the free variables of a node into a new level.
void Tree::descend(Node& node) {
    Level& level = level_at(node.level().depth + 1);
    level.constant = node.fixed_score(order_, fields_);
    node.assign(level.fixed);
    level.resize(length(std::span(order_)));
    for (Index a = 0; a < level.size; ++a) level.unary[a] = fields_[order_[a]];
    std::fill(level.unary.begin() + level.size, level.unary.begin() + level.stride, 0.0);
    const bool had_inequalities = !node.level().inequalities.empty();
    node.descend(level, order_);
    if (had_inequalities)
        relax_lagrangian(node, LAGRANGIAN_SWEEPS, 1, Stop(&NEVER));
    else if (level.size >= LEAST_RELAXED)
        relax(node, LEVEL_SWEEPS, 1, Stop(&NEVER));
    node.begin();
}

// Fixes the variables whose other value cannot beat the incumbent, or never helps; returns how
// many.
//
// A value that never helps may be that of the second best state, so this rule applies only where
// one state is asked for.
Index Tree::fix_by_bounds(Node& node, double bound, const Incumbent& incumbent) {
    const double threshold = incumbent.threshold();
    // All tests read the same gradient, and each refers to the node as it is now.
    order_.clear();
    for (Index i = 0; i < node.level().stride; i += REGISTER_LANES)
        for (unsigned bits = node.decided(i, bound, threshold); bits != 0; bits &= bits - 1) {
            const Index variable = i + std::countr_zero(bits);
            const double gradient = node.gradient()[variable];
            incumbent.prune(bound - std::abs(gradient));
            order_.push_back(2 * variable + (gradient > 0.0 ? 1 : 0));
        }
    for (Index choice : order_) node.fix(choice >> 1, static_cast<double>(choice & 1));
    const Index count = length(std::span(order_));
    return incumbent.best.scores.size() == 1 ? count + fix_dominated(node) : count;
}

Index Tree::fix_dominated(Node& node) {
    Index count = 0;
    for (bool again = true; again;) {
        again = false;
        for (Index i = 0; i < node.level().stride; i += REGISTER_LANES)
            while (const unsigned bits = node.dominated(i)) {
                const Index variable = i + std::countr_zero(bits);
                node.fix(variable, node.high()[variable] <= 0.0 ? 0.0 : 1.0);
                ++count;
                again = true;
            }
    }
    return count;
}

// Sets table[s] to the score of the node with the free variables at the bits of s, by doubling:
// with one more variable a state gains the field of that variable, which is linear in the state.
void Tree::fill_table(const Node& node) {
    double* __restrict table = table_.data();
    double* __restrict linear = linear_table_.data();
    table[0] = node.fixed_score(order_, fields_);
    for (Index a = 0; a < node.free_count(); ++a) {
        const double* row = node.level().score_row(order_[a]);
        linear[0] = fields_[order_[a]];
        for (Index b = 0; b < a; ++b) {
            const Index half = Index{1} << b;
            const double weight = row[order_[b]];
            for (Index s = 0; s < half; ++s) linear[half + s] = linear[s] + weight;
        }
        const Index size = Index{1} << a;
        for (Index s = 0; s < size; ++s) table[size + s] = table[s] + linear[s];
    }
}

// Scores all states of the free variables.
void Tree::enumerate(const Node& node, const Incumbent& incumbent) {
    fill_table(node);
    const Index states = Index{1} << node.free_count();
    double highest = table_[0];
#pragma omp simd reduction(max : highest)
    for (Index s = 0; s < states; ++s) highest = std::max(highest, table_[s]);
    if (highest <= incumbent.best.worst_score()) return;
    node.assign(state_);
    for (Index s = 0; s < states; ++s) {
        if (!(table_[s] > incumbent.best.worst_score())) continue;
        for (Index a = 0; a < node.free_count(); ++a)
            state_[node.level().variable[order_[a]]] = static_cast<std::int8_t>(s >> a & 1);
        incumbent.best.take(table_[s], state_);
    }
}

namespace {

// Returns the bound of a node with its rounding. If only rounding keeps the bound from pruning, g
// is recomputed.
double certified_bound(Node& node, double threshold) {
    double bound = node.tangent_bound();
    if (bound <= threshold && bound + node.rounding() > threshold) {
        node.refresh();
        bound = node.tangent_bound();
    }
    bound += node.rounding();
    node.bound = std::min(node.bound, bound);
    return bound;
}

// Returns whether some sweeps within its level prune a node. A new level would take as long as many
// sweeps, and would then be of no use.
bool pruned_by_sweeps(Node& node, double threshold) {
    double bound = certified_bound(node, threshold);
    for (int sweep = 0; bound > threshold && sweep < LAST_SWEEPS; ++sweep) {
        if (node.value() > threshold) return false;
        const double before = bound;
        node.sweep();
        bound = certified_bound(node, threshold);
        if (before - bound < LAST_GAIN * (bound - threshold)) break;
    }
    return bound <= threshold;
}

}  // namespace

// Bounds a node and fixes variables; returns true if the node is finished.
bool Tree::settle(Node& node, const Incumbent& incumbent) {
    for (int sweep = 0; sweep < BOX_SWEEPS; ++sweep) {
        const double threshold = incumbent.threshold();
        const double bound = certified_bound(node, threshold);
        if (bound <= threshold) {
            incumbent.prune(bound);
            return true;
        }
        const Index fixed = fix_by_bounds(node, bound, incumbent);
        if (node.free_count() <= LEAF_VARIABLES) {
            enumerate(node, incumbent);
            return true;
        }
        if (node.free_count() <= node.level().size - LEVEL_STEP) {
            if (!pruned_by_sweeps(node, threshold)) descend(node);
            continue;
        }
        // The maximum of f is at least f(x), so beyond the threshold no x prunes.
        if (fixed == 0 && node.value() > threshold) return false;
        const double gain = node.sweep();
        if (fixed == 0 && gain <= LEAST_GAIN * (bound - threshold)) return false;
    }
    return false;
}

// The next node becomes the first child, at the nearer value.
void Tree::branch() {
    Node& node = nodes_[top_];
    const Index i = node.branch_variable();
    const double bit = node.x()[i] >= 0.5 ? 1.0 : 0.0;
    node.branch = i;
    node.branch_value = 1.0 - bit;
    Node& child = node_at(++top_);
    child.copy_from(node);
    child.fix(i, bit);
}

Index Tree::run(Index budget, const Incumbent& incumbent) {
    Index handled = 0;
    for (; top_ >= 0 && handled < budget; ++handled) {
        const bool settled = settle(nodes_[top_], incumbent);
        if (std::exchange(at_root_, false)) root_bound_ = nodes_[0].bound;
        if (!settled) {
            branch();
            continue;
        }
        if (--top_ < 0) continue;
        Node& parent = nodes_[top_];
        parent.fix(parent.branch, parent.branch_value);
    }
    return handled;
}

std::vector<double> Tree::open_bounds() const {
    std::vector<double> bounds;
    for (Index depth = 0; depth <= top_; ++depth) bounds.push_back(nodes_[depth].bound);
    return bounds;
}

}  // namespace solvers::branch_and_bound
