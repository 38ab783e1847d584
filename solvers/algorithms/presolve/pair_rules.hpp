// Rules for two nodes at once, proved by trying all values of the neighbours of one of them.
//
// Let v be flipped so that J = weight_uv >= 0, let t be the values of the other neighbours of u,
// x(t) and y(t) what they weigh at u and at v, and R what else weighs at v. Then
//
// - s_u = s_v in some maximiser, if x <= J or R - y <= J for all t: where they differ, one of them
// may flip;
// - s_u = s_w in some maximiser, if x + clip(y - R, -J, J) >= 0 for all t with t_w = 1: the
// left-hand side is half of
//   what s_u = 1 gains, when v does the best for each value of u. Likewise with -t_w for s_u =
//   -s_w.
//
// The first rule has twins, equal and proportional weights, and triangles as special cases; the
// second has the dominated vertices of independent sets.
//
// References:
//     Lange, Andres, Swoboda (2019), Combinatorial persistency criteria for multicut and max-cut.
//     Ferizovic, Hespe, Lamm, Mnich, Schulz, Strash (2020), Engineering kernelization for maximum
//     cut. Glover, Lewis, Kochenberger (2018), Logical and inequality implications for reducing the
//     size and difficulty of quadratic unconstrained binary optimization problems.
#pragma once

#include "solvers/algorithms/presolve/changing_graph.hpp"

namespace solvers::presolve {

// Neighbours of u that the rules try: 2^8 values of the others, of which a few mostly refute all
// rules.
inline constexpr Index MOST_NEIGHBOURS = 9;

// s_u = sign s_node in some maximiser; the node is NONE where no rule finds one.
struct Follows {
    Index node = NONE;
    Index sign = 0;
};

// A node that u follows by either rule, among its neighbours; u has 1 to MOST_NEIGHBOURS of them.
Follows neighbour_that_decides(const ChangingGraph& graph, Index u);

// A node with the same neighbours as u that u follows, and that is not joined with it.
Follows twin_of(const ChangingGraph& graph, Index u);

}  // namespace solvers::presolve
