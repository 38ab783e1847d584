// Bounds by the semidefinite relaxation with triangle inequalities, which are found as they are
// violated.
//
// Multipliers mu >= 0 of any of them and any diagonal d with diag(d) - W positive semidefinite,
// W = C + sum_t mu_t (signs of t), bound the score by constant + sum_t mu_t + sum_i d_i / 2. The
// multipliers come from floating point and are not believed to be the best: d is the length of the
// field W v_i and a shift of it that a Cholesky factorisation certifies, and what rounds is added
// to the bound.
//
// References:
//     Rendl, Rinaldi, Wiegele, 2010, Solving max-cut to optimality by intersecting semidefinite and
//     polyhedral relaxations. Rump, 2006, Verification of positive definiteness.
#pragma once

#include "solvers/algorithms/branch_and_bound/low_rank.hpp"
#include "solvers/algorithms/branch_and_bound/relaxation.hpp"
#include "solvers/compiled/stop.hpp"

namespace solvers::branch_and_bound {

class Relaxation {
public:
    // Room for m nodes, the constant one among them, vectors of r numbers, a multiple of 4, and
    // so many inequalities.
    Relaxation(Index m, Index r, Index room);

    // Loads a problem.
    //
    // Args:
    //     couplings: `[m, m]` C, symmetric, with a zero diagonal.
    //     constant: what the score has beside the couplings.
    //     points: `[r, m]`, to start from.
    //     triangles: at most as many as there is room for.
    void load(Matrix<const double> couplings, double constant, Matrix<const double> points,
              std::vector<Triangle> nodes, std::vector<double> multipliers);

    // Bounds the score until the bound is at most the threshold, or seems never to be. X, the field
    // and the points are left as they were last.
    //
    // Args:
    //     scale: that of the coefficients.
    //     threshold: see there.
    //     rounds: at most so many updates of the multipliers.
    //     stop: the rounds end once it is set.
    //
    // Returns:
    //     A bound that is proved: the threshold, or a larger one.
    double tighten(double scale, double threshold, Index rounds, Stop stop);

    const LowRank& factors() const { return factors_; }
    const Triangles& triangles() const { return triangles_; }
    Index capacity() const { return capacity_; }

private:
    void drop(double least);
    void separate(Index most);
    Index list_violated();
    void list_pair(Index i, Index j, double limit);
    double keep_worse_half();
    void mark(bool present);
    double measure_lengths();
    double rounding(double lengths) const;
    bool proves(double threshold, double estimate, double lengths);
    double certify();

    struct Violation {
        double slack;
        Triangle triangle;
    };

    Index capacity_;
    LowRank factors_;
    Triangles triangles_;
    double constant_ = 0.0;
    double coupling_sum_ = 0.0;  // of |C_ij| over pairs
    Row lengths_;                // [m] d
    Factor factor_;
    std::vector<std::uint8_t> known_;  // [m (m - 1) (m - 2) / 6]: which of the four are there
    std::vector<Violation> found_;
    std::size_t most_found_;
    std::vector<double> slacks_;  // of `found_`, to find their median
};

}  // namespace solvers::branch_and_bound
