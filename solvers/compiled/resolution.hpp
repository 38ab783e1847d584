// The unit of which all scores of an instance are whole multiples; resolution.py explains its use.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "solvers/compiled/views.hpp"

namespace solvers {

// Number of units up to which sums, also of quarters of a unit (minimum cuts), are exact.
inline constexpr double EXACT_UNITS = 0x1p50;

// Largest smallest score, in units, of scores that do not count as real numbers if most are short.
inline constexpr double SMALL_UNITS = 0x1p33;

// Largest multiple of its last binary digit that a short score is: at least five digits less than
// its type holds, as few real numbers are.
template <class Score>
inline constexpr std::uint64_t SHORT =
    std::uint64_t{1} << (sizeof(Score) == sizeof(float) ? 18 : 47);

// Largest multiple of its last binary digit that a score in float32 is.
inline constexpr std::uint64_t SINGLE = std::uint64_t{1} << 24;

// Smallest unit of scores that count as whole numbers whatever their number of digits. Quarters
// occur where Ising models become bits.
inline constexpr double WHOLE_UNIT = 0x1p-4;

// Units from which on every number of its type is a whole multiple of the unit.
template <class Score>
inline constexpr double ALWAYS_WHOLE = sizeof(Score) == sizeof(float) ? 0x1p23 : 0x1p52;

// Least share of scores that fit into float32 where scores were computed in it.
inline constexpr double MOST_SINGLE = 0.75;

// Maximum ratio of scores to those that end near the common unit, if scores are whole numbers.
inline constexpr Index SHARE_OF_ENDS = 8;

// Units up to which a score ends near the common one.
inline constexpr double NEAR_UNITS = 8.0;

// Share of the smallest score at which decimals are recognised.
inline constexpr double LEAST_DECIMAL = 1e-4;

// Scores of a batch in two parts; the second part may be one row for all instances.
template <class First, class Second>
class Resolution {
public:
    // Args:
    //     first: `[batch, m]`; minus infinity counts as no score.
    //     second: `[batch, m]` or `[1, m]`.
    //     magnitude: `[batch]`, an upper bound on all sums of scores.
    //     factor: the share of the magnitude that is allowed for rounding.
    //     digits: every score is a whole multiple of at least this share of itself.
    Resolution(Matrix<const First> first, Matrix<const Second> second,
               std::span<const double> magnitude, double factor, double digits)
        : first_(first), second_(second), magnitude_(magnitude), factor_(factor), digits_(digits) {}

    // Returns whether rounding could confuse the scores of instance b, whose smallest absolute
    // nonzero score is `least`. A quick test, which nearly all instances fail.
    //
    // A unit divides all scores, so the smallest of them bounds it from above, and so does the last
    // digit of any. Real numbers fail by the last digit of the first score.
    bool suspicious(Index b, double least) const {
        const double most = 2.0 * factor_ * magnitude_[b];  // rounding reaches no larger unit
        if (digits_ * least > most || least == INFINITE) return false;
        if (least * LEAST_DECIMAL <= most) return true;
        const double unit = unit_of(b, useful(b, least));
        return 0.0 < unit && unit <= most;
    }

    // Returns whether rounding could confuse the scores of some instance.
    bool suspicious() const {
        for (Index b = 0; b < length(magnitude_); ++b)
            if (suspicious(b)) return true;
        return false;
    }

    // Writes the largest power of two that divides all scores, the smallest absolute score, the
    // share of short ones, and the share of those that could have ended below the power of two.
    //
    // The first two are infinity, and the others are 0, for instances whose scores rounding does
    // not confuse. A power of two that is too small for any use counts as 0; so do the shares then.
    void find_units(std::span<double> units, std::span<double> least, std::span<double> short_share,
                    std::span<double> telling_share) const {
        for (Index b = 0; b < length(magnitude_); ++b) {
            units[b] = least[b] = INFINITE;
            short_share[b] = telling_share[b] = 0.0;
            const double smallest = least_of(b);
            if (!suspicious(b, smallest)) continue;
            least[b] = smallest;
            units[b] = unit_of(b, useful(b, smallest));
            if (units[b] == 0.0) continue;  // real numbers: no sum is exact, and few are short
            const bool single = is_single(b, units[b]);
            const Count few = sum(count_short(first_[b], least[b], single),
                                  count_short(second_[row_of(b)], least[b], single));
            short_share[b] = few.share();
            telling_share[b] = sum(count_telling(first_[b], units[b], single),
                                   count_telling(second_[row_of(b)], units[b], single))
                                   .share();
        }
    }

private:
    static constexpr double INFINITE = std::numeric_limits<double>::infinity();

    struct Count {
        Index counted = 0;
        Index all = 0;  // neither zero nor forbidden

        double share() const { return static_cast<double>(counted) / static_cast<double>(all); }
    };

    Index row_of(Index b) const { return second_.rows > 1 ? b : 0; }

    bool suspicious(Index b) const { return suspicious(b, least_of(b)); }

    // Returns the smallest unit that makes sums exact, or the scores short or whole, in instance b.
    double useful(Index b, double least) const {
        return std::min({magnitude_[b] / EXACT_UNITS, least / SMALL_UNITS, WHOLE_UNIT});
    }

    // Returns the largest power of two that divides all scores; 0 if it is below `useful`.
    double unit_of(Index b, double useful) const {
        const double unit = last_digit(first_[b], useful);
        if (unit == 0.0) return 0.0;
        return std::min(unit, last_digit(second_[row_of(b)], useful));
    }

    // Returns the smallest absolute nonzero score.
    double least_of(Index b) const {
        return std::min(least_in(first_[b]), least_in(second_[row_of(b)]));
    }

    template <class Score>
    static double least_in(std::span<const Score> scores) {
        double least = INFINITE;
        const Score* values = scores.data();
        const Index count = length(scores);
#pragma omp simd reduction(min : least)
        for (Index k = 0; k < count; ++k) {
            const double size = std::abs(static_cast<double>(values[k]));
            least = std::min(least, size > 0.0 ? size : INFINITE);
        }
        return least;
    }

    // Counts short scores. A float32 score much larger than the smallest one does not count: a
    // penalty has all digits of its type, whatever the others are.
    //
    // Args:
    //     scores: of one part.
    //     least: the smallest absolute nonzero score of both parts.
    //     single: whether float64 scores count as float32 ones.
    template <class Score>
    static Count count_short(std::span<const Score> scores, double least, bool single) {
        if (sizeof(Score) == sizeof(float)) return count(scores, 0x1p24 * least, SHORT<float>);
        return count(scores, INFINITE, single ? SHORT<float> : SHORT<double>);
    }

    // Counts the scores that are so small that a real number of their size would mostly end below
    // the unit. `counted` has their number.
    template <class Score>
    static Count count_telling(std::span<const Score> scores, double unit, bool single) {
        const double limit = unit * (single ? ALWAYS_WHOLE<float> : ALWAYS_WHOLE<Score>);
        const Count all = count(scores, INFINITE, 1);
        const Count small = count(scores, std::nextafter(limit, 0.0), 1);
        return {small.all, all.all};
    }

    // Returns whether the scores of instance b were most likely computed in float32, and are real.
    //
    // Most fit into float32; sums of two may not. Whole numbers may fit, too; but many of them end
    // with the common unit, and real numbers end where their own size says.
    bool is_single(Index b, double unit) const {
        const Count fits =
            sum(count(first_[b], INFINITE, SINGLE), count(second_[row_of(b)], INFINITE, SINGLE));
        if (fits.share() < MOST_SINGLE) return false;
        const Index near = count_ends(first_[b], unit) + count_ends(second_[row_of(b)], unit);
        return SHARE_OF_ENDS * near < fits.all;
    }

    static Count sum(Count first, Count second) {
        return {first.counted + second.counted, first.all + second.all};
    }

    // Counts the scores that end at most `NEAR_UNITS` units high.
    template <class Score>
    static Index count_ends(std::span<const Score> scores, double unit) {
        const Score* values = scores.data();
        const double most = NEAR_UNITS * unit;
        Index near = 0;
#pragma omp simd reduction(+ : near)
        for (Index k = 0; k < length(scores); ++k)
            near += last_digit(static_cast<double>(values[k])) <= most;
        return near;
    }

    // Counts the scores up to `most`, and those that are at most `multiples` times their last
    // digit.
    template <class Score>
    static Count count(std::span<const Score> scores, double most, std::uint64_t multiples) {
        const Score* values = scores.data();
        const double factor = static_cast<double>(multiples);
        Index counted = 0;
        Index all = 0;
#pragma omp simd reduction(+ : counted, all)
        for (Index k = 0; k < length(scores); ++k) {
            const double value = static_cast<double>(values[k]);
            const double size = std::abs(value);
            const bool counts = (size > 0.0) & (value != -INFINITE) & (size <= most);
            const bool is_short = size <= factor * last_digit(value);
            all += counts;
            counted += counts & is_short;
        }
        return {counted, all};
    }

    // Returns the largest power of two that divides a value; infinity for zero and for infinities.
    //
    // Clearing the last 1 of the fraction takes just that digit away.
    static double last_digit(double value) {
        constexpr std::uint64_t fraction_bits = (std::uint64_t{1} << 52) - 1;
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
        const double rest = std::bit_cast<double>(bits & (bits - 1));
        const double size = std::abs(value);  // a power of two where the fraction is 0
        const double digit = (bits & fraction_bits) != 0 ? std::abs(value - rest) : size;
        return size > 0.0 ? digit : INFINITE;
    }

    // Returns the largest power of two that divides all scores; 0 if it is below `useful`.
    //
    // The first score decides alone for nearly all real numbers.
    template <class Score>
    static double last_digit(std::span<const Score> scores, double useful) {
        if (!scores.empty() && last_digit(static_cast<double>(scores[0])) < useful) return 0.0;
        constexpr Index block = 64;
        double least = INFINITE;
        const Score* values = scores.data();
        for (Index first = 0; first < length(scores); first += block) {
            const Index end = std::min(first + block, length(scores));
            double digit = INFINITE;
#pragma omp simd reduction(min : digit)
            for (Index k = first; k < end; ++k)
                digit = std::min(digit, last_digit(static_cast<double>(values[k])));
            if (digit < useful) return 0.0;
            least = std::min(least, digit);
        }
        return least;
    }

    Matrix<const First> first_;
    Matrix<const Second> second_;
    std::span<const double> magnitude_;
    double factor_;
    double digits_;
};

}  // namespace solvers
