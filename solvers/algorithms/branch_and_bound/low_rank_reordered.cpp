#include "solvers/algorithms/branch_and_bound/low_rank.hpp"

#include <cmath>
#include <limits>

namespace solvers::branch_and_bound {
namespace {

constexpr int ITERATIONS = 10;      // of the quasi-Newton method, between two updates
constexpr double TOLERANCE = 3e-3;  // of gradients, in units of the scale
constexpr double PENALTY = 1.0;     // in units of the scale
constexpr int LINE_STEPS = 12;

constexpr Index TILE = 4;  // rows

// product[a][c .. c + Registers) = sum_t left(t, a) right[t][c ..) over t of 0 .. terms - 1 for
// TILE rows a.
//
// left(t, a) is at left[t * along + a * across]: a matrix or its transpose.
template <int Registers>
void multiply_tile(const double* left, Index along, Index across, const double* right, Index stride,
                   Index terms, double* product) {
    Register sums[TILE][Registers] = {};
    for (Index t = 0; t < terms; ++t, left += along, right += stride)
        for (int s = 0; s < Registers; ++s) {
            const Register lanes = load_register(right + s * REGISTER_LANES);
            for (Index a = 0; a < TILE; ++a) sums[a][s] += spread(left[a * across]) * lanes;
        }
    for (Index a = 0; a < TILE; ++a)
        for (int s = 0; s < Registers; ++s)
            store_register(product + a * stride + s * REGISTER_LANES, sums[a][s]);
}

// As above, for columns 0 .. columns - 1, a multiple of PADDING.
void multiply_rows(const double* left, Index along, Index across, const double* right, Index stride,
                   Index terms, double* product, Index columns) {
    constexpr int registers = 2;
    constexpr Index step = registers * REGISTER_LANES;
    Index c = 0;
    for (; c + step <= columns; c += step)
        multiply_tile<registers>(left, along, across, right + c, stride, terms, product + c);
    for (; c < columns; c += REGISTER_LANES)
        multiply_tile<1>(left, along, across, right + c, stride, terms, product + c);
}

}  // namespace

LowRank::LowRank(Index m, Index r)
    : r_(r),
      couplings_(m * padded(m)),
      gram_(padded(m) * padded(m)),
      weights_(padded(m) * padded(m)),
      norms_(padded(m)),
      points_(r * padded(m)),
      vectors_(points_.size()),
      field_(points_.size()),
      gradient_(points_.size()),
      direction_(points_.size()),
      trial_(points_.size()),
      trial_gradient_(points_.size()) {
    for (Row& row : moves_) row.resize(points_.size());
    for (Row& row : changes_) row.resize(points_.size());
}

void LowRank::resize(Index m) {
    m_ = m;
    stride_ = padded(m);
    std::ranges::fill(couplings_, 0.0);
    std::ranges::fill(points_, 0.0);
}

// Normalises the points to unit vectors; the padding stays 0.
void LowRank::normalise(const double* points, double* vectors) {
    std::fill_n(norms_.begin(), stride_, 0.0);
    for (Index place = 0; place < length(); place += stride_)
        for (Index i = 0; i < stride_; i += REGISTER_LANES) {
            const Register lanes = load_register(points + place + i);
            store_register(&norms_[i], load_register(&norms_[i]) + lanes * lanes);
        }
    std::fill(norms_.begin() + m_, norms_.begin() + stride_, 1.0);
    for (Index i = 0; i < stride_; ++i) norms_[i] = std::sqrt(norms_[i]);
    for (Index place = 0; place < length(); place += stride_)
        for (Index i = 0; i < stride_; i += REGISTER_LANES)
            store_register(vectors + place + i,
                           load_register(points + place + i) / load_register(&norms_[i]));
}

// Computes X = V'V below the diagonal, and a little above it.
void LowRank::multiply_gram() {
    for (Index i = 0; i < m_; i += TILE)
        multiply_rows(vectors_.data() + i, stride_, 1, vectors_.data(), stride_, r_,
                      gram_.data() + i * stride_, padded(std::min(i + TILE, m_)));
}

// Computes the field V W; W is symmetric.
void LowRank::apply_weights() {
    for (Index r = 0; r < r_; r += TILE)
        multiply_rows(vectors_.data() + r * stride_, 1, stride_, weights_.data(), stride_, m_,
                      field_.data() + r * stride_, stride_);
}

// Updates the multipliers and W at X:
//
//     mu_t' = max(0, mu_t - penalty (1 + a X_ij + b X_ik + c X_jk)).
//
// Returns the reduction of the augmented Lagrangian by the inequalities.
double LowRank::weigh(const Triangles& triangles, double penalty) {
    double taken = 0.0;
    const double* gram = gram_.data();
    double* weights = weights_.data();
    std::copy_n(couplings_.begin(), m_ * stride_, weights);
    updated_.resize(triangles.nodes.size());
    for (std::size_t t = 0; t < updated_.size(); ++t) {
        const auto [i, j, k, kind] = triangles.nodes[t];
        const auto [a, b, c] = SIGNS[kind];
        const Index ij = i * stride_ + j;
        const Index ik = i * stride_ + k;
        const Index jk = j * stride_ + k;
        const double before = triangles.multipliers[t];
        const double slack = 1.0 + a * gram[ij] + b * gram[ik] + c * gram[jk];
        const double after = std::max(0.0, before - penalty * slack);
        updated_[t] = after;
        taken += after * after - before * before;
        if (after == 0.0) continue;
        weights[ij] += a * after;
        weights[ik] += b * after;
        weights[jk] += c * after;
        weights[j * stride_ + i] += a * after;
        weights[k * stride_ + i] += b * after;
        weights[k * stride_ + j] += c * after;
    }
    return taken / (2.0 * penalty);
}

// Computes the negative augmented Lagrangian and its gradient in the points.
double LowRank::lagrangian(const double* points, double* gradient, const Triangles& triangles,
                           double penalty) {
    normalise(points, vectors_.data());
    multiply_gram();
    double value = weigh(triangles, penalty);
    apply_weights();
    for (Index i = 0; i < m_; ++i) {
        const double* coupling = couplings_.data() + i * stride_;
        const double* product = gram_.data() + i * stride_;
        double row = 0.0;
#pragma omp simd reduction(+ : row)
        for (Index j = 0; j < i; ++j) row += coupling[j] * product[j];
        value -= row;
    }
    // d/dp_i = -(w_i - (w_i.v_i) v_i) / |p_i| with the field w_i = sum_j W_ij v_j.
    for (Index i = 0; i < stride_; i += REGISTER_LANES) {
        Register along{};
        for (Index place = i; place < length(); place += stride_)
            along += load_register(&field_[place]) * load_register(&vectors_[place]);
        const Register inverse = spread(1.0) / load_register(&norms_[i]);
        for (Index place = i; place < length(); place += stride_)
            store_register(gradient + place, (along * load_register(&vectors_[place]) -
                                              load_register(&field_[place])) *
                                                 inverse);
    }
    return value;
}

// Computes the direction: the gradient times an estimate of the inverse Hessian from the last
// moves, by the two loops of Nocedal (1980).
void LowRank::find_direction(Index pairs) {
    std::array<double, MEMORY> along{};
    double* direction = direction_.data();
    std::copy_n(gradient_.begin(), length(), direction);
    const Index kept = std::min(pairs, MEMORY);
    for (Index a = 0; a < kept; ++a) {
        const Index p = (pairs - 1 - a) % MEMORY;
        along[p] = inverse_curvature_[p] * dot(moves_[p].data(), direction, length());
        add(direction, -along[p], changes_[p].data(), length());
    }
    double factor = 0.0;
    if (kept > 0) {
        const Index p = (pairs - 1) % MEMORY;
        factor =
            1.0 / (inverse_curvature_[p] * dot(changes_[p].data(), changes_[p].data(), length()));
    } else {
        factor = 0.3 / std::sqrt(dot(gradient_.data(), gradient_.data(), length()));
    }
    scale(direction, factor, length());
    for (Index a = kept - 1; a >= 0; --a) {
        const Index p = (pairs - 1 - a) % MEMORY;
        const double back = inverse_curvature_[p] * dot(changes_[p].data(), direction, length());
        add(direction, along[p] - back, moves_[p].data(), length());
    }
}

// Tries shorter and shorter steps against the direction until the value falls as the slope promises
// (Armijo); returns the value at the last one.
double LowRank::search_line(double value, double slope, const Triangles& triangles,
                            double penalty) {
    double step = 1.0;
    double trial_value = std::numeric_limits<double>::infinity();
    for (int count = 0; count < LINE_STEPS; ++count) {
        std::copy_n(points_.begin(), length(), trial_.begin());
        add(trial_.data(), -step, direction_.data(), length());
        trial_value = lagrangian(trial_.data(), trial_gradient_.data(), triangles, penalty);
        if (trial_value <= value + 1e-4 * step * slope) break;
        step *= 0.4;
    }
    return trial_value;
}

// Stores the last move and the change of the gradient in a place of the memory; returns whether
// they are usable.
bool LowRank::keep_pair(Index place) {
    double* move = moves_[place].data();
    double* change = changes_[place].data();
    for (Index j = 0; j < length(); ++j) {
        move[j] = trial_[j] - points_[j];
        change[j] = trial_gradient_[j] - gradient_[j];
    }
    const double curvature = dot(move, change, length());
    if (curvature > 0.0) inverse_curvature_[place] = 1.0 / curvature;
    return curvature > 0.0;
}

void LowRank::ascend(const Triangles& triangles, double scale) {
    const double penalty = PENALTY * scale;
    const double tolerance = TOLERANCE * scale;
    std::copy_n(points_.begin(), length(), trial_.begin());
    normalise(trial_.data(), points_.data());
    double value = lagrangian(points_.data(), gradient_.data(), triangles, penalty);
    Index pairs = 0;
    for (int iteration = 0; iteration < ITERATIONS; ++iteration) {
        if (dot(gradient_.data(), gradient_.data(), length()) <= tolerance * tolerance) break;
        find_direction(pairs);
        double slope = -dot(gradient_.data(), direction_.data(), length());
        if (!(slope < 0.0)) {
            pairs = 0;
            find_direction(pairs);
            slope = -dot(gradient_.data(), direction_.data(), length());
        }
        const double trial_value = search_line(value, slope, triangles, penalty);
        if (!(trial_value < value)) break;
        if (keep_pair(pairs % MEMORY)) ++pairs;
        points_.swap(trial_);
        gradient_.swap(trial_gradient_);
        value = trial_value;
    }
}

}  // namespace solvers::branch_and_bound
