// One-flip local search: gains that are kept up to date flip by flip, and a tabu run over them.
//
// The gain of variable i is by how much flipping it raises the score,
//
//     gain_i = sign_i (unary_i + sum_j pairwise_ij z_j),   sign_i = 1 - 2 z_i,
//
// and flipping k negates gain_k and adds pairwise_kj sign_k sign_j (old sign_k) to gain_j. All
// arrays of an instance have one type: int32 where the scores, as multiples of a power of two, lose
// nothing that matters (gains are then exact, and ties are ties), else double.
//
// References:
//     Glover, Lü, Hao (2010), Diversification-driven tabu search for unconstrained binary quadratic
//     problems.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include "solvers/compiled/random.hpp"
#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::local_search {

// Arrays over the variables are padded to a multiple of so many entries, for whole vector
// registers.
inline constexpr Index BLOCK = 32;

// Below every gain; the gain of a variable that does not exist.
template <class Gain>
inline constexpr Gain LOWEST = std::is_integral_v<Gain> ? -std::numeric_limits<Gain>::max()
                                                        : -std::numeric_limits<Gain>::infinity();

// The pairwise scores of an instance: a matrix, or an adjacency in compressed sparse rows.
template <class Gain>
struct Couplings {
    std::vector<Gain> rows;  // [n, width], symmetric with a zero diagonal; empty for an adjacency
    std::span<const Index> first;        // [n + 1]
    std::span<const std::int32_t> node;  // [2 e]
    std::vector<Gain> weight;            // [2 e]

    bool dense() const { return !rows.empty(); }
};

// A state of one instance, with the gains of all flips.
template <class Gain>
class Walk {
public:
    // Args:
    //     n: number of variables.
    //     field: `[width]`, the unary scores, and LOWEST beyond n.
    //     couplings: of these variables; both outlive the walk.
    Walk(Index n, std::span<const Gain> field, const Couplings<Gain>& couplings)
        : n_(n),
          width_(length(field)),
          field_(field),
          couplings_(couplings),
          gains_(field.begin(), field.end()),
          signs_(field.size(), Gain{1}),
          until_(field.size()),
          allowed_(field.size()) {}

    // Flips variable k; returns its gain.
    double flip(Index k) {
        const Gain gained = gains_[k];
        const Gain sign = signs_[k];
        Gain* __restrict gains = gains_.data();
        const Gain* signs = signs_.data();
        if (couplings_.dense()) {
            const Gain* row = &couplings_.rows[k * width_];
            for (Index j = 0; j < width_; ++j) gains[j] += with_sign(row[j], sign, signs[j]);
        } else {
            for (Index entry = couplings_.first[k]; entry < couplings_.first[k + 1]; ++entry) {
                const Index j = couplings_.node[entry];
                gains[j] += couplings_.weight[entry] * sign * signs[j];
            }
        }
        signs_[k] = -sign;
        gains_[k] = -gained;
        return static_cast<double>(gained);
    }

    // Moves to the state z `[n]`, computing all gains again; returns its score.
    double load(std::span<const std::int8_t> z) {
        std::ranges::copy(field_, gains_.begin());
        std::ranges::fill(signs_, Gain{1});
        double score = 0.0;
        for (Index k = 0; k < n_; ++k)
            if (z[k]) score += flip(k);
        return score;
    }

    // Flips every variable that gains, one after the other, until none does; returns the total
    // gain.
    double descend() {
        double gained = 0.0;
        double before = -1.0;
        while (gained > before) {
            before = gained;
            for (Index k = 0; k < width_; ++k)
                if (gains_[k] > Gain{0}) gained += flip(k);
        }
        return gained;
    }

    // Makes `steps` best flips that bring the state nearer to `target [n]`; returns the gain.
    double walk_towards(std::span<const std::int8_t> target, Index steps, Random& random) {
        std::ranges::fill(until_, NEVER);
        for (Index i = 0; i < n_; ++i)
            if ((signs_[i] < Gain{0}) != (target[i] != 0)) until_[i] = -1;
        double gained = 0.0;
        for (Index step = 0; step < steps; ++step) {
            const Index k = best_move(0, -LOWEST<Gain>, random.bits());
            until_[k] = NEVER;
            gained += flip(k);
        }
        return gained;
    }

    // Flips the best variable that is not tabu, again and again, until `patience` flips brought no
    // new best state, or until `stop`.
    //
    // Args:
    //     score: the score of the state.
    //     best: `[n]`, written: the best state.
    //
    // Returns the score of `best`.
    double tabu_run(double score, Index patience, std::span<std::int8_t> best, Random& random,
                    Stop stop) {
        const Index tenure = std::min(n_ / 100 + 8, n_ / 4);
        // Chosen by experiment: long tenures for maximum cuts of sparse graphs, short ones for
        // dense problems.
        const Index spread = std::min(couplings_.dense() ? Index{10} : 10 + n_ / 12, n_ - tenure);
        std::ranges::fill(until_, 0);
        double best_score = score;
        Index last = 0;
        bool recorded = false;  // whether `best` is the state of best_score
        for (Index step = 1; step - 1 - last < patience && !stop.requested(); ++step) {
            const Index bits = random.bits();
            // A tabu variable is flipped too if that gives a new best state.
            const double missing = std::min(best_score - score, -static_cast<double>(LOWEST<Gain>));
            const Index k =
                best_move(static_cast<std::int32_t>(step), static_cast<Gain>(missing), bits);
            if (!recorded && gains_[k] <= Gain{0}) {
                recorded = true;
                record(best);
            }
            score += flip(k);
            until_[k] = static_cast<std::int32_t>(step + tenure + below(spread, bits >> 40));
            if (score > best_score) {
                best_score = score;
                last = step;
                recorded = false;
            }
        }
        if (!recorded) record(best);
        return best_score;
    }

private:
    static constexpr std::int32_t NEVER = std::numeric_limits<std::int32_t>::max();

    // Returns value * sign * other for signs +1 and -1; for integers without a multiplication, in
    // which vectors are slow.
    static Gain with_sign(Gain value, Gain sign, Gain other) {
        if constexpr (std::is_integral_v<Gain>) {
            const Gain negative = (sign ^ other) >> 31;  // all bits where the signs differ
            return (value ^ negative) - negative;
        } else {
            return value * sign * other;
        }
    }

    // Returns the variable of largest gain among those that are not tabu or gain more than `need`;
    // `bits` break ties.
    //
    // A variable is tabu as long as step <= until. The blocks are visited from a random one on, and
    // the entries of a block from a random one on.
    Index best_move(std::int32_t step, Gain need, Index bits) {
        const Gain best = fill_allowed(step, need);
        const Index blocks = width_ / BLOCK;
        Index start = below(blocks, bits) * BLOCK;
        for (Index block = 0; block < blocks; ++block) {
            const std::uint64_t word = equal_in_block(start, best);
            if (word) {
                const int turn = static_cast<int>((bits >> 20) % BLOCK);
                const std::uint64_t turned = (word << BLOCK | word) >> turn;
                return start + (std::countr_zero(turned) + turn) % BLOCK;
            }
            start += BLOCK;
            if (start == width_) start = 0;
        }
        return 0;
    }

    // Writes the gains of the allowed moves, LOWEST for the others; returns the largest.
    Gain fill_allowed(std::int32_t step, Gain need) {
        const Gain* gains = gains_.data();
        const std::int32_t* until = until_.data();
        Gain* __restrict allowed = allowed_.data();
        Gain best = LOWEST<Gain>;
#pragma omp simd reduction(max : best)
        for (Index i = 0; i < width_; ++i) {
            const Gain gain = (until[i] < step) | (gains[i] > need) ? gains[i] : LOWEST<Gain>;
            allowed[i] = gain;
            best = gain > best ? gain : best;
        }
        return best;
    }

    std::uint64_t equal_in_block(Index start, Gain best) const {
        const Gain* block = &allowed_[start];
        std::uint32_t word = 0;
        for (unsigned i = 0; i < BLOCK; ++i)
            word |= static_cast<std::uint32_t>(block[i] == best) << i;
        return word;
    }

    void record(std::span<std::int8_t> z) const {
        for (Index i = 0; i < n_; ++i) z[i] = signs_[i] < Gain{0};
    }

    Index n_;
    Index width_;
    std::span<const Gain> field_;
    const Couplings<Gain>& couplings_;
    std::vector<Gain> gains_;          // [width]
    std::vector<Gain> signs_;          // [width]
    std::vector<std::int32_t> until_;  // [width]: the step up to which a variable is tabu
    std::vector<Gain> allowed_;        // [width], scratch
};

}  // namespace solvers::local_search
