// Coefficients of an instance as 64-bit integers whose sums do not overflow; host.py explains why
// their rounding does not matter.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

using Fine = std::int64_t;

// Returns the bits of |c|, which have the same order as the magnitudes.
inline Fine magnitude_bits(double coefficient) {
    return std::bit_cast<Fine>(coefficient) & std::numeric_limits<Fine>::max();
}

// Returns 2^exponent, for exponents from -1022 to 1023.
inline double power_of_two(Fine exponent) {
    return std::bit_cast<double>((exponent + 1023) << 52);
}

// The product c first second equals c 2^k: 2^k may overflow, its two factors do not.
struct Scale {
    double first;
    double second;

    // N max|c| 2^k lies in (2^60, 2^62], for N = `count` coefficients and the bits of max|c|.
    static Scale of(Index count, Fine magnitude) {
        const int count_exponent =
            static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count)));
        const Fine k = 62 - count_exponent - ((magnitude >> 52) - 1022);
        const Fine half = k >> 1;
        return {power_of_two(half), power_of_two(k - half)};
    }
};

}  // namespace solvers::exhaustive
