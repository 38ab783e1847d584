#include "solvers/algorithms/precision/integers.hpp"

#include <cmath>

namespace solvers::precision {

template <class Score>
void round_instances(Matrix<const Score> scores, Matrix<const double> factors,
                     Matrix<Index> nearest, std::span<double> moved) {
    for (Index b = 0; b < scores.rows; ++b) {
        const double first = factors(b, 0);
        const double second = factors(b, 1);
        double total = 0.0;
        for (Index k = 0; k < scores.columns; ++k) {
            const double scaled = static_cast<double>(scores(b, k)) * first * second;
            const double rounded = std::rint(scaled);
            nearest(b, k) = static_cast<Index>(rounded);
            total += std::abs(scaled - rounded);
        }
        moved[b] = total;
    }
}

template void round_instances<float>(Matrix<const float>, Matrix<const double>, Matrix<Index>,
                                     std::span<double>);
template void round_instances<double>(Matrix<const double>, Matrix<const double>, Matrix<Index>,
                                      std::span<double>);

}  // namespace solvers::precision
