#include "solvers/gibbs_distribution/enumeration_derivative.hpp"

#include "solvers/gibbs_distribution/sums.hpp"
#include "solvers/gibbs_distribution/weights.hpp"

namespace solvers::gibbs_distribution {
namespace {

// Runs with a smaller sum are ignored, since a division by it may overflow; hardly any sample has
// one.
constexpr double VANISHING = 1e-200;

// The factors of the weights of states, apart from those of a direction.
struct Sample {
    std::span<const std::int8_t> z;
    std::span<const double> slopes;  // [n], the changes of each variable's conditional

    // Adds to each leaf of a tree, over the variables `first`, ..., `first + bits - 1` below
    // `node`, the factor of its weight in the derivative; returns the remaining factor for the leaf
    // of z.
    //
    // The mean over the run with z_v = 1 has the factor slope p (1 - p) over the sum of that run,
    // which is slope (1 - p) over the sum of both.
    double add_rates(const Tree& tree, Index node, int first, int bits, double rate,
                     double* rates) const {
        for (int level = bits - 1; level >= 0; --level) {
            const int i = first + level;
            const double p = tree.share(node);
            const double scale = tree[node] > VANISHING ? slopes[i] / tree[node] : 0.0;
            const double one = scale * (1.0 - p);
            const double zero = -scale * p;
            const auto bit = Index{z[i]};
            double* start = rates + (((2 * node + 1 - bit) << level) - tree.leaves());
            const double other = rate + (bit ? zero : one);
#pragma omp simd
            for (Index s = 0; s < Index{1} << level; ++s) start[s] += other;
            rate += bit ? one : zero;
            node = 2 * node + bit;
        }
        return rate;
    }

    // The bits of z from `first` on as a number.
    Index state(int first, int bits) const {
        Index number = 0;
        for (int i = 0; i < bits; ++i) number |= Index{z[first + i]} << i;
        return number;
    }
};

// The weight times the sum of the direction's score and the other factors.
template <class Weight>
struct Tilted {
    const Built<Join::sum>& factors;
    const Weight& weights;

    Eights at(int s) const {
        Eights result = factors.at(s);
        const Eights own = weights.at(s);
        for (int line = 0; line < 4; ++line) result.lines[line] *= own.lines[line];
        return result;
    }
};

// Computes the derivatives of one instance after another.
class Derivation {
public:
    Derivation(const Triangle& triangle, Index samples)
        : tilt_(triangle.n),
          weights_(triangle.n),
          triangle_(triangle),
          top_(depth_of(triangle.n)),
          tree_(BLOCK_BITS),
          slopes_(triangle.n),
          rates_(weights_.count()),
          direction_(triangle.places.size()),
          own_rates_(samples),
          homes_(samples),
          storage_(weights_.size() * weights_.size()),
          sums_(depth_of(triangle.n)),
          depth_(depth_of(triangle.n)) {}

    void load(std::span<const double> coefficients, double reference,
              std::span<const double> sums) {
        weights_.load(coefficients, triangle_);
        weights_.find_reference();
        reference_ = reference;
        std::ranges::fill(rates_, 0.0);
        if (!homes_.empty()) top_.fill(sums);
    }

    void add_sample(Index k, std::span<const std::int8_t> z, std::span<const Index> chosen,
                    std::span<const double> changes) {
        std::ranges::fill(slopes_, 0.0);
        for (Index c = 0; c < length(chosen); ++c) slopes_[chosen[c]] += changes[c];
        const Sample sample{z, slopes_};
        const int low = std::min(triangle_.n, BLOCK_BITS);
        const double rate = sample.add_rates(top_, 1, BLOCK_BITS, depth_, 0.0, rates_.data());
        homes_[k] = sample.state(BLOCK_BITS, depth_);
        weights_.fill(homes_[k], reference_, block_);
        tree_.fill(block_.states);
        double* own = own_rates_[k].states;
        std::fill_n(own, BLOCK, 0.0);
        own[sample.state(0, low)] =
            sample.add_rates(tree_, Index{1} << (BLOCK_BITS - low), 0, low, rate, own);
    }

    // Prepares the factors of states, before the sums, so that a large mean cancels nothing.
    void load_direction(std::span<const double> direction, double mean, double total) {
        for (Index c = 0; c < length(direction); ++c) direction_[c] = direction[c] / total;
        tilt_.load<Join::sum>(direction_, triangle_, 0.0);
        for (double& state : tilt_.root().states) state -= mean / total;
        for (Index h = 0; h < tilt_.count(); ++h) tilt_.base(h) += rates_[h];
    }

    // Leaves `products` as they are where it has to end.
    void write(Stop stop, std::span<double> products) {
        sums_.clear();
        for (Index h = 0; h < weights_.count(); ++h) {
            if (stop.requested()) return;
            add_block(h);
        }
        const Matrix<double> moments{storage_.data(), weights_.size(), weights_.size()};
        sums_.fill_moments(moments);
        for (Index c = 0; c < length(products); ++c)
            products[c] = moments(triangle_.places[c].row, triangle_.places[c].column);
    }

private:
    void add_block(Index h) {
        const Built<Join::sum> factors = tilt_.block<Join::sum>(h);
        const bool is_home = std::ranges::find(homes_, h) != homes_.end();
        weights_.visit(h, reference_, [&](const auto& weights) {
            if (is_home)
                sums_.add(h, with_own_rates(h, factors, weights));
            else
                sums_.add(h, Tilted<std::remove_cvref_t<decltype(weights)>>{factors, weights});
        });
    }

    // The same, if samples have factors of their own in single states of the block.
    template <class Weight>
    const Block& with_own_rates(Index h, const Built<Join::sum>& factors, const Weight& weights) {
        for_each_eights(factors, [&](int s, const Eights& values) { block_.set(s, values); });
        for (std::size_t k = 0; k < homes_.size(); ++k)
            if (homes_[k] == h)
                for (int s = 0; s < BLOCK; ++s) block_.states[s] += own_rates_[k].states[s];
        for_each_eights(weights, [&](int s, Eights values) {
            const Eights counted = block_.at(s);
            for (int line = 0; line < 4; ++line) values.lines[line] *= counted.lines[line];
            block_.set(s, values);
        });
        return block_;
    }

    Block block_;
    Blocks tilt_;  // the factors of states
    Weights weights_;
    const Triangle& triangle_;
    double reference_ = 0.0;
    Tree top_;   // over the blocks
    Tree tree_;  // over the states of a block
    std::vector<double> slopes_;
    std::vector<double> rates_;      // [2^depth], the factor of the weights of a block
    std::vector<double> direction_;  // [n + e]
    std::vector<Block> own_rates_;   // [samples], the factor of each state of the sample's block
    std::vector<Index> homes_;       // [samples], that block
    std::vector<double> storage_;
    Sums sums_;
    int depth_;
};

}  // namespace

void derive(const Triangle& triangle, Stop stop, const Running& running, const Drawn& drawn,
            const Directions& directions, Matrix<double> products) {
    const Index samples = drawn.chosen.rows;
    Derivation derivation(triangle, samples);
    for (Index b = 0; b < products.rows; ++b) {
        derivation.load(running.coefficients[b], running.references[b], running.sums[b]);
        for (Index k = 0; k < samples; ++k) {
            if (stop.requested()) return;
            derivation.add_sample(k, drawn.z[b][k], drawn.chosen[b][k], drawn.changes[b][k]);
        }
        derivation.load_direction(directions.coefficients[b], directions.means[b],
                                  directions.totals[b]);
        derivation.write(stop, products[b]);
    }
}

}  // namespace solvers::gibbs_distribution
