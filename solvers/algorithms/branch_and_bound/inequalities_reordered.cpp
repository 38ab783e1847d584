#include "solvers/algorithms/branch_and_bound/inequalities.hpp"

#include "solvers/algorithms/branch_and_bound/relaxation.hpp"

namespace solvers::branch_and_bound {

Inequality inequality_of(const Triangle& triangle, double multiplier) {
    const auto& signs = SIGNS[triangle.kind];  // of the pairs (i, j), (i, k) and (j, k)
    return {{triangle.i, triangle.j, triangle.k},
            {1, static_cast<std::int8_t>(signs[0]), static_cast<std::int8_t>(signs[1])},
            multiplier};
}

void merge(std::span<const Inequality> inequalities, std::span<const std::int16_t> place,
           const double* x, std::vector<Inequality>& merged) {
    merged.clear();
    for (Inequality inequality : inequalities) {
        int constants = 0;
        for (std::size_t a = 0; a < 3; ++a) {
            const Index node = inequality.nodes[a];
            inequality.nodes[a] = place[static_cast<std::size_t>(node)];
            if (inequality.nodes[a] != 0) continue;
            ++constants;
            if (node > 0 && x[node - 1] < 0.5)
                inequality.signs[a] = static_cast<std::int8_t>(-inequality.signs[a]);
        }
        if (constants <= 1) merged.push_back(inequality);
    }
}

void update_multipliers(std::vector<Inequality>& inequalities, const double* vectors, double step) {
    for (Inequality& inequality : inequalities) {
        double slack = 1.0;
        inequality.for_each_pair([&](Index i, Index j, int sign) {
            const double* vector = vectors + (j - 1) * VECTOR_STRIDE;
            double product = vector[0];
            if (i > 0) product = dot(vectors + (i - 1) * VECTOR_STRIDE, vector, VECTOR_STRIDE);
            slack += sign * product;
        });
        inequality.multiplier = std::max(0.0, inequality.multiplier - step * slack);
    }
    std::erase_if(inequalities,
                  [](const Inequality& inequality) { return inequality.multiplier == 0.0; });
}

}  // namespace solvers::branch_and_bound
