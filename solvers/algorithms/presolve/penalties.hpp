// Groups of variables of which some best state has at most one at 1, read from penalties on pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solvers/compiled/views.hpp"

namespace solvers::presolve {

// An instance in whole units.
struct WholeScores {
    Index n;
    Matrix<const Index> edges;       // [e, 2], distinct pairs
    std::span<const Index> unary;    // [n]
    std::span<const Index> weights;  // [e]
};

struct GroupLimits {
    Index rounded;      // units by which a sum may be wrong
    Index least_pairs;  // fewer excluded pairs end the search
    Index rounds;       // maximum number of searches for pairs
    Index most_groups;  // pairs beyond these groups stay penalties
};

// Group g has the members variable[starts[g] .. starts[g + 1]).
struct Groups {
    std::vector<Index> starts{0};
    std::vector<Index> variable;

    Index count() const { return length(std::span(starts)) - 1; }
    std::span<const Index> members(Index group) const {
        return std::span(variable).subspan(starts[group], starts[group + 1] - starts[group]);
    }
};

// Groups bound the gains of a variable, and smaller gains exclude more pairs, so a few rounds
// alternate.
Groups exclusive_groups(const WholeScores& scores, const GroupLimits& limits);

// Returns for each edge whether some best state has no such pair at 1, all edges at once.
std::vector<std::uint8_t> excluded_pairs(const WholeScores& scores);

}  // namespace solvers::presolve
