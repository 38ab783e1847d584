#include "solvers/algorithms/local_search/contraction.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace solvers::local_search {
namespace {

// Returns the root of i (union-find) and halves the path on the way.
Index root_of(std::vector<Index>& parent, Index i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

}  // namespace

Index fill_clusters(Matrix<const Index> edges, std::span<const Index> group,
                    std::span<Index> component) {
    std::vector<Index> parent(group.size());
    std::iota(parent.begin(), parent.end(), Index{0});
    for (Index e = 0; e < edges.rows; ++e) {
        if (group[edges(e, 0)] != group[edges(e, 1)]) continue;
        const Index i = root_of(parent, edges(e, 0));
        const Index j = root_of(parent, edges(e, 1));
        parent[std::max(i, j)] = std::min(i, j);
    }
    // A parent comes before its children, so it already has its number.
    Index count = 0;
    for (Index i = 0; i < length(group); ++i)
        component[i] = parent[i] == i ? count++ : component[parent[i]];
    return count;
}

}  // namespace solvers::local_search
