// Sixteen doubles side by side, kept in as many registers as the level of the processor needs.
//
// Loops over short pieces of arrays do not become vector instructions where the arrays may overlap;
// a `Vector` is loaded as a whole before anything is stored.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#if defined(__SSE2__)
// GCC warns about the undefined operand of unmasked AVX-512 instructions.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include "solvers/compiled/views.hpp"

namespace solvers {

inline constexpr int LANE_BITS = 4;
inline constexpr int LANES = 1 << LANE_BITS;
using Mask = std::uint16_t;  // bit i for lane i

#if defined(__AVX512F__)
inline constexpr int REGISTER_LANES = 8;
#elif defined(__AVX2__)
inline constexpr int REGISTER_LANES = 4;
#else
inline constexpr int REGISTER_LANES = 2;
#endif
inline constexpr int REGISTERS = LANES / REGISTER_LANES;

typedef double Register __attribute__((vector_size(REGISTER_LANES * sizeof(double))));
typedef std::int64_t RegisterIndices __attribute__((vector_size(REGISTER_LANES * sizeof(double))));

struct Vector {
    Register registers[REGISTERS];
};

// A register's worth of an array of doubles, which aliases the array as its elements do; a memcpy
// would alias everything, and GCC would split it in halves.
typedef double Piece
    __attribute__((vector_size(REGISTER_LANES * sizeof(double)), aligned(alignof(double))));

// from[0 .. REGISTER_LANES).
inline Register load_register(const double* from) {
    return *reinterpret_cast<const Piece*>(from);
}

inline void store_register(double* to, Register lanes) {
    *reinterpret_cast<Piece*>(to) = lanes;
}

// from[0 .. LANES). One register at a time: as a whole, a Vector would go through memory.
inline Vector load(const double* from) {
    Vector result;
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r)
        result.registers[r] = load_register(from + r * REGISTER_LANES);
    return result;
}

inline void store(double* to, const Vector& values) {
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r)
        store_register(to + r * REGISTER_LANES, values.registers[r]);
}

// The value in every lane.
inline Vector fill(double value) {
    Vector result;
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r) result.registers[r] = value - Register{};  // exact
    return result;
}

inline Vector operator+(const Vector& left, const Vector& right) {
    Vector result;
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r)
        result.registers[r] = left.registers[r] + right.registers[r];
    return result;
}

inline Vector operator-(const Vector& left, const Vector& right) {
    Vector result;
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r)
        result.registers[r] = left.registers[r] - right.registers[r];
    return result;
}

inline Vector operator*(const Vector& left, const Vector& right) {
    Vector result;
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r)
        result.registers[r] = left.registers[r] * right.registers[r];
    return result;
}

inline Vector operator-(const Vector& values) {
    Vector result;
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r) result.registers[r] = -values.registers[r];
    return result;
}

// left > right ? left : right in each lane; the instructions have just this meaning, for zeros and
// nan too.
inline Vector larger(const Vector& left, const Vector& right) {
    Vector result;
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r) {
#if defined(__AVX512F__)
        result.registers[r] = _mm512_max_pd(left.registers[r], right.registers[r]);
#elif defined(__AVX2__)
        result.registers[r] = _mm256_max_pd(left.registers[r], right.registers[r]);
#elif defined(__SSE2__)
        result.registers[r] = _mm_max_pd(left.registers[r], right.registers[r]);
#else
        result.registers[r] =
            left.registers[r] > right.registers[r] ? left.registers[r] : right.registers[r];
#endif
    }
    return result;
}

inline Vector absolute(const Vector& values) {
    return larger(values, -values);
}

// Writes the integers nearest to values of magnitude below 2^63; of two at the same distance, the
// even one.
inline void store_integers(std::int64_t* to, const Vector& values) {
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r) {
#if defined(__AVX512DQ__)
        _mm512_storeu_si512(to + r * REGISTER_LANES, _mm512_cvtpd_epi64(values.registers[r]));
#else
        for (int i = 0; i < REGISTER_LANES; ++i)
            to[r * REGISTER_LANES + i] =
                static_cast<std::int64_t>(std::rint(values.registers[r][i]));
#endif
    }
}

// Adds `term` to `values` in the lanes whose number has bit I.
template <int I>
Vector add_where_bit(const Vector& values, double term) {
    Vector result;
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r) {
        RegisterIndices has_bit;
        for (int i = 0; i < REGISTER_LANES; ++i)
            has_bit[i] = (r * REGISTER_LANES + i) >> I & 1 ? -1 : 0;
        result.registers[r] = has_bit ? values.registers[r] + term : values.registers[r];
    }
    return result;
}

// Bit i is set where lane i of the left vector is greater.
inline Mask greater(const Vector& left, const Vector& right) {
#if defined(__AVX512F__)
    const __mmask8 low = _mm512_cmp_pd_mask(left.registers[0], right.registers[0], _CMP_GT_OQ);
    const __mmask8 high = _mm512_cmp_pd_mask(left.registers[1], right.registers[1], _CMP_GT_OQ);
    return _mm512_kunpackb(high, low);
#else
    unsigned mask = 0;
#pragma GCC unroll 8
    for (int r = 0; r < REGISTERS; ++r) {
        unsigned bits = 0;
#if defined(__AVX2__)
        const __m256d comparison = _mm256_cmp_pd(left.registers[r], right.registers[r], _CMP_GT_OQ);
        bits = static_cast<unsigned>(_mm256_movemask_pd(comparison));
#elif defined(__SSE2__)
        const __m128d comparison = _mm_cmpgt_pd(left.registers[r], right.registers[r]);
        bits = static_cast<unsigned>(_mm_movemask_pd(comparison));
#else
        for (int i = 0; i < REGISTER_LANES; ++i)
            bits |= static_cast<unsigned>(left.registers[r][i] > right.registers[r][i]) << i;
#endif
        mask |= bits << (REGISTER_LANES * r);
    }
    return static_cast<Mask>(mask);
#endif
}

// Returns the bits of s that `present` has, moved together.
constexpr int moved_together(int s, int present) {
    int moved = 0;
    int target = 0;
    for (int i = 0; i < LANE_BITS; ++i)
        if (present >> i & 1) moved |= (s >> i & 1) << target++;
    return moved;
}

template <int... Lanes>
Register shuffled(Register lanes) {
#if defined(__clang__)
    return __builtin_shufflevector(lanes, lanes, Lanes...);
#else  // GCC 12 takes no pack in __builtin_shufflevector
    return __builtin_shuffle(lanes, RegisterIndices{Lanes...});
#endif
}

// Register R of `load_spread`: it needs at most REGISTER_LANES neighbours, from the least one on.
template <int Present, int R, int... I>
Register spread_register(const double* from, std::integer_sequence<int, I...>) {
    constexpr int first = moved_together(R * REGISTER_LANES, Present);
    return shuffled<(moved_together(R * REGISTER_LANES + I, Present) - first)...>(
        load_register(from + first));
}

template <int Present, int... R>
Vector spread_registers(const double* from, std::integer_sequence<int, R...>) {
    return {
        spread_register<Present, R>(from, std::make_integer_sequence<int, REGISTER_LANES>())...};
}

// Lane s is from[moved_together(s, Present)]; all of from[0 .. LANES) is readable.
template <int Present>
Vector load_spread(const double* from) {
    return spread_registers<Present>(from, std::make_integer_sequence<int, REGISTERS>());
}

// Does the same for a `present` that is computed at run time.
inline Vector load_spread(const double* from, Index present) {
    switch (present) {
        case 0: return load_spread<0>(from);
        case 1: return load_spread<1>(from);
        case 2: return load_spread<2>(from);
        case 3: return load_spread<3>(from);
        case 4: return load_spread<4>(from);
        case 5: return load_spread<5>(from);
        case 6: return load_spread<6>(from);
        case 7: return load_spread<7>(from);
        case 8: return load_spread<8>(from);
        case 9: return load_spread<9>(from);
        case 10: return load_spread<10>(from);
        case 11: return load_spread<11>(from);
        case 12: return load_spread<12>(from);
        case 13: return load_spread<13>(from);
        case 14: return load_spread<14>(from);
        default: return load(from);
    }
}

}  // namespace solvers
