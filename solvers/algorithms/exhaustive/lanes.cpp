#include "solvers/algorithms/exhaustive/lanes.hpp"

#include <algorithm>

#include "solvers/algorithms/exhaustive/fixed_point.hpp"
#include "solvers/compiled/checks/at_once.hpp"
#include "solvers/compiled/transpose.hpp"

namespace solvers::exhaustive {
namespace {

constexpr int LANE_STATES = 1 << LANE_VARIABLES;
constexpr int LANE_COEFFICIENTS = LANE_VARIABLES * (LANE_VARIABLES + 1) / 2;

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
    explicit Group(const Pairs& pairs)
        : n_(pairs.n()), edges_(pairs.edges()), count_(n_ + edges_.rows) {
        for (auto& row : place_) std::fill_n(row, LANE_VARIABLES, count_);
        for (int i = 0; i < n_; ++i) place_[i][i] = i;
        for (Index k = 0; k < edges_.rows; ++k) place_[edges_(k, 1)][edges_(k, 0)] = n_ + k;
        weights_[count_] = Lanes{};
    }

    template <class Score>
    void read(Matrix<const Score> unary, Matrix<const Score> pairwise, Index first) {
        transpose(unary, first, real_);
        if (pairwise.columns) transpose(pairwise, first, real_ + unary.columns * LANES);
    }

    // Writes the first best state of each lane.
    void maximise() {
        fill_weights();
        fill_scores();
        find_best_states();
    }

    // Returns whether the scores of these instances pass the checks; `maximise` then answers.
    //
    // Args:
    //     unary, pairwise: the rows that were read.
    //     largest: magnitude above which sums could overflow.
    bool pass(Matrix<const double> unary, Matrix<const double> pairwise, double largest) const {
        if (unary.rows < LANES) return checks::pass(unary, pairwise, largest);
        return checks::pass_in_lanes(unary, pairwise, real_, largest);
    }

    // Writes the best state of each instance.
    void write_states(Matrix<std::int8_t> z) const {
        for (Index b = 0; b < z.rows; ++b)
            for (int i = 0; i < n_; ++i)
                z(b, i) = static_cast<std::int8_t>(states_.entries[b] >> i & 1);
    }

    // Writes the scores of the best states, which the coefficients as they were read add up to.
    void write_scores(std::span<double> score) const {
        alignas(64) double bits[LANE_VARIABLES * LANES];
        for (int i = 0; i < n_; ++i) {
#pragma omp simd
            for (int lane = 0; lane < LANES; ++lane)
                bits[i * LANES + lane] = (states_.entries[lane] & Fine{1} << i) != 0 ? 1.0 : 0.0;
        }
        alignas(64) double scores[LANES];
        store(scores, scores_in_lanes(real_, bits, n_, edges_));
        std::copy_n(scores, score.size(), score.data());
    }

private:
    void fill_weights() {
        // The sums of each lane are those of `maximise`, added in the same order.
        Vector positive{};
        Vector negative{};
        for (Index c = 0; c < count_; ++c) {
            const Vector terms = load(real_ + c * LANES);
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
                load(real_ + c * LANES) * load(first_factor.entries) * load(second_factor.entries);
            store_integers(weights_[c].entries, scaled);
        }
    }

    // Invariant: after variable i, scores_ holds the scores of the 2^(i + 1) states of the first
    // variables. The contribution of variable i to each of these states is built in the same way.
    void fill_scores() {
        scores_[0] = Lanes{};
        for (int i = 0; i < n_; ++i) {
            added_[0] = weights_[place_[i][i]];
            for (int j = 0; j < i; ++j)
                for (int s = 0; s < 1 << j; ++s)
                    add(added_[(1 << j) + s], added_[s], weights_[place_[i][j]]);
            for (int s = 0; s < 1 << i; ++s) add(scores_[(1 << i) + s], scores_[s], added_[s]);
        }
    }

    void find_best_states() {
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
                states_.entries[first + lane] = best_states[lane];
        }
    }

    // Returns the scores of state s in the lanes first .. first + REGISTER_LANES.
    RegisterIndices scores_of(Fine s, int first) const {
        return *reinterpret_cast<const RegisterIndices*>(scores_[s].entries + first);
    }

    int n_;
    Matrix<const Index> edges_;
    Index count_;
    Index place_[LANE_VARIABLES][LANE_VARIABLES];         // of the weight of a pair or variable
    alignas(64) double real_[LANE_COEFFICIENTS * LANES];  // [count, LANES]
    Lanes weights_[LANE_COEFFICIENTS + 1];  // in fixed point; entry `count_` is that of no pair
    Lanes scores_[LANE_STATES];
    Lanes added_[LANE_STATES / 2];
    Lanes states_;
};

}  // namespace

template <class Score>
void maximise_in_lanes(const Pairs& pairs, Matrix<const Score> unary, Matrix<const Score> pairwise,
                       Matrix<std::int8_t> z) {
    Group group(pairs);
    for (Index first = 0; first < z.rows; first += LANES) {
        group.read(unary, pairwise, first);
        group.maximise();
        group.write_states(checks::group_of(z, first));
    }
}

bool maximise_at_once_in_lanes(const Pairs& pairs, Matrix<const double> unary,
                               Matrix<const double> pairwise, double largest, Matrix<std::int8_t> z,
                               std::span<double> score) {
    Group group(pairs);
    for (Index first = 0; first < z.rows; first += LANES) {
        const Matrix<std::int8_t> states = checks::group_of(z, first);
        group.read(unary, pairwise, first);
        if (!group.pass(checks::group_of(unary, first), checks::group_of(pairwise, first), largest))
            return false;
        group.maximise();
        group.write_states(states);
        group.write_scores(
            score.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(states.rows)));
    }
    return true;
}

template void maximise_in_lanes(const Pairs&, Matrix<const double>, Matrix<const double>,
                                Matrix<std::int8_t>);
template void maximise_in_lanes(const Pairs&, Matrix<const float>, Matrix<const float>,
                                Matrix<std::int8_t>);

}  // namespace solvers::exhaustive
