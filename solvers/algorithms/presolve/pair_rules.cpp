#include "solvers/algorithms/presolve/pair_rules.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace solvers::presolve {
namespace {

// Maximum number of neighbours that are searched for twins of u, of a node that all twins share.
constexpr Index CROWD = 32;

// A few numbers, one for each neighbour.
struct Few {
    std::array<Index, MOST_NEIGHBOURS> values{};
    Index count = 0;

    void push_back(Index value) { values[count++] = value; }
    Index operator[](Index k) const { return values[k]; }
    std::span<const Index> all() const { return {values.data(), static_cast<std::size_t>(count)}; }

    Few without(Index left_out) const {
        Few others;
        for (Index k = 0; k < count; ++k)
            if (k != left_out) others.push_back(values[k]);
        return others;
    }
};

struct Around {
    Few near;    // the neighbours of a node
    Few weight;  // the weights to them
};

Around around(const ChangingGraph& graph, Index u) {
    Around result;
    for (Index arc = graph.first(u); arc != NONE; arc = graph.after(arc)) {
        result.near.push_back(graph.head(arc));
        result.weight.push_back(graph.weight(arc));
    }
    return result;
}

struct Relations {
    bool alike;      // u = v
    Index same;      // bit k: u equals other k
    Index opposite;  // bit k: u is the opposite of other k
};

// Properties that hold for all values t of the others, which weigh `mine` at u and `there` at v.
Relations what_holds(Index joint, Index rest, const Few& mine, const Few& there) {
    const Index d = mine.count;
    const Index full = (Index{1} << d) - 1;
    Index positive = 0;
    for (Index k = 0; k < d; ++k) positive |= Index{mine[k] > 0} << k;
    Relations holds{true, full, full};
    // First come the values that will probably refute: the extremes of x, and one value away from
    // them.
    const Index likely = 2 * (d + 1);
    for (Index trial = 0; trial < likely + full + 1; ++trial) {
        Index t = trial - likely;
        if (trial < likely) {
            t = (trial & 1) ? positive : full ^ positive;
            t ^= (Index{1} << (trial / 2)) & full;
        }
        Index x = 0;
        Index y = -rest;  // y - R
        for (Index k = 0; k < d; ++k) {
            x += (t >> k & 1) ? mine[k] : -mine[k];
            y += (t >> k & 1) ? there[k] : -there[k];
        }
        holds.alike &= x <= joint || -y <= joint;
        if (x + std::min(std::max(y, -joint), joint) < 0) {
            holds.same &= ~t;
            holds.opposite &= t;
        }
        if (!holds.alike && !holds.same && !holds.opposite) break;
    }
    return holds;
}

Index hub_of(const ChangingGraph& graph, const Few& near) {
    Index hub = near[0];
    for (Index w : near.all())
        if (graph.degree(w) < graph.degree(hub)) hub = w;
    return hub;
}

}  // namespace

Follows neighbour_that_decides(const ChangingGraph& graph, Index u) {
    const Around mine = around(graph, u);
    for (Index h = 0; h < mine.near.count; ++h) {
        const Index v = mine.near[h];
        const Few others = mine.near.without(h);
        const Index sign = mine.weight[h] > 0 ? 1 : -1;
        const Index joint = std::abs(mine.weight[h]);
        Few there;
        Index rest = graph.strength(v) - joint;
        for (Index other : others.all()) {
            const Index weight = sign * graph.weight_between(v, other);
            there.push_back(weight);
            rest -= std::abs(weight);
        }
        const Relations holds = what_holds(joint, rest, mine.weight.without(h), there);
        if (holds.alike) return {v, sign};
        for (Index k = 0; k < others.count; ++k) {
            if (holds.same >> k & 1) return {others[k], 1};
            if (holds.opposite >> k & 1) return {others[k], -1};
        }
    }
    return {};
}

Follows twin_of(const ChangingGraph& graph, Index u) {
    const Around mine = around(graph, u);
    const Index hub = hub_of(graph, mine.near);
    if (graph.degree(hub) > CROWD) return {};
    for (Index arc = graph.first(hub); arc != NONE; arc = graph.after(arc)) {
        const Index v = graph.head(arc);
        if (v == u || graph.degree(v) != mine.near.count || graph.edge_between(u, v) != NONE)
            continue;
        Few there;
        Few opposite;
        for (Index w : mine.near.all()) {
            const Index weight = graph.weight_between(v, w);
            there.push_back(weight);
            opposite.push_back(-weight);
        }
        if (std::ranges::count(there.all(), Index{0})) continue;  // not a neighbour of all of them
        if (what_holds(0, 0, mine.weight, there).alike) return {v, 1};
        if (what_holds(0, 0, mine.weight, opposite).alike) return {v, -1};
    }
    return {};
}

}  // namespace solvers::presolve
