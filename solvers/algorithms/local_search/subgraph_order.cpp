#include "solvers/algorithms/local_search/subgraph_order.hpp"

#include <algorithm>
#include <numeric>

#include "solvers/compiled/graphs.hpp"

namespace solvers::local_search {
namespace {

// Neighbours that a vertex may gain by eliminations before its list moves.
constexpr Index SPARE = 4;

// Lists of neighbours that grow and shrink.
class Neighbours {
public:
    Neighbours(Index n, Matrix<const Index> edges) : starts_(n), room_(n), count_(n) {
        const NeighbourLists lists = neighbour_lists(n, edges);
        rows_.resize(lists.near.size() + SPARE * n);
        for (Index v = 0; v < n; ++v) {
            starts_[v] = lists.starts[v] + SPARE * v;
            count_[v] = lists.starts[v + 1] - lists.starts[v];
            room_[v] = count_[v] + SPARE;
            std::copy_n(lists.near.data() + lists.starts[v], count_[v], rows_.data() + starts_[v]);
        }
    }

    Index count(Index v) const { return count_[v]; }
    std::vector<Index> of(Index v) const {
        return {rows_.begin() + starts_[v], rows_.begin() + starts_[v] + count_[v]};
    }
    bool contains(Index v, Index neighbour) const { return position(v, neighbour) >= 0; }

    void erase(Index v, Index neighbour) {
        rows_[position(v, neighbour)] = rows_[starts_[v] + count_[v] - 1];
        --count_[v];
    }

    void insert(Index v, Index neighbour) {
        if (count_[v] == room_[v]) move_to_end(v);
        rows_[starts_[v] + count_[v]++] = neighbour;
    }

private:
    Index position(Index v, Index neighbour) const {
        for (Index k = starts_[v]; k < starts_[v] + count_[v]; ++k)
            if (rows_[k] == neighbour) return k;
        return -1;
    }

    void move_to_end(Index v) {
        const Index end = static_cast<Index>(rows_.size());
        room_[v] *= 2;
        rows_.resize(rows_.size() + room_[v]);
        std::copy_n(rows_.begin() + starts_[v], count_[v], rows_.begin() + end);
        starts_[v] = end;
    }

    std::vector<Index> rows_;
    std::vector<Index> starts_;  // [n]
    std::vector<Index> room_;    // [n]
    std::vector<Index> count_;   // [n]
};

// The vertices sorted by degree: those of degree d are by_degree[first[d] .. first[d + 1]).
class Buckets {
public:
    explicit Buckets(std::vector<Index> degree)
        : degree_(std::move(degree)),
          by_degree_(degree_.size()),
          place_(degree_.size()),
          first_(degree_.size() + 2) {
        for (Index degree_of_vertex : degree_) ++first_[degree_of_vertex + 1];
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::vector<Index> end = first_;
        for (Index v = 0; v < static_cast<Index>(degree_.size()); ++v) {
            place_[v] = end[degree_[v]]++;
            by_degree_[place_[v]] = v;
        }
    }

    Index size(Index degree) const { return first_[degree + 1] - first_[degree]; }
    Index vertex(Index degree, Index k) const { return by_degree_[first_[degree] + k]; }
    Index degree(Index v) const { return degree_[v]; }

    // Removes a neighbour: v changes places with the first of its bucket, which then starts behind
    // it.
    void sink(Index v) {
        swap_to(v, first_[degree_[v]]);
        ++first_[degree_[v]];
        --degree_[v];
    }

    // Adds a neighbour: v changes places with the last of its bucket, and the next bucket starts
    // with it.
    void rise(Index v) {
        ++degree_[v];
        --first_[degree_[v]];
        swap_to(v, first_[degree_[v]]);
    }

    // Puts v below all buckets in use.
    void remove(Index v) {
        while (degree_[v] >= 0) sink(v);
    }

private:
    void swap_to(Index v, Index to) {
        const Index other = by_degree_[to];
        const Index at = place_[v];
        by_degree_[at] = other;
        by_degree_[to] = v;
        place_[other] = at;
        place_[v] = to;
    }

    std::vector<Index> degree_;
    std::vector<Index> by_degree_;
    std::vector<Index> place_;
    std::vector<Index> first_;
};

std::vector<Index> degrees_of(const Neighbours& neighbours, Index n) {
    std::vector<Index> degree(n);
    for (Index v = 0; v < n; ++v) degree[v] = neighbours.count(v);
    return degree;
}

}  // namespace

std::vector<Index> subgraph_order(Index n, Matrix<const Index> edges, Index width, Random& random) {
    Neighbours neighbours(n, edges);
    Buckets buckets(degrees_of(neighbours, n));
    std::vector<Index> order;
    Index most = n - 1;  // no vertex has a greater degree
    for (Index step = 0; step < n; ++step) {
        Index least = 0;
        while (buckets.size(least) == 0) ++least;
        while (buckets.size(most) == 0) --most;
        const Index degree = least <= width ? least : most;
        const Index v = buckets.vertex(degree, below(buckets.size(degree), random.bits()));
        const std::vector<Index> near = neighbours.of(v);
        for (Index u : near) {
            neighbours.erase(u, v);
            buckets.sink(u);
        }
        buckets.remove(v);
        if (degree > width) continue;
        order.push_back(v);
        for (Index u : near)
            for (Index w : near) {
                if (u == w || neighbours.contains(u, w)) continue;
                neighbours.insert(u, w);
                buckets.rise(u);
                most = std::max(most, buckets.degree(u));
            }
    }
    return order;
}

}  // namespace solvers::local_search
