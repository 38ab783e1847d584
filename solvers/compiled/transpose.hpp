// Arrays of instances, transposed so that the lanes of a vector are instances.
#pragma once

#include <algorithm>

#include "solvers/compiled/vectors.hpp"

namespace solvers {

// One stage of a transposition: lane i of the lower result is lower[i] where i lacks the bit, else
// upper[i ^ Bit]; of the upper result, upper[i] where i has it, else lower[i ^ Bit].
template <int Bit, int... I>
void exchange(Register& lower, Register& upper, std::integer_sequence<int, I...>) {
    const Register kept = lower;
#if defined(__clang__)
    lower = __builtin_shufflevector(kept, upper, (I & Bit ? (I ^ Bit) + REGISTER_LANES : I)...);
    upper = __builtin_shufflevector(kept, upper, (I & Bit ? I + REGISTER_LANES : I ^ Bit)...);
#else  // GCC 12 takes no pack in __builtin_shufflevector
    using Indices = RegisterIndices;
    lower = __builtin_shuffle(kept, upper, Indices{(I & Bit ? (I ^ Bit) + REGISTER_LANES : I)...});
    upper = __builtin_shuffle(kept, upper, Indices{(I & Bit ? I + REGISTER_LANES : I ^ Bit)...});
#endif
}

template <int Bit>
void exchange_all(Register* rows) {
    for (int i = 0; i < REGISTER_LANES; ++i)
        if (!(i & Bit))
            exchange<Bit>(rows[i], rows[i | Bit],
                          std::make_integer_sequence<int, REGISTER_LANES>());
    if constexpr (2 * Bit < REGISTER_LANES) exchange_all<2 * Bit>(rows);
}

// Writes REGISTER_LANES columns of as many rows, from `column` on; rows of `to` are LANES apart.
template <class T>
void transpose_block(const T* const* rows, Index column, double* to) {
    Register block[REGISTER_LANES];
    for (int r = 0; r < REGISTER_LANES; ++r)
        for (int c = 0; c < REGISTER_LANES; ++c)
            block[r][c] = static_cast<double>(rows[r][column + c]);
    exchange_all<1>(block);
    for (int c = 0; c < REGISTER_LANES; ++c) store_register(to + c * LANES, block[c]);
}

// Transposes the rows first .. first + LANES of `[batch, m]` into `[m, LANES]`; missing rows repeat
// the last one.
template <class T>
void transpose(Matrix<const T> values, Index first, double* __restrict to) {
    const T* rows[LANES];
    for (Index lane = 0; lane < LANES; ++lane)
        rows[lane] = values[std::min(first + lane, values.rows - 1)].data();
    const Index whole = values.columns - values.columns % REGISTER_LANES;
    for (Index column = 0; column < whole; column += REGISTER_LANES)
        for (int lane = 0; lane < LANES; lane += REGISTER_LANES)
            transpose_block(rows + lane, column, to + column * LANES + lane);
    for (Index column = whole; column < values.columns; ++column)
        for (Index lane = 0; lane < LANES; ++lane)
            to[column * LANES + lane] = static_cast<double>(rows[lane][column]);
}

}  // namespace solvers
