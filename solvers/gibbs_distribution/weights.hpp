// The weights of all 2^n states under p(z) ~ exp(score(z)), block by block.
//
// The weights exp(score) are products of exponentials of the n + e coefficients (blocks.hpp), so
// that no state needs an exponential. While the positive coefficients add up to at most STEEP, and
// the negative ones too, every product of some of them is far from the ends of float64 and each
// weight has a relative error of about (n + e) eps. In a steeper instance scores are added up, and
// states get exp(score - reference), unless that vanishes for a whole block.
#pragma once

#include "solvers/gibbs_distribution/blocks.hpp"

namespace solvers::gibbs_distribution {

inline constexpr double STEEP = 600.0;  // exp(600) * 2^20 < 2^1024; exp(-600) is a normal number

class Weights {
public:
    explicit Weights(int n);

    // Prepares the weights of an instance.
    void load(std::span<const double> coefficients, const Triangle& triangle);

    // Returns the score of weight 1, that of the likeliest state in a steep instance. It also finds
    // blocks that vanish beside that state; without it, `fill` assumes that no block vanishes.
    double find_reference();

    // exp(score - reference) of the states of block h.
    void fill(Index h, double reference, Block& block);

    // Calls use(weights) with block h, which need not be stored where it is a product.
    template <class Use>
    void visit(Index h, double reference, Use use) {
        if (steep_) {
            fill(h, reference, block_);
            use(block_);
        } else {
            use(blocks_.block<Join::product>(h));
        }
    }

    Index count() const { return blocks_.count(); }
    Index size() const { return blocks_.size(); }

private:
    Blocks blocks_;
    std::vector<double> maxima_;  // [2^depth], of the scores of each block of a steep instance
    bool steep_ = false;
    Block block_;
};

}  // namespace solvers::gibbs_distribution
