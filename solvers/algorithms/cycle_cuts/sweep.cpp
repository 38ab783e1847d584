#include "solvers/algorithms/cycle_cuts/sweep.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace solvers::cycle_cuts {
namespace {

// Entries of 2^bits in a row whose changes are computed together.
constexpr Index BLOCK_BITS = 11;

// Largest number of entries between two looks at the stop flag.
constexpr Index LOOK = 1 << 14;

// The places of keys, by open addressing.
class Places {
public:
    explicit Places(const std::vector<std::uint64_t>& keys) : keys_(keys), table_(4096, -1) {}

    // Returns the place of a key, or a new one at the end of the keys, which the caller then adds.
    Index find_or_add(const Key& key, Index count) {
        if (4 * count >= static_cast<Index>(table_.size())) grow(count);
        std::size_t spot = spot_of(key);
        while (table_[spot] >= 0) {
            const Index at = table_[spot];
            if (keys_[2 * at] == key.low && keys_[2 * at + 1] == key.high) return at;
            spot = (spot + 1) & (table_.size() - 1);
        }
        table_[spot] = static_cast<std::int32_t>(count);
        return count;
    }

private:
    std::size_t spot_of(const Key& key) const {
        std::uint64_t h = (key.low ^ (key.high * 0x9E3779B97F4A7C15u)) * 0xBF58476D1CE4E5B9u;
        h = (h ^ (h >> 31)) * 0x94D049BB133111EBu;
        return static_cast<std::size_t>(h >> 20) & (table_.size() - 1);
    }

    void grow(Index count) {
        table_.assign(2 * table_.size(), -1);
        for (Index at = 0; at < count; ++at) {
            std::size_t spot = spot_of({keys_[2 * at], keys_[2 * at + 1]});
            while (table_[spot] >= 0) spot = (spot + 1) & (table_.size() - 1);
            table_[spot] = static_cast<std::int32_t>(at);
        }
    }

    const std::vector<std::uint64_t>& keys_;  // [count, 2]
    std::vector<std::int32_t> table_;
};

struct Bounds {
    Index fixed;   // with the vertex on side 0
    Index turned;  // what side 1 adds
};

Bounds bounds_after(const Key& key, Index value, const Change& change) {
    Bounds bounds{value + change.constant, 0};
    for (Index t = 0; t < length(change.first); ++t) {
        const Index side = key.bit(change.first[t]);
        if (change.second[t] == change.slot) {
            bounds.turned += side == 0 ? change.change[t] : -change.change[t];
            if (side) bounds.fixed += change.change[t];
        } else if (side != key.bit(change.second[t])) {
            bounds.fixed += change.change[t];
        }
    }
    return bounds;
}

// The change of a step for the entries of one block, which share their upper bits.
//
// The change is a sum over pairs of bits: a table over pairs of lower bits, the same for all blocks
// (`between`), and a constant and a sum over single lower bits that the upper bits decide (`fixed`;
// `turned` where the vertex is on side 1).
class BlockChanges {
public:
    BlockChanges(Index low, const Change& change)
        : low_(low),
          size_(Index{1} << low),
          change_(change),
          between_(size_),
          fixed_(size_),
          turned_(size_) {
        for (Index t = 0; t < length(change.first); ++t) {
            const Index a = change.first[t];
            const Index b = change.second[t];
            if (a >= low || b >= low || b == change.slot) continue;
            for (Index s = 0; s < size_; ++s)
                between_[s] += ((s >> a ^ s >> b) & 1) * change.change[t];
        }
    }

    void fill(Index block) {
        std::array<Index, BLOCK_BITS> fixed_by{};
        std::array<Index, BLOCK_BITS> turned_by{};
        fixed_[0] = change_.constant;
        turned_[0] = 0;
        for (Index t = 0; t < length(change_.first); ++t) add_term(t, block, fixed_by, turned_by);
        for (Index k = 0; k < low_; ++k)
            for (Index s = 0; s < Index{1} << k; ++s) {
                fixed_[s + (Index{1} << k)] = fixed_[s] + fixed_by[k];
                turned_[s + (Index{1} << k)] = turned_[s] + turned_by[k];
            }
    }

    const Index* between() const { return between_.data(); }
    const Index* fixed() const { return fixed_.data(); }
    const Index* turned() const { return turned_.data(); }
    Index size() const { return size_; }

private:
    void add_term(Index t, Index block, std::array<Index, BLOCK_BITS>& fixed_by,
                  std::array<Index, BLOCK_BITS>& turned_by) {
        const Index a = change_.first[t];
        const Index b = change_.second[t];
        const Index change = change_.change[t];
        if (b == change_.slot) {
            if (a < low_) {
                fixed_by[a] += change;
                turned_by[a] -= 2 * change;
                turned_[0] += change;
            } else {
                fixed_[0] += (block >> a & 1) * change;
                turned_[0] += (1 - 2 * (block >> a & 1)) * change;
            }
        } else if (a >= low_ && b >= low_) {
            fixed_[0] += ((block >> a ^ block >> b) & 1) * change;
        } else if (a >= low_ || b >= low_) {
            const Index above = block >> std::max(a, b) & 1;
            fixed_[0] += above * change;
            fixed_by[std::min(a, b)] += (1 - 2 * above) * change;
        }
    }

    Index low_;
    Index size_;
    const Change& change_;
    std::vector<Index> between_;
    std::vector<Index> fixed_;
    std::vector<Index> turned_;
};

}  // namespace

States extended(Matrix<const std::uint64_t> key, std::span<const Index> value, bool both,
                const Change& change, Key kept, Index needed, Index most, Stop stop) {
    States next;
    Places places(next.key);
    for (Index s = 0; s < length(value); ++s) {
        if (stop.requested()) break;
        const Key before{key(s, 0), key(s, 1)};
        const Bounds bounds = bounds_after(before, value[s], change);
        for (Index choice = 0; choice < 1 + both; ++choice) {
            const Index bound = bounds.fixed + choice * bounds.turned;
            const Index count = static_cast<Index>(next.value.size());
            if (bound < needed || count > most) continue;
            const Key after = (choice ? before.with(change.slot) : before) & kept;
            const Index at = places.find_or_add(after, count);
            if (at == count) {
                next.key.push_back(after.low);
                next.key.push_back(after.high);
                next.value.push_back(bound);
                next.origin.push_back(2 * s + choice);
            } else if (bound > next.value[at]) {
                next.value[at] = bound;
                next.origin[at] = 2 * s + choice;
            }
        }
    }
    return next;
}

Index extend_table(std::span<Index> table, Index live, const Change& change, Index needed,
                   Stop stop) {
    const Index low = std::min(BLOCK_BITS, static_cast<Index>(std::countr_zero(table.size())));
    BlockChanges changes(low, change);
    const Index size = changes.size();
    const Index side = Index{1} << change.slot;
    const Index run = std::min(side, size);
    Index count = 0;
    for (Index block = 0; block < length(table); block += size) {
        if (block & ~(live | (size - 1))) continue;  // a bit that is not live: no states
        if (stop.requested()) return count;
        changes.fill(block);
        const Index* between = changes.between();
        const Index* fixed = changes.fixed();
        const Index* turned = changes.turned();
        Index* __restrict here = &table[block];
        Index* __restrict there =
            here + side;  // entries of a run and of its other side do not overlap
        for (Index begin = 0; begin < size; begin += 2 * run)
            for (Index s = begin; s < begin + run; ++s) {
                // The new bound is the old one plus the change, a sum over pairs of bits.
                const Index before = here[s];
                const bool state = before != NO_CUT;
                const Index old_bound = state ? before : 0;
                const Index same = old_bound + between[s] + fixed[s];
                const Index other = same + turned[s];
                const bool keeps = state & (same >= needed);
                const bool turns = state & (other >= needed);
                here[s] = keeps ? same : NO_CUT;
                there[s] = turns ? other : NO_CUT;
                count += Index{keeps} + Index{turns};
            }
    }
    return count;
}

void drop_slots(std::span<Index> table, Index live, Index leaving, Stop stop) {
    for (Index slot = 0; slot < 63; ++slot) {
        const Index side = Index{1} << slot;
        if (!(leaving & side)) continue;
        live &= ~side;
        for (Index begin = 0; begin < length(table); begin += 2 * side) {
            if (begin & ~(live | (side - 1))) continue;
            Index* __restrict here = &table[begin];
            Index* __restrict there = here + side;
            for (Index first = 0; first < side; first += LOOK) {
                if (stop.requested()) return;
                const Index last = std::min(first + LOOK, side);
                for (Index s = first; s < last; ++s) {
                    here[s] = std::max(here[s], there[s]);
                    there[s] = NO_CUT;
                }
            }
        }
    }
}

}  // namespace solvers::cycle_cuts
