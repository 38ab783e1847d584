#include "solvers/algorithms/exhaustive/one_instance.hpp"

#include <limits>

#include "solvers/algorithms/exhaustive/host.hpp"
#include "solvers/compiled/checks/problem_checks.hpp"
#include "solvers/compiled/scores.hpp"

namespace solvers::exhaustive {
namespace {

constexpr int N = ONE_INSTANCE_VARIABLES;
constexpr int PAIRS = N * (N - 1) / 2;

// Error of a sum of so many scores, as a share of its magnitude: `Problem._share_of_rounding`.
double share_of_rounding(Index scores) {
    return 2.0 * std::numeric_limits<double>::epsilon() * static_cast<double>(scores + 1);
}

}  // namespace

std::optional<double> maximise_pairs(std::span<const std::uint64_t> positions,
                                     Matrix<const Index> edges, Matrix<const double> unary,
                                     Matrix<const double> pairwise, double largest,
                                     Matrix<std::int8_t> z) {
    constexpr double digits = std::numeric_limits<double>::epsilon();
    double magnitude = 0.0;
    double rounding = 0.0;
    const double factor = share_of_rounding(unary.columns + pairwise.columns);
    const checks::Survey survey =
        checks::Surveyor<double>(unary, pairwise, factor, digits, {&magnitude, 1}, {&rounding, 1})
            .survey();
    if (!(survey.largest <= largest) || survey.suspicious) return std::nullopt;
    maximise(positions, static_cast<int>(unary.columns), unary, pairwise, z);
    double score = 0.0;
    fill_scores(unary, pairwise, edges, z, {&score, 1});
    return score;
}

std::optional<double> maximise_matrix(Matrix<const double> unary, Cube<const double> matrix,
                                      double largest, Matrix<std::int8_t> z) {
    const Index n = unary.columns;
    double upper[PAIRS] = {};
    std::uint8_t used[PAIRS] = {};
    const Index all = n * (n - 1) / 2;
    const checks::Triangle triangle = checks::read_matrix(matrix, Matrix<double>{upper, 1, all},
                                                          {used, static_cast<std::size_t>(all)});
    if (triangle.form != checks::Form::UPPER_OR_SYMMETRIC || triangle.used == 0)
        return std::nullopt;
    Index edges[2 * PAIRS];
    std::uint64_t positions[N + PAIRS];
    for (Index i = 0; i < n; ++i)
        positions[i] = static_cast<std::uint64_t>(i * (MAX_VARIABLES + 1));
    // Keeps the used pairs, in their order; e of them so far, and k runs over all pairs i < j.
    Index e = 0;
    Index k = 0;
    for (Index i = 0; i < n; ++i)
        for (Index j = i + 1; j < n; ++j, ++k) {
            if (!used[k]) continue;
            upper[e] = upper[k];
            edges[2 * e] = i;
            edges[2 * e + 1] = j;
            positions[n + e] = static_cast<std::uint64_t>(j * MAX_VARIABLES + i);
            ++e;
        }
    return maximise_pairs({positions, static_cast<std::size_t>(n + e)}, {edges, e, 2}, unary,
                          {upper, 1, e}, largest, z);
}

}  // namespace solvers::exhaustive
