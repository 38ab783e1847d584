// Exact maximisers of pairwise problems of small treewidth, by max-sum variable elimination;
// max_sum.py says what of.
#pragma once

#include "solvers/algorithms/elimination/schedule.hpp"
#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

template <class Score>
struct Instances {
    Matrix<const Score> unary;     // [batch, n]
    Matrix<const Score> pairwise;  // [batch, e]
};

// Maximisers, and their scores up to rounding; not a number where the elimination was stopped.
struct Maximisers {
    Matrix<std::int8_t> z;     // [batch, n]
    std::span<double> maxima;  // [batch]
};

// LANES instances side by side, for small tables and large batches; the schedule has offsets.
template <class Score>
void max_sum_lanes(const Schedule& schedule, Stop stop, const Instances<Score>& instances,
                   const Maximisers& found);

// One instance at a time, LANES entries of a table side by side, for large tables.
template <class Score>
void max_sum_tables(const Schedule& schedule, Stop stop, const Instances<Score>& instances,
                    const Maximisers& found);

// The factor, a power of two, by which the coefficients of an instance are multiplied so that no
// sum of them overflows.
template <class Score>
double scale_of(const Instances<Score>& instances, Index b) {
    constexpr double HUGE_PEAK = 0x1p900;
    constexpr double HUGE_SCALE = 0x1p-64;
    Score peak = 0;
    for (std::span<const Score> coefficients : {instances.unary[b], instances.pairwise[b]}) {
        const Score* values = coefficients.data();
        const Index count = length(coefficients);
#pragma omp simd reduction(max : peak)
        for (Index i = 0; i < count; ++i) {
            const Score size = values[i] < 0 ? -values[i] : values[i];
            peak = peak < size ? size : peak;
        }
    }
    return static_cast<double>(peak) > HUGE_PEAK ? HUGE_SCALE : 1.0;
}

}  // namespace solvers::elimination
