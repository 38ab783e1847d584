#include "solvers/algorithms/max_flow/sparse.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "solvers/algorithms/max_flow/dense.hpp"
#include "solvers/algorithms/max_flow/lane_pushes.hpp"
#include "solvers/algorithms/max_flow/trees.hpp"

namespace solvers::max_flow {
namespace {

// Largest number of nodes whose arcs fit the cache; in blocks first, larger graphs took 5 to 25%
// less.
constexpr Index BLOCK = 16384;

// The trees give up after so many steps per node and arc, a third of the time of the rounds.
//
// Grids and random graphs of noise need 1 to 8; grids with long flow paths, or a star, need 32 to
// 1024.
constexpr Index STEPS = 4;

// Number of instances from which on lanes pay, even if some stay empty.
constexpr Index LANES_WORTH = 4;

// Steps of the trees per node from which on an instance is hard. On 20x20 grids, lanes took as long
// as the trees at about this number.
constexpr Index HARD_STEPS = 2;

// Largest number of arcs whose residuals in lanes, 64 bytes each, stay in the cache.
constexpr Index LANE_ARCS = 1 << 15;

class Cut {
public:
    Cut(Index n, Matrix<const Index> edges, Stop stop)
        : graph_(n, edges.rows),
          edge_(2 * edges.rows),
          order_(n),
          trees_(graph_, stop),
          stop_(stop) {
        connect(edges);
    }

    // Solves the instances one by one until one is hard, and from there on in groups, as long as
    // these have much to push.
    void solve(Matrix<const Index> unary, Matrix<const Index> pairwise, Matrix<std::int8_t> z,
               std::span<Index> doubled) {
        const bool fits = graph_.arc_count <= LANE_ARCS;
        const bool grouped = fits && LanePushes::FAST && unary.rows >= LANES_WORTH;
        std::optional<LanePushes> lanes;
        bool hard = false;
        for (Index b = 0; b < unary.rows;) {
            if (grouped && hard && unary.rows - b >= LANES_WORTH) {
                if (!lanes) lanes.emplace(graph_, std::span(edge_.data(), graph_.arc_count));
                hard = lanes->push(unary, pairwise, b);
                lanes->settle(b, z, doubled);
                const Index count = std::min(unary.rows - b, LanePushes::WIDTH);
                for (Index lane = 0; lane < count; ++lane, ++b) {
                    if (lanes->is_settled(lane)) continue;
                    lanes->unload(lane, graph_);
                    finish(z[b], doubled[b], true);
                }
            } else {
                load(unary[b], pairwise[b]);
                push_to_neighbours();
                std::ranges::fill(z[b], std::int8_t{0});
                doubled[b] = 0;
                finish(z[b], doubled[b], false);
                hard = trees_.steps() > HARD_STEPS * graph_.size();
                ++b;
            }
        }
    }

private:
    // Pushes the rest of the excess of the loaded instance, and adds the rest of the cut.
    //
    // The source side of the result is the least or the greatest of all minimum cuts, which roof
    // duality relies on. If lanes have settled some nodes, it must be the greatest, as theirs is:
    // all nodes from which no deficit can be reached.
    void finish(std::span<std::int8_t> z, Index& doubled, bool greatest) {
        const Index n = graph_.size();
        if (n > BLOCK) solve_blocks();
        const Complete complete = trees_.grow(0, n, STEPS * (n + graph_.arc_count));
        bool by_distance = false;
        if (complete == Complete::unfinished) {
            push_in_rounds();
            by_distance = true;
        } else if (complete == Complete::source && greatest) {
            forget_levels();
            find_distances();
            by_distance = true;
        }
        const NodeRecord* nodes = graph_.nodes.data();
        Index excess = 0;
        for (Index i = 0; i < n; ++i) {
            excess += std::max(nodes[i].balance, Index{0});
            const std::int32_t level = nodes[i].level;
            const bool by_trees = level > 0 || (complete == Complete::sink && level == FREE);
            const bool on_source_side = by_distance ? level == UNREACHED : by_trees;
            z[i] |= static_cast<std::int8_t>(on_source_side);
        }
        doubled += excess;
    }

    // Sets the arcs of the graph, where those of each node start, and the edge of each arc.
    void connect(Matrix<const Index> edges) {
        const Index n = graph_.size();
        std::vector<std::uint32_t> free(n + 1);
        for (Index k = 0; k < edges.rows; ++k) {
            ++free[edges(k, 0) + 1];
            ++free[edges(k, 1) + 1];
        }
        for (Index i = 0; i < n; ++i) free[i + 1] += free[i];
        for (Index i = 0; i <= n; ++i) graph_.nodes[i].start = free[i];
        for (Index k = 0; k < edges.rows; ++k) {
            const Index i = edges(k, 0);
            const Index j = edges(k, 1);
            const std::uint32_t there = free[i]++;
            const std::uint32_t back = free[j]++;
            graph_.arcs[there].head = static_cast<Node>(j);
            graph_.arcs[back].head = static_cast<Node>(i);
            graph_.arcs[there].mate = back;
            graph_.arcs[back].mate = there;
            edge_[there] = edge_[back] = static_cast<std::uint32_t>(k);
        }
    }

    // Sets the balances and residual capacities of no flow.
    void load(std::span<const Index> unary, std::span<const Index> pairwise) {
        NodeRecord* nodes = graph_.nodes.data();
        ArcRecord* arcs = graph_.arcs.data();
        for (Index i = 0; i < graph_.size(); ++i) {
            Index total = 2 * unary[i];
            for (std::uint32_t a = nodes[i].start; a < nodes[i + 1].start; ++a) {
                arcs[a].residual = pairwise[edge_[a]];
                total += arcs[a].residual;
            }
            nodes[i].balance = total;
            nodes[i].level = FREE;
            nodes[i].parent = NOBODY;
        }
    }

    // Sends as much excess as fits along single arcs to deficits.
    void push_to_neighbours() {
        NodeRecord* nodes = graph_.nodes.data();
        ArcRecord* arcs = graph_.arcs.data();
        for (Index i = 0; i < graph_.size(); ++i) {
            Index excess = nodes[i].balance;
            if (excess <= 0) continue;
            for (std::uint32_t a = nodes[i].start; a < nodes[i + 1].start; ++a) {
                NodeRecord& head = nodes[arcs[a].head];
                if (head.balance >= 0) continue;
                const Index amount = std::min(std::min(arcs[a].residual, -head.balance), excess);
                arcs[a].residual -= amount;
                arcs[arcs[a].mate].residual += amount;
                head.balance += amount;
                excess -= amount;
            }
            nodes[i].balance = excess;
        }
    }

    // Moves what it can within each block of nodes.
    void solve_blocks() {
        NodeRecord* nodes = graph_.nodes.data();
        const Index n = graph_.size();
        for (Index first = 0; first < n; first += BLOCK) {
            const Index last = std::min(first + BLOCK, n);
            const Index size = last - first + nodes[last].start - nodes[first].start;
            trees_.grow(first, last, STEPS * size);
            for (Index i = first; i < last; ++i) {
                nodes[i].level = FREE;
                nodes[i].parent = NOBODY;
            }
        }
    }

    // Sets the distances, in arcs to the nearest deficit, and the nodes by distance; returns how
    // many nodes have one.
    //
    // Nodes that were cut off stay so, as distances do not fall.
    Index find_distances() {
        NodeRecord* nodes = graph_.nodes.data();
        const ArcRecord* arcs = graph_.arcs.data();
        const auto n = static_cast<std::int32_t>(graph_.size());
        Index reached = 0;
        for (Node i = 0; i < static_cast<Node>(n); ++i) {
            if (nodes[i].balance < 0) {
                nodes[i].level = 0;
                order_[reached++] = i;
            } else if (nodes[i].level != UNREACHED) {
                nodes[i].level = n;
            }
        }
        for (Index first = 0; first < reached; ++first) {
            const Node i = order_[first];
            for (std::uint32_t a = nodes[i].start; a < nodes[i + 1].start; ++a) {
                const Node j = arcs[a].head;
                if (nodes[j].level == n && arcs[arcs[a].mate].residual > 0) {
                    nodes[j].level = nodes[i].level + 1;
                    order_[reached++] = j;
                }
            }
        }
        for (Index i = 0; i < n; ++i)
            if (nodes[i].level == n) nodes[i].level = UNREACHED;
        return reached;
    }

    void forget_levels() {
        for (Index i = 0; i < graph_.size(); ++i) graph_.nodes[i].level = 0;
    }

    // Pushes excess until none can reach a deficit; the nodes without distance are then the source
    // side.
    //
    // Works round by round as in one_word.cpp: from the farthest nodes on, along all shortest paths
    // at once.
    void push_in_rounds() {
        forget_levels();
        bool active = true;
        while (active && !stop_.requested()) {
            active = false;
            const Index reached = find_distances();
            for (Index place = reached - 1; place >= 0; --place) {
                NodeRecord& node = graph_.nodes[order_[place]];
                if (node.level == 0) break;
                if (node.balance == 0) continue;
                active = true;
                push_down(order_[place]);
            }
        }
    }

    // Pushes the excess of a node to neighbours one arc nearer to a deficit.
    void push_down(Node tail) {
        NodeRecord* nodes = graph_.nodes.data();
        ArcRecord* arcs = graph_.arcs.data();
        Index excess = nodes[tail].balance;
        for (std::uint32_t a = nodes[tail].start; a < nodes[tail + 1].start; ++a) {
            NodeRecord& head = nodes[arcs[a].head];
            if (head.level != nodes[tail].level - 1 || arcs[a].residual <= 0) continue;
            Index amount = std::min(arcs[a].residual, excess);
            if (head.level == 0) amount = std::min(amount, -head.balance);
            arcs[a].residual -= amount;
            arcs[arcs[a].mate].residual += amount;
            head.balance += amount;
            excess -= amount;
            if (excess == 0) break;
        }
        nodes[tail].balance = excess;
    }

    Graph graph_;
    Buffer<std::uint32_t> edge_;  // [2 e]
    Buffer<Node> order_;          // [n]: nodes by distance
    Trees trees_;
    Stop stop_;
};

}  // namespace

void cut_sparse(Matrix<const Index> edges, Stop stop, Matrix<const Index> unary,
                Matrix<const Index> pairwise, Matrix<std::int8_t> z, std::span<Index> doubled) {
    Cut(unary.columns, edges, stop).solve(unary, pairwise, z, doubled);
}

}  // namespace solvers::max_flow
