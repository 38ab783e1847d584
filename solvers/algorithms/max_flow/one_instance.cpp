#include "solvers/algorithms/max_flow/one_instance.hpp"

#include "solvers/algorithms/max_flow/one_word.hpp"

namespace solvers::max_flow {
namespace {

constexpr Index PAIRS = ONE_WORD_NODES * (ONE_WORD_NODES - 1) / 2;

}  // namespace

std::optional<checks::Certified> maximise_pairs(Matrix<const Index> edges,
                                                Matrix<const double> unary,
                                                Matrix<const double> pairwise, double largest,
                                                Matrix<std::int8_t> z) {
    const std::optional<checks::Passed> scores = checks::passed(unary, pairwise, largest);
    if (!scores || scores->lowest < 0.0) return std::nullopt;
    std::uint8_t ends[2 * PAIRS];
    for (Index k = 0; k < 2 * edges.rows; ++k) ends[k] = static_cast<std::uint8_t>(edges.data[k]);
    double bound = 0.0;
    cut_in_one_word<double>({ends, edges.rows, 2}, unary, pairwise, z, {&bound, 1});
    return checks::certified(unary, pairwise, edges, z, bound, scores->rounding);
}

std::optional<checks::Certified> maximise_matrix(Matrix<const double> unary,
                                                 Cube<const double> matrix, double largest,
                                                 Matrix<std::int8_t> z) {
    checks::UsedPairs<ONE_WORD_NODES> pairs;
    if (!pairs.read(matrix)) return std::nullopt;
    return maximise_pairs(pairs.edges(), unary, pairs.scores(), largest, z);
}

}  // namespace solvers::max_flow
