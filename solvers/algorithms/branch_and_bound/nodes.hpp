// Partial assignments of a dense pairwise problem, bounded by a point of its concave relaxation.
//
// A *level* is the subproblem of the free variables of some node, with a diagonal d that makes
// f(x) = constant + 1/2 x'(W - diag d)x + (u + d/2)'x concave; f is the score where x is binary. If
// the level has inequalities, W, u and the constant in f are those of the Lagrangian, and f is at
// least the score.
//
// A *node* has a level, the variables of it that are fixed, a point x of the box, the gradient g of
// f at x, and f(x). Any y of the box has f(y) <= f(x) + g'(y - x). So
// f(x) + sum_i max(g_i (1 - x_i), -g_i x_i) over the free variables bounds the node at any x, and
// at the other value of one variable the bound is |g_i| lower. Coordinate ascent improves x.
// First-order bounds need no x: high_i and low_i are the most and the least that z_i = 1 can add to
// the score over all values of the other free variables.
//
// Coefficients are integers whose magnitudes sum to less than 2^53, so scores, high and low are
// exact. Values that depend on x are rounded; `rounding` bounds the error.
#pragma once

#include <vector>

#include "solvers/algorithms/branch_and_bound/inequalities.hpp"
#include "solvers/algorithms/branch_and_bound/registers.hpp"

namespace solvers::branch_and_bound {

inline constexpr Index LEVEL_STEP = 4;  // variables fixed until their node becomes a level

// The problem of the free variables of a node. Rows end with zeros.
struct Level {
    // Allocates for m variables, of n in the whole problem.
    Level(Index m, Index n, Index depth);

    PaddedMatrix<double> scores() { return {matrix.data(), size, stride}; }
    const double* score_row(Index i) const { return matrix.data() + i * stride; }
    // W of the function f.
    PaddedMatrix<const double> pairwise() const {
        return {inequalities.empty() ? matrix.data() : lagrangian.data(), size, stride};
    }

    // Resizes to a problem of m variables, without writing their numbers.
    void resize(Index m);

    // Writes the coefficients of f from the scores and the inequalities.
    void compose();

    Index depth;               // its place among the levels of the current path
    Index size = 0;            // m
    Index stride = 0;          // of rows
    double constant = 0.0;     // score of the variables that are no longer there
    double offset = 0.0;       // the constant of f
    double weight = 0.0;       // bound on the sum of |g_i| and on |f - offset|, at every point
    double rounding = 0.0;     // bound on what rounded coefficients add to f at any state
    double multipliers = 0.0;  // sum of the multipliers of the inequalities
    Row matrix;                // [m, stride] W of the score
    Row unary;                 // [stride] u of the score
    Row lagrangian;            // [m, stride] W of f; not used without inequalities
    Row linear;                // [stride] u of f
    Row pull;                  // [stride] terms of the inequalities in t = 2 u + W 1
    std::vector<Inequality> inequalities;
    Row diagonal;                    // [stride] d
    Row vectors;                     // [m, VECTOR_STRIDE] of the semidefinite relaxation
    std::vector<Index> variable;     // [m] numbers of the variables in the whole problem
    std::vector<std::int8_t> fixed;  // [n] the whole problem with its fixed variables
};

// A node of the current path. Rows end with zeros.
class Node {
public:
    // Allocates for m variables.
    explicit Node(Index m)
        : capacity_(padded(m)),
          rows_(5 * capacity_),
          x_(rows_.data()),
          gradient_(x_ + capacity_),
          high_(gradient_ + capacity_),
          low_(high_ + capacity_),
          free_(low_ + capacity_) {}

    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    double* x() { return x_; }
    const double* gradient() const { return gradient_; }
    const double* high() const { return high_; }
    const double* low() const { return low_; }
    bool is_free(Index i) const { return free_[i] != 0.0; }
    const Level& level() const { return *level_; }
    Level& level() { return *level_; }
    Index free_count() const { return free_count_; }
    double value() const { return value_; }

    // Becomes the root of the whole problem, without setting its point.
    void start(Level& level);

    // Becomes the root of a level of its free variables, which `order` lists by their numbers in
    // the old level; its point stays. `constant`, `unary` and `fixed` of the new level are there
    // already.
    void descend(Level& level, std::span<const Index> order);

    // Call this once a new level has its diagonal and the node its point.
    void begin();

    // Recomputes gradient and value from x, without accumulated rounding errors.
    void refresh();

    // Returns a bound on the rounding error of `tangent_bound`.
    //
    // A move rounds g and f by less than 4 roundoff * (weight + |offset|) in total; a refresh and
    // the sum of the bound round by m roundoff times that for g, for f and for the sum. The
    // rounding of the coefficients of f is added, since only the exact ones bound the score.
    double rounding() const;

    // Fixes z_i = bit.
    void fix(Index i, double bit);

    // Returns an upper bound on all assignments below, up to rounding.
    double tangent_bound() const;

    // One round of coordinate ascent; returns the gain of f.
    double sweep();

    // Returns the score of the fixed variables alone; `order` becomes the list of the free ones,
    // and `fields` what z_i = 1 adds for each variable of the level.
    double fixed_score(std::vector<Index>& order, Row& fields) const;

    // Writes the fixed variables to z, in the original order; free ones become 0.
    void assign(std::span<std::int8_t> z) const;

    // Returns bit a of the registers from i on: whether the variable is free, and its other value
    // has a bound of at most the threshold if the node has `bound`.
    unsigned decided(Index i, double bound, double threshold) const;

    // Returns bit a likewise: whether it is free, and one of its values never helps.
    unsigned dominated(Index i) const;

    // Returns the free variable with the largest d_i^2 (d_i (1/5 + x_i (1 - x_i)) + 3/10 |g_i|).
    //
    // d_i is the length of the field on v_i. A long field means that z_i matters: one of its values
    // soon turns out to be wrong. Compared with the most fractional x_i, this choice needs 3 times
    // fewer nodes at n = 60, and 12 times fewer at n = 100.
    Index branch_variable() const;

    void copy_from(const Node& other);

    // Returns the least bound that is proved so far.
    double bound = 0.0;
    // Of the branching whose second child is still to be searched.
    Index branch = 0;
    double branch_value = 0.0;

private:
    void hand_down_inequalities(Level& level, std::span<const Index> order) const;
    double move(Index i, double step);
    bool ascend(Index i, double& gained);
    unsigned movable(Index i) const;
    unsigned free_bits(Index i) const;
    Register rank(Index i) const;

    Level* level_ = nullptr;
    Index free_count_ = 0;
    Index updates_ = 0;   // moves since g was last computed afresh
    double value_ = 0.0;  // f(x)
    Index capacity_;      // of a row
    Row rows_;            // [5, capacity], in the order of what follows
    double* x_;
    double* gradient_;
    double* high_;
    double* low_;
    double* free_;  // 1.0 if free, else 0.0
};

}  // namespace solvers::branch_and_bound
