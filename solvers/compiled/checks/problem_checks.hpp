// What has to be known of a problem before any solver gets it, in one pass over its scores.
//
// Kernels find out whether something is wrong; Python then names the place in words.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "solvers/compiled/resolution.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::checks {

struct Survey {
    double largest = 0.0;  // magnitude of an instance; NaN where a score is
    double lowest = 0.0;   // pairwise score of all; 0 where there is none
    bool suspicious = false;
};

template <class Score>
double absolute_sum(std::span<const Score> scores) {
    double sum = 0.0;
    const Score* values = scores.data();
    const Index count = length(scores);
#pragma omp simd reduction(+ : sum)
    for (Index k = 0; k < count; ++k) sum += std::abs(static_cast<double>(values[k]));
    return sum;
}

template <class Score>
double lowest_of(std::span<const Score> scores) {
    Score lowest = 0;
    const Score* values = scores.data();
    const Index count = length(scores);
#pragma omp simd reduction(min : lowest)
    for (Index k = 0; k < count; ++k) lowest = std::min(lowest, values[k]);
    return static_cast<double>(lowest);
}

// Writes the magnitude of each instance, the sum of its absolute scores, and `factor` times that.
//
// A score that is not finite makes the largest magnitude infinite or NaN.
template <class Score>
Survey survey(Matrix<const Score> unary, Matrix<const Score> pairwise, double factor, double digits,
              std::span<double> magnitude, std::span<double> rounding) {
    Survey found;
    for (Index b = 0; b < unary.rows; ++b) {
        const double sum = absolute_sum(unary[b]) + absolute_sum(pairwise[b]);
        magnitude[b] = sum;
        rounding[b] = factor * sum;
        if (!(sum <= found.largest)) found.largest = sum;
        if (std::isnan(sum)) return found;
        found.lowest = std::min(found.lowest, lowest_of(pairwise[b]));
    }
    if (std::isfinite(found.largest))
        found.suspicious =
            Resolution<Score, Score>(unary, pairwise, magnitude, factor, digits).suspicious();
    return found;
}

enum class Form { UPPER_OR_SYMMETRIC, DIAGONAL, NEITHER };

struct Triangle {
    Form form = Form::UPPER_OR_SYMMETRIC;
    Index used = 0;  // pairs that some instance scores
};

// Entries of a matrix are read in squares of so many rows, whose columns stay in the cache.
inline constexpr Index SQUARE = 32;

// Writes the entries above the diagonal, row by row, and which of them are not zero everywhere.
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
    Triangle found;
    if (diagonal)
        found.form = Form::DIAGONAL;
    else if (!symmetric && !triangular)
        found.form = Form::NEITHER;
    for (std::uint8_t each : used) found.used += each;
    return found;
}

// What `certify` returns instead of an instance.
inline constexpr Index FINE = -1;
inline constexpr Index NO_STATE = -2;

// Whether all values are 0 or 1.
inline bool are_binary(std::span<const std::int8_t> values) {
    std::uint8_t bits = 0;
    for (std::int8_t value : values) bits |= static_cast<std::uint8_t>(value);
    return bits <= 1;
}

// Writes bounds on all scores of each instance, and whether they prove its state, as
// `CertifiedSolver._proof` in solver.py says. Returns the first instance where the bound that was
// found, which may be the score itself, is none: more than `rounding` below the score, or NaN.
inline Index certify(std::span<const double> score, std::span<const double> found,
                     std::span<const double> rounding, std::span<const double> tolerance,
                     std::span<double> raised, std::span<bool> proved) {
    for (Index b = 0; b < length(score); ++b) {
        if (!(found[b] >= score[b] - rounding[b])) return b;
        double bound = std::max(score[b], found[b]);
        if (tolerance[b] < 0.0) bound += rounding[b];  // which hides whole units
        raised[b] = bound;
        proved[b] = bound - score[b] <= tolerance[b];
    }
    return FINE;
}

}  // namespace solvers::checks
