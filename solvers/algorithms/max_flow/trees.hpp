// Augmenting paths by two breadth-first trees that grow towards each other.
//
// The source tree holds nodes that a positive balance reaches along residual arcs, the sink tree
// nodes that reach a negative one. Where the trees meet, flow moves along the path. A node whose
// arc to its parent is saturated is an orphan: it takes another parent one level nearer to the
// roots, or else rises to the lowest level at which it has one and orphans its children, or else
// leaves the tree. Levels do not fall, so the trees stay breadth-first: there are O(n^2 e) steps.
//
// References:
//     Goldberg, Hed, Kaplan, Tarjan, Werneck (2011), Maximum flows by incremental breadth-first
//     search. Boykov, Kolmogorov (2004), An experimental comparison of min-cut/max-flow algorithms.
#pragma once

#include <vector>

#include "solvers/compiled/buffer.hpp"
#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::max_flow {

using Node = std::uint32_t;

inline constexpr Node ROOT = 0xFFFFFFFF;    // the parent of a node with a balance
inline constexpr Node NOBODY = 0xFFFFFFFE;  // no node, or no parent
inline constexpr std::int32_t FREE = 0;     // the level of a node in no tree

// Half a cache line.
struct NodeRecord {
    Index balance;
    std::uint32_t start;    // its first arc; its last one is before the start of the next node
    Node parent;            // the arc to its parent in a tree, ROOT or NOBODY
    std::int32_t level;     // height in the source tree, minus its height in the sink tree, or FREE
    std::int32_t in_front;  // the level at which it waits in a front, or FREE
    Node next_orphan;
    std::uint32_t unused;
};

struct ArcRecord {
    Index residual;
    Node head;
    std::uint32_t mate;  // the opposite arc
};

// The arcs of node i are nodes[i].start to nodes[i + 1].start, next to each other in memory.
struct Graph {
    Graph(Index n, Index edges) : nodes(n + 1), arcs(2 * edges), arc_count(2 * edges) {}

    std::vector<NodeRecord> nodes;  // [n + 1]
    Buffer<ArcRecord> arcs;         // [2 e]
    Index arc_count;

    Index size() const { return static_cast<Index>(nodes.size()) - 1; }
};

enum class Complete { source, sink, unfinished };

// The scratch of the two trees; index 0 is the source tree and 1 the sink tree.
class Trees {
public:
    Trees(Graph& graph, Stop stop);

    // Augments until one tree cannot grow, which is then one side of a minimum cut.
    //
    // Returns which tree is complete, or `unfinished` after `most_steps` along paths and over arcs
    // of orphans, or once `stop` is set; balances and residuals are consistent then, too. Only the
    // nodes first .. last - 1 take part: the others are FREE and have NOBODY as their parent.
    Complete grow(Index first, Index last, Index most_steps);

    // Returns the steps of the last call of `grow`.
    Index steps() const { return steps_; }

private:
    void plant(Index first, Index last);
    [[gnu::always_inline]] inline Complete grow_planted(Index first, Index last, Index most_steps,
                                                        Index& steps);
    [[gnu::always_inline]] inline bool scan(Node node, int side, Index first, Index last,
                                            Index most_steps, Index& steps);
    Index front_size(int side) const { return front_size_[side][growing_[side] & 1]; }
    [[gnu::always_inline]] inline void rise(Node node, int side, Index height);
    template <int Side>
    [[gnu::always_inline]] inline void orphan(Node node);
    [[gnu::always_inline]] inline void augment(std::uint32_t meeting);
    template <int Side>
    [[gnu::always_inline]] inline Index room(Index amount, Node node) const;
    template <int Side>
    [[gnu::always_inline]] inline void send(Index amount, Node node);
    template <int Side>
    [[gnu::always_inline]] inline Index adopt(Index highest);

    Graph& graph_;
    NodeRecord* nodes_;
    ArcRecord* arcs_;
    Stop stop_;
    Index steps_ = 0;
    Index growing_[2] = {1, 1};      // the height of each tree whose nodes look for children next
    std::vector<Node> front_[2][2];  // [n]: the nodes of that height and of the one above it, by
                                     // the height's parity
    Index front_size_[2][2] = {};
    std::vector<Node> orphans_[2];  // [n + 2]: the first orphan of each height, or NOBODY
    Index orphan_count_[2] = {0, 0};
    Index lowest_[2] = {1, 1};  // no orphan is lower
};

}  // namespace solvers::max_flow
