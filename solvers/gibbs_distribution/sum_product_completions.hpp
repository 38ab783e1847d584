// Samples at small treewidth, and their completions: one variable is flipped, and later ones
// redrawn.
//
// Steps are drawn from the last to the first, each given its separator, so P(z_v = 1 | drawn
// before) is one of the shares. Its derivative in the scores flows from there to the messages from
// which the entry was computed, as probabilities do in sum_product.hpp.
#pragma once

#include "solvers/gibbs_distribution/enumeration_derivative.hpp"
#include "solvers/gibbs_distribution/sum_product.hpp"

namespace solvers::gibbs_distribution {

// Args:
//     uniforms: `[batch, samples, n]` in [0, 1), one for each variable.
//     chosen: `[batch, samples, m]`, variables.
//     stop: ends the call early, with meaningless states.
template <int L>
void complete(const Schedule& schedule, const Scores& scores, Cube<const double> uniforms,
              Cube<const Index> chosen, const Completed& completed, Stop stop);

// Writes to `ones` `[batch, n]` and `pairs` `[batch, e]` the derivative of the sum of
// changes * P(z_v = 1 | drawn before) over samples and chosen v.
template <int L>
void derive(const Schedule& schedule, const Scores& scores, const Drawn& drawn, Matrix<double> ones,
            Matrix<double> pairs, Stop stop);

}  // namespace solvers::gibbs_distribution
