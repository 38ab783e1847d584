// Scores of assignments, summed in float64.
//
// References:
//     Knuth (1997), The art of computer programming, volume 2, section 4.2.2, theorem B: the error
//     of a sum.
#pragma once

#include <algorithm>

#include "solvers/compiled/transpose.hpp"
#include "solvers/compiled/vectors.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers {

// A compensated sum, which keeps the rounding errors of its additions.
class CompensatedSum {
public:
    void add(double term) {
        const double sum = total_ + term;
        const double added = sum - total_;
        lost_ += (total_ - (sum - added)) + (term - added);
        total_ = sum;
    }
    double value() const { return total_ + lost_; }

private:
    double total_ = 0.0;
    double lost_ = 0.0;
};

// Sums in lanes with compensation, each with the bits of a `CompensatedSum`.
class CompensatedLanes {
public:
    void add(const Vector& terms) {
        const Vector sum = total_ + terms;
        const Vector added = sum - total_;
        lost_ = lost_ + ((total_ - (sum - added)) + (terms - added));
        total_ = sum;
    }
    Vector value() const { return total_ + lost_; }

private:
    Vector total_{};
    Vector lost_{};
};

// Blocks of SCORE_BLOCK terms are summed one by one; the blocks are added with compensation.
inline constexpr Index SCORE_BLOCK = 16;

// Rows of at most so many scores are read in lanes, one instance in each.
inline constexpr Index SHORT_ROW = 64;

// Returns the score of the state z of an instance.
template <class Score>
double score_of(std::span<const Score> unary, std::span<const Score> pairwise,
                Matrix<const Index> edges, std::span<const std::int8_t> z) {
    CompensatedSum total;
    for (Index start = 0; start < length(unary); start += SCORE_BLOCK) {
        double block = 0.0;
        for (Index i = start; i < std::min(start + SCORE_BLOCK, length(unary)); ++i)
            block += static_cast<double>(unary[i]) * z[i];
        total.add(block);
    }
    for (Index start = 0; start < length(pairwise); start += SCORE_BLOCK) {
        double block = 0.0;
        for (Index k = start; k < std::min(start + SCORE_BLOCK, length(pairwise)); ++k)
            block += static_cast<double>(pairwise[k]) * (z[edges(k, 0)] & z[edges(k, 1)]);
        total.add(block);
    }
    return total.value();
}

// Returns the scores of the states of LANES instances, with the bits of `score_of`.
//
// Args:
//     weights: `[n + e, LANES]`, the scores of each instance.
//     bits: `[n, LANES]`, the states.
inline Vector scores_in_lanes(const double* weights, const double* bits, Index n,
                              Matrix<const Index> edges) {
    CompensatedLanes total;
    for (Index start = 0; start < n; start += SCORE_BLOCK) {
        Vector block{};
        for (Index i = start; i < std::min(start + SCORE_BLOCK, n); ++i)
            block = block + load(weights + i * LANES) * load(bits + i * LANES);
        total.add(block);
    }
    const double* pairs = weights + n * LANES;
    for (Index start = 0; start < edges.rows; start += SCORE_BLOCK) {
        Vector block{};
        for (Index k = start; k < std::min(start + SCORE_BLOCK, edges.rows); ++k) {
            const Vector both = load(bits + edges(k, 0) * LANES) * load(bits + edges(k, 1) * LANES);
            block = block + load(pairs + k * LANES) * both;
        }
        total.add(block);
    }
    return total.value();
}

// Writes the scores of the states of the instances first .. first + LANES, whose rows are short.
template <class Score>
void fill_lanes(Matrix<const Score> unary, Matrix<const Score> pairwise, Matrix<const Index> edges,
                Matrix<const std::int8_t> z, Index first, double* scores) {
    alignas(64) double weights[SHORT_ROW * LANES];
    alignas(64) double bits[SHORT_ROW * LANES];
    transpose(unary, first, weights);
    if (pairwise.columns) transpose(pairwise, first, weights + unary.columns * LANES);
    for (Index lane = 0; lane < LANES; ++lane)
        for (Index i = 0; i < z.columns; ++i) bits[i * LANES + lane] = z(first + lane, i);
    store(scores, scores_in_lanes(weights, bits, unary.columns, edges));
}

// Writes the score of the state z[b] of each instance b.
template <class Score>
void fill_scores(Matrix<const Score> unary, Matrix<const Score> pairwise, Matrix<const Index> edges,
                 Matrix<const std::int8_t> z, std::span<double> score) {
    Index b = 0;
    if (unary.columns + pairwise.columns <= SHORT_ROW)
        for (; b + LANES <= z.rows; b += LANES)
            fill_lanes(unary, pairwise, edges, z, b, score.data() + b);
    for (; b < z.rows; ++b) score[b] = score_of(unary[b], pairwise[b], edges, z[b]);
}

}  // namespace solvers
