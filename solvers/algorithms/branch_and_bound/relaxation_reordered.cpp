#include "solvers/algorithms/branch_and_bound/relaxation.hpp"

#include <cmath>

namespace solvers::branch_and_bound {
namespace {

constexpr Index PARTS = (RANK + REGISTER_LANES - 1) / REGISTER_LANES;  // registers of a vector

// Vectors whose fields are summed side by side: as many as the processor has registers for.
constexpr Index BLOCK = REGISTER_LANES == 2 ? 2 : 4;

double square(const Register (&vector)[PARTS]) {
    Register squares{};
    for (Index p = 0; p < PARTS; ++p) squares += vector[p] * vector[p];
    return sum(squares);
}

// fields[a] += sum_j W_(first + a) j v_j over j of begin .. end - 1.
template <Index Size>
inline void add_fields(PaddedMatrix<const double> pairwise, const double* vectors, Index first,
                       Index begin, Index end, Register (&fields)[Size][PARTS]) {
    const double* rows = pairwise[first];
    const Index stride = pairwise.stride;
    for (Index j = begin; j < end; ++j) {
#pragma GCC unroll 8
        for (Index p = 0; p < PARTS; ++p) {
            const Register piece = load_register(vectors + j * VECTOR_STRIDE + p * REGISTER_LANES);
#pragma GCC unroll 8
            for (Index a = 0; a < Size; ++a) fields[a][p] += spread(rows[a * stride + j]) * piece;
        }
    }
}

// Moves v_i of `Size` rows from `first` on to their best places, one after the other; returns the
// sum of the squared distances moved.
//
// The fields are summed with the vectors before the moves. Every vector that moves corrects the
// fields of the rows behind it. The vectors that moved last come last in the sums, so that a
// processor that looks ahead can begin the sums before those moves are finished.
template <Index Size>
double mix_block(PaddedMatrix<const double> pairwise, const double* linear, double* vectors,
                 double* lengths, Index first) {
    Register fields[Size][PARTS] = {};
#pragma GCC unroll 8
    for (Index a = 0; a < Size; ++a) fields[a][0][0] = linear[first + a];  // t_i e
    add_fields<Size>(pairwise, vectors, first, first, pairwise.size, fields);
    add_fields<Size>(pairwise, vectors, first, 0, first, fields);
    Register moved{};
#pragma GCC unroll 8
    for (Index a = 0; a < Size; ++a) {
        const Index i = first + a;
        const double length = std::sqrt(square(fields[a]));
        lengths[i] = length;
        // v_i = sum_j W_ij v_j + t_i e, normalised; without a field it stays.
        const double inverse = length > 0.0 ? 1.0 / length : 0.0;
        const double kept = length > 0.0 ? 0.0 : 1.0;
#pragma GCC unroll 8
        for (Index p = 0; p < PARTS; ++p) {
            double* place = vectors + i * VECTOR_STRIDE + p * REGISTER_LANES;
            const Register before = load_register(place);
            const Register after = spread(inverse) * fields[a][p] + spread(kept) * before;
            const Register change = after - before;
            store_register(place, after);
            moved += change * change;
#pragma GCC unroll 8
            for (Index b = a + 1; b < Size; ++b)
                fields[b][p] += spread(pairwise(first + b, i)) * change;
        }
    }
    return sum(moved);
}

}  // namespace

void mix(PaddedMatrix<const double> pairwise, const double* linear, double* vectors,
         double* lengths, Sweeps sweeps, Stop stop) {
    const Index m = pairwise.size;
    for (int sweep = 0; sweep < sweeps.most; ++sweep) {
        double moved = 0.0;
        Index i = 0;
        for (; i + BLOCK <= m; i += BLOCK)
            moved += mix_block<BLOCK>(pairwise, linear, vectors, lengths, i);
        for (; i < m; ++i) moved += mix_block<1>(pairwise, linear, vectors, lengths, i);
        if (moved < sweeps.tolerance * static_cast<double>(m) || stop.requested()) break;
    }
}

// Computes the registers from column c on of rows i from `first` on of -W, minus the contribution
// of the rows above:
//
//     rest_ic = -W_ic - sum_(k < first) U_ki U_kc.
template <int Rows, int Registers>
void Factor::subtract_rows_above(PaddedMatrix<const double> pairwise, Index first, Index c,
                                 Register (&rest)[Rows][Registers]) const {
    const double* row = pairwise[first] + c;
#pragma GCC unroll 8
    for (int a = 0; a < Rows; ++a, row += stride_)
#pragma GCC unroll 8
        for (int s = 0; s < Registers; ++s) rest[a][s] = -load_register(row + s * REGISTER_LANES);
    const double* above = rows_.data();
    for (Index k = 0; k < first; ++k, above += stride_)
#pragma GCC unroll 8
        for (int s = 0; s < Registers; ++s) {
            const Register lanes = load_register(above + c + s * REGISTER_LANES);
#pragma GCC unroll 8
            for (int a = 0; a < Rows; ++a) rest[a][s] -= spread(above[first + a]) * lanes;
        }
}

// Computes U of the square of the `Rows` rows and columns from `first` on, whose rest is in its
// place, and the inverse of its diagonal. Returns false if a pivot is not positive.
template <int Rows>
bool Factor::decompose_corner(const double* diagonal, double shift, Index first) {
    for (Index i = first; i < first + Rows; ++i) {
        double pivot = row(i)[i] + (diagonal[i] + shift);
        for (Index k = first; k < i; ++k) pivot -= row(k)[i] * row(k)[i];
        if (!(pivot > 0.0)) return false;
        inverse_[i] = 1.0 / std::sqrt(pivot);
        for (Index j = i + 1; j < first + Rows; ++j) {
            double rest = row(i)[j];
            for (Index k = first; k < i; ++k) rest -= row(k)[i] * row(k)[j];
            row(i)[j] = rest * inverse_[i];
        }
    }
    return true;
}

// U_ic = (rest_ic - sum_(first <= k < i) U_ki U_kc) / U_ii, from the rest of some columns and the
// corner.
template <int Rows, int Registers>
void Factor::finish(const double (&corner)[Rows][Rows], Index first, Index c,
                    Register (&rest)[Rows][Registers]) {
#pragma GCC unroll 8
    for (int a = 0; a < Rows; ++a)
#pragma GCC unroll 8
        for (int s = 0; s < Registers; ++s) {
#pragma GCC unroll 8
            for (int k = 0; k < a; ++k) rest[a][s] -= spread(corner[k][a]) * rest[k][s];
            rest[a][s] *= spread(inverse_[first + a]);
            store_register(row(first + a) + c + s * REGISTER_LANES, rest[a][s]);
        }
}

// The first columns contain the corner, which all others need.
template <int Rows>
bool Factor::decompose_rows(PaddedMatrix<const double> pairwise, const double* diagonal,
                            double shift, Index first) {
    constexpr int registers = PADDING / REGISTER_LANES;
    Index c = first / PADDING * PADDING;
    Register rest[Rows][registers];
    subtract_rows_above(pairwise, first, c, rest);
    for (int a = 0; a < Rows; ++a)
        for (int s = 0; s < registers; ++s)
            store_register(row(first + a) + c + s * REGISTER_LANES, rest[a][s]);
    if (!decompose_corner<Rows>(diagonal, shift, first)) return false;
    double corner[Rows][Rows];
    for (int a = 0; a < Rows; ++a) std::copy_n(row(first + a) + first, Rows, corner[a]);
    finish(corner, first, c, rest);
    for (int a = 0; a < Rows; ++a) {
        std::copy_n(corner[a], Rows, row(first + a) + first);
        std::fill(row(first + a) + c, row(first + a) + first + a + 1, 0.0);
    }
    for (c += PADDING; c + 2 * REGISTER_LANES <= stride_; c += 2 * REGISTER_LANES) {
        Register two[Rows][2];
        subtract_rows_above(pairwise, first, c, two);
        finish(corner, first, c, two);
    }
    for (; c < stride_; c += REGISTER_LANES) {
        Register one[Rows][1];
        subtract_rows_above(pairwise, first, c, one);
        finish(corner, first, c, one);
    }
    return true;
}

bool Factor::decompose(PaddedMatrix<const double> pairwise, const double* diagonal, double shift) {
    size_ = pairwise.size;
    stride_ = pairwise.stride;
    Index i = 0;
    for (; i + 4 <= size_; i += 4)
        if (!decompose_rows<4>(pairwise, diagonal, shift, i)) return false;
    for (; i < size_; ++i)
        if (!decompose_rows<1>(pairwise, diagonal, shift, i)) return false;
    return true;
}

// Solves U'y = x in place.
void Factor::solve_transposed(double* x) const {
    for (Index k = 0; k < size_; ++k) {
        x[k] *= inverse_[k];
        add(x, -x[k], row(k), stride_, k / PADDING * PADDING);
    }
}

// Solves U y = x in place.
void Factor::solve(double* x) const {
    for (Index k = size_ - 1; k >= 0; --k) {
        const Index begin = k / PADDING * PADDING;
        x[k] = (x[k] - dot(row(k) + begin, x + begin, stride_ - begin)) * inverse_[k];
    }
}

double Factor::smallest_eigenvalue(double* x, int rounds) const {
    double estimate = 0.0;
    for (int round = 0; round < rounds; ++round) {
        solve_transposed(x);
        const double middle = dot(x, x, stride_);
        // With x = A y: y'A y / y'y is the Rayleigh quotient, and y'A y = |U'^-1 x|^2.
        solve(x);
        const double after = dot(x, x, stride_);
        estimate = middle / after;
        scale(x, 1.0 / std::sqrt(after), stride_);
    }
    return estimate;
}

bool make_concave(PaddedMatrix<const double> pairwise, double* diagonal, Factor& factor,
                  int rounds) {
    const Index m = pairwise.size;
    double trace = 0.0;
    Row x(pairwise.stride, 0.0);
    for (Index i = 0; i < m; ++i) {
        trace += diagonal[i];
        x[i] = i & 1 ? 1.0 : -1.0;
    }
    if (!(trace > 0.0)) return false;
    const double mean = trace / static_cast<double>(m);
    // Loop 1: triple the shift until A + shift I - W has a factor U'U, which is so once the shift
    // exceeds minus its smallest eigenvalue.
    double shift = 0.003 * mean;
    int attempts = 60;
    while (!factor.decompose(pairwise, diagonal, shift)) {
        if (--attempts == 0) return false;
        shift *= 3.0;
    }
    // Loop 2: lower the shift by most of the smallest eigenvalue of U'U, an estimate from above.
    // Invariant: `enough` is the least shift so far that had a factor, and `factor` is that factor.
    double enough = shift;
    for (int round = 0; round < rounds; ++round) {
        const double smallest = factor.smallest_eigenvalue(x.data(), 3);
        bool lowered = false;
        // An estimate too high would ask for a matrix without a factor: then a smaller step.
        for (double fraction : {0.96, 0.8, 0.5}) {
            shift = enough - fraction * smallest;
            lowered = factor.decompose(pairwise, diagonal, shift);
            if (lowered) break;
        }
        if (lowered) enough = shift;
        if (!lowered || smallest < 1e-3 * mean) break;
    }
    // The factor proves A + enough I - W >= -s I with s = (m + 2) roundoff trace(A + enough I), up
    // to higher orders (Rump 2006); twice s covers these.
    const double margin = 2.0 * static_cast<double>(m + 2) * ROUNDOFF *
                          (trace + static_cast<double>(m) * std::abs(enough));
    for (Index i = 0; i < m; ++i) diagonal[i] += enough + margin;
    return true;
}

}  // namespace solvers::branch_and_bound
