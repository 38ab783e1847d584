// Dynamic programming over a frontier that keeps only what a certificate allows; sweep.py explains
// it.
//
// References:
//     Morin, Marsten (1976), Branch-and-bound strategies for dynamic programming.
#pragma once

#include <limits>
#include <vector>

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::cycle_cuts {

inline constexpr Index NO_CUT = std::numeric_limits<Index>::min();

// The change by one more vertex: `constant`, and change[t] where the slots first[t] and second[t]
// are on different sides.
struct Change {
    Index slot;                     // the bit of the vertex
    Index constant;                 // added to all bounds
    std::span<const Index> first;   // [terms]
    std::span<const Index> second;  // [terms]
    std::span<const Index> change;  // [terms]
};

// Sides of the vertices on the frontier, one bit for each slot.
struct Key {
    std::uint64_t low;
    std::uint64_t high;

    bool operator==(const Key&) const = default;
    Index bit(Index slot) const {
        return static_cast<Index>((slot < 64 ? low : high) >> (slot & 63) & 1);
    }
    Key with(Index slot) const {
        const std::uint64_t bit = std::uint64_t{1} << (slot & 63);
        return slot < 64 ? Key{low | bit, high} : Key{low, high | bit};
    }
    Key operator&(const Key& kept) const { return {low & kept.low, high & kept.high}; }
};

struct States {
    std::vector<std::uint64_t> key;  // [count, 2]
    std::vector<Index> value;        // [count]: bounds
    std::vector<Index> origin;  // [count]: twice the place of the state before, and the new side
};

// Returns the states after one more vertex; the best one counts where keys agree.
//
// Args:
//     key: `[count, 2]`.
//     value: `[count]`, their bounds.
//     both: whether the vertex may be on both sides.
//     kept: bits of the frontier to come.
//     needed: the least bound of a state that is kept.
//     most: number of states beyond which the search ends.
//     stop: ends the call early; some states are then missing.
States extended(Matrix<const std::uint64_t> key, std::span<const Index> value, bool both,
                const Change& change, Key kept, Index needed, Index most, Stop stop);

// Gives one more vertex its sides, in place, and returns the number of states before slots are
// dropped.
//
// Args:
//     table: `[2^bits]`, NO_CUT where there is no state, also wherever a bit is set that is not
//         live.
//     live: the bits of the frontier, without that of the vertex.
//     stop: ends the call early; the table and the number then mean nothing.
Index extend_table(std::span<Index> table, Index live, const Change& change, Index needed,
                   Stop stop);

// Keeps the best of entries that differ only in `leaving` bits, in place.
//
// Args:
//     table: as `extend_table` leaves it.
//     live: the bits of the frontier and of the last vertex.
//     stop: ends the call early; the table then means nothing.
void drop_slots(std::span<Index> table, Index live, Index leaving, Stop stop);

}  // namespace solvers::cycle_cuts
