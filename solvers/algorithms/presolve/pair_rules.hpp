// Rules for two nodes at once, proved by trying all values of the neighbours of one of them.
//
// Let v be flipped so that J = weight_uv >= 0, let t be the values of the other neighbours of u,
// x(t) and y(t) their weights at u and at v, and R the other weights at v. Then
//
// - s_u = s_v in some maximiser, if x <= J or R - y <= J for all t: where they differ, one of them
//   may flip;
// - s_u = s_w in some maximiser, if x + clip(y - R, -J, J) >= 0 for all t with t_w = 1: the
//   left-hand side is half of the gain by s_u = 1, when v is best for each value of u. Likewise
//   with -t_w for s_u = -s_w.
//
// Twins, equal and proportional weights, and triangles are special cases of the first rule; the
// dominated vertices of independent sets are one of the second.
//
// References:
//     Lange, Andres, Swoboda (2019), Combinatorial persistency criteria for multicut and max-cut.
//     Ferizovic, Hespe, Lamm, Mnich, Schulz, Strash (2020), Engineering kernelization for maximum
//     cut. Glover, Lewis, Kochenberger (2018), Logical and inequality implications for reducing the
//     size and difficulty of quadratic unconstrained binary optimization problems.
#pragma once

#include "solvers/algorithms/presolve/changing_graph.hpp"

namespace solvers::presolve {

// Neighbours of u that the rules try: 2^8 values of the others, of which a few usually refute all
// rules.
inline constexpr Index MOST_NEIGHBOURS = 9;

// The result s_u = sign s_node in some maximiser; the node is NONE if no rule applies.
struct Follows {
    Index node = NONE;
    Index sign = 0;
};

// Returns a neighbour that u follows by either rule; u has 1 to MOST_NEIGHBOURS neighbours.
Follows neighbour_that_decides(const ChangingGraph& graph, Index u);

// Returns a node with the same neighbours as u that u follows, and that is not joined with it.
Follows twin_of(const ChangingGraph& graph, Index u);

}  // namespace solvers::presolve
