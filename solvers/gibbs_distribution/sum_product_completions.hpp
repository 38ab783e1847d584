// Samples at small treewidth, with one variable the other way and those drawn after it redrawn.
//
// Steps are drawn from the last to the first, each given its separator, so P(z_v = 1 | drawn
// before) is one of the shares. Its derivative in the scores flows from there to the messages that
// the entry was made of, as probabilities do in sum_product.hpp.
#pragma once

#include "solvers/gibbs_distribution/enumeration_derivative.hpp"
#include "solvers/gibbs_distribution/sum_product.hpp"

namespace solvers::gibbs_distribution {

// Args:
//     uniforms: `[batch, samples, n]` in [0, 1), one a variable.
//     chosen: `[batch, samples, m]`, variables.
//     stop: ends early, with states that have no meaning.
template <int L>
void complete(const Schedule& schedule, const Scores& scores, Cube<const double> uniforms,
              Cube<const Index> chosen, const Completed& completed, Stop stop);

// Writes to `ones` `[batch, n]` and `pairs` `[batch, e]` the derivative of the sum of
// changes * P(z_v = 1 | drawn before) over samples and chosen v.
template <int L>
void derive(const Schedule& schedule, const Scores& scores, const Drawn& drawn, Matrix<double> ones,
            Matrix<double> pairs, Stop stop);

}  // namespace solvers::gibbs_distribution
