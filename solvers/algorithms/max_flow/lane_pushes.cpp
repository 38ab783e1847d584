#include "solvers/algorithms/max_flow/lane_pushes.hpp"

#include <algorithm>

namespace solvers::max_flow {
namespace {

// Passes over all nodes, there and back by turns.
constexpr int PASSES = 14;

// Largest number of sweeps there and back for the exact distances. On 32x32 grids 4 are enough.
constexpr int SWEEPS = 32;

constexpr RegisterIndices NONE = {};

// The distance of a node from which no deficit is known to be reachable.
constexpr Index FAR_AWAY = 1 << 20;

}  // namespace

LanePushes::LanePushes(const Graph& graph, std::span<const std::uint32_t> edge)
    : graph_(graph),
      edge_(edge),
      residual_(graph.arc_count),
      balance_(graph.size()),
      distance_(graph.size()) {}

bool LanePushes::push(Matrix<const Index> unary, Matrix<const Index> pairwise, Index first) {
    load(unary, pairwise, first);
    const auto n = static_cast<Node>(graph_.size());
    Lanes before = total_deficit();
    bool hard = false;
    for (int pass = 0; pass < PASSES; pass += 2) {
        for (Node i = 0; i < n; ++i) push_from(i);
        for (Node i = n; i > 0; --i) push_from(i - 1);
        const Lanes after = total_deficit();
        Lanes filled;
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; ++p) filled.part[p] = before.part[p] ^ after.part[p];
        // In most instances, the rest of the excess is far from deficits, or no path leads to one.
        if (count(filled) <= WIDTH / 2) break;
        before = after;
        hard = true;
    }
    relabel();
    return hard;
}

// Returns the number of lanes that are not zero.
Index LanePushes::count(const Lanes& flags) {
    Index lanes = 0;
    for (Index lane = 0; lane < WIDTH; ++lane) lanes += flags[lane] != 0;
    return lanes;
}

LanePushes::Lanes LanePushes::total_deficit() const {
    Lanes total = {};
    for (Index i = 0; i < graph_.size(); ++i)
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; ++p) {
            const RegisterIndices balance = balance_[i].part[p];
            total.part[p] += balance < NONE ? balance : NONE;
        }
    return total;
}

// Sets the balances and residual capacities of no flow.
void LanePushes::load(Matrix<const Index> unary, Matrix<const Index> pairwise, Index first) {
    Index row[WIDTH];
    for (Index lane = 0; lane < WIDTH; ++lane) row[lane] = std::min(first + lane, unary.rows - 1);
    const auto loaded = [&row](Matrix<const Index> scores, Index column, int p) {
        RegisterIndices score = NONE;
        for (int lane = 0; lane < REGISTER_LANES; ++lane)
            score[lane] = scores(row[p * REGISTER_LANES + lane], column);
        return score;
    };
    const NodeRecord* nodes = graph_.nodes.data();
    const ArcRecord* arcs = graph_.arcs.data();
    const auto n = static_cast<Node>(graph_.size());
    for (Node i = 0; i < n; ++i)
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; ++p) balance_[i].part[p] = 2 * loaded(unary, i, p);
    for (Node i = 0; i < n; ++i)
        for (std::uint32_t a = nodes[i].start; a < nodes[i + 1].start; ++a) {
            const Node head = arcs[a].head;
            if (head < i) continue;  // the mate has loaded it
#pragma GCC unroll 4
            for (int p = 0; p < PARTS; ++p) {
                const RegisterIndices score = loaded(pairwise, edge_[a], p);
                residual_[a].part[p] = score;
                residual_[arcs[a].mate].part[p] = score;
                balance_[i].part[p] += score;
                balance_[head].part[p] += score;
            }
        }
    for (Node i = 0; i < n; ++i)
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; ++p)
            distance_[i].part[p] = balance_[i].part[p] < NONE ? NONE : NONE + FAR_AWAY;
}

// Pushes the excess of a node to neighbours that seem to be nearer to a deficit; then guesses the
// distance of the node anew.
//
// A deficit may get more than fills it, and pushes the rest on when its turn comes. That takes
// fewer instructions than a limit, and fewer passes. Distances only guide the pushes: a wrong one
// costs time.
void LanePushes::push_from(Node tail) {
    const ArcRecord* arcs = graph_.arcs.data();
    Lanes distance;
    Lanes excess;
    Lanes deficit;
    Lanes nearest;
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; ++p) {
        const RegisterIndices balance = balance_[tail].part[p];
        distance.part[p] = distance_[tail].part[p];
        excess.part[p] = balance > NONE ? balance : NONE;
        deficit.part[p] = balance - excess.part[p];
        nearest.part[p] = NONE + FAR_AWAY;
    }
    for (std::uint32_t a = graph_.nodes[tail].start; a < graph_.nodes[tail + 1].start; ++a) {
        const Node head = arcs[a].head;
        const std::uint32_t mate = arcs[a].mate;
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; ++p) {
            const RegisterIndices beyond = distance_[head].part[p];
            RegisterIndices capacity = residual_[a].part[p];
            const RegisterIndices most = beyond < distance.part[p] ? capacity : NONE;
            const RegisterIndices amount = most < excess.part[p] ? most : excess.part[p];
            excess.part[p] -= amount;
            capacity -= amount;
            residual_[a].part[p] = capacity;
            residual_[mate].part[p] += amount;
            balance_[head].part[p] += amount;
            const RegisterIndices through = capacity > NONE ? beyond + 1 : NONE + FAR_AWAY;
            nearest.part[p] = through < nearest.part[p] ? through : nearest.part[p];
        }
    }
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; ++p) {
        balance_[tail].part[p] = deficit.part[p] + excess.part[p];
        distance_[tail].part[p] = deficit.part[p] < NONE ? NONE : nearest.part[p];
    }
}

// Sets the exact distances, and whether there is excess that can reach a deficit.
//
// Long paths may need more sweeps than SWEEPS. Then no node counts as cut off.
void LanePushes::relabel() {
    const auto n = static_cast<Node>(graph_.size());
    for (Node i = 0; i < n; ++i)
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; ++p)
            distance_[i].part[p] = balance_[i].part[p] < NONE ? NONE : NONE + FAR_AWAY;
    bool exact = false;
    for (int sweep = 0; sweep < SWEEPS && !exact; ++sweep) {
        Lanes changes = {};
        for (Node i = 0; i < n; ++i) relax(i, changes);
        for (Node i = n; i > 0; --i) relax(i - 1, changes);
        exact = count(changes) == 0;
    }
    if (!exact) std::fill_n(distance_.data(), n, Lanes{});
    active_ = {};
    for (Node i = 0; i < n; ++i)
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; ++p)
            active_.part[p] |=
                (balance_[i].part[p] > NONE) & (distance_[i].part[p] < NONE + FAR_AWAY);
}

// Sets the distance of a node to the least over its residual arcs, and marks the lanes that change.
void LanePushes::relax(Node tail, Lanes& changes) {
    const ArcRecord* arcs = graph_.arcs.data();
    Lanes nearest;
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; ++p) nearest.part[p] = distance_[tail].part[p];
    for (std::uint32_t a = graph_.nodes[tail].start; a < graph_.nodes[tail + 1].start; ++a) {
        const Node head = arcs[a].head;
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; ++p) {
            const RegisterIndices beyond = distance_[head].part[p] + 1;
            const RegisterIndices through = residual_[a].part[p] > NONE ? beyond : NONE + FAR_AWAY;
            nearest.part[p] = through < nearest.part[p] ? through : nearest.part[p];
        }
    }
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; ++p) {
        changes.part[p] |= distance_[tail].part[p] ^ nearest.part[p];
        distance_[tail].part[p] = nearest.part[p];
    }
}

void LanePushes::settle(Index first, Matrix<std::int8_t> z, std::span<Index> doubled) const {
    Lanes excess = {};
    for (Index i = 0; i < graph_.size(); ++i)
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; ++p)
            excess.part[p] += distance_[i].part[p] == NONE + FAR_AWAY ? balance_[i].part[p] : NONE;
    const Index lanes = std::min(z.rows - first, WIDTH);
    for (Index lane = 0; lane < lanes; ++lane) {
        doubled[first + lane] = excess[lane];
        for (Index i = 0; i < z.columns; ++i) z(first + lane, i) = distance_[i][lane] == FAR_AWAY;
    }
}

bool LanePushes::is_settled(Index lane) const {
    return active_[lane] == 0;
}

void LanePushes::unload(Index lane, Graph& graph) const {
    // All bits are set for a node from which a deficit can be reached.
    const auto open = [this, lane](Index node) {
        return -static_cast<Index>(distance_[node][lane] < FAR_AWAY);
    };
    for (Index i = 0; i < graph_.size(); ++i) {
        graph.nodes[i].balance = balance_[i][lane] & open(i);
        graph.nodes[i].level = FREE;
        graph.nodes[i].parent = NOBODY;
    }
    for (Index a = 0; a < graph_.arc_count; ++a)
        graph.arcs[a].residual = residual_[a][lane] & open(graph.arcs[a].head);
}

}  // namespace solvers::max_flow
