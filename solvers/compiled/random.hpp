// The pseudo-random generator of the kernels: xorshift64*. A stream's state is one word, never
// zero.
//
// References:
//     Vigna (2016), An experimental exploration of Marsaglia's xorshift generators, scrambled.
#pragma once

#include <cstdint>

#include "solvers/compiled/views.hpp"

namespace solvers {

class Random {
public:
    // The stream of a seed below 2^32; streams of neighbouring seeds are far apart.
    static Random seeded(std::uint64_t seed) { return Random(seed * 0x9E3779B97F4A7C15u + 1); }

    // A stream that continues from a state which its owner stores; write `state()` back when the
    // kernel ends.
    explicit Random(std::uint64_t state) : state_(state) {}

    std::uint64_t state() const { return state_; }

    // Returns 60 random bits.
    Index bits() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<Index>((state_ * 2685821657736338717u) >> 4);
    }

    // Returns a number in [0, 1), a multiple of 2^-53.
    double uniform() { return static_cast<double>(bits() >> 7) * 0x1p-53; }

private:
    std::uint64_t state_;
};

// Returns a number in 0 .. limit - 1 from the lowest 20 of some random bits, so that one draw is
// enough for three numbers.
//
// The numbers are uniform for limits far below 2^20; above 2^20 some numbers never come.
inline Index below(Index limit, Index bits) {
    return ((bits & 0xFFFFF) * limit) >> 20;
}

}  // namespace solvers
