#include "solvers/algorithms/precision/integers.hpp"

#include <cmath>

namespace solvers::precision {

template <class Score>
void round_instances(Matrix<const Score> scores, std::span<const std::int32_t> exponent,
                     Matrix<Index> nearest, std::span<double> moved) {
    for (Index b = 0; b < scores.rows; ++b) {
        // 2^-exponent may be beyond float64, but the product of two factors is not.
        const int half = -exponent[b] / 2;
        const double first = std::ldexp(1.0, half);
        const double second = std::ldexp(1.0, -exponent[b] - half);
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

template void round_instances<float>(Matrix<const float>, std::span<const std::int32_t>,
                                     Matrix<Index>, std::span<double>);
template void round_instances<double>(Matrix<const double>, std::span<const std::int32_t>,
                                      Matrix<Index>, std::span<double>);

}  // namespace solvers::precision
