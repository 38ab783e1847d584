// States in which no single flip gains.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::local_search {

// Flips the variables of z `[batch, n]`, one after the other, until none gains.
//
// Flips that rounding would repeat for ever end after n rounds.
void flip_what_gains(Matrix<const Index> edges, Matrix<const double> unary,
                     Matrix<const double> pairwise, Matrix<std::int8_t> z);

}  // namespace solvers::local_search
