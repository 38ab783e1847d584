#include "solvers/algorithms/presolve/rules.hpp"

#include <cstdlib>

#include "solvers/algorithms/presolve/changing_graph.hpp"
#include "solvers/algorithms/presolve/pair_rules.hpp"
#include "solvers/algorithms/presolve/worklist.hpp"

namespace solvers::presolve {
namespace {

// Nodes of more neighbours are looked at again when they have lost half of them; otherwise paths to
// hubs would take long.
constexpr Index HUB = 64;

// A rule that takes a node out; the node follows `follows.node`, or its three neighbours where that
// is NONE.
struct Decision {
    Index rule = NONE;
    Follows follows;
};

class Shrinking {
public:
    Shrinking(Index nodes, Matrix<const Index> edges, std::span<const Index> weight,
              std::span<const bool> allowed)
        : graph_(nodes, edges, weight),
          allowed_(allowed),
          gone_(nodes),
          looked_at_(nodes, 4 * nodes),
          simple_(nodes, Worklist::Start::all),
          costly_(nodes, Worklist::Start::empty) {
        log_.counts.resize(RULES);
    }

    // Cheap rules run first; nodes to which none applies wait for the rules that try all values of
    // their neighbours.
    void run(Stop stop) {
        while (!stop.requested() && !(simple_.empty() && costly_.empty())) {
            if (!simple_.empty())
                look_at(simple_.pop());
            else
                try_values_around(costly_.pop());
        }
    }

    Shrunk result() {
        Shrunk shrunk;
        shrunk.log = std::move(log_);
        for (Index i = 0; i < graph_.nodes(); ++i)
            for (Index arc = graph_.first(i); arc != NONE; arc = graph_.after(arc))
                if (graph_.head(arc) > i) {
                    shrunk.edges.push_back(i);
                    shrunk.edges.push_back(graph_.head(arc));
                    shrunk.weight.push_back(graph_.weight(arc));
                }
        return shrunk;
    }

private:
    void look_at(Index u) {
        const Index degree = graph_.degree(u);
        if (gone_[u] || (degree > HUB && 2 * degree > looked_at_[u])) return;
        looked_at_[u] = degree;
        const Decision decision = by_degree(u);
        if (decision.rule == NONE)
            costly_.push(u);
        else
            take_out(u, decision);
    }

    void try_values_around(Index u) {
        if (gone_[u]) return;
        const Decision decision = by_trial(u);
        if (decision.rule != NONE) take_out(u, decision);
    }

    // Applies the rules that one look at the edges of a node decides.
    Decision by_degree(Index u) const {
        const Index degree = graph_.degree(u);
        if (degree == 0) return {allowed_[ISOLATED] ? Index{ISOLATED} : NONE, {}};
        Index strongest = graph_.first(u);
        for (Index arc = strongest; arc != NONE; arc = graph_.after(arc))
            if (std::abs(graph_.weight(arc)) > std::abs(graph_.weight(strongest))) strongest = arc;
        const Index weight = graph_.weight(strongest);
        const Index rule = degree <= 2 ? degree : Index{DOMINATED};
        if (allowed_[rule] && 2 * std::abs(weight) >= graph_.strength(u))
            return {rule, {graph_.head(strongest), weight > 0 ? 1 : -1}};
        if (degree == 3 && allowed_[DEGREE_3]) return {DEGREE_3, {}};
        return {};
    }

    // Applies the rules that try all values of the neighbours.
    Decision by_trial(Index u) const {
        const Index degree = graph_.degree(u);
        if (degree > MOST_NEIGHBOURS || degree == 0) return {};
        if (allowed_[PAIR]) {
            const Follows follows = neighbour_that_decides(graph_, u);
            if (follows.node != NONE) return {PAIR, follows};
        }
        if (allowed_[TWIN] && degree < MOST_NEIGHBOURS) {
            const Follows follows = twin_of(graph_, u);
            if (follows.node != NONE) return {TWIN, follows};
        }
        return {};
    }

    void take_out(Index u, const Decision& decision) {
        gone_[u] = true;
        note(u, decision);
        wake_around(u);
        if (decision.follows.node == NONE) {
            if (graph_.degree(u) == 3) replace_star(u);
        } else {
            simple_.push(decision.follows.node);
            contract(u, decision.follows);
        }
    }

    // Writes what s_u follows from, before the graph changes.
    void note(Index u, const Decision& decision) {
        ++log_.counts[decision.rule];
        log_.node.push_back(u);
        Index near[3] = {};
        Index weight[3] = {};
        if (decision.follows.node != NONE) {
            near[0] = decision.follows.node;
            weight[0] = decision.follows.sign;
        } else {
            int k = 0;
            for (Index arc = graph_.first(u); arc != NONE; arc = graph_.after(arc), ++k) {
                near[k] = graph_.head(arc);
                weight[k] = graph_.weight(arc);
            }
        }
        log_.near.insert(log_.near.end(), near, near + 3);
        log_.weight.insert(log_.weight.end(), weight, weight + 3);
    }

    // Rules may newly apply at the neighbours of u and, if these have few, at their neighbours.
    void wake_around(Index u) {
        for (Index arc = graph_.first(u); arc != NONE; arc = graph_.after(arc)) {
            const Index v = graph_.head(arc);
            simple_.push(v);
            if (graph_.degree(v) > MOST_NEIGHBOURS) continue;
            for (Index further = graph_.first(v); further != NONE; further = graph_.after(further))
                costly_.push(graph_.head(further));
        }
    }

    // Merges u into v: s_u = sign s_v.
    void contract(Index u, const Follows& follows) {
        Index arc = graph_.first(u);
        while (arc != NONE) {
            const Index w = graph_.head(arc);
            const Index k = arc / 2;
            const Index weight = follows.sign * graph_.weight(arc);
            const Index following = graph_.after(arc);
            graph_.detach(k);
            if (w == follows.node)
                log_.constant += weight;
            else
                graph_.add(k, follows.node, w, weight);
            arc = following;
        }
    }

    // Replaces a node of three edges by the triangle of their ends.
    //
    // max over s of s (a s_1 + b s_2 + c s_3) is a constant and three edges, as no flip of all
    // three changes it. With the maxima for (+, +, +), (+, +, -), (+, -, +) and (-, +, +), each of
    // the four numbers is a quarter of their sum with signs. They are whole, as the weights at u
    // add up to an even number.
    void replace_star(Index u) {
        const Index arcs[3] = {graph_.first(u), graph_.after(graph_.first(u)),
                               graph_.after(graph_.after(graph_.first(u)))};
        const Index ends[3] = {graph_.head(arcs[0]), graph_.head(arcs[1]), graph_.head(arcs[2])};
        const Index a = graph_.weight(arcs[0]);
        const Index b = graph_.weight(arcs[1]);
        const Index c = graph_.weight(arcs[2]);
        const Index all = std::abs(a + b + c);
        const Index but_c = std::abs(a + b - c);
        const Index but_b = std::abs(a - b + c);
        const Index but_a = std::abs(b + c - a);
        for (Index arc : arcs) graph_.detach(arc / 2);
        log_.constant += (all + but_c + but_b + but_a) / 4;
        graph_.add(arcs[0] / 2, ends[0], ends[1], (all + but_c - but_b - but_a) / 4);
        graph_.add(arcs[1] / 2, ends[0], ends[2], (all - but_c + but_b - but_a) / 4);
        graph_.add(arcs[2] / 2, ends[1], ends[2], (all - but_c - but_b + but_a) / 4);
    }

    ChangingGraph graph_;
    std::span<const bool> allowed_;
    std::vector<char> gone_;        // [nodes]
    std::vector<Index> looked_at_;  // [nodes]: the degree at the last look
    Worklist simple_;
    Worklist costly_;
    Log log_;
};

}  // namespace

Shrunk shrink(Index nodes, Matrix<const Index> edges, std::span<const Index> weight,
              std::span<const bool> allowed, Stop stop) {
    Shrinking shrinking(nodes, edges, weight, allowed);
    shrinking.run(stop);
    return shrinking.result();
}

void restore(std::span<const Index> node, Matrix<const Index> near, Matrix<const Index> weight,
             std::span<Index> spins) {
    for (Index row = length(node) - 1; row >= 0; --row) {
        Index total = 0;
        for (int k = 0; k < 3; ++k) total += weight(row, k) * spins[near(row, k)];
        spins[node[row]] = total >= 0 ? 1 : -1;
    }
}

}  // namespace solvers::presolve
