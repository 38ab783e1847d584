// Sum-product messages along the edges of any graph, each edge with a weight: bounds on log Z, or
// an estimate.
//
// An edge e = (i, j) of weight r_e sends log messages m_i(a) and m_j(b). With them
//
//     u_i(a) = score_i(a) + sum_e r_e m_i(a),    g_e(a, b) = score_e(a, b) / r_e - m_i(a) - m_j(b),
//
// so that score = sum_i u_i + sum_e r_e g_e for any messages. tree_messages.py explains which
// bounds follow.
//
// References:
//     Wainwright, Jaakkola, Willsky (2005), A new class of upper bounds on the log partition
//     function. Globerson, Jaakkola (2007), Convergent propagation algorithms via oriented trees.
//     Liu, Ihler (2011), Bounding the partition function using Hoelder's inequality.
//     Yedidia, Freeman, Weiss (2005), Constructing free-energy approximations and generalized
//     belief propagation.
#pragma once

#include <vector>

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::labels {

// Graph of an instance with its scores and an order of the variables.
struct Tree {
    std::span<const Index> starts;    // [n + 1]: the first neighbour of every variable
    std::span<const Index> near;      // [2 e]: the neighbours
    std::span<const Index> edge;      // [2 e]: the edges to them
    std::span<const Index> side;      // [2 e]: which end of that edge the variable itself is
    std::span<const Index> order;     // [n]: the variables
    std::span<const Index> place;     // [n]: of each variable in the order
    std::span<const Index> sizes;     // [n]
    Cube<const double> tables;        // [t, k, k]
    std::span<const Index> table_of;  // [e]
    std::span<const double> factors;  // [e]: by which an edge's table is multiplied
    bool equal;  // whether the only table is that of equal values, and no factor is negative

    Index variables() const { return length(sizes); }
    // The score of value a of the variable at a side of an edge, with value b at the other.
    double score(Index e, Index side_of_a, Index a, Index b) const;
};

// An order in which all variables except the last of each component have a later neighbour.
std::vector<Index> roots_last(std::span<const Index> starts, std::span<const Index> near);

// log sum exp of the values; minus infinity if all values are.
double log_sum(std::span<const double> values);

struct Passed {
    double total;  // the bound on log Z, see `pass_on`
    double moved;  // the largest change of a message
};

// Visits every variable, in the order or against it, and sends messages to the variables that
// follow.
//
// The total is a bound on log Z if the pass is forward, damping is zero and the weights are those
// of a random forest. It is minus infinity if every assignment is forbidden.
//
// Args:
//     unary: `[n, k]`; a value that no neighbour's value allows becomes minus infinity.
//     weights: `[e]`.
//     message: `[e, 2, k]`, to the values of each end.
//     forward: whether in the order.
//     damping: the part of the old messages in the new ones.
//     stop: where it asks to end, the total and the messages have no meaning.
Passed pass_on(const Tree& tree, Matrix<double> unary, std::span<const double> weights,
               Cube<double> message, bool forward, double damping, Stop stop);

// Writes the marginals `[n, k]` and `[e, k, k]` of the messages; returns the Bethe estimate of log
// Z.
//
// That is sum_i log Z_i + sum_e (log Z_e - log Z_i - log Z_j), with Z_i the sum of exp(u_i), and
// Z_e that of exp(g_e + u_i + u_j): it is only meaningful if all weights are one. If `stop` asks
// to end, nothing has a meaning.
double beliefs(const Tree& tree, Matrix<const double> unary, std::span<const double> weights,
               Cube<const double> message, Matrix<double> of_variables, Cube<double> of_pairs,
               Stop stop);

}  // namespace solvers::labels
