// The best states of a search, in order; `best.py` makes the arrays.
#pragma once

#include <algorithm>

#include "solvers/compiled/views.hpp"

namespace solvers {

// Distinct states. A search may skip states that do not beat the last one.
template <class Score>
struct Best {
    std::span<Score> scores;     // [count] falling, exact
    std::span<Index> places;     // [count] rows of `states`
    Matrix<std::int8_t> states;  // [count, n]

    Score worst_score() const { return scores.back(); }

    // Inserts a state z `[n]` behind states of equal score, and drops the last one.
    //
    // Returns false, and changes nothing, if z is not better than the last state or is already
    // there.
    bool take(Score score, std::span<const std::int8_t> z) const {
        const Index last = length(scores) - 1;
        if (!(score > scores[last])) return false;
        Index place = last;
        while (place > 0 && scores[place - 1] < score) --place;
        for (Index same = place - 1; same >= 0 && scores[same] == score; --same)
            if (std::ranges::equal(states[places[same]], z)) return false;
        const Index row = places[last];
        for (Index j = last; j > place; --j) {
            scores[j] = scores[j - 1];
            places[j] = places[j - 1];
        }
        std::ranges::copy(z, states[row].begin());
        scores[place] = score;
        places[place] = row;
        return true;
    }
};

}  // namespace solvers
