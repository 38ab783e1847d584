// The connected components of a graph without the edges between vertices of different groups.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::local_search {

// Writes the component of every vertex, numbered by their first vertices; returns their number.
//
// Args:
//     edges: `[e, 2]`.
//     group: `[n]`, the number of the group of every vertex.
//     component: `[n]`, written.
Index fill_clusters(Matrix<const Index> edges, std::span<const Index> group,
                    std::span<Index> component);

}  // namespace solvers::local_search
