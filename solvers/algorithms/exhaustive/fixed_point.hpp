// Coefficients of an instance as 64-bit integers whose sums do not overflow; host.py explains why
// their rounding does not matter.
#pragma once

#include <bit>
#include <cstdint>

#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

using Fine = std::int64_t;

// Returns 2^exponent, for exponents from -1022 to 1023.
inline double power_of_two(Fine exponent) {
    return std::bit_cast<double>((exponent + 1023) << 52);
}

// The product c first second equals c 2^k: 2^k may overflow, its two factors do not.
struct Scale {
    double first;
    double second;

    // `largest` 2^k lies in [2^61, 2^62), for a normal `largest`.
    static Scale of(double largest) {
        const Fine k = 62 - ((std::bit_cast<Fine>(largest) >> 52) - 1022);
        const Fine half = k >> 1;
        return {power_of_two(half), power_of_two(k - half)};
    }
};

}  // namespace solvers::exhaustive
