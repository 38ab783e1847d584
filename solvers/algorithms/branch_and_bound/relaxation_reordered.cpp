#include "solvers/algorithms/branch_and_bound/relaxation.hpp"

#include <cmath>

namespace solvers::branch_and_bound {
namespace {

// Four float64; three of them are a vector, and four vectors fit into the registers of AVX2.
typedef double Quad __attribute__((vector_size(4 * sizeof(double))));
constexpr Index QUADS = RANK / 4;

struct Vector12 {
    Quad quads[QUADS];

    void load(const double* from) { std::memcpy(quads, from, sizeof quads); }
    void store(double* to) const { std::memcpy(to, quads, sizeof quads); }
    void add(double factor, const Vector12& other) {
        for (Index q = 0; q < QUADS; ++q) quads[q] += factor * other.quads[q];
    }
    double square() const {
        const Quad squares = quads[0] * quads[0] + quads[1] * quads[1] + quads[2] * quads[2];
        return (squares[0] + squares[2]) + (squares[1] + squares[3]);
    }
};

constexpr Index BLOCK = 4;  // vectors whose fields are summed side by side

// fields[a] = sum_j W_(first + a) j v_j over j of begin .. end - 1.
template <Index Size>
void add_fields(PaddedMatrix<const double> pairwise, const double* vectors, Index first,
                Index begin, Index end, Vector12* fields) {
    const double* row[Size];
    for (Index a = 0; a < Size; ++a) row[a] = pairwise[first + a];
    Vector12 sums[Size];
    for (Index a = 0; a < Size; ++a) sums[a] = fields[a];
    for (Index j = begin; j < end; ++j) {
        Vector12 vector;
        vector.load(vectors + j * RANK);
        for (Index a = 0; a < Size; ++a) sums[a].add(row[a][j], vector);
    }
    for (Index a = 0; a < Size; ++a) fields[a] = sums[a];
}

// Moves v_i of `Size` rows from `first` on to their best places, one after the other; returns the
// sum of the squared distances moved.
//
// The fields are summed with the vectors as they were. Every vector that moves corrects those of
// the rows behind it. The vectors that moved last come last in the sums: a processor that looks
// ahead begins them before those moves are finished.
template <Index Size>
double mix_block(PaddedMatrix<const double> pairwise, const double* linear, double* vectors,
                 double* lengths, Index first) {
    Vector12 fields[Size] = {};
    add_fields<Size>(pairwise, vectors, first, first, pairwise.size, fields);
    add_fields<Size>(pairwise, vectors, first, 0, first, fields);
    double moved = 0.0;
    for (Index a = 0; a < Size; ++a) {
        const Index i = first + a;
        fields[a].quads[0][0] += linear[i];
        const double length = std::sqrt(fields[a].square());
        lengths[i] = length;
        if (!(length > 0.0)) continue;
        Vector12 change;
        change.load(vectors + i * RANK);
        const double inverse = 1.0 / length;
        for (Index q = 0; q < QUADS; ++q) {
            fields[a].quads[q] *= inverse;  // v_i = sum_j W_ij v_j + t_i e, made as long as 1
            change.quads[q] = fields[a].quads[q] - change.quads[q];
        }
        fields[a].store(vectors + i * RANK);
        moved += change.square();
        for (Index b = a + 1; b < Size; ++b) fields[b].add(pairwise(first + b, i), change);
    }
    return moved;
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

// Rows `first` to `first + Rows - 1` become those of -W, less what the rows above have of them:
//
//     U_ic' = -W_ic - sum_(k < first) U_ki U_kc
//
// for all columns c from about `first` on, two registers of them at a time.
template <int Rows>
void Factor::subtract_rows_above(PaddedMatrix<const double> pairwise, Index first) {
    constexpr Index step = PADDING == REGISTER_LANES ? PADDING : 2 * REGISTER_LANES;
    constexpr Index registers = step / REGISTER_LANES;
    for (Index c = first / PADDING * PADDING; c < stride_; c += step) {
        Register rest[Rows][registers];
        for (Index a = 0; a < Rows; ++a)
            for (Index s = 0; s < registers; ++s)
                rest[a][s] = -load_register(pairwise[first + a] + c + s * REGISTER_LANES);
        const double* above = rows_.data();
        for (Index k = 0; k < first; ++k, above += stride_) {
            for (Index s = 0; s < registers; ++s) {
                const Register lanes = load_register(above + c + s * REGISTER_LANES);
                for (Index a = 0; a < Rows; ++a) rest[a][s] -= spread(above[first + a]) * lanes;
            }
        }
        for (Index a = 0; a < Rows; ++a)
            for (Index s = 0; s < registers; ++s)
                store_register(row(first + a) + c + s * REGISTER_LANES, rest[a][s]);
    }
}

template <int Rows>
bool Factor::decompose_rows(PaddedMatrix<const double> pairwise, const double* diagonal,
                            double shift, Index first) {
    subtract_rows_above<Rows>(pairwise, first);
    const Index begin = first / PADDING * PADDING;
    for (Index i = first; i < first + Rows; ++i) {
        double* line = row(i);
        const double pivot = line[i] + (diagonal[i] + shift);
        if (!(pivot > 0.0)) return false;
        inverse_[i] = 1.0 / std::sqrt(pivot);
        std::fill(line + begin, line + i + 1, 0.0);
        scale(line, inverse_[i], stride_, begin);
        for (Index below = i + 1; below < first + Rows; ++below)
            add(row(below), -line[below], line, stride_, begin);
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
    double shift = 0.003 * mean;
    int attempts = 60;
    while (!factor.decompose(pairwise, diagonal, shift)) {
        if (--attempts == 0) return false;
        shift *= 3.0;
    }
    double enough = shift;
    for (int round = 0; round < rounds; ++round) {
        const double smallest = factor.smallest_eigenvalue(x.data(), 3);
        bool lowered = false;
        for (double fraction : {0.96, 0.8, 0.5}) {
            shift = enough - fraction * smallest;
            lowered = factor.decompose(pairwise, diagonal, shift);
            if (lowered) break;
        }
        if (lowered) enough = shift;
        if (!lowered || smallest < 1e-3 * mean) break;
    }
    const double margin = 2.0 * static_cast<double>(m + 2) * ROUNDOFF *
                          (trace + static_cast<double>(m) * std::abs(enough));
    for (Index i = 0; i < m; ++i) diagonal[i] += enough + margin;
    return true;
}

}  // namespace solvers::branch_and_bound
