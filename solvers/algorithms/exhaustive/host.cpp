#include "solvers/algorithms/exhaustive/host.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "solvers/algorithms/exhaustive/fixed_point.hpp"
#include "solvers/compiled/buffer.hpp"
#include "solvers/compiled/vectors.hpp"

namespace solvers::exhaustive {
namespace {

using Coarse = std::int32_t;  // the upper halves of the coefficients in 64-bit fixed point

constexpr int CORNER_BITS = 4;  // 16 states: one vector of int32
constexpr int LOW_BITS = 7;     // states of one table; the tables of n = 25 still fit the L1 cache
constexpr int INNER_BITS = 3;   // maximised without leaving the registers
constexpr int BLOCK_BITS = LOW_BITS + INNER_BITS;
constexpr int COEFFICIENTS = MAX_VARIABLES * (MAX_VARIABLES + 1) / 2;
constexpr int CORNER_STATES = 1 << CORNER_BITS;
constexpr int LOW_STATES = 1 << LOW_BITS;
constexpr int INNER_STATES = 1 << INNER_BITS;
constexpr int BLOCK_STATES = 1 << BLOCK_BITS;
constexpr int SHORT_DEPTH = 6;  // variables of a walk whose tables need no allocation
constexpr Fine HALF_UNIT = Fine{1} << 31;

template <class Int>
using Weights = Int[MAX_VARIABLES][MAX_VARIABLES];
using LowTable = Coarse[LOW_STATES];

// The weights of variables from `n` on, up to the corner of a table, are zero.
template <class Int>
void clear(Weights<Int>& weights, int n) {
    std::fill_n(&weights[0][0], std::max(n, CORNER_BITS) * MAX_VARIABLES, Int{0});
}

// An array that is not initialised. Up to SHORT entries need no allocation, which would take as
// long as a tenth of a search.
template <class T, Index SHORT>
class Entries {
public:
    explicit Entries(Index size) {
        if (size > SHORT) data_ = long_.emplace(size).data();
    }
    Entries(const Entries&) = delete;
    Entries& operator=(const Entries&) = delete;

    T* data() { return data_; }
    T& operator[](Index i) { return data_[i]; }

private:
    alignas(64) T short_[SHORT];
    std::optional<Buffer<T>> long_;
    T* data_ = short_;
};

// All bits are set where state s contains bit i.
template <class Int>
constexpr Int mask_of(Index s, int i) {
    return static_cast<Int>(-static_cast<Int>(s >> i & 1));
}

// Returns the larger of the sums of the positive and of the negative coefficients, up to rounding:
// no sum of some of them is further from zero. Its exponent is that of sums in the order of the
// coefficients, as in `maximise_in_lanes`, and the scale depends on nothing else.
//
// Additions in order wait for each other. Sums in any order differ from them by less than 2^-40 of
// themselves, which seldom changes the exponent.
double largest_sum(const double* coefficients, Index count) {
    constexpr double SHARE = 0x1p-40;
    double positive = 0.0;
    double negative = 0.0;
#pragma omp simd reduction(+ : positive, negative)
    for (Index c = 0; c < count; ++c) {
        positive += std::max(coefficients[c], 0.0);
        negative += std::max(-coefficients[c], 0.0);
    }
    const double largest = std::max(positive, negative);
    const auto exponent = [](double value) { return std::bit_cast<Fine>(value) >> 52; };
    if (exponent(largest * (1.0 - SHARE)) == exponent(largest * (1.0 + SHARE))) return largest;
    positive = 0.0;
    negative = 0.0;
    for (Index c = 0; c < count; ++c) {
        positive += std::max(coefficients[c], 0.0);
        negative += std::max(-coefficients[c], 0.0);
    }
    return std::max(positive, negative);
}

// Fills both matrices of weights, and returns the slack between them: sum |fine - coarse 2^32|.
Fine load_weights(const double* coefficients, std::span<const Index> places,
                  Fine* __restrict scaled, Fine* __restrict fine, Coarse* __restrict coarse) {
    const Index count = length(places);
    const Scale scale = Scale::of(largest_sum(coefficients, count));
    Fine slack = 0;
    for (Index c = 0; c < count; ++c) {
        const Fine rounded =
            static_cast<Fine>(std::rint(coefficients[c] * scale.first * scale.second));
        scaled[c] = rounded;
        slack += std::abs(rounded - ((rounded + HALF_UNIT) >> 32 << 32));
    }
    for (Index c = 0; c < count; ++c) {
        fine[places[c]] = scaled[c];
        coarse[places[c]] = static_cast<Coarse>((scaled[c] + HALF_UNIT) >> 32);
    }
    return slack;
}

template <class Int>
void fill_corner(Int* table, Int base, const Int* fields, const Weights<Int>& weights) {
    for (int s = 0; s < CORNER_STATES; ++s) {
        Int score = base;
        for (int i = 0; i < CORNER_BITS; ++i) {
            Int field = fields[i];
            for (int j = 0; j < i; ++j) field += weights[i][j] & mask_of<Int>(s, j);
            score += field & mask_of<Int>(s, i);
        }
        table[s] = score;
    }
}

template <class Int>
void fill_linear(Int* table, int bits, Int constant, const Int* weights) {
    for (int s = 0; s < CORNER_STATES; ++s) {
        Int total = constant;
        for (int i = 0; i < CORNER_BITS; ++i) total += weights[i] & mask_of<Int>(s, i);
        table[s] = total;
    }
    for (int i = CORNER_BITS; i < bits; ++i) {
        const Int* lower = table;
        Int* __restrict upper = table + (1 << i);
        for (int s = 0; s < 1 << i; ++s) upper[s] = lower[s] + weights[i];
    }
}

// Writes the scores of the 2^bits states whose bits have these fields and weights.
template <class Int>
void fill_quadratic(Int* table, int bits, Int base, const Int* fields, const Weights<Int>& weights,
                    Int* increment) {
    fill_corner(table, base, fields, weights);
    for (int i = CORNER_BITS; i < bits; ++i) {
        fill_linear(increment, i, fields[i], weights[i]);
        const Int* lower = table;
        const Int* added = increment;
        Int* __restrict upper = table + (1 << i);
        for (int s = 0; s < 1 << i; ++s) upper[s] = lower[s] + added[s];
    }
}

void add_bit(LowTable& __restrict values, const LowTable& parent, const LowTable& linear,
             Coarse constant) {
    for (int s = 0; s < LOW_STATES; ++s) values[s] = parent[s] + linear[s] + constant;
}

// The walk over the states h of all variables except the first BLOCK_BITS; its tables serve all
// instances.
class Walk {
public:
    explicit Walk(int depth)
        : depth_(depth),
          values_(depth + 1),
          linear_(depth + INNER_BITS),
          shifts_(Index{1} << depth),
          constants_(Index{1} << depth) {
        std::fill_n(inner_[0].entries, LOW_STATES, Coarse{0});
        shifts_[0] = Shifts{};
        constants_[0] = 0;
    }

    // Writes the largest coarse score of each block h, of 2^depth.
    void fill_maxima(const Weights<Coarse>& weights, int n, Coarse* maxima) {
        Coarse fields[LOW_BITS];
        for (int i = 0; i < LOW_BITS; ++i) fields[i] = weights[i][i];
        alignas(64) LowTable increment;
        fill_quadratic(values_[depth_].entries, LOW_BITS, Coarse{0}, fields, weights, increment);
        fill_low_linear(weights, n);
        fill_inner(weights);
        fill_walk_terms(weights);
        walk(maxima);
    }

private:
    struct alignas(64) Aligned {
        LowTable entries;
    };
    struct Shifts {
        Coarse entries[INNER_STATES];
    };

    // Returns the lowest set bit of walk state h; depth for h = 0.
    int lowest(Index h) const {
        return h ? std::countr_zero(static_cast<std::uint64_t>(h)) : depth_;
    }

    // linear_[j - LOW_BITS] is the contribution of bit j to the score of each low state.
    void fill_low_linear(const Weights<Coarse>& weights, int n) {
        for (int j = LOW_BITS; j < n; ++j)
            for (int s = 0; s < LOW_STATES; ++s) {
                Coarse total = weights[j][j];
                for (int i = 0; i < LOW_BITS; ++i) total += weights[j][i] & mask_of<Coarse>(s, i);
                linear_[j - LOW_BITS].entries[s] = total;
            }
    }

    // inner_[q] is the contribution of the inner bits of q to the score of each low state.
    void fill_inner(const Weights<Coarse>& weights) {
        for (int b = 0; b < INNER_BITS; ++b)
            for (int q = 0; q < 1 << b; ++q) {
                Coarse cross = 0;
                for (int i = 0; i < b; ++i)
                    cross += weights[LOW_BITS + b][LOW_BITS + i] & mask_of<Coarse>(q, i);
                add_bit(inner_[(1 << b) + q].entries, inner_[q].entries, linear_[b].entries, cross);
            }
    }

    // The couplings of every walk state h to the inner bits, and of its lowest bit to its other
    // bits.
    void fill_walk_terms(const Weights<Coarse>& weights) {
        for (int t = 0; t < depth_; ++t) {
            const Coarse* row = weights[BLOCK_BITS + t];
            const Index size = Index{1} << t;
            shifts_[size].entries[0] = 0;
            constants_[size] = 0;
            for (int b = 0; b < INNER_BITS; ++b)
                for (int q = 0; q < 1 << b; ++q)
                    shifts_[size].entries[(1 << b) + q] =
                        shifts_[size].entries[q] + row[LOW_BITS + b];
            for (Index h = 1; h < size; ++h) {
                constants_[size + h] = constants_[h] + row[BLOCK_BITS + lowest(h)];
                for (int q = 0; q < INNER_STATES; ++q)
                    shifts_[size + h].entries[q] = shifts_[h].entries[q] + shifts_[size].entries[q];
            }
        }
    }

    // Walk state h extends h without its lowest bit t. Counting upwards, that parent is the latest
    // state with its own lowest bit. So one table per lowest bit suffices and, unlike in a Gray
    // code, no contribution has to be subtracted again.
    void walk(Coarse* maxima) {
        for (Index h = 0; h < Index{1} << depth_; h += 2) {
            const int t = lowest(h);
            LowTable& values = values_[t].entries;
            if (h) {
                const LowTable& parent = values_[lowest(h & (h - 1))].entries;
                add_bit(values, parent, linear_[INNER_BITS + t].entries, constants_[h]);
            }
            fill_pair(values, h, maxima);
        }
    }

    // Writes the maxima of two walk states that differ only in walk bit 0.
    void fill_pair(const LowTable& values, Index h, Coarse* maxima) {
        const LowTable& linear = linear_[INNER_BITS].entries;
        const Coarse* shifts_0 = shifts_[h].entries;
        const Coarse* shifts_1 = shifts_[h + 1].entries;
        Coarse best_0 = std::numeric_limits<Coarse>::min();
        Coarse best_1 = best_0;
#pragma omp simd reduction(max : best_0, best_1)
        for (int s = 0; s < LOW_STATES; ++s) {
            Coarse gain_0 = 0;
            Coarse gain_1 = 0;
#pragma GCC unroll 8
            for (int q = 1; q < INNER_STATES; ++q) {
                gain_0 = std::max(gain_0, inner_[q].entries[s] + shifts_0[q]);
                gain_1 = std::max(gain_1, inner_[q].entries[s] + shifts_1[q]);
            }
            best_0 = std::max(best_0, values[s] + gain_0);
            best_1 = std::max(best_1, values[s] + linear[s] + gain_1);
        }
        maxima[h] = best_0;
        maxima[h + 1] = best_1 + constants_[h + 1];
    }

    static constexpr Index SHORT_BLOCKS = Index{1} << SHORT_DEPTH;

    int depth_;
    // [depth + 1]: scores of low states, by the lowest bit of the walk state
    Entries<Aligned, SHORT_DEPTH + 1> values_;
    Entries<Aligned, SHORT_DEPTH + INNER_BITS> linear_;  // [depth + INNER_BITS]
    Aligned inner_[INNER_STATES];
    Entries<Shifts, SHORT_BLOCKS> shifts_;     // [2^depth]
    Entries<Coarse, SHORT_BLOCKS> constants_;  // [2^depth]
};

struct BlockMaximum {
    Fine score;
    Index state;
};

// Returns the largest of `size` scores, a power of two of at least CORNER_STATES.
//
// Four registers are maximised side by side, since a comparison waits for the one before it.
Fine largest(const Fine* table, int size) {
    constexpr int TOGETHER = 4;
    if (size < TOGETHER * REGISTER_LANES) return *std::max_element(table, table + size);
    const auto* entries = reinterpret_cast<const RegisterIndices*>(table);
    RegisterIndices best[TOGETHER];
    for (int r = 0; r < TOGETHER; ++r) best[r] = entries[r];
    for (int first = TOGETHER; first < size / REGISTER_LANES; first += TOGETHER) {
#pragma GCC unroll 4
        for (int r = 0; r < TOGETHER; ++r) {
            const RegisterIndices next = entries[first + r];
            best[r] = next > best[r] ? next : best[r];
        }
    }
    Fine found = best[0][0];
    for (const RegisterIndices& lanes : best)
        for (int lane = 0; lane < REGISTER_LANES; ++lane)
            found = std::max(found, static_cast<Fine>(lanes[lane]));
    return found;
}

// Returns the first place of a score that is in the table.
Index first_place(Fine score, const Fine* table) {
    for (Index first = 0;; first += CORNER_STATES) {
        Fine among = 0;
        for (Index s = first; s < first + CORNER_STATES; ++s) among |= table[s] == score;
        if (among) return std::find(table + first, table + first + CORNER_STATES, score) - table;
    }
}

// Returns the best fine score among the states of block h, and the first state that has it.
BlockMaximum fine_maximum(const Weights<Fine>& weights, int n, Index h, Fine* table,
                          Fine* increment) {
    const int bits = std::min(std::max(n, CORNER_BITS), BLOCK_BITS);
    Fine base = 0;
    Fine fields[BLOCK_BITS];
    for (int i = 0; i < bits; ++i) fields[i] = weights[i][i];
    for (int t = BLOCK_BITS; t < n; ++t) {
        const Fine mask = mask_of<Fine>(h, t - BLOCK_BITS);
        base += weights[t][t] & mask;
        for (int i = BLOCK_BITS; i < t; ++i)
            base += weights[t][i] & mask & mask_of<Fine>(h, i - BLOCK_BITS);
        for (int i = 0; i < bits; ++i) fields[i] += weights[t][i] & mask;
    }
    fill_quadratic(table, bits, base, fields, weights, increment);
    const Fine best = largest(table, 1 << bits);
    return {best, h << BLOCK_BITS | first_place(best, table)};
}

}  // namespace

// Invariant: a block whose coarse maximum m satisfies m 2^32 + slack <= best holds no state above
// the best fine score.
template <class Score>
void maximise(const Pairs& pairs, Matrix<const Score> unary, Matrix<const Score> pairwise,
              Matrix<std::int8_t> z) {
    const int n = pairs.n();
    const int depth = std::max(n - BLOCK_BITS, 0);
    double coefficients[COEFFICIENTS];
    Fine scaled[COEFFICIENTS];
    alignas(64) Weights<Fine> fine;
    alignas(64) Weights<Coarse> coarse;
    clear(fine, n);
    clear(coarse, n);
    alignas(64) Fine table[BLOCK_STATES];
    alignas(64) Fine increment[BLOCK_STATES];
    Walk walk(depth);
    const Index blocks = Index{1} << depth;
    Entries<Coarse, Index{1} << SHORT_DEPTH> maxima(blocks);
    for (Index b = 0; b < z.rows; ++b) {
        std::copy(unary[b].begin(), unary[b].end(), coefficients);
        std::copy(pairwise[b].begin(), pairwise[b].end(), coefficients + n);
        const Fine slack =
            load_weights(coefficients, pairs.places(), scaled, &fine[0][0], &coarse[0][0]);
        maxima[0] = 0;  // of the only block, if there is no walk
        if (depth) walk.fill_maxima(coarse, n, maxima.data());
        const Index peak = std::max_element(maxima.data(), maxima.data() + blocks) - maxima.data();
        BlockMaximum best = fine_maximum(fine, n, peak, table, increment);
        for (Index h = 0; h < blocks; ++h) {
            const Fine bound = (Fine{maxima[h]} << 32) + slack;
            if (bound <= best.score || h == peak) continue;
            const BlockMaximum rival = fine_maximum(fine, n, h, table, increment);
            if (rival.score > best.score) best = rival;
        }
        for (int i = 0; i < n; ++i) z(b, i) = static_cast<std::int8_t>(best.state >> i & 1);
    }
}

template void maximise(const Pairs&, Matrix<const double>, Matrix<const double>,
                       Matrix<std::int8_t>);
template void maximise(const Pairs&, Matrix<const float>, Matrix<const float>, Matrix<std::int8_t>);

}  // namespace solvers::exhaustive
