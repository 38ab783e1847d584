// Samples over all 2^n states, variable by variable, and their completions: one variable is
// flipped, and later ones are redrawn.
//
// Variables are drawn from n - 1 down to 0. The states that agree with the drawn values are
// consecutive in the order of sum_i z_i 2^i. They are a node of a binary tree over the blocks, or
// over the states of one block, which has the sum of their weights.
#pragma once

#include "solvers/gibbs_distribution/draws.hpp"

namespace solvers::gibbs_distribution {

// A binary tree over 2^bits leaves with the sum below each node: node k has the children 2k and
// 2k + 1, and the root is 1.
class Tree {
public:
    explicit Tree(int bits) : nodes_(std::size_t{2} << bits) {}

    void fill(std::span<const double> leaves);

    double operator[](Index node) const { return nodes_[node]; }
    Index leaves() const { return static_cast<Index>(nodes_.size()) / 2; }

    // The probability of a one; 0 below a node without weight.
    double share(Index node) const {
        return nodes_[node] > 0.0 ? nodes_[2 * node + 1] / nodes_[node] : 0.0;
    }

private:
    std::vector<double> nodes_;
};

// The results of `complete` for uniforms `[batch, samples, n]` and variables `[batch, samples, m]`.
struct Completed {
    Cube<std::int8_t> z;          // [batch, samples, n]
    Cube<std::int8_t> completed;  // [batch samples, m, n]
    Cube<double> conditionals;    // [batch, samples, m], P(z_v = 1 | drawn before)
};

// Args:
//     running: with the sums of each block by itself.
//     uniforms: `[batch, samples, n]`, in [0, 1), one a variable.
//     chosen: `[batch, samples, m]`, variables.
void complete(const Triangle& triangle, Stop stop, const Running& running,
              Cube<const double> uniforms, Cube<const Index> chosen, const Completed& completed);

}  // namespace solvers::gibbs_distribution
