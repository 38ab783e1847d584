// The derivative of all marginals along a direction of the scores, at small treewidth.
//
// Forward-mode differentiation of sum_product.hpp: a step's message, the shares of its variable and
// the flows each have a rate of change. It equals Cov(phi, phi . direction), with phi the z_i and
// the z_i z_j of the edges. The tables take 48 bytes per entry.
#pragma once

#include "solvers/gibbs_distribution/sum_product.hpp"

namespace solvers::gibbs_distribution {

// Writes Cov(phi, phi . direction) to `ones` `[batch, n]` and `pairs` `[batch, e]`; ends early if
// `stop` is requested.
template <int L>
void covary(const Schedule& schedule, const Scores& scores, const Scores& direction,
            Matrix<double> ones, Matrix<double> pairs, Stop stop);

}  // namespace solvers::gibbs_distribution
