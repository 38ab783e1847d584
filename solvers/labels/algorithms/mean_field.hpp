// Mean field: a product of one distribution for each variable near p(x) = exp(score(x)) / Z, with a
// lower bound on log Z.
//
// For every q(x) = prod_i q_i(x_i), the mean score under q plus the entropy of q is at most log Z
// (Jensen). A visit to variable i makes q_i(a) proportional to exp of the mean score of a. This q_i
// is optimal for the present other factors, so the bound rises with every visit, to a local
// optimum.
//
// References:
//     Wainwright, Jordan (2008), Graphical models, exponential families, and variational inference,
//     section 5.
#pragma once

#include "solvers/labels/algorithms/tree_messages.hpp"

namespace solvers::labels {

// Visits every variable; returns the largest change of a probability.
//
// Args:
//     unary: `[n, k]`.
//     q: `[n, k]`, allowed together: no pair of values that have probability is forbidden.
//     stop: where it asks to end, the remaining variables are not visited.
double raise_bound(const Tree& tree, Matrix<const double> unary, Matrix<double> q, Stop stop);

// The mean score under q `[n, k]`, plus the entropy of q.
double mean_and_entropy(const Tree& tree, Matrix<const double> unary, Matrix<const double> q);

}  // namespace solvers::labels
