// The unit of which all scores of an instance are whole multiples; resolution.py explains its use.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "solvers/compiled/views.hpp"

namespace solvers {

// Sums of so many units are exact, and so are sums of their quarters, as in minimum cuts.
inline constexpr double EXACT_UNITS = 0x1p50;

// Largest smallest score, in units, of scores that do not count as real numbers if most are short.
inline constexpr double SMALL_UNITS = 0x1p33;

// Largest multiple of its last binary digit that a short score is: at least five digits less than
// its type holds, as few real numbers are.
template <class Score>
inline constexpr std::uint64_t SHORT =
    std::uint64_t{1} << (sizeof(Score) == sizeof(float) ? 18 : 47);

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
    // digit of any. Real numbers fail by the last digit of the first score that is looked at.
    bool suspicious(Index b, double least) const {
        const double most = 2.0 * factor_ * magnitude_[b];  // rounding reaches no larger unit
        if (digits_ * least > most || least == INFINITE) return false;
        if (least * LEAST_DECIMAL <= most) return true;
        const double useful = std::min(magnitude_[b] / EXACT_UNITS, least / SMALL_UNITS);
        double unit = last_digit(first_[b], useful);
        if (unit > 0.0) unit = std::min(unit, last_digit(second_[row_of(b)], useful));
        return 0.0 < unit && unit <= most;
    }

    // Returns whether rounding could confuse the scores of some instance.
    bool suspicious() const {
        for (Index b = 0; b < length(magnitude_); ++b)
            if (suspicious(b)) return true;
        return false;
    }

    // Writes the largest power of two that divides all scores, the smallest absolute score and the
    // share of short ones.
    //
    // The first two are infinity, and the third is 0, for instances whose scores rounding does not
    // confuse.
    void find_units(std::span<double> units, std::span<double> least,
                    std::span<double> short_share) const {
        for (Index b = 0; b < length(magnitude_); ++b) {
            units[b] = least[b] = INFINITE;
            short_share[b] = 0.0;
            if (!suspicious(b)) continue;
            least[b] = least_of(b);
            units[b] = std::min(last_digit(first_[b], 0.0), last_digit(second_[row_of(b)], 0.0));
            const Count few = count_short(first_[b], least[b]);
            const Count more = count_short(second_[row_of(b)], least[b]);
            short_share[b] = static_cast<double>(few.of_short + more.of_short) /
                             static_cast<double>(few.all + more.all);
        }
    }

private:
    static constexpr double INFINITE = std::numeric_limits<double>::infinity();

    struct Count {
        Index of_short = 0;
        Index all = 0;  // neither zero nor forbidden
    };

    Index row_of(Index b) const { return second_.rows > 1 ? b : 0; }

    bool suspicious(Index b) const { return suspicious(b, least_of(b)); }

    // Returns the smallest absolute nonzero score.
    double least_of(Index b) const {
        return std::min(least_in(first_[b]), least_in(second_[row_of(b)]));
    }

    template <class Score>
    static double least_in(std::span<const Score> scores) {
        double least = INFINITE;
        for (Score score : scores) {
            const double value = std::abs(static_cast<double>(score));
            if (0.0 < value && value < least) least = value;
        }
        return least;
    }

    // Returns the binary digits of a nonzero score from its first to its last 1, as a whole number.
    static std::uint64_t significant_digits(double value) {
        constexpr int fraction_bits = 52;
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
        std::uint64_t whole = bits & ((std::uint64_t{1} << fraction_bits) - 1);
        if ((bits >> fraction_bits & 0x7ff) != 0) whole |= std::uint64_t{1} << fraction_bits;
        return whole >> std::countr_zero(whole);
    }

    // Counts short scores. A float32 score much larger than the smallest one does not count: a
    // penalty has all digits of its type, whatever the others are.
    template <class Score>
    static Count count_short(std::span<const Score> scores, double least) {
        const double most = sizeof(Score) == sizeof(float) ? 0x1p24 * least : INFINITE;
        Count count;
        for (Score score : scores) {
            const double value = static_cast<double>(score);
            if (value == 0.0 || value == -INFINITE || std::abs(value) > most) continue;
            ++count.all;
            count.of_short += significant_digits(value) <= SHORT<Score>;
        }
        return count;
    }

    // Returns the largest power of two that divides a value that is neither zero nor infinite.
    static double last_digit(double value) {
        constexpr int fraction_bits = 52;
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
        const int exponent = static_cast<int>(bits >> fraction_bits & 0x7ff);
        const std::uint64_t fraction = bits & ((std::uint64_t{1} << fraction_bits) - 1);
        if (exponent == 0) return 0x1p-1074 * static_cast<double>(fraction & (~fraction + 1));
        const int zeros = fraction ? std::countr_zero(fraction) : fraction_bits;
        const int place = exponent + zeros - fraction_bits;  // of the digit, as an exponent
        if (place <= 0) return std::ldexp(1.0, place - 1023);
        return std::bit_cast<double>(static_cast<std::uint64_t>(place) << fraction_bits);
    }

    // Returns the largest power of two that divides all scores; 0 if it is below `useful`.
    template <class Score>
    static double last_digit(std::span<const Score> scores, double useful) {
        double least = INFINITE;
        for (Score score : scores) {
            const double value = static_cast<double>(score);
            if (value == 0.0 || value == -INFINITE) continue;
            const double digit = last_digit(value);
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
