// Bounds by the semidefinite relaxation with triangle inequalities, which are added where violated.
//
// Multipliers mu >= 0 of any of them and any diagonal d with diag(d) - W positive semidefinite,
// W = C + sum_t mu_t (signs of t), bound the score by constant + sum_t mu_t + sum_i d_i / 2. The
// multipliers come from floating point and need not be optimal: d is the length of the field W v_i
// plus a shift that a Cholesky factorisation certifies, and the bound includes the rounding errors.
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
    // Allocates for m nodes, the constant one among them, vectors of r numbers, a multiple of 4,
    // and `room` inequalities.
    Relaxation(Index m, Index r, Index room);

    // Loads a problem.
    //
    // Args:
    //     couplings: `[m, m]` C, symmetric, with a zero diagonal.
    //     constant: the part of the score beside the couplings.
    //     points: `[r, m]`, the vectors to start from.
    //     triangles: at most as many as there is room for.
    void load(Matrix<const double> couplings, double constant, Matrix<const double> points,
              std::vector<Triangle> nodes, std::vector<double> multipliers);

    // Bounds the score until the bound is at most the threshold, or will probably never be. X, the
    // field and the points keep their last values.
    //
    // Args:
    //     scale: the scale of the coefficients.
    //     threshold: the bound at which to stop.
    //     patience: number of updates of the multipliers before the node may be given up.
    //     rounds: maximum number of updates.
    //     stop: the rounds end once it is set.
    //
    // Returns:
    //     A proved bound: the threshold, or a larger one.
    double tighten(double scale, double threshold, Index patience, Index rounds, Stop stop);

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
