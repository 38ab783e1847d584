#include "solvers/algorithms/max_flow/lane_pushes.hpp"

#include <algorithm>

namespace solvers::max_flow {
namespace {

// Passes over all nodes, there and back by turns. On 20x20 grids, cuts took 1.5 times as long with
// 4 passes, and 1.07 times with 8.
constexpr int PASSES = 12;

constexpr RegisterIndices NONE = {};

// The distance of a node that no deficit is known to be near to.
constexpr Index FAR_AWAY = 1 << 20;

}  // namespace

LanePushes::LanePushes(const Graph& graph, std::span<const std::uint32_t> edge)
    : graph_(graph),
      edge_(edge),
      residual_(graph.arc_count),
      balance_(graph.nodes.size() - 1),
      distance_(graph.nodes.size() - 1) {}

bool LanePushes::push(Matrix<const Index> unary, Matrix<const Index> pairwise, Index first) {
    load(unary, pairwise, first);
    const auto n = static_cast<Node>(graph_.size());
    for (int pass = 0; pass < PASSES; pass += 2) {
        filled_.values = NONE;
        for (Node i = 0; i < n; ++i) push_from(i);
        for (Node i = n; i > 0; --i) push_from(i - 1);
        // In most instances, the rest of the excess is far from deficits, or no path leads to one.
        if (filled_lanes() <= WIDTH / 2) return pass > 0;
    }
    return true;
}

// Returns the number of lanes in which a deficit got something since `filled_` was cleared.
Index LanePushes::filled_lanes() const {
    Index count = 0;
    for (Index lane = 0; lane < WIDTH; ++lane) count += filled_.values[lane] != 0;
    return count;
}

// Sets the balances and residual capacities of no flow.
void LanePushes::load(Matrix<const Index> unary, Matrix<const Index> pairwise, Index first) {
    Index row[WIDTH];
    for (Index lane = 0; lane < WIDTH; ++lane) row[lane] = std::min(first + lane, unary.rows - 1);
    const NodeRecord* nodes = graph_.nodes.data();
    const ArcRecord* arcs = graph_.arcs.data();
    const auto n = static_cast<Node>(graph_.size());
    for (Node i = 0; i < n; ++i) {
        RegisterIndices score = NONE;
        for (Index lane = 0; lane < WIDTH; ++lane) score[lane] = unary(row[lane], i);
        balance_[i].values = score + score;
    }
    for (Node i = 0; i < n; ++i)
        for (std::uint32_t a = nodes[i].start; a < nodes[i + 1].start; ++a) {
            const Node head = arcs[a].head;
            if (head < i) continue;  // the mate has loaded it
            RegisterIndices score = NONE;
            for (Index lane = 0; lane < WIDTH; ++lane) score[lane] = pairwise(row[lane], edge_[a]);
            residual_[a].values = score;
            residual_[arcs[a].mate].values = score;
            balance_[i].values += score;
            balance_[head].values += score;
        }
    for (Node i = 0; i < n; ++i)
        distance_[i].values = balance_[i].values < NONE ? NONE : NONE + FAR_AWAY;
}

// Pushes the excess of a node to deficits next to it, and to neighbours that seem to be nearer to
// one; then guesses the distance of the node anew.
//
// A deficit takes no more than fills it. Distances only guide the pushes: a wrong one costs time.
void LanePushes::push_from(Node tail) {
    const ArcRecord* arcs = graph_.arcs.data();
    const RegisterIndices balance = balance_[tail].values;
    const RegisterIndices distance = distance_[tail].values;
    RegisterIndices excess = balance > NONE ? balance : NONE;
    const RegisterIndices deficit = balance - excess;
    RegisterIndices nearest = NONE + FAR_AWAY;
    for (std::uint32_t a = graph_.nodes[tail].start; a < graph_.nodes[tail + 1].start; ++a) {
        const Node head = arcs[a].head;
        const RegisterIndices level = balance_[head].values;
        const RegisterIndices beyond = distance_[head].values;
        RegisterIndices capacity = residual_[a].values;
        const RegisterIndices downhill = beyond < distance ? capacity : NONE;
        const RegisterIndices filling = capacity < -level ? capacity : -level;
        const RegisterIndices most = level < NONE ? filling : downhill;
        const RegisterIndices amount = most < excess ? most : excess;
        excess -= amount;
        filled_.values |= level < NONE ? amount : NONE;
        capacity -= amount;
        residual_[a].values = capacity;
        residual_[arcs[a].mate].values += amount;
        balance_[head].values = level + amount;
        const RegisterIndices through = capacity > NONE ? beyond + 1 : NONE + FAR_AWAY;
        nearest = through < nearest ? through : nearest;
    }
    balance_[tail].values = deficit + excess;
    distance_[tail].values = deficit < NONE ? NONE : nearest;
}

void LanePushes::unload(Index lane, Graph& graph) const {
    for (std::size_t i = 0; i < balance_.size(); ++i) {
        graph.nodes[i].balance = balance_[i].values[lane];
        graph.nodes[i].level = FREE;
        graph.nodes[i].parent = NOBODY;
    }
    for (std::size_t a = 0; a < residual_.size(); ++a)
        graph.arcs[a].residual = residual_[a].values[lane];
}

}  // namespace solvers::max_flow
