// Max-sum on forests, with the number of ones in a group as one more dimension of the tables;
// counted.py explains it.
#pragma once

#include <optional>
#include <vector>

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

// A graph without cycles, children first.
struct Forest {
    std::vector<Index> order;   // [n], each variable after its children
    std::vector<Index> parent;  // [n], of each variable; -1 for a root
    std::vector<Index> edge;    // [n], to the parent; -1 for a root
    Index edges;

    Index size() const { return static_cast<Index>(order.size()); }
};

// Returns the forest of a graph; nothing if it has a cycle.
std::optional<Forest> forest_of(Index n, Matrix<const Index> edges);

// The layout of the tables of a forest and a group, one after the other.
class CountTables {
public:
    // `group [n]` is 1 for its variables and 0 for the others; counts are at most `most`, which is
    // not negative.
    CountTables(const Forest& forest, std::span<const std::int8_t> group, Index most);

    Index most;
    std::vector<Index> group;   // [n]
    std::vector<Index> sizes;   // [n], the largest count of each subtree that matters
    std::vector<Index> starts;  // [n + 1]: two rows of sizes + 1 entries for each variable
    // [n + 1]: of each variable the child's count, for two rows of the counts of its parent and of
    // those merged before it.
    std::vector<Index> splits;
    // [n], the largest count of the parent once a variable is merged into it; of a root, of all
    // roots.
    std::vector<Index> merged;
    Index work;  // splits that are tried in all

    Index bytes() const {  // of an instance
        return static_cast<Index>(sizeof(double)) * starts.back() +
               static_cast<Index>(sizeof(std::int32_t)) * splits.back();
    }
};

struct CountRange {
    Index low;
    Index high;
};

// Writes the best states `[batch, n]` under the bounds on the count; leaves the states of
// infeasible instances unchanged.
//
// Args:
//     tables: of this forest, for counts up to range.high.
//     values: `[n]`: 0 or 1 for fixed variables, -1 for the others.
//     stop: where it asks to end, the remaining instances keep their states.
//     complete: `[batch]`, whether the tables of an instance were filled.
void counted_max_sum(const Forest& forest, const CountTables& tables, const CountRange& range,
                     std::span<const std::int8_t> values, Stop stop, Matrix<const double> unary,
                     Matrix<const double> pairwise, Matrix<std::int8_t> z,
                     std::span<bool> complete);

}  // namespace solvers::elimination
