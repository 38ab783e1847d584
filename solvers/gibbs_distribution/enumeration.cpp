#include "solvers/gibbs_distribution/enumeration.hpp"

#include <cmath>

#include "solvers/gibbs_distribution/sums.hpp"
#include "solvers/gibbs_distribution/weights.hpp"

namespace solvers::gibbs_distribution {
namespace {

// Adds up the lines of each block; returns the sum of all.
double run_up(std::span<const double> lines, std::span<double> cumulative,
              std::span<double> weights) {
    double total = 0.0;
    for (Index h = 0; h < length(weights); ++h) {
        double own = 0.0;
        for (Index line = 4 * h; line < 4 * h + 4; ++line) {
            total += lines[line];
            own += lines[line];
        }
        cumulative[h] = total;
        weights[h] = own;
    }
    return total;
}

}  // namespace

void infer(const Triangle& triangle, Stop stop, Matrix<const double> coefficients,
           const Inferred& inferred) {
    Weights weights(triangle.n);
    Sums sums(depth_of(triangle.n));
    std::vector<double> storage(weights.size() * weights.size());
    const Matrix<double> moments{storage.data(), weights.size(), weights.size()};
    for (Index b = 0; b < coefficients.rows; ++b) {
        weights.load(coefficients[b], triangle);
        const double reference = weights.find_reference();
        inferred.references[b] = reference;
        sums.clear();
        for (Index h = 0; h < weights.count(); ++h) {
            if (stop.requested()) return;
            weights.visit(h, reference, [&](const auto& block) { sums.add(h, block); });
        }
        const double total = run_up(sums.lines(), inferred.cumulative[b], inferred.weights[b]);
        inferred.log_z[b] = reference + std::log(total);
        sums.fill_moments(moments);
        for (Index c = 0; c < coefficients.columns; ++c)
            inferred.marginals(b, c) =
                std::min(moments(triangle.places[c].row, triangle.places[c].column) / total, 1.0);
    }
}

}  // namespace solvers::gibbs_distribution
