#include "solvers/algorithms/cycle_cuts/sides.hpp"

#include <algorithm>
#include <numeric>

namespace solvers::cycle_cuts {
namespace {

// Returns which edges Kruskal's algorithm takes in this order.
std::vector<char> chosen_edges(const Graph& graph, std::span<const Index> order) {
    std::vector<Index> root(graph.vertices());
    std::iota(root.begin(), root.end(), Index{0});
    const auto find = [&root](Index v) {
        while (root[v] != v) {
            root[v] = root[root[v]];
            v = root[v];
        }
        return v;
    };
    std::vector<char> chosen(graph.edges());
    for (Index e : order) {
        const Index a = find(graph.ends(e, 0));
        const Index b = find(graph.ends(e, 1));
        if (a == b) continue;
        root[a] = b;
        chosen[e] = true;
    }
    return chosen;
}

// Union-find over vertices, each with its side relative to its parent, 0 at roots.
class Sides {
public:
    explicit Sides(Index vertices) : root_(vertices), side_(vertices) {
        std::iota(root_.begin(), root_.end(), Index{0});
    }

    // Returns the root of v, which becomes its parent.
    Index find(Index v) {
        Index top = v;
        int seen = 0;
        while (root_[top] != top) {
            seen ^= side_[top];
            top = root_[top];
        }
        while (root_[v] != v) {
            const Index above = root_[v];
            const int across = side_[v];
            root_[v] = top;
            side_[v] = static_cast<std::int8_t>(seen);
            seen ^= across;
            v = above;
        }
        return top;
    }

    // Returns whether two vertices below one root, after `find`, are on different sides.
    int different(Index a, Index b) const { return side_[a] ^ side_[b]; }

    void join(Index root, Index below, int different) {
        root_[root] = below;
        side_[root] = static_cast<std::int8_t>(different);
    }

private:
    std::vector<Index> root_;
    std::vector<std::int8_t> side_;
};

}  // namespace

Forest spanning_forest(const Graph& graph, std::span<const Index> order) {
    const std::vector<char> chosen = chosen_edges(graph, order);
    const Index n = graph.vertices();
    Forest forest{std::vector<Index>(n, -1), std::vector<Index>(n, -1), std::vector<Index>(n, -1)};
    std::vector<Index> queue(n);
    for (Index root = 0; root < n; ++root) {
        if (forest.depth[root] >= 0) continue;
        forest.depth[root] = 0;
        queue[0] = root;
        Index tail = 1;
        for (Index head = 0; head < tail; ++head) {
            const Index v = queue[head];
            for (Index k = graph.starts[v]; k < graph.starts[v + 1]; ++k) {
                const Index u = graph.near[k];
                if (!chosen[graph.edge[k]] || forest.depth[u] >= 0) continue;
                forest.parent[u] = v;
                forest.link[u] = graph.edge[k];
                forest.depth[u] = forest.depth[v] + 1;
                queue[tail++] = u;
            }
        }
    }
    return forest;
}

std::vector<std::int8_t> sides_of(const Forest& forest, std::span<const double> x) {
    std::vector<Index> order(forest.depth.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, {}, [&forest](Index v) { return forest.depth[v]; });
    std::vector<std::int8_t> side(order.size());
    for (Index v : order)
        if (forest.link[v] >= 0)
            side[v] = static_cast<std::int8_t>(side[forest.parent[v]] ^ (x[forest.link[v]] > 0.5));
    return side;
}

bool propagate(Index vertices, Matrix<const Index> ends, std::span<std::int8_t> fixed) {
    Sides sides(vertices);
    for (Index e = 0; e < length(fixed); ++e) {
        if (fixed[e] == FREE) continue;
        const Index a = sides.find(ends(e, 0));
        const Index b = sides.find(ends(e, 1));
        const int different = sides.different(ends(e, 0), ends(e, 1)) ^ fixed[e];
        if (a != b)
            sides.join(a, b, different);
        else if (different)
            return false;
    }
    for (Index e = 0; e < length(fixed); ++e)
        if (fixed[e] == FREE && sides.find(ends(e, 0)) == sides.find(ends(e, 1)))
            fixed[e] = static_cast<std::int8_t>(sides.different(ends(e, 0), ends(e, 1)));
    return true;
}

}  // namespace solvers::cycle_cuts
