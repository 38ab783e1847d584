// Sets of variables as bits, one row of words for each set.
#pragma once

#include <bit>
#include <vector>

#include "solvers/compiled/views.hpp"

namespace solvers::clique_cover {

using Word = std::uint64_t;
constexpr Index WORD_BITS = 64;

inline void insert(std::span<Word> set, Index v) {
    set[v / WORD_BITS] |= Word{1} << (v % WORD_BITS);
}
inline void erase(std::span<Word> set, Index v) {
    set[v / WORD_BITS] &= ~(Word{1} << (v % WORD_BITS));
}
inline bool contains(std::span<const Word> set, Index v) {
    return (set[v / WORD_BITS] >> (v % WORD_BITS) & 1) != 0;
}

// Calls `visit` with every member of a set in rising order; members may leave the set meanwhile.
template <class Visit>
void for_each(std::span<const Word> set, Visit visit) {
    for (Index place = 0; place < length(set); ++place)
        for (Word word = set[place]; word != 0; word &= word - 1)
            visit(place * WORD_BITS + std::countr_zero(word));
}

// Several sets of the same variables.
class BitRows {
public:
    BitRows() = default;
    BitRows(Index rows, Index variables)
        : words_((variables + WORD_BITS - 1) / WORD_BITS), bits_(rows * words_) {}

    Index words() const { return words_; }
    std::span<Word> operator[](Index row) {
        return {bits_.data() + row * words_, static_cast<std::size_t>(words_)};
    }
    std::span<const Word> operator[](Index row) const {
        return {bits_.data() + row * words_, static_cast<std::size_t>(words_)};
    }
    // Keeps the first rows.
    void resize(Index rows) { bits_.resize(rows * words_); }

private:
    Index words_ = 0;
    std::vector<Word> bits_;
};

}  // namespace solvers::clique_cover
