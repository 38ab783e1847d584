#include "solvers/algorithms/elimination/one_instance.hpp"

#include "solvers/algorithms/elimination/max_sum.hpp"
#include "solvers/compiled/scores.hpp"

namespace solvers::elimination {

std::optional<checks::Certified> maximise_pairs(const Schedule& schedule, Matrix<const Index> edges,
                                                Matrix<const double> unary,
                                                Matrix<const double> pairwise, double largest,
                                                Matrix<std::int8_t> z) {
    if (!checks::passed(unary, pairwise, largest)) return std::nullopt;
    constexpr std::uint8_t never = 0;
    double maximum = 0.0;
    max_sum_tables<double>(schedule, Stop(&never), {unary, pairwise}, {z, {&maximum, 1}});
    // The argument is exhaustive, so the score is its own bound. It is summed again, in the order
    // of all scores.
    const double score = score_of(unary[0], pairwise[0], edges, z[0]);
    return checks::Certified{score, score, true};
}

}  // namespace solvers::elimination
