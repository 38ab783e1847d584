#include "solvers/algorithms/exhaustive/lanes.hpp"

#include <algorithm>
#include <vector>

#include "solvers/algorithms/exhaustive/fixed_point.hpp"
#include "solvers/algorithms/exhaustive/host.hpp"
#include "solvers/compiled/transpose.hpp"

namespace solvers::exhaustive {
namespace {

constexpr int LANE_STATES = 1 << LANE_VARIABLES;

struct alignas(64) Lanes {
    Fine entries[LANES];
};

struct alignas(64) RealLanes {
    double entries[LANES];
};

void add(Lanes& __restrict sum, const Lanes& first, const Lanes& second) {
#pragma omp simd
    for (int lane = 0; lane < LANES; ++lane)
        sum.entries[lane] = first.entries[lane] + second.entries[lane];
}

// The instances first .. first + LANES of a batch, and the scores of all their states.
class Group {
public:
    Group(std::span<const std::uint64_t> positions, int n)
        : n_(n), count_(length(positions)), real_(count_), weights_(count_ + 1) {
        std::fill_n(place_, MAX_VARIABLES * MAX_VARIABLES, static_cast<int>(count_));
        for (Index c = 0; c < count_; ++c) place_[positions[c]] = static_cast<int>(c);
    }

    template <class Score>
    void read(Matrix<const Score> unary, Matrix<const Score> pairwise, Index first) {
        transpose(unary, first, real_.front().entries);
        if (pairwise.columns) transpose(pairwise, first, real_[unary.columns].entries);
        // The sums of each lane are those of `maximise`, added in the same order.
        Vector positive{};
        Vector negative{};
        for (const RealLanes& coefficients : real_) {
            const Vector terms = load(coefficients.entries);
            positive = positive + larger(terms, Vector{});
            negative = negative + larger(-terms, Vector{});
        }
        RealLanes largest;
        RealLanes first_factor;
        RealLanes second_factor;
        store(largest.entries, larger(positive, negative));
        for (int lane = 0; lane < LANES; ++lane) {
            const Scale scale = Scale::of(largest.entries[lane]);
            first_factor.entries[lane] = scale.first;
            second_factor.entries[lane] = scale.second;
        }
        for (Index c = 0; c < count_; ++c) {
            const Vector scaled =
                load(real_[c].entries) * load(first_factor.entries) * load(second_factor.entries);
            store_integers(weights_[c].entries, scaled);
        }
    }

    // Invariant: after variable i, scores_ holds the scores of the 2^(i + 1) states of the first
    // variables. The contribution of variable i to each of these states is built in the same way.
    void fill_scores() {
        scores_[0] = Lanes{};
        for (int i = 0; i < n_; ++i) {
            added_[0] = weights_[place_[i * MAX_VARIABLES + i]];
            for (int j = 0; j < i; ++j)
                for (int s = 0; s < 1 << j; ++s)
                    add(added_[(1 << j) + s], added_[s], weights_[place_[i * MAX_VARIABLES + j]]);
            for (int s = 0; s < 1 << i; ++s) add(scores_[(1 << i) + s], scores_[s], added_[s]);
        }
    }

    // Returns the first best state of each lane.
    Lanes best_states() const {
        Lanes states;
        for (int first = 0; first < LANES; first += REGISTER_LANES) {
            RegisterIndices best = scores_of(0, first);
            RegisterIndices best_states{};
            for (Fine s = 1; s < Fine{1} << n_; ++s) {
                const RegisterIndices scores = scores_of(s, first);
                const RegisterIndices better = scores > best;
                best = better ? scores : best;
                best_states = better ? RegisterIndices{} + s : best_states;
            }
            for (int lane = 0; lane < REGISTER_LANES; ++lane)
                states.entries[first + lane] = best_states[lane];
        }
        return states;
    }

private:
    // Returns the scores of state s in the lanes first .. first + REGISTER_LANES.
    RegisterIndices scores_of(Fine s, int first) const {
        return *reinterpret_cast<const RegisterIndices*>(scores_[s].entries + first);
    }

    int n_;
    Index count_;
    std::vector<RealLanes> real_;  // [count]
    std::vector<Lanes> weights_;   // [count + 1], in fixed point; the last is that of no pair
    int place_[MAX_VARIABLES * MAX_VARIABLES];  // of a weight, by its position
    Lanes scores_[LANE_STATES];
    Lanes added_[LANE_STATES / 2];
};

}  // namespace

template <class Score>
void maximise_in_lanes(std::span<const std::uint64_t> positions, int n, Matrix<const Score> unary,
                       Matrix<const Score> pairwise, Matrix<std::int8_t> z) {
    Group group(positions, n);
    for (Index first = 0; first < z.rows; first += LANES) {
        group.read(unary, pairwise, first);
        group.fill_scores();
        const Lanes states = group.best_states();
        for (Index b = first; b < std::min(first + LANES, z.rows); ++b)
            for (int i = 0; i < n; ++i)
                z(b, i) = static_cast<std::int8_t>(states.entries[b - first] >> i & 1);
    }
}

template void maximise_in_lanes(std::span<const std::uint64_t>, int, Matrix<const double>,
                                Matrix<const double>, Matrix<std::int8_t>);
template void maximise_in_lanes(std::span<const std::uint64_t>, int, Matrix<const float>,
                                Matrix<const float>, Matrix<std::int8_t>);

}  // namespace solvers::exhaustive
