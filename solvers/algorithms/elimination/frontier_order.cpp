#include "solvers/algorithms/elimination/frontier_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

namespace solvers::elimination {
namespace {

constexpr double TOO_COSTLY = std::numeric_limits<double>::infinity();

// Searches breadth first from the vertices in `queue`, in layer 0; the others' layer is still -1.
void spread_layers(const Neighbours& graph, Index hub, std::vector<Index> queue,
                   std::span<Index> layer) {
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const Index v = queue[head];
        for (Index u : graph.of(v)) {
            if (layer[u] >= 0 || u == hub) continue;
            layer[u] = layer[v] + 1;
            queue.push_back(u);
        }
    }
}

// The vertices that are not taken, level by level. Within a level, those with a neighbour in the
// frontier come first: only they are looked at.
class Waiting {
public:
    explicit Waiting(std::span<const Index> level)
        : vertices_(level.size()), place_(level.size()), group_(level.size()) {
        std::iota(vertices_.begin(), vertices_.end(), 0);
        std::ranges::stable_sort(vertices_, {}, [&](Index v) { return level[v]; });
        for (Index k = 0; k < length(level); ++k) {
            const Index v = vertices_[k];
            if (k == 0 || level[v] != level[vertices_[k - 1]]) groups_.push_back({k, k, k});
            ++groups_.back().end;
            place_[v] = k;
            group_[v] = static_cast<Index>(groups_.size()) - 1;
        }
    }

    // Returns those of the lowest level with a neighbour in the frontier, or any one without such.
    std::span<const Index> candidates() {
        while (groups_[lowest_].first == groups_[lowest_].end) ++lowest_;
        const Group& group = groups_[lowest_];
        const Index end = std::max(group.joined, group.first + 1);
        return std::span<const Index>(vertices_).subspan(group.first, end - group.first);
    }

    // Notes that v has a neighbour in the frontier now.
    void join(Index v) { swap(place_[v], groups_[group_[v]].joined++); }

    void take(Index v) {
        Group& group = groups_[group_[v]];
        if (place_[v] >= group.joined) join(v);
        swap(place_[v], group.first++);
    }

private:
    struct Group {
        Index first;
        Index joined;  // end of those with a neighbour in the frontier
        Index end;
    };

    void swap(Index a, Index b) {
        std::swap(vertices_[a], vertices_[b]);
        place_[vertices_[a]] = a;
        place_[vertices_[b]] = b;
    }

    std::vector<Index> vertices_;
    std::vector<Index> place_;  // of each vertex in `vertices_`
    std::vector<Index> group_;  // of each vertex
    std::vector<Group> groups_;
    Index lowest_ = 0;
};

// Invariant: untaken[v] counts the neighbours of v that are not taken; the frontier is the set of
// taken vertices where it is positive, and `width` is their number.
class Sweep {
public:
    Sweep(const Neighbours& graph, std::span<const Index> level)
        : graph_(graph),
          waiting_(level),
          untaken_(graph.size()),
          age_(graph.size(), graph.size()),
          taken_(graph.size(), 0) {
        for (Index v = 0; v < graph.size(); ++v) untaken_[v] = length(graph.of(v));
    }

    // The vertex that adds least to the frontier, then the one with the oldest neighbour, then the
    // first.
    Index best() {
        std::tuple<Index, Index, Index> least{graph_.size() + 2, graph_.size() + 1, -1};
        for (Index v : waiting_.candidates())
            least = std::min(least, std::tuple(growth(v), age_[v], v));
        return std::get<2>(least);
    }

    // Takes a vertex as the count-th one, and returns the size of the frontier.
    Index take(Index v, Index count, Index hub) {
        taken_[v] = 1;
        waiting_.take(v);
        width_ += untaken_[v] > 0;
        for (Index u : graph_.of(v)) {
            --untaken_[u];
            if (taken_[u]) {
                width_ -= untaken_[u] == 0;
            } else if (v != hub && age_[u] == graph_.size()) {
                age_[u] = count;
                waiting_.join(u);
            }
        }
        return width_;
    }

private:
    Index growth(Index v) const {
        Index growth = untaken_[v] ? 1 : 0;
        for (Index u : graph_.of(v)) growth -= taken_[u] && untaken_[u] == 1;
        return growth;
    }

    const Neighbours& graph_;
    Waiting waiting_;
    std::vector<Index> untaken_;
    std::vector<Index> age_;  // when the first neighbour was taken; n for none
    std::vector<std::uint8_t> taken_;
    Index width_ = 0;
};

}  // namespace

void fill_distances(const Neighbours& graph, Index from, Index hub, std::span<Index> distance) {
    std::ranges::fill(distance, Index{-1});
    distance[from] = 0;
    spread_layers(graph, hub, {from}, distance);
}

void fill_layers(const Neighbours& graph, std::span<const Index> distance, Index hub,
                 std::span<Index> layer) {
    const Index farthest = *std::ranges::max_element(distance);
    std::vector<Index> ends;
    for (Index v = 0; v < graph.size(); ++v) {
        const bool end = distance[v] == farthest;
        layer[v] = end ? 0 : -1;
        if (end) ends.push_back(v);
    }
    spread_layers(graph, hub, std::move(ends), layer);
}

double sweep(const Neighbours& graph, std::span<const Index> level, const Beginning& beginning,
             double most, std::span<Index> order) {
    const auto [start, hub] = beginning;
    Sweep state(graph, level);
    double total = 0.0;
    for (Index count = 0; count < graph.size(); ++count) {
        Index next;
        if (hub >= 0 && count == 0)
            next = hub;
        else if (count == (hub >= 0 ? 1 : 0) && start != hub)
            next = start;
        else
            next = state.best();
        order[count] = next;
        total += std::ldexp(1.0, static_cast<int>(state.take(next, count, hub)));
        if (total >= most) return TOO_COSTLY;
    }
    return total;
}

}  // namespace solvers::elimination
