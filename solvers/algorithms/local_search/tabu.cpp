#include "solvers/algorithms/local_search/tabu.hpp"

#include <algorithm>
#include <cmath>

#include "solvers/algorithms/local_search/flips.hpp"

namespace solvers::local_search {
namespace {

constexpr double EMPTY = -std::numeric_limits<double>::infinity();
constexpr double LARGEST_GAIN = 0x1p30;  // integer gains stay near or below this

// Starts in a row without a new elite state after which all but the best elite are forgotten.
constexpr Index STALLED_STARTS = 30;

// Least n at which a run from a random state first flips every variable that gains; n times the
// best flip would be slow.
constexpr Index SWEPT_FROM = 2048;

// The elite states of one instance.
struct Elites {
    Matrix<std::int8_t> pool;  // [elites, n]
    std::span<double> values;  // [elites]
    Index& stalled;
    bool symmetric;

    Index size() const { return pool.rows; }
    Index best() const { return std::ranges::max_element(values) - values.begin(); }
    Index worst() const { return std::ranges::min_element(values) - values.begin(); }

    // Puts z in place of the worst elite if it is better and new; returns whether it did.
    //
    // If symmetric, z and its complement are one state, taken in the form nearer to the best elite.
    bool admit(std::span<std::int8_t> z, double score) const {
        const Index slot = worst();
        if (score <= values[slot]) return false;
        if (symmetric && 2 * distance(z, pool[best()]) > length(z))
            for (std::int8_t& value : z) value = static_cast<std::int8_t>(1 - value);
        for (Index other = 0; other < size(); ++other)
            if (values[other] == score && std::ranges::equal(pool[other], z)) return false;
        std::ranges::copy(z, pool[slot].begin());
        values[slot] = score;
        return true;
    }

    // Forgets all but the best elite after many starts without a new one.
    void count(bool admitted) const {
        stalled = admitted ? 0 : stalled + 1;
        if (stalled < STALLED_STARTS) return;
        stalled = 0;
        const Index kept = best();
        for (Index slot = 0; slot < size(); ++slot)
            if (slot != kept) values[slot] = EMPTY;
    }

    static Index distance(std::span<const std::int8_t> z, std::span<const std::int8_t> other) {
        Index apart = 0;
        for (Index i = 0; i < length(z); ++i) apart += z[i] != other[i];
        return apart;
    }
};

// Moves to a state between two elites, or some random flips away from one; returns its score.
template <class Gain>
double restart(Walk<Gain>& walk, const Elites& elites, Random& random) {
    const Index n = elites.pool.columns;
    Index bits = random.bits();
    const Index a = below(elites.size(), bits);
    const Index b = below(elites.size(), bits >> 20);
    double score = walk.load(elites.pool[a]);
    const Index apart = Elites::distance(elites.pool[a], elites.pool[b]);
    bits >>= 40;
    if (apart > 8 && (bits & 1)) {
        const Index steps = apart / 3 + below(apart / 3 + 1, bits);
        return score + walk.walk_towards(elites.pool[b], steps, random);
    }
    const Index flips = 3 + n / 20 + below(n / 5 + 1, bits);
    for (Index step = 0; step < flips; ++step) score += walk.flip(below(n, random.bits()));
    return score;
}

// Tabu runs, first from random states, then from near or between the elites.
template <class Gain>
void search(Effort effort, Walk<Gain>& walk, const Elites& elites, Random& random, Stop stop) {
    std::vector<std::int8_t> z(elites.pool.columns);
    for (Index run = 0; run < effort.runs; ++run) {
        double score = 0.0;
        if (elites.values[elites.worst()] == EMPTY) {
            for (std::int8_t& value : z) value = static_cast<std::int8_t>(below(2, random.bits()));
            score = walk.load(z);
            if (static_cast<Index>(z.size()) >= SWEPT_FROM || stop.requested())
                score += walk.descend();
        } else {
            if (stop.requested()) return;
            score = restart(walk, elites, random);
        }
        score = walk.tabu_run(score, effort.patience, z, random, stop);
        elites.count(elites.admit(z, score));
    }
}

// The scores of one instance, times a power of two, in the type of the gains.
template <class Gain>
class Loaded {
public:
    Loaded(Index n, const Graph& graph) : graph_(graph), width_((n + BLOCK - 1) / BLOCK * BLOCK) {
        field.assign(width_, LOWEST<Gain>);
        couplings.first = graph.first;
        couplings.node = graph.node;
        if (graph.dense)
            couplings.rows.assign(n * width_, Gain{0});
        else
            couplings.weight.resize(graph.node.size());
    }

    void load(double scale, std::span<const double> unary, std::span<const double> pairwise) {
        for (Index i = 0; i < length(unary); ++i) field[i] = scaled(unary[i], scale);
        if (graph_.dense) {
            for (Index k = 0; k < length(pairwise); ++k) {
                const Gain score = scaled(pairwise[k], scale);
                couplings.rows[graph_.edges(k, 0) * width_ + graph_.edges(k, 1)] = score;
                couplings.rows[graph_.edges(k, 1) * width_ + graph_.edges(k, 0)] = score;
            }
        } else {
            for (Index entry = 0; entry < length(graph_.edge); ++entry)
                couplings.weight[entry] = scaled(pairwise[graph_.edge[entry]], scale);
        }
    }

    std::vector<Gain> field;
    Couplings<Gain> couplings;

private:
    static Gain scaled(double score, double scale) {
        if constexpr (std::is_integral_v<Gain>) return static_cast<Gain>(std::rint(score * scale));
        return static_cast<Gain>(score * scale);
    }

    const Graph& graph_;
    Index width_;
};

struct Scale {
    double scale;
    bool coarse;
    bool symmetric;
};

class ScaleOf {
public:
    ScaleOf(std::span<const double> unary, std::span<const double> pairwise,
            Matrix<const Index> edges)
        : unary_(unary), pairwise_(pairwise), edges_(edges) {}

    Scale find() const {
        double largest = 0.0;
        double skew = 0.0;
        measure(largest, skew);
        const bool symmetric = skew <= 1e-9 * largest;
        if (largest == 0.0) return {1.0, true, symmetric};
        const double exponent = std::floor(std::log2(LARGEST_GAIN / largest));
        if (std::abs(exponent) > 1000.0) return {1.0, false, symmetric};
        const double scale = std::ldexp(1.0, static_cast<int>(exponent));
        return {scale, keeps_what_matters(scale), symmetric};
    }

private:
    // Returns the largest sum of absolute scores at a variable, and the largest change of a gain
    // when all variables are flipped.
    void measure(double& largest, double& skew) const {
        std::vector<double> reach(unary_.size());
        std::vector<double> change(unary_.size());
        for (std::size_t i = 0; i < unary_.size(); ++i) {
            reach[i] = std::abs(unary_[i]);
            change[i] = 2.0 * unary_[i];
        }
        for (Index k = 0; k < length(pairwise_); ++k)
            for (int side = 0; side < 2; ++side) {
                reach[edges_(k, side)] += std::abs(pairwise_[k]);
                change[edges_(k, side)] += pairwise_[k];
            }
        for (std::size_t i = 0; i < unary_.size(); ++i) {
            largest = std::max(largest, reach[i]);
            skew = std::max(skew, std::abs(change[i]));
        }
    }

    // Returns whether few of the nonzero scores are both small and fractions, as multiples of 1 /
    // scale.
    bool keeps_what_matters(double scale) const {
        Index nonzero = 0;
        Index lost = 0;
        for (std::span<const double> values : {unary_, pairwise_})
            for (double value : values) {
                const double scaled = std::abs(value * scale);
                nonzero += scaled > 0.0;
                lost += (scaled < 4096.0) & (scaled != std::rint(scaled));
            }
        return 16 * lost <= nonzero;
    }

    std::span<const double> unary_;
    std::span<const double> pairwise_;
    Matrix<const Index> edges_;
};

}  // namespace

template <class Gain>
void search_instances(const Graph& graph, Effort effort, Stop stop, const Instances& instances) {
    Loaded<Gain> loaded(instances.unary.columns, graph);
    for (Index b = 0; b < instances.unary.rows; ++b) {
        const Elites elites{instances.pool[b], instances.values[b], instances.stalled[b],
                            instances.symmetric[b]};
        if (!instances.used[b] || (stop.requested() && elites.values[elites.best()] > EMPTY))
            continue;
        loaded.load(instances.scale[b], instances.unary[b], instances.pairwise[b]);
        Walk<Gain> walk(instances.unary.columns, loaded.field, loaded.couplings);
        Random random(instances.random[b]);
        search(effort, walk, elites, random, stop);
        instances.random[b] = random.state();
    }
}

template void search_instances<std::int32_t>(const Graph&, Effort, Stop, const Instances&);
template void search_instances<double>(const Graph&, Effort, Stop, const Instances&);

void find_scales(Matrix<const Index> edges, Matrix<const double> unary,
                 Matrix<const double> pairwise, std::span<double> scale, std::span<bool> coarse,
                 std::span<bool> symmetric) {
    for (Index b = 0; b < unary.rows; ++b) {
        const Scale chosen = ScaleOf(unary[b], pairwise[b], edges).find();
        coarse[b] = chosen.coarse;
        symmetric[b] = chosen.symmetric;
        scale[b] = chosen.coarse ? chosen.scale : 1.0;
    }
}

}  // namespace solvers::local_search
