#include "solvers/algorithms/exhaustive/best_states.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace solvers::exhaustive {
namespace {

constexpr Index LOW =
    14;  // variables whose states are scored at once: their table stays near the processor

// Returns the score of the high bits alone, and writes what each low bit adds to it.
double fill_fields(std::span<const double> unary, Matrix<const double> pairwise, Index high,
                   Index low, std::span<double> field) {
    double score = 0.0;
    for (Index i = 0; i < low; ++i) field[i] = unary[i];
    for (Index i = low; i < length(unary); ++i) {
        if (!(high >> (i - low) & 1)) continue;
        score += unary[i];
        for (Index j = 0; j < low; ++j) field[j] += pairwise(i, j);
        for (Index j = low; j < i; ++j)
            if (high >> (j - low) & 1) score += pairwise(i, j);
    }
    return score;
}

// Inserts a state behind states of equal score, and drops the last one.
void insert(double score, Index code, std::span<double> best, std::span<Index> codes) {
    Index place = length(best) - 1;
    for (; place > 0 && best[place - 1] < score; --place) {
        best[place] = best[place - 1];
        codes[place] = codes[place - 1];
    }
    best[place] = score;
    codes[place] = code;
}

}  // namespace

// The states of the low bits are scored by doubling: a state of k + 1 bits is one of k bits plus
// the contribution of bit k.
void best_codes(Matrix<const double> unary, Cube<const double> pairwise, Matrix<Index> codes) {
    const Index n = unary.columns;
    const Index low = std::min(n, LOW);
    std::vector<double> scores(std::size_t{1} << low);
    std::vector<double> gains(std::size_t{1} << low);
    std::vector<double> field(low);
    std::vector<double> best(codes.columns);
    for (Index b = 0; b < unary.rows; ++b) {
        std::ranges::fill(best, -std::numeric_limits<double>::infinity());
        for (Index high = 0; high < Index{1} << (n - low); ++high) {
            scores[0] = fill_fields(unary[b], pairwise[b], high, low, field);
            for (Index k = 0; k < low; ++k) {
                const Index half = Index{1} << k;
                gains[0] = field[k];
                for (Index j = 0; j < k; ++j)
                    for (Index s = 0; s < Index{1} << j; ++s)
                        gains[(Index{1} << j) + s] = gains[s] + pairwise(b, j, k);
                for (Index s = 0; s < half; ++s) scores[half + s] = scores[s] + gains[s];
            }
            for (Index s = 0; s < Index{1} << low; ++s)
                if (scores[s] > best.back()) insert(scores[s], (high << low) + s, best, codes[b]);
        }
    }
}

}  // namespace solvers::exhaustive
