// A diagonal d that makes a dense pairwise problem concave at the least cost to its bound.
//
// On binary z the score equals f(z) = 1/2 z'(W - diag d)z + (u + d/2)'z for every d, and f is
// concave once diag d - W is positive semidefinite. The best such d is dual to the semidefinite
// relaxation: with unit vectors v_i for 2 z_i - 1 and e for the constant, that relaxation maximises
// sum_ij W_ij v_i.v_j / 2 + sum_i t_i v_i.e, t = 2 u + W 1, and at its optimum
// d_i = |sum_j W_ij v_j + t_i e|. The mixing method maximises over one v_i after the other. A shift
// of d, certified by a Cholesky factorisation, corrects its remaining error.
//
// References:
//     Wang, Chang, Kolter, 2017, The mixing method: low-rank coordinate descent for semidefinite
//     programming with diagonal constraints. Billionnet, Elloumi, 2007, Using a mixed integer
//     quadratic programming solver for the unconstrained quadratic 0-1 problem. Rump, 2006,
//     Verification of positive definiteness.
#pragma once

#include "solvers/algorithms/branch_and_bound/registers.hpp"
#include "solvers/compiled/stop.hpp"

namespace solvers::branch_and_bound {

inline constexpr Index RANK = 12;
inline constexpr Index VECTOR_STRIDE = 16;  // of vectors of RANK numbers, with zeros behind
inline constexpr double ROUNDOFF = 0x1p-53;

struct Sweeps {
    int most;
    double tolerance;  // they end once the mean squared move of one is below
};

// Coordinate ascent on the vectors; `lengths` becomes d.
//
// Args:
//     pairwise: W, symmetric, with a zero diagonal.
//     linear: `[m]` t.
//     vectors: `[m, VECTOR_STRIDE]`, unit rows, in and out; e is the first unit vector.
//     lengths: `[m]`, output.
//     sweeps: when to end.
//     stop: the sweeps end once it is set.
void mix(PaddedMatrix<const double> pairwise, const double* linear, double* vectors,
         double* lengths, Sweeps sweeps, Stop stop);

// U with U'U = diag(d + shift) - W, upper triangular.
class Factor {
public:
    // Allocates for matrices of n rows.
    explicit Factor(Index n) : rows_(padded(n) * padded(n)), inverse_(padded(n)) {}

    // Factorises; returns false if a pivot is not positive.
    bool decompose(PaddedMatrix<const double> pairwise, const double* diagonal, double shift);

    // Estimates the smallest eigenvalue of U'U from above, by inverse iteration from x `[m]` on,
    // which ends with zeros.
    double smallest_eigenvalue(double* x, int rounds) const;

private:
    template <int Rows>
    bool decompose_rows(PaddedMatrix<const double> pairwise, const double* diagonal, double shift,
                        Index first);
    template <int Rows, int Registers>
    void subtract_rows_above(PaddedMatrix<const double> pairwise, Index first, Index c,
                             Register (&rest)[Rows][Registers]) const;
    template <int Rows>
    bool decompose_corner(const double* diagonal, double shift, Index first);
    template <int Rows, int Registers>
    void finish(const double (&corner)[Rows][Rows], Index first, Index c,
                Register (&rest)[Rows][Registers]);
    void solve_transposed(double* x) const;
    void solve(double* x) const;
    double* row(Index i) { return rows_.data() + i * stride_; }
    const double* row(Index i) const { return rows_.data() + i * stride_; }

    Index size_ = 0;
    Index stride_ = 0;
    Row rows_;     // [m, stride] U above its diagonal, zeros elsewhere
    Row inverse_;  // [m] one over the diagonal of U
};

// Shifts `diagonal` so that diag(diagonal) - W is certainly positive semidefinite; returns false if
// it cannot.
//
// A Cholesky factorisation of A - s I that succeeds in floating point proves A positive
// semidefinite if s >= (m + 2) * roundoff * trace(A), up to higher orders (Rump 2006). Here s is
// twice that.
//
// Args:
//     pairwise: W.
//     diagonal: `[m]`, in and out.
//     factor: with room for m rows.
//     rounds: attempts to lower a shift that was sufficient.
bool make_concave(PaddedMatrix<const double> pairwise, double* diagonal, Factor& factor,
                  int rounds);

}  // namespace solvers::branch_and_bound
