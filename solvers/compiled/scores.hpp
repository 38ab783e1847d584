// Scores of assignments, summed in float64.
//
// References:
//     Knuth (1997), The art of computer programming, volume 2, section 4.2.2, theorem B: the error
//     of a sum.
#pragma once

#include <algorithm>

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

// Writes the score of the state z[b] of each instance b.
//
// Invariant: blocks of SCORE_BLOCK terms are summed one by one; the blocks are added with
// compensation.
inline constexpr Index SCORE_BLOCK = 16;

template <class Score>
void fill_scores(Matrix<const Score> unary, Matrix<const Score> pairwise, Matrix<const Index> edges,
                 Matrix<const std::int8_t> z, std::span<double> score) {
    for (Index b = 0; b < z.rows; ++b) {
        CompensatedSum total;
        for (Index start = 0; start < unary.columns; start += SCORE_BLOCK) {
            double block = 0.0;
            for (Index i = start; i < std::min(start + SCORE_BLOCK, unary.columns); ++i)
                block += static_cast<double>(unary(b, i)) * z(b, i);
            total.add(block);
        }
        for (Index start = 0; start < pairwise.columns; start += SCORE_BLOCK) {
            double block = 0.0;
            for (Index k = start; k < std::min(start + SCORE_BLOCK, pairwise.columns); ++k)
                block +=
                    static_cast<double>(pairwise(b, k)) * (z(b, edges(k, 0)) & z(b, edges(k, 1)));
            total.add(block);
        }
        score[b] = total.value();
    }
}

}  // namespace solvers
