// Lists of neighbours.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "solvers/compiled/views.hpp"

namespace solvers {

// The neighbours of vertex v are near[starts[v] .. starts[v + 1]), and which[...] are the edges to
// them.
struct NeighbourLists {
    std::vector<Index> starts;  // [n + 1]
    std::vector<Index> near;    // [2 e]
    std::vector<Index> which;   // [2 e]
};

// Writes the lists of the distinct pairs `edges [e, 2]` over n vertices, in the order of the edges.
inline void fill_neighbour_lists(Index n, Matrix<const Index> edges, std::span<Index> starts,
                                 std::span<Index> near, std::span<Index> which) {
    std::ranges::fill(starts, Index{0});
    for (Index e = 0; e < edges.rows; ++e) {
        ++starts[edges(e, 0) + 1];
        ++starts[edges(e, 1) + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<Index> end(starts.begin(), starts.begin() + n);
    for (Index e = 0; e < edges.rows; ++e)
        for (int side = 0; side < 2; ++side) {
            const Index place = end[edges(e, side)]++;
            near[place] = edges(e, 1 - side);
            which[place] = e;
        }
}

inline NeighbourLists neighbour_lists(Index n, Matrix<const Index> edges) {
    NeighbourLists lists{std::vector<Index>(n + 1), std::vector<Index>(2 * edges.rows),
                         std::vector<Index>(2 * edges.rows)};
    fill_neighbour_lists(n, edges, lists.starts, lists.near, lists.which);
    return lists;
}

}  // namespace solvers
