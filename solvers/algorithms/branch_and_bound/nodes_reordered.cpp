#include "solvers/algorithms/branch_and_bound/nodes.hpp"

#include <bit>
#include <cmath>

#include "solvers/algorithms/branch_and_bound/relaxation.hpp"

namespace solvers::branch_and_bound {
namespace {

// Smaller steps of the ascent that stay inside the box are not worth their time.
constexpr double SMALLEST_STEP = 1e-4;

// Writes to[a] = from[order[a]], and zeros behind; both may be the same array.
void gather(double* to, const double* from, std::span<const Index> order, Index stride) {
    for (std::size_t a = 0; a < order.size(); ++a) to[a] = from[order[a]];
    std::fill(to + order.size(), to + stride, 0.0);
}

struct Run {
    Index begin;
    Index length;
};

// The runs of neighbouring indices in `order`, which rises.
std::vector<Run> runs_of(std::span<const Index> order) {
    std::vector<Run> runs;
    for (Index i : order) {
        if (!runs.empty() && runs.back().begin + runs.back().length == i)
            ++runs.back().length;
        else
            runs.push_back({i, 1});
    }
    return runs;
}

// As `gather`, for two rows that do not overlap, `to` with room for PADDING more: whole registers
// are copied, and the next run overwrites the excess.
void gather_runs(double* to, const double* from, std::span<const Run> runs) {
    for (const Run& run : runs) {
        for (Index j = 0; j < run.length; j += REGISTER_LANES)
            store_register(to + j, load_register(from + run.begin + j));
        to += run.length;
    }
}

}  // namespace

Level::Level(Index m, Index n, Index depth)
    : depth(depth),
      matrix(m * padded(m) + PADDING),
      unary(padded(m)),
      linear(padded(m)),
      pull(padded(m)),
      diagonal(padded(m)),
      vectors(m * VECTOR_STRIDE),
      variable(m),
      fixed(n) {}

void Level::resize(Index m) {
    size = m;
    stride = padded(m);
}

// With w = mu p_i p_j, the term w s_i s_j is w (4 z_i z_j - 2 z_i - 2 z_j + 1), and w (2 z_j - 1)
// if node i is the constant. `begin` bounds the rounding of these sums.
void Level::compose() {
    std::copy_n(unary.begin(), stride, linear.begin());
    std::fill_n(pull.begin(), stride, 0.0);
    offset = constant;
    multipliers = 0.0;
    if (inequalities.empty()) return;
    lagrangian.resize(matrix.size());
    std::copy_n(matrix.begin(), size * stride, lagrangian.begin());
    for (const Inequality& inequality : inequalities) {
        offset += inequality.multiplier;
        multipliers += inequality.multiplier;
        inequality.for_each_pair([&](Index i, Index j, int sign) {
            const double weight = sign * inequality.multiplier;
            if (i == 0) {
                linear[j - 1] += 2.0 * weight;
                pull[j - 1] += 4.0 * weight;
                offset -= weight;
                return;
            }
            lagrangian[(i - 1) * stride + j - 1] += 4.0 * weight;
            lagrangian[(j - 1) * stride + i - 1] += 4.0 * weight;
            linear[i - 1] -= 2.0 * weight;
            linear[j - 1] -= 2.0 * weight;
            offset += weight;
        });
    }
}

void Node::start(Level& level) {
    level_ = &level;
    free_count_ = level.size;
    const Register zero{};
    for (Index i = 0; i < level.size; ++i) {
        const double* row = level.score_row(i);
        Register positive{};
        Register negative{};
        for (Index j = 0; j < level.stride; j += REGISTER_LANES) {
            positive += larger(load_register(row + j), zero);
            negative += smaller(load_register(row + j), zero);
        }
        high_[i] = level.unary[i] + sum(positive);
        low_[i] = level.unary[i] + sum(negative);
        free_[i] = 1.0;
    }
}

// Gives the new level the inequalities of the old one, without the variables that are fixed.
void Node::hand_down_inequalities(Level& level, std::span<const Index> order) const {
    level.inequalities.clear();
    if (level_->inequalities.empty()) return;
    std::vector<std::int16_t> place(static_cast<std::size_t>(level_->size) + 1);
    for (std::size_t a = 0; a < order.size(); ++a)
        place[static_cast<std::size_t>(order[a]) + 1] = static_cast<std::int16_t>(a + 1);
    merge(level_->inequalities, place, x_, level.inequalities);
}

// The fields of fixed variables are part of the new unary scores, and the pairs of free variables
// are the same as before, so high and low stay.
void Node::descend(Level& level, std::span<const Index> order) {
    const Level& old = *level_;
    hand_down_inequalities(level, order);
    gather(x_, x_, order, level.stride);
    gather(high_, high_, order, level.stride);
    gather(low_, low_, order, level.stride);
    gather(free_, free_, order, level.stride);
    // A leading submatrix of a positive semidefinite matrix is one too, so d stays valid.
    gather(level.diagonal.data(), old.diagonal.data(), order, level.stride);
    const std::vector<Run> runs = runs_of(order);
    for (Index a = 0; a < level.size; ++a) {
        const Index i = order[a];
        double* row = level.scores()[a];
        gather_runs(row, old.score_row(i), runs);
        std::fill(row + level.size, row + level.stride, 0.0);
        level.variable[a] = old.variable[i];
        std::copy_n(&old.vectors[i * VECTOR_STRIDE], VECTOR_STRIDE,
                    &level.vectors[a * VECTOR_STRIDE]);
    }
    level.compose();
    level_ = &level;
    free_count_ = level.size;
}

// W is symmetric, so its rows are added for the variables whose x is not 0, some registers of g
// at a time.
void Node::refresh() {
    const Level& level = *level_;
    constexpr Index registers = 2;
    constexpr Index step = PADDING == REGISTER_LANES ? PADDING : registers * REGISTER_LANES;
    Register doubled{};  // sum of x_i (u_i + d_i / 2 + g_i)
    for (Index i = 0; i < level.stride; i += step) {
        Register sums[step / REGISTER_LANES] = {};
        const double* row = level.pairwise().data + i;
        for (Index j = 0; j < level.size; ++j, row += level.stride)
            for (Index s = 0; s < step / REGISTER_LANES; ++s)
                sums[s] += spread(x_[j]) * load_register(row + s * REGISTER_LANES);
        for (Index s = 0; s < step / REGISTER_LANES; ++s) {
            const Index place = i + s * REGISTER_LANES;
            const Register unary = load_register(&level.linear[place]);
            const Register diagonal = load_register(&level.diagonal[place]);
            const Register at = load_register(x_ + place);
            const Register linear = unary + spread(0.5) * diagonal;
            const Register gradient = linear + sums[s] - diagonal * at;
            store_register(gradient_ + place, gradient);
            doubled += at * (linear + gradient);
        }
    }
    value_ = level.offset + 0.5 * sum(doubled);
    updates_ = 0;
}

void Node::begin() {
    Register weight{};
    for (Index i = 0; i < level_->stride; i += REGISTER_LANES)
        weight += magnitude(load_register(&level_->linear[i])) +
                  spread(2.0) * load_register(&level_->diagonal[i]) +
                  (load_register(high_ + i) - load_register(low_ + i));
    // Each of the three pairs of an inequality adds 4 mu to two entries of W.
    level_->weight = sum(weight) + 24.0 * level_->multipliers;
    level_->rounding = 0.0;
    if (!level_->inequalities.empty()) {
        // `compose` adds up to four terms of each inequality to a coefficient. Each addition rounds
        // by at most the roundoff times the magnitudes of what is added up. Over all coefficients
        // these sum to 28 mu of each inequality, and to what the coefficients were before: at most
        // 12 mu more than what they are now.
        const auto terms = static_cast<double>(level_->inequalities.size());
        const double magnitudes =
            level_->weight + std::abs(level_->constant) + 40.0 * level_->multipliers;
        level_->rounding = 2.0 * ROUNDOFF * (4.0 * terms + 8.0) * magnitudes;
    }
    refresh();
}

double Node::rounding() const {
    const auto operations = static_cast<double>(2 * (updates_ + level_->size) + 8);
    return 2.0 * ROUNDOFF * operations * (level_->weight + std::abs(level_->offset)) +
           level_->rounding;
}

// Updates g for x_i += step and returns the gain of f; x itself stays.
double Node::move(Index i, double step) {
    const double curvature = level_->diagonal[i];
    const double gain = step * (gradient_[i] - 0.5 * curvature * step);
    add(gradient_, step, level_->pairwise()[i], level_->stride);
    gradient_[i] -= curvature * step;
    return gain;
}

void Node::fix(Index i, double bit) {
    const double step = bit - x_[i];
    if (step != 0.0) {
        value_ += move(i, step);
        x_[i] = bit;
        ++updates_;
    }
    // A pair score that is certain now is no longer uncertain; neither is one that is certainly
    // lost.
    const double* row = level_->score_row(i);
    const Register zero{};
    double* gains = bit > 0.5 ? low_ : high_;
    double* losses = bit > 0.5 ? high_ : low_;
    const Register sign = spread(bit > 0.5 ? 1.0 : -1.0);
    for (Index j = 0; j < level_->stride; j += REGISTER_LANES) {
        const Register pair = load_register(row + j);
        store_register(gains + j, load_register(gains + j) + sign * larger(pair, zero));
        store_register(losses + j, load_register(losses + j) + sign * smaller(pair, zero));
    }
    free_[i] = 0.0;
    --free_count_;
}

double Node::tangent_bound() const {
    Register total{};
    for (Index i = 0; i < level_->stride; i += REGISTER_LANES) {
        const Register gradient = load_register(gradient_ + i);
        const Register at = load_register(x_ + i);
        total += load_register(free_ + i) * larger(gradient * (spread(1.0) - at), -gradient * at);
    }
    return value_ + sum(total);
}

unsigned Node::free_bits(Index i) const {
    return at_most(spread(1.0), load_register(free_ + i));
}

// Returns bit a of the registers from i on: the variable is free, and f rises along it in the box.
unsigned Node::movable(Index i) const {
    const Register zero{};
    const Register gradient = load_register(gradient_ + i);
    const Register at = load_register(x_ + i);
    const unsigned up = at_most(gradient, zero) | at_most(spread(1.0), at);
    const unsigned down = at_most(zero, gradient) | at_most(at, zero);
    return free_bits(i) & ~(up & down);
}

// Moves x_i to the maximum of f along it; returns false if that is not worthwhile.
bool Node::ascend(Index i, double& gained) {
    const double g = gradient_[i];
    const double at = x_[i];
    const double curvature = level_->diagonal[i];
    // The comparison avoids a division, since the curvature may be zero.
    double target = g > 0.0 ? 1.0 : 0.0;
    if (std::abs(g) < curvature * std::abs(target - at)) {
        target = at + g / curvature;
        const double step = std::abs(target - at);
        if (step < SMALLEST_STEP && 0.0 < target && target < 1.0) return false;
    }
    gained += move(i, target - at);
    x_[i] = target;
    return true;
}

// Invariant: variables before i, and those of its register up to the last one that moved, are done.
// A move changes all gradients, so the movable variables are determined again after it.
double Node::sweep() {
    double gained = 0.0;
    Index moves = 0;
    for (Index i = 0; i < level_->stride; i += REGISTER_LANES) {
        unsigned left = movable(i);
        while (left != 0) {
            const int lane = std::countr_zero(left);
            const unsigned behind = ~0u << lane << 1;
            if (ascend(i + lane, gained)) {
                ++moves;
                left = movable(i);
            }
            left &= behind;
        }
    }
    value_ += gained;
    updates_ += moves;
    return gained;
}

// Every pair of fixed variables counts once; two halves could leave the exact integers.
double Node::fixed_score(std::vector<Index>& order, Row& fields) const {
    const Level& level = *level_;
    double score = level.constant;
    order.clear();
    std::copy_n(level.unary.begin(), level.stride, fields.begin());
    for (Index i = 0; i < level.size; ++i) {
        if (is_free(i)) {
            order.push_back(i);
        } else if (x_[i] != 0.0) {
            score += fields[i];
            add(fields.data(), 1.0, level.score_row(i), level.stride);
        }
    }
    return score;
}

void Node::assign(std::span<std::int8_t> z) const {
    std::ranges::copy(level_->fixed, z.begin());
    for (Index i = 0; i < level_->size; ++i)
        if (!is_free(i)) z[level_->variable[i]] = static_cast<std::int8_t>(x_[i]);
}

unsigned Node::decided(Index i, double bound, double threshold) const {
    const Register other = spread(bound) - magnitude(load_register(gradient_ + i));
    return free_bits(i) & at_most(other, spread(threshold));
}

unsigned Node::dominated(Index i) const {
    const Register zero{};
    return free_bits(i) &
           (at_most(load_register(high_ + i), zero) | at_most(zero, load_register(low_ + i)));
}

Register Node::rank(Index i) const {
    const Register at = load_register(x_ + i);
    const Register d = load_register(&level_->diagonal[i]);
    const Register fraction = spread(0.2) + at * (spread(1.0) - at);
    return load_register(free_ + i) * d * d *
           (d * fraction + spread(0.3) * magnitude(load_register(gradient_ + i)));
}

Index Node::branch_variable() const {
    double highest = -1.0;
    Index choice = -1;
    for (Index i = 0; i < level_->stride; i += REGISTER_LANES) {
        const Register ranks = rank(i);
        unsigned higher = free_bits(i) & ~at_most(ranks, spread(highest));
        for (; higher != 0; higher &= higher - 1) {
            const int lane = std::countr_zero(higher);
            if (choice >= 0 && !(ranks[lane] > highest)) continue;
            highest = ranks[lane];
            choice = i + lane;
        }
    }
    return choice;
}

void Node::copy_from(const Node& other) {
    level_ = other.level_;
    free_count_ = other.free_count_;
    updates_ = other.updates_;
    value_ = other.value_;
    bound = other.bound;
    for (Index row = 0; row < 5; ++row)
        std::copy_n(other.x_ + row * capacity_, level_->stride, x_ + row * capacity_);
}

}  // namespace solvers::branch_and_bound
