#include "solvers/gibbs_distribution/draws.hpp"

#include "solvers/gibbs_distribution/sums.hpp"
#include "solvers/gibbs_distribution/weights.hpp"

namespace solvers::gibbs_distribution {
namespace {

constexpr double BELOW_ONE = 1.0 - 0x1p-52;  // times x it is less than x

// Returns the first entry above the target, or the last one.
Index first_above(std::span<const double> cumulative, double target) {
    Index low = 0;
    Index high = length(cumulative) - 1;
    while (low < high) {
        const Index middle = (low + high) / 2;
        if (cumulative[middle] > target)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// Returns the first of some weights up to which, itself included, they add up to more than the
// target. If rounding leaves the target above all of them, it returns the last positive one.
// `running` is the sum before the first weight, and becomes the sum before the result.
Index first_beyond(std::span<const double> weights, double target, double& running) {
    Index found = 0;
    double before = running;
    for (Index k = 0; k < length(weights); ++k) {
        const double after = running + weights[k];
        if (weights[k] > 0.0) {
            found = k;
            before = running;
            if (after > target) break;
        }
        running = after;
    }
    running = before;
    return found;
}

// Returns the first state up to which, itself included, the weights exceed the target.
Index state_at(Weights& weights, double reference, std::span<const double> cumulative,
               double target, Block& block) {
    const Index h = first_above(cumulative, target);
    double lines[4];
    weights.fill(h, reference, block);
    sum_lines(block, lines);
    double running = h ? cumulative[h - 1] : 0.0;
    const Index start = first_beyond(lines, target, running) << LINE_BITS;
    const std::span<const double> line(block.states + start, LINE);
    return h << BLOCK_BITS | (start + first_beyond(line, target, running));
}

}  // namespace

void draw(const Triangle& triangle, Stop stop, const Running& running,
          Matrix<const double> uniforms, Cube<std::int8_t> z) {
    Weights weights(triangle.n);
    Block block;
    for (Index b = 0; b < z.depth; ++b) {
        weights.load(running.coefficients[b], triangle);
        const std::span<const double> cumulative = running.sums[b];
        for (Index k = 0; k < z.rows; ++k) {
            if (stop.requested()) return;
            const double target = std::min(uniforms(b, k), BELOW_ONE) * cumulative.back();
            const Index state = state_at(weights, running.references[b], cumulative, target, block);
            write_state(state, z[b][k]);
        }
    }
}

}  // namespace solvers::gibbs_distribution
