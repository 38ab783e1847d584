// Checks of a problem before any solver gets it, in one pass over its scores.
//
// Kernels detect whether something is wrong; Python then names the place in words.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "solvers/compiled/resolution.hpp"
#include "solvers/compiled/scores.hpp"
#include "solvers/compiled/transpose.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::checks {

struct Survey {
    double largest = 0.0;  // magnitude of an instance; NaN where a score is
    double lowest = 0.0;   // pairwise score of all; 0 where none is negative
    bool suspicious = false;
};

// Sums and extremes of one instance, or of some of its scores.
struct Row {
    double sum = 0.0;                                        // of absolute scores
    double least = std::numeric_limits<double>::infinity();  // absolute score that is not zero
    double lowest = 0.0;                                     // score; 0 where none is negative
};

template <class Score>
Row row_of(std::span<const Score> scores) {
    double sum = 0.0;
    double least = std::numeric_limits<double>::infinity();
    double lowest = 0.0;
    const Score* values = scores.data();
    const Index count = length(scores);
#pragma omp simd reduction(+ : sum) reduction(min : least, lowest)
    for (Index k = 0; k < count; ++k) {
        const double value = static_cast<double>(values[k]);
        const double size = std::abs(value);
        sum += size;
        least = std::min(least, size > 0.0 ? size : std::numeric_limits<double>::infinity());
        lowest = std::min(lowest, value);
    }
    return {sum, least, lowest};
}

// Reads the scores `[batch, n]` and `[batch, e]` of a batch in one pass.
//
// A score that is not finite makes the largest magnitude infinite or NaN.
template <class Score>
class Surveyor {
public:
    // Writes the magnitude of each instance, the sum of its absolute scores, and `factor` times it.
    Surveyor(Matrix<const Score> unary, Matrix<const Score> pairwise, double factor, double digits,
             std::span<double> magnitude, std::span<double> rounding)
        : unary_(unary),
          pairwise_(pairwise),
          factor_(factor),
          magnitude_(magnitude),
          rounding_(rounding),
          resolution_(unary, pairwise, magnitude, factor, digits) {}

    Survey survey() {
        Index b = 0;
        if (unary_.columns + pairwise_.columns <= SHORT_ROW)
            for (; b + LANES <= unary_.rows; b += LANES) {
                alignas(64) double turned[SHORT_ROW * LANES];
                transpose(unary_, b, turned);
                if (pairwise_.columns) transpose(pairwise_, b, turned + unary_.columns * LANES);
                take_lanes(b, turned);
            }
        for (; b < unary_.rows; ++b) {
            const Row first = row_of(unary_[b]);
            const Row second = row_of(pairwise_[b]);
            take(b, first.sum + second.sum, std::min(first.least, second.least), second.lowest);
        }
        return found_;
    }

    // Does the same for LANES instances, whose scores are transposed already, `[n + e, LANES]`.
    Survey survey_lanes(const double* turned) {
        take_lanes(0, turned);
        return found_;
    }

private:
    void take_lanes(Index first, const double* turned) {
        alignas(64) double sum[LANES] = {};
        alignas(64) double least[LANES];
        alignas(64) double lowest[LANES] = {};
        std::fill_n(least, LANES, std::numeric_limits<double>::infinity());
        for (Index c = 0; c < unary_.columns + pairwise_.columns; ++c) {
            const double* values = turned + c * LANES;
            const bool pairs = c >= unary_.columns;
#pragma omp simd
            for (int lane = 0; lane < LANES; ++lane) {
                const double size = std::abs(values[lane]);
                sum[lane] += size;
                const bool smaller = (0.0 < size) & (size < least[lane]);
                least[lane] = smaller ? size : least[lane];
                const bool lower = (values[lane] < lowest[lane]) & pairs;
                lowest[lane] = lower ? values[lane] : lowest[lane];
            }
        }
        for (int lane = 0; lane < LANES; ++lane)
            take(first + lane, sum[lane], least[lane], lowest[lane]);
    }

    void take(Index b, double sum, double least, double lowest) {
        magnitude_[b] = sum;
        rounding_[b] = factor_ * sum;
        if (!(sum <= found_.largest) && !std::isnan(found_.largest)) found_.largest = sum;
        found_.lowest = std::min(found_.lowest, lowest);
        found_.suspicious = found_.suspicious || resolution_.suspicious(b, least);
    }

    Matrix<const Score> unary_;
    Matrix<const Score> pairwise_;
    double factor_;
    std::span<double> magnitude_;
    std::span<double> rounding_;
    Resolution<Score, Score> resolution_;
    Survey found_;
};

enum class Form { UPPER_OR_SYMMETRIC, DIAGONAL, NEITHER };

struct Triangle {
    Form form = Form::UPPER_OR_SYMMETRIC;
    Index used = 0;  // pairs that some instance scores
};

// Entries of a matrix are read in squares of so many rows, whose columns stay in the cache.
inline constexpr Index SQUARE = 32;

// Writes the entries above the diagonal, row by row, and which of them are nonzero anywhere.
//
// Invariant: `symmetric` and `triangular` say of all entries read so far whether each below the
// diagonal equals its mirror image, and whether each is zero. NaN is neither.
template <class Score>
Triangle read_matrix(Cube<const Score> matrix, Matrix<Score> upper, std::span<std::uint8_t> used) {
    const Index n = matrix.rows;
    bool diagonal = false;
    bool symmetric = true;
    bool triangular = true;
    std::fill(used.begin(), used.end(), std::uint8_t{0});
    for (Index b = 0; b < matrix.depth; ++b) {
        const Matrix<const Score> entries = matrix[b];
        Score* out = upper.data + b * upper.columns;
        for (Index i = 0; i < n; ++i) diagonal |= !(entries(i, i) == Score{0});
        // Squares of rows top.. and columns left.., so that the columns below stay in the cache.
        for (Index top = 0; top < n; top += SQUARE)
            for (Index left = top; left < n; left += SQUARE)
                for (Index i = top; i < std::min(top + SQUARE, n); ++i) {
                    const Index before = i * (2 * n - i - 1) / 2 - i - 1;  // of row i in `out`
                    for (Index j = std::max(left, i + 1); j < std::min(left + SQUARE, n); ++j) {
                        const Score above = entries(i, j);
                        const Score below = entries(j, i);
                        out[before + j] = above;
                        used[before + j] |= !(above == Score{0});
                        symmetric &= below == above;
                        triangular &= below == Score{0};
                    }
                }
    }
    Triangle triangle;
    if (diagonal)
        triangle.form = Form::DIAGONAL;
    else if (!symmetric && !triangular)
        triangle.form = Form::NEITHER;
    for (std::uint8_t is_used : used) triangle.used += is_used;
    return triangle;
}

// The results of `certify` that are not an instance.
inline constexpr Index FINE = -1;
inline constexpr Index NO_STATE = -2;

// Returns whether all values are 0 or 1.
inline bool are_binary(std::span<const std::int8_t> values) {
    std::uint8_t bits = 0;
    for (std::int8_t value : values) bits |= static_cast<std::uint8_t>(value);
    return bits <= 1;
}

// Writes bounds on all scores of each instance, and whether they prove its state, as
// `CertifiedSolver._proof` in solver.py explains. Returns the first instance whose bound, which may
// be the score itself, is not a bound: more than `rounding` below the score, or NaN.
inline Index certify(std::span<const double> score, std::span<const double> reported,
                     std::span<const double> rounding, std::span<const double> tolerance,
                     std::span<double> raised, std::span<bool> proved) {
    for (Index b = 0; b < length(score); ++b) {
        if (!(reported[b] >= score[b] - rounding[b])) return b;
        double bound = std::max(score[b], reported[b]);
        if (tolerance[b] < 0.0) bound += rounding[b];  // which hides whole units
        raised[b] = bound;
        proved[b] = bound - score[b] <= tolerance[b];
    }
    return FINE;
}

}  // namespace solvers::checks
