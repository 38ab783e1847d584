// The semidefinite relaxation with triangle inequalities, by an augmented Lagrangian over factors
// of low rank.
//
// With s_i = 2 z_i - 1 and s_0 = 1 the score is constant + sum_(i<j) C_ij s_i s_j. The relaxation
// has unit vectors v_i for the s_i. On X_ij = v_i.v_j it imposes triangle inequalities 1 + a X_ij
// + b X_ik + c X_jk >= 0, abc = 1, which every s satisfies. A quasi-Newton method moves the
// vectors, then the multipliers mu of the inequalities are updated. The result is
// W = C + sum_t mu_t (signs of t), from which a valid bound follows whatever its accuracy.
//
// References:
//     Burer, Monteiro, 2003, A nonlinear programming algorithm for solving semidefinite programs
//     via low-rank factorization. Nocedal, 1980, Updating quasi-Newton matrices with limited
//     storage.
#pragma once

#include <array>
#include <vector>

#include "solvers/algorithms/branch_and_bound/registers.hpp"

namespace solvers::branch_and_bound {

// The signs of X_ij, X_ik and X_jk, as in `strong_tree.py`.
inline constexpr double SIGNS[4][3] = {
    {1.0, 1.0, 1.0}, {1.0, -1.0, -1.0}, {-1.0, 1.0, -1.0}, {-1.0, -1.0, 1.0}};

// An inequality: i > j > k, and the row of SIGNS.
struct Triangle {
    std::int16_t i;
    std::int16_t j;
    std::int16_t k;
    std::int16_t kind;
};

// Inequalities and their multipliers, at most `room`.
struct Triangles {
    explicit Triangles(Index room) : room(room) {}

    Index size() const { return static_cast<Index>(nodes.size()); }

    Index room;
    std::vector<Triangle> nodes;
    std::vector<double> multipliers;
};

// Vectors of m nodes, the constant one among them, with their products and fields.
class LowRank {
public:
    // Allocates for m nodes and vectors of r numbers, a multiple of 4.
    LowRank(Index m, Index r);

    // Loads a problem of m nodes with the symmetric couplings C `[m, m]`.
    void resize(Index m);
    PaddedMatrix<double> couplings() { return {couplings_.data(), m_, stride_}; }
    PaddedMatrix<const double> couplings() const { return {couplings_.data(), m_, stride_}; }

    Index size() const { return m_; }
    Index rank() const { return r_; }
    Index stride() const { return stride_; }

    // `[r, stride]`: multiples of the vectors, in and out.
    double* points() { return points_.data(); }
    // `[r, stride]`.
    const double* points() const { return points_.data(); }
    const double* vectors() const { return vectors_.data(); }
    // `[r, stride]` W v_i.
    const double* field() const { return field_.data(); }
    // X, below the diagonal.
    PaddedMatrix<const double> gram() const { return {gram_.data(), m_, stride_}; }
    PaddedMatrix<const double> weights() const { return {weights_.data(), m_, stride_}; }
    // Of the inequalities after the next update.
    const std::vector<double>& updated() const { return updated_; }

    // Moves the points by a quasi-Newton method; X, W and the field are then those of the last
    // points it tried.
    void ascend(const Triangles& triangles, double scale);

private:
    static constexpr Index MEMORY = 8;  // pairs of the quasi-Newton method

    void normalise(const double* points, double* vectors);
    void multiply_gram();
    void apply_weights();
    double weigh(const Triangles& triangles, double penalty);
    double lagrangian(const double* points, double* gradient, const Triangles& triangles,
                      double penalty);
    void find_direction(Index pairs);
    double search_line(double value, double slope, const Triangles& triangles, double penalty);
    bool keep_pair(Index place);
    Index length() const { return r_ * stride_; }

    Index m_ = 0;
    Index r_;
    Index stride_ = 0;
    Row couplings_;  // [m, stride] C
    Row gram_;       // [m, stride]
    Row weights_;    // [m, stride]
    Row norms_;      // [stride]
    Row points_;     // [r, stride], as all that follow
    Row vectors_;
    Row field_;
    Row gradient_;
    Row direction_;
    Row trial_;
    Row trial_gradient_;
    std::array<Row, MEMORY> moves_;
    std::array<Row, MEMORY> changes_;
    std::array<double, MEMORY> inverse_curvature_{};
    std::vector<double> updated_;
};

}  // namespace solvers::branch_and_bound
