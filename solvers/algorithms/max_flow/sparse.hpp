// Maximum flow on sparse graphs of any size, in integers, on lists of arcs.
//
// Much excess lies next to a deficit and flows there at once, in batches by vector lanes
// (lane_pushes.hpp); the trees of trees.hpp carry the rest as long as paths are short. Long paths
// would take the trees too long: then rounds like those of one_word.cpp finish, each of which looks
// at the whole graph but moves everything.
//
// References:
//     Dinitz (1970), Algorithm for solution of a problem of maximum flow in networks with power
//     estimation.
#pragma once

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::max_flow {

// Works as `cut_dense`, for edges `[e, 2]` and graphs of fewer than 2^30 edges.
//
// `stop` ends a flow early. The states may then not be maximisers, and the numbers are upper bounds
// on twice the maxima.
void cut_sparse(Matrix<const Index> edges, Stop stop, Matrix<const Index> unary,
                Matrix<const Index> pairwise, Matrix<std::int8_t> z, std::span<Index> doubled);

}  // namespace solvers::max_flow
