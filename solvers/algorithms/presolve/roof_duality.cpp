#include "solvers/algorithms/presolve/roof_duality.hpp"

namespace solvers::presolve {

template <class Score>
void halve(Matrix<const Index> edges, Matrix<const Score> unary, Matrix<const Score> pairwise,
           Matrix<double> field, std::span<double> constant) {
    for (Index b = 0; b < unary.rows; ++b) {
        double* __restrict row = &field(b, 0);
        const Score* weight = pairwise.data + b * pairwise.columns;
        for (Index i = 0; i < unary.columns; ++i) row[i] = static_cast<double>(unary(b, i));
        double total = 0.0;
        for (Index e = 0; e < edges.rows; ++e) {
            const double half = 0.5 * static_cast<double>(weight[e]);
            row[edges(e, 0)] += half;
            row[edges(e, 1)] += half;
            total -= half < 0.0 ? half : 0.0;
        }
        constant[b] = total;
    }
}

template void halve<float>(Matrix<const Index>, Matrix<const float>, Matrix<const float>,
                           Matrix<double>, std::span<double>);
template void halve<double>(Matrix<const Index>, Matrix<const double>, Matrix<const double>,
                            Matrix<double>, std::span<double>);

}  // namespace solvers::presolve
