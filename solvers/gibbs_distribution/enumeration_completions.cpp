#include "solvers/gibbs_distribution/enumeration_completions.hpp"

#include "solvers/gibbs_distribution/weights.hpp"

namespace solvers::gibbs_distribution {
namespace {

// Returns the leaf below a node to which the uniforms of the variables `first`, ..., `first + bits
// - 1` lead.
Index descend(const Tree& tree, Index node, Index first, Index bits,
              std::span<const double> uniforms) {
    for (Index i = first + bits - 1; i >= first; --i)
        node = 2 * node + (uniforms[i] < tree.share(node));
    return node;
}

// Draws the samples of one instance after another.
class Sampler {
public:
    explicit Sampler(const Triangle& triangle)
        : weights_(triangle.n),
          triangle_(triangle),
          top_(depth_of(triangle.n)),
          own_(BLOCK_BITS),
          other_(BLOCK_BITS),
          depth_(depth_of(triangle.n)),
          low_(std::min(triangle.n, BLOCK_BITS)) {}

    void load(std::span<const double> coefficients, double reference,
              std::span<const double> sums) {
        weights_.load(coefficients, triangle_);
        reference_ = reference;
        top_.fill(sums);
    }

    // Returns the state to which the uniforms of all variables lead.
    Index draw(std::span<const double> uniforms) {
        above_ = descend(top_, 1, BLOCK_BITS, depth_, uniforms);
        leaf_ = descend_block(above_, own_, uniforms);
        return state(above_, leaf_);
    }

    // P(z_v = 1 | drawn before) for the latest sample.
    double conditional(Index v) const {
        if (v < BLOCK_BITS) return own_.share(leaf_ >> (v + 1));
        return top_.share(above_ >> (v - BLOCK_BITS + 1));
    }

    // Returns the latest sample with variable v flipped, and the variables after it redrawn.
    Index complete(Index v, std::span<const double> uniforms) {
        if (v < BLOCK_BITS) return state(above_, descend(own_, leaf_ >> v ^ 1, 0, v, uniforms));
        const Index place = v - BLOCK_BITS;
        const Index there = descend(top_, above_ >> place ^ 1, BLOCK_BITS, place, uniforms);
        return state(there, descend_block(there, other_, uniforms));
    }

private:
    // Fills the tree of a block, a leaf of the top tree, and descends in it; bits of a block beyond
    // n are zeros.
    Index descend_block(Index above, Tree& tree, std::span<const double> uniforms) {
        weights_.fill(above - top_.leaves(), reference_, block_);
        tree.fill(block_.states);
        return descend(tree, Index{1} << (BLOCK_BITS - low_), 0, low_, uniforms);
    }

    Index state(Index above, Index leaf) const {
        return (above - top_.leaves()) << BLOCK_BITS | (leaf - BLOCK);
    }

    Block block_;
    Weights weights_;
    const Triangle& triangle_;
    double reference_ = 0.0;
    Index above_ = 0;  // the leaves of the latest sample
    Index leaf_ = 0;
    Tree top_;  // over the blocks
    Tree own_;  // over the states of the latest sample's block
    Tree other_;
    int depth_;
    int low_;  // variables in a block
};

}  // namespace

void Tree::fill(std::span<const double> leaves) {
    double* nodes = nodes_.data();
    std::ranges::copy(leaves, nodes + leaves.size());
    for (Index size = length(leaves) / 2; size; size /= 2) {
        const double* below = nodes + 2 * size;
        double* level = nodes + size;
#pragma omp simd
        for (Index k = 0; k < size; ++k) level[k] = below[2 * k] + below[2 * k + 1];
    }
}

void complete(const Triangle& triangle, Stop stop, const Running& running,
              Cube<const double> uniforms, Cube<const Index> chosen, const Completed& completed) {
    Sampler sampler(triangle);
    for (Index b = 0; b < uniforms.depth; ++b) {
        sampler.load(running.coefficients[b], running.references[b], running.sums[b]);
        for (Index k = 0; k < uniforms.rows; ++k) {
            if (stop.requested()) return;
            const std::span<const double> u = uniforms[b][k];
            write_state(sampler.draw(u), completed.z[b][k]);
            const Matrix<std::int8_t> others = completed.completed[b * uniforms.rows + k];
            for (Index c = 0; c < chosen.columns; ++c) {
                const Index v = chosen(b, k, c);
                completed.conditionals(b, k, c) = sampler.conditional(v);
                write_state(sampler.complete(v, u), others[c]);
            }
        }
    }
}

}  // namespace solvers::gibbs_distribution
