// Exact maximisers of pairwise problems of small treewidth, by max-sum variable elimination;
// max_sum.py explains it.
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

// Maximisers and their scores, up to rounding; NaN where the elimination was stopped.
struct Maximisers {
    Matrix<std::int8_t> z;     // [batch, n]
    std::span<double> maxima;  // [batch]
};

// Solves LANES instances side by side, for small tables and large batches; needs offsets.
template <class Score>
void max_sum_lanes(const Schedule& schedule, Stop stop, const Instances<Score>& instances,
                   const Maximisers& maximisers);

// Solves one instance at a time, LANES entries of a table side by side, for large tables.
template <class Score>
void max_sum_tables(const Schedule& schedule, Stop stop, const Instances<Score>& instances,
                    const Maximisers& maximisers);

// Instances with a larger coefficient are multiplied by a power of two, so that no sum of
// coefficients overflows.
inline constexpr double HUGE_PEAK = 0x1p900;
inline constexpr double HUGE_SCALE = 0x1p-64;

}  // namespace solvers::elimination
