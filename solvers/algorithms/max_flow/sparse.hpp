// Maximum flow on sparse graphs of any size, in integers, on lists of arcs.
//
// Much excess lies beside a deficit and goes there at once; the trees of trees.hpp carry the rest
// while it has not far to go. Where it has, they take long: then rounds like those of one_word.cpp
// finish, each of which looks at the whole graph but moves everything.
//
// References:
//     Dinitz (1970), Algorithm for solution of a problem of maximum flow in networks with power
//     estimation.
#pragma once

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::max_flow {

// As `cut_dense`, for edges `[e, 2]` and graphs of fewer than 2^30 edges.
//
// A flow that `stop` cuts short proves less: states that may be no maximisers, and numbers that are
// upper bounds on twice the maxima.
void cut_sparse(Matrix<const Index> edges, Stop stop, Matrix<const Index> unary,
                Matrix<const Index> pairwise, Matrix<std::int8_t> z, std::span<Index> doubled);

}  // namespace solvers::max_flow
