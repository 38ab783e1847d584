#include "solvers/algorithms/exhaustive/one_instance.hpp"

#include "solvers/algorithms/exhaustive/host.hpp"
#include "solvers/compiled/checks/one_instance.hpp"

namespace solvers::exhaustive {
namespace {

constexpr int N = ONE_INSTANCE_VARIABLES;
constexpr int PAIRS = N * (N - 1) / 2;

}  // namespace

std::optional<double> maximise_pairs(std::span<const std::uint64_t> positions,
                                     Matrix<const Index> edges, Matrix<const double> unary,
                                     Matrix<const double> pairwise, double largest,
                                     Matrix<std::int8_t> z) {
    if (!checks::passed(unary, pairwise, largest)) return std::nullopt;
    maximise(positions, static_cast<int>(unary.columns), unary, pairwise, z);
    return score_of(unary[0], pairwise[0], edges, z[0]);
}

std::optional<double> maximise_matrix(Matrix<const double> unary, Cube<const double> matrix,
                                      double largest, Matrix<std::int8_t> z) {
    checks::UsedPairs<N> pairs;
    if (!pairs.read(matrix)) return std::nullopt;
    const Matrix<const Index> edges = pairs.edges();
    const Index n = unary.columns;
    std::uint64_t positions[N + PAIRS];
    for (Index i = 0; i < n; ++i)
        positions[i] = static_cast<std::uint64_t>(i * (MAX_VARIABLES + 1));
    for (Index k = 0; k < edges.rows; ++k)
        positions[n + k] = static_cast<std::uint64_t>(edges(k, 1) * MAX_VARIABLES + edges(k, 0));
    return maximise_pairs({positions, static_cast<std::size_t>(n + edges.rows)}, edges, unary,
                          pairs.scores(), largest, z);
}

}  // namespace solvers::exhaustive
