// Samples of p(z) ~ exp(score(z)) over all 2^n states, from running sums of an earlier pass.
//
// A uniform number chooses a block of states by the running sums of all blocks. Only that block is
// built again, to choose a line of it, and a state in the line.
#pragma once

#include "solvers/gibbs_distribution/blocks.hpp"

namespace solvers::gibbs_distribution {

// The running sums that `infer` stored.
struct Running {
    Matrix<const double> coefficients;   // [batch, n + e]
    std::span<const double> references;  // [batch]
    Matrix<const double> sums;  // [batch, 2^depth], up to the end of each block or of it by itself
};

// Writes samples.
//
// Args:
//     running: with the sums up to the end of each block.
//     uniforms: `[batch, samples]`, in [0, 1).
//     z: `[batch, samples, n]`.
void draw(const Triangle& triangle, Stop stop, const Running& running,
          Matrix<const double> uniforms, Cube<std::int8_t> z);

// Writes the bits of a state.
inline void write_state(Index state, std::span<std::int8_t> z) {
    for (Index i = 0; i < length(z); ++i) z[i] = static_cast<std::int8_t>(state >> i & 1);
}

}  // namespace solvers::gibbs_distribution
