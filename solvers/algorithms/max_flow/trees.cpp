#include "solvers/algorithms/max_flow/trees.hpp"

#include <algorithm>
#include <cstdlib>

namespace solvers::max_flow {
namespace {

constexpr int SOURCE = 0;
constexpr int SINK = 1;

}  // namespace

Trees::Trees(Graph& graph, Stop stop)
    : graph_(graph), nodes_(graph.nodes.data()), arcs_(graph.arcs.data()), stop_(stop) {
    for (int side : {SOURCE, SINK}) {
        orphans_[side].assign(graph.size() + 2, NOBODY);
        for (auto& front : front_[side]) front.resize(graph.size());
    }
}

// Puts a node at a height of a tree, and into the front if it still has to look for children there.
void Trees::rise(Node node, int side, Index height) {
    const auto level = static_cast<std::int32_t>(side == SOURCE ? height : -height);
    nodes_[node].level = level;
    if (height >= growing_[side] && nodes_[node].in_front != level) {
        nodes_[node].in_front = level;
        front_[side][height & 1][front_size_[side][height & 1]++] = node;
    }
}

template <int Side>
void Trees::orphan(Node node) {
    const Index height = std::abs(nodes_[node].level);
    nodes_[node].parent = NOBODY;
    nodes_[node].next_orphan = orphans_[Side][height];
    orphans_[Side][height] = node;
    ++orphan_count_[Side];
    lowest_[Side] = std::min(lowest_[Side], height);
}

// Returns the least of `amount` and what fits between a node and its root.
template <int Side>
Index Trees::room(Index amount, Node node) const {
    while (nodes_[node].parent != ROOT) {
        const std::uint32_t up = nodes_[node].parent;
        const std::uint32_t along = Side == SINK ? up : arcs_[up].mate;
        amount = std::min(amount, arcs_[along].residual);
        node = arcs_[up].head;
    }
    return std::min(amount, Index{std::abs(nodes_[node].balance)});
}

// Moves `amount` between a node and its root; saturated arcs and empty roots leave orphans.
template <int Side>
void Trees::send(Index amount, Node node) {
    while (nodes_[node].parent != ROOT) {
        const std::uint32_t up = nodes_[node].parent;
        const std::uint32_t along = Side == SINK ? up : arcs_[up].mate;
        const Node above = arcs_[up].head;
        arcs_[along].residual -= amount;
        arcs_[arcs_[along].mate].residual += amount;
        if (arcs_[along].residual == 0) orphan<Side>(node);
        node = above;
    }
    nodes_[node].balance += Side == SINK ? amount : -amount;
    if (nodes_[node].balance == 0) orphan<Side>(node);
}

// Sends as much as fits along the path through an arc from the source tree to the sink tree.
void Trees::augment(std::uint32_t meeting) {
    const std::uint32_t mate = arcs_[meeting].mate;
    const Node tail = arcs_[mate].head;
    const Node head = arcs_[meeting].head;
    Index amount = arcs_[meeting].residual;
    amount = room<SOURCE>(amount, tail);
    amount = room<SINK>(amount, head);
    arcs_[meeting].residual -= amount;
    arcs_[mate].residual += amount;
    send<SOURCE>(amount, tail);
    send<SINK>(amount, head);
}

// Gives every orphan of a tree a parent no higher than highest - 1, or frees it.
//
// Loops: over the heights from the roots upwards, then over the orphans of a height. Invariant:
// nodes below `height` are not orphans. An orphan takes the lowest possible parent; if that makes
// it rise, its children become orphans too.
//
// Returns how many arcs the orphans have.
template <int Side>
Index Trees::adopt(Index highest) {
    constexpr Index sign = Side == SOURCE ? 1 : -1;
    Index height = lowest_[Side];
    lowest_[Side] = static_cast<Index>(orphans_[Side].size());
    Index steps = 0;
    while (orphan_count_[Side] > 0) {
        const Node node = orphans_[Side][height];
        if (node == NOBODY) {
            ++height;
            continue;
        }
        orphans_[Side][height] = nodes_[node].next_orphan;
        --orphan_count_[Side];
        const std::uint32_t start = nodes_[node].start;
        const std::uint32_t end = nodes_[node + 1].start;
        steps += end - start;
        // Looks for the lowest parent among the heads of arcs with a residual.
        Index best = highest;
        Node parent = NOBODY;
        for (std::uint32_t a = start; a < end; ++a) {
            const Index other = nodes_[arcs_[a].head].level * sign;
            const std::uint32_t along = Side == SINK ? a : arcs_[a].mate;
            if (0 < other && other < best && arcs_[along].residual > 0) {
                best = other;
                parent = a;
                if (other < height) break;
            }
        }
        nodes_[node].parent = parent;
        if (best < height) continue;
        // The node rises or leaves the tree, so its children are orphans.
        for (std::uint32_t a = start; a < end; ++a)
            if (nodes_[arcs_[a].head].parent == arcs_[a].mate) orphan<Side>(arcs_[a].head);
        if (parent == NOBODY)
            nodes_[node].level = FREE;
        else
            rise(node, Side, best + 1);
    }
    return steps;
}

// Takes children for a node of the front, and augments where it meets the other tree; returns false
// after `most_steps`.
bool Trees::scan(Node node, int side, Index first, Index last, Index most_steps, Index& steps) {
    const Index level = side == SOURCE ? growing_[side] : -growing_[side];
    if (nodes_[node].level != level) return true;  // it has risen since it was put there
    for (std::uint32_t a = nodes_[node].start; a < nodes_[node + 1].start; ++a) {
        const Node other = arcs_[a].head;
        const std::uint32_t forward =
            side == SOURCE ? a : arcs_[a].mate;  // from the source tree to the sink tree
        while (arcs_[forward].residual > 0 && nodes_[other].level * level < 0) {
            steps += std::abs(level - nodes_[other].level);
            augment(forward);
            steps += adopt<SOURCE>(growing_[SOURCE] + (side == SOURCE));
            steps += adopt<SINK>(growing_[SINK] + (side == SINK));
            if (nodes_[node].level != level || steps > most_steps) break;
        }
        if (nodes_[node].level != level || steps > most_steps) break;
        if (arcs_[forward].residual > 0 && nodes_[other].level == FREE && first <= other &&
            other < last) {
            nodes_[other].parent = arcs_[a].mate;
            rise(other, side, growing_[side] + 1);
        }
    }
    return steps <= most_steps;
}

// Makes every node with a balance a root.
void Trees::plant(Index first, Index last) {
    for (int side : {SOURCE, SINK}) {
        growing_[side] = 1;
        orphan_count_[side] = 0;
        lowest_[side] = 1;
        front_size_[side][0] = 0;
        front_size_[side][1] = 0;
    }
    for (Index i = first; i < last; ++i) {
        nodes_[i].parent = ROOT;
        nodes_[i].level = FREE;
        nodes_[i].in_front = FREE;
        if (nodes_[i].balance != 0)
            rise(static_cast<Node>(i), nodes_[i].balance < 0 ? SINK : SOURCE, 1);
    }
}

// Augments from the planted roots on, and counts the steps.
Complete Trees::grow_planted(Index first, Index last, Index most_steps, Index& steps) {
    while (true) {
        const int side =
            front_size(SINK) < front_size(SOURCE) ? SINK : SOURCE;  // the tree with less to look at
        if (front_size(side) == 0) return side == SOURCE ? Complete::source : Complete::sink;
        const Index parity = growing_[side] & 1;
        // The front may grow during the loop, since orphans rise to this height.
        for (Index scanned = 0; scanned < front_size_[side][parity]; ++scanned) {
            const Node node = front_[side][parity][scanned];
            const bool patient = scan(node, side, first, last, most_steps, steps);
            if (!patient || stop_.requested()) return Complete::unfinished;
        }
        front_size_[side][parity] = 0;
        ++growing_[side];
    }
}

Complete Trees::grow(Index first, Index last, Index most_steps) {
    plant(first, last);
    Index steps = 0;
    const Complete complete = grow_planted(first, last, most_steps, steps);
    steps_ = steps;
    return complete;
}

}  // namespace solvers::max_flow
