#include "solvers/algorithms/exhaustive/at_once.hpp"

#include "solvers/algorithms/exhaustive/host.hpp"
#include "solvers/algorithms/exhaustive/lanes.hpp"
#include "solvers/compiled/checks/at_once.hpp"

namespace solvers::exhaustive {

bool maximise_at_once(const Pairs& pairs, Matrix<const double> unary, Matrix<const double> pairwise,
                      double largest, Matrix<std::int8_t> z, std::span<double> score) {
    if (pay_lanes(pairs.n(), z.rows))
        return maximise_at_once_in_lanes(pairs, unary, pairwise, largest, z, score);
    if (!checks::pass(unary, pairwise, largest)) return false;
    maximise(pairs, unary, pairwise, z);
    fill_scores(unary, pairwise, pairs.edges(), z, score);
    return true;
}

std::optional<double> maximise_matrix(Matrix<const double> unary, Cube<const double> matrix,
                                      double largest, Matrix<std::int8_t> z) {
    checks::UsedPairs<AT_ONCE_VARIABLES> used;
    if (!used.read(matrix)) return std::nullopt;
    const Pairs pairs(static_cast<int>(unary.columns), used.edges());
    double score = 0.0;
    if (!maximise_at_once(pairs, unary, used.scores(), largest, z, {&score, 1}))
        return std::nullopt;
    return score;
}

}  // namespace solvers::exhaustive
