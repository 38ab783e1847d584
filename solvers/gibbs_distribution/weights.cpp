#include "solvers/gibbs_distribution/weights.hpp"

#include <limits>

#include "solvers/gibbs_distribution/exponentials.hpp"

namespace solvers::gibbs_distribution {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

bool is_steep(std::span<const double> coefficients) {
    double gains = 0.0;
    double losses = 0.0;
#pragma omp simd reduction(+ : gains, losses)
    for (std::size_t c = 0; c < coefficients.size(); ++c) {
        gains += std::max(coefficients[c], 0.0);
        losses += std::max(-coefficients[c], 0.0);
    }
    return std::max(gains, losses) > STEEP;
}

double maximum(const Block& block) {
    double best = block.states[0];
#pragma omp simd reduction(max : best)
    for (int s = 0; s < BLOCK; ++s) best = std::max(best, block.states[s]);
    return best;
}

}  // namespace

Weights::Weights(int n) : blocks_(n), maxima_(blocks_.count(), INFINITE) {}

void Weights::load(std::span<const double> coefficients, const Triangle& triangle) {
    steep_ = is_steep(coefficients);
    if (steep_)
        blocks_.load<Join::sum>(coefficients, triangle, -INFINITE);
    else
        blocks_.load<Join::product>(coefficients, triangle, 0.0);
}

double Weights::find_reference() {
    if (!steep_) return 0.0;
    for (Index h = 0; h < count(); ++h) {
        for_each_eights(blocks_.block<Join::sum>(h),
                        [&](int s, const Eights& scores) { block_.set(s, scores); });
        maxima_[h] = maximum(block_);
    }
    return *std::ranges::max_element(maxima_);
}

void Weights::fill(Index h, double reference, Block& block) {
    if (!steep_) {
        for_each_eights(blocks_.block<Join::product>(h),
                        [&](int s, const Eights& weights) { block.set(s, weights); });
    } else if (maxima_[h] - reference < LOWEST) {
        std::ranges::fill(block.states, 0.0);
    } else {
        const Eight shift(reference);
        for_each_eights(blocks_.block<Join::sum>(h), [&](int s, Eights scores) {
            for (Eight& line : scores.lines) line -= shift;
            block.set(s, scores);
        });
        exponentiate(block.states);
    }
}

}  // namespace solvers::gibbs_distribution
