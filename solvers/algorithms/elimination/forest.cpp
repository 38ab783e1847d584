#include "solvers/algorithms/elimination/forest.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "solvers/compiled/graphs.hpp"

namespace solvers::elimination {
namespace {

// Lists of children, ascending, stored one after the other.
struct Children {
    std::vector<Index> starts;  // [n + 1]
    std::vector<Index> all;

    std::span<const Index> of(Index v) const {
        return {all.data() + starts[v], all.data() + starts[v + 1]};
    }
};

Children children_of(std::span<const Index> parent) {
    const Index n = length(parent);
    Children children{std::vector<Index>(n + 1), {}};
    for (Index p : parent)
        if (p >= 0) ++children.starts[p + 1];
    std::partial_sum(children.starts.begin(), children.starts.end(), children.starts.begin());
    children.all.resize(children.starts[n]);
    std::vector<Index> end(children.starts.begin(), children.starts.end() - 1);
    for (Index v = 0; v < n; ++v)
        if (parent[v] >= 0) children.all[end[parent[v]]++] = v;
    return children;
}

}  // namespace

// Invariant: seen[u] is the latest v whose separator contains u, so that no separator lists u
// twice.
Separators separators_of(Index n, Matrix<const Index> edges) {
    const NeighbourLists lists = neighbour_lists(n, edges);
    Separators result{std::vector<Index>(n + 1), {}, std::vector<Index>(n, -1)};
    result.variables.reserve(2 * edges.rows + n);
    std::vector<Index> seen(n, -1);
    std::vector<Index> child(n, -1);    // the latest child of each variable,
    std::vector<Index> sibling(n, -1);  // and the one before each child
    for (Index v = 0; v < n; ++v) {
        const auto take = [&](Index u) {
            if (seen[u] >= v) return;
            seen[u] = v;
            result.variables.push_back(u);
        };
        seen[v] = v;
        for (Index k = lists.starts[v]; k < lists.starts[v + 1]; ++k)
            if (lists.near[k] > v) take(lists.near[k]);
        for (Index c = child[v]; c >= 0; c = sibling[c])
            for (Index k = result.starts[c]; k < result.starts[c + 1]; ++k)
                take(result.variables[k]);
        const Index end = static_cast<Index>(result.variables.size());
        result.starts[v + 1] = end;
        if (end == result.starts[v]) continue;
        std::sort(result.variables.begin() + result.starts[v], result.variables.end(),
                  std::greater<>());
        const Index parent = result.variables.back();
        result.parent[v] = parent;
        sibling[v] = child[parent];
        child[parent] = v;
    }
    return result;
}

// The order is filled from the back, parents first, with a stack, since trees are deeper than any
// recursion allows.
std::vector<Index> children_first(const Separators& separators) {
    const Index n = static_cast<Index>(separators.parent.size());
    const Children children = children_of(separators.parent);
    std::vector<Index> sequence(n);
    std::vector<Index> stack(n);
    Index top = 0;
    for (Index v = 0; v < n; ++v)
        if (separators.parent[v] < 0) stack[top++] = v;
    for (Index step = n - 1; step >= 0; --step) {
        const Index v = stack[--top];
        sequence[step] = v;
        const Index here = top;
        for (Index c : children.of(v)) {
            Index place = top++;
            for (; place > here && separators.size(stack[place - 1]) < separators.size(c); --place)
                stack[place] = stack[place - 1];
            stack[place] = c;
        }
    }
    return sequence;
}

}  // namespace solvers::elimination
