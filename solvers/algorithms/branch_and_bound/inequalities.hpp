// Triangle inequalities in the Lagrangian of a dense pairwise problem.
//
// Spins s_i = 2 z_i - 1 with signs p satisfy (p_i s_i + p_j s_j + p_k s_k)^2 >= 1, since the sum is
// odd. So the slack 1 + sum over pairs p_i p_j s_i s_j is never negative, and for multipliers
// mu >= 0
//
//     L(z) = score(z) + sum_t mu_t slack_t(z)
//
// is at least the score of every state. L is a pairwise function as well, and whatever bounds it
// bounds the score.
//
// References:
//     Billionnet, Elloumi, Lambert, 2012, Extending the QCR method to general mixed-integer
//     programs: valid inequalities in the function that is made concave.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "solvers/algorithms/branch_and_bound/low_rank.hpp"

namespace solvers::branch_and_bound {

// An inequality with its multiplier. Node 0 is the constant spin 1, and node i + 1 is variable i.
struct Inequality {
    std::array<std::int16_t, 3> nodes;
    std::array<std::int8_t, 3> signs;
    double multiplier;

    // Calls visit(i, j, sign) for the three pairs of nodes, i < j.
    template <class Visit>
    void for_each_pair(const Visit& visit) const {
        for (std::size_t a = 1; a < 3; ++a)
            for (std::size_t b = 0; b < a; ++b)
                visit(std::min(nodes[a], nodes[b]), std::max(nodes[a], nodes[b]),
                      signs[a] * signs[b]);
    }
};

// The inequality of a triangle of the strong relaxation.
Inequality inequality_of(const Triangle& triangle, double multiplier);

// Writes to `merged` the inequalities between the free variables, once some variables are fixed.
//
// A fixed node becomes the constant, and its spin becomes part of its sign. An inequality with two
// constants is left out, since it only says |s_i| <= 1.
//
// Args:
//     place: `[m + 1]`, the new number of each node, which is 0 if it is fixed.
//     x: `[m]`, 0 or 1 where the variable is fixed.
void merge(std::span<const Inequality> inequalities, std::span<const std::int16_t> place,
           const double* x, std::vector<Inequality>& merged);

// Moves multipliers against the slacks that unit vectors for the spins leave,
//
//     mu_t' = max(0, mu_t - step slack_t),
//
// and removes inequalities whose multiplier is then 0. This is a step of the subgradient method.
//
// Args:
//     vectors: `[m, VECTOR_STRIDE]`; the constant is the first unit vector.
void update_multipliers(std::vector<Inequality>& inequalities, const double* vectors, double step);

}  // namespace solvers::branch_and_bound
