#include "solvers/algorithms/presolve/penalties.hpp"

#include <algorithm>

#include "solvers/compiled/graphs.hpp"

namespace solvers::presolve {
namespace {

// Cliques that together contain all edges of a graph, grown greedily.
//
// Invariant: an entry of a list is open until a clique contains its edge; both entries of an edge
// close together. A clique takes time proportional to the degrees of its members.
class CliqueCover {
public:
    CliqueCover(Index n, Matrix<const Index> edges)
        : lists_(neighbour_lists(n, edges)),
          open_(lists_.near.size(), 1),
          count_of_open_(n),
          link_(n),
          fresh_(n) {
        for (Index v = 0; v < n; ++v) count_of_open_[v] = lists_.starts[v + 1] - lists_.starts[v];
    }

    Groups run(Index most_groups) {
        Groups groups;
        for (Index first = 0; first < length(std::span(count_of_open_)); ++first)
            while (count_of_open_[first] > 0 && groups.count() < most_groups) {
                grow(first);
                close();
                groups.variable.insert(groups.variable.end(), clique_.begin(), clique_.end());
                groups.starts.push_back(static_cast<Index>(groups.variable.size()));
            }
        return groups;
    }

private:
    // Fills `clique_` with a clique around an open edge of `first` that no variable extends.
    //
    // Invariant: `candidates_` are the variables next to all members, and fresh_[v] is the number
    // of open edges between a candidate v and the members.
    void grow(Index first) {
        clique_.assign(1, first);
        candidates_.clear();
        for (Index entry = lists_.starts[first]; entry < lists_.starts[first + 1]; ++entry) {
            candidates_.push_back(lists_.near[entry]);
            fresh_[lists_.near[entry]] = open_[entry];
        }
        while (!candidates_.empty()) {
            const Index chosen = freshest();
            clique_.push_back(chosen);
            keep_neighbours(chosen);
        }
    }

    // Returns the candidate with most open edges, of several the first variable.
    Index freshest() const {
        Index best = candidates_.front();
        for (const Index v : candidates_)
            if (fresh_[v] > fresh_[best] || (fresh_[v] == fresh_[best] && v < best)) best = v;
        return best;
    }

    // Leaves the candidates next to `chosen`, which is no neighbour of itself.
    void keep_neighbours(Index chosen) {
        const Index begin = lists_.starts[chosen];
        const Index end = lists_.starts[chosen + 1];
        for (Index entry = begin; entry < end; ++entry)
            link_[lists_.near[entry]] = 1 + open_[entry];
        std::erase_if(candidates_, [&](Index v) { return link_[v] == 0; });
        for (const Index v : candidates_) fresh_[v] += link_[v] - 1;
        for (Index entry = begin; entry < end; ++entry) link_[lists_.near[entry]] = 0;
    }

    // Closes the edges inside the clique.
    void close() {
        for (const Index v : clique_) link_[v] = 1;
        for (const Index v : clique_)
            for (Index entry = lists_.starts[v]; entry < lists_.starts[v + 1]; ++entry) {
                const Index closes = open_[entry] & link_[lists_.near[entry]];
                open_[entry] -= static_cast<std::uint8_t>(closes);
                count_of_open_[v] -= closes;
            }
        for (const Index v : clique_) link_[v] = 0;
    }

    NeighbourLists lists_;
    std::vector<std::uint8_t> open_;    // [2 edges]: 1 until a clique contains the edge
    std::vector<Index> count_of_open_;  // [n]: open entries of each list
    std::vector<Index> link_;           // [n]: 0 between calls; marks the variables of one list
    std::vector<Index> fresh_;          // [n]
    std::vector<Index> clique_;
    std::vector<Index> candidates_;
};

// How much the pairs of a variable can add to its score.
class Gains {
public:
    explicit Gains(const WholeScores& scores)
        : scores_(scores), lists_(neighbour_lists(scores.n, scores.edges)), gains_(scores.n) {
        for (Index e = 0; e < scores.edges.rows; ++e)
            for (int side = 0; side < 2; ++side)
                gains_[scores.edges(e, side)] += std::max<Index>(scores.weights[e], 0);
    }

    // Returns the most that v adds to a score.
    Index most(Index v) const { return scores_.unary[v] + gains_[v]; }

    // Whether v adds nothing beside a variable to which it has an edge of this weight, so that some
    // best state has not both at 1.
    bool exclude(Index v, Index weight, Index rounded) const { return most(v) + weight <= rounded; }

    // Lowers the gains to what the pairs add at most if every group has at most one 1.
    //
    // Every variable counts in its first group alone; at most one member of that is 1, and adds at
    // most the largest weight. Variables in no group may all be 1.
    void lower(const Groups& groups) {
        std::vector<std::uint8_t> counted(scores_.n);
        std::vector<Index> lowered(scores_.n);
        std::vector<Index> most(scores_.n);  // the largest weight of a group; 0 between groups
        for (Index group = 0; group < groups.count(); ++group) {
            touched_.clear();
            for (const Index member : groups.members(group)) {
                if (counted[member]) continue;
                counted[member] = 1;
                raise(member, most);
            }
            for (const Index v : touched_) {
                lowered[v] += most[v];
                most[v] = 0;
            }
        }
        for (Index e = 0; e < scores_.edges.rows; ++e)
            for (int side = 0; side < 2; ++side)
                if (!counted[scores_.edges(e, 1 - side)])
                    lowered[scores_.edges(e, side)] += std::max<Index>(scores_.weights[e], 0);
        for (Index v = 0; v < scores_.n; ++v) gains_[v] = std::min(gains_[v], lowered[v]);
    }

private:
    // Raises `most` of the neighbours of a member to the weight of their edge.
    void raise(Index member, std::vector<Index>& most) {
        for (Index entry = lists_.starts[member]; entry < lists_.starts[member + 1]; ++entry) {
            const Index v = lists_.near[entry];
            const Index weight = scores_.weights[lists_.which[entry]];
            if (weight <= most[v]) continue;
            if (most[v] == 0) touched_.push_back(v);
            most[v] = weight;
        }
    }

    const WholeScores& scores_;
    NeighbourLists lists_;
    std::vector<Index> gains_;    // [n]
    std::vector<Index> touched_;  // variables whose `most` is not 0
};

// The pairs of which some best state has not both at 1.
class ExcludedPairs {
public:
    explicit ExcludedPairs(const WholeScores& scores)
        : scores_(scores), excluded_(scores.edges.rows) {}

    // Adds what the gains exclude; returns whether that is any pair.
    bool extend(const Gains& gains, Index rounded) {
        const Index before = count();
        for (Index e = 0; e < scores_.edges.rows; ++e) {
            const Index weight = scores_.weights[e];
            if (excluded_[e] || weight >= 0) continue;
            const Index i = scores_.edges(e, 0);
            const Index j = scores_.edges(e, 1);
            // A variable that adds nothing even alone is 0 anyway: its pairs are no penalties, and
            // counting them would take dense problems for groups.
            if (gains.most(i) <= rounded || gains.most(j) <= rounded) continue;
            if (!gains.exclude(i, weight, rounded) && !gains.exclude(j, weight, rounded)) continue;
            excluded_[e] = 1;
            ++count_;
        }
        return count() > before;
    }

    Index count() const { return count_; }

    // Returns for each edge whether it is excluded.
    const std::vector<std::uint8_t>& flags() const { return excluded_; }

    // Returns the pairs `[count, 2]` in the order of the edges.
    std::vector<Index> pairs() const {
        std::vector<Index> pairs;
        pairs.reserve(2 * count_);
        for (Index e = 0; e < scores_.edges.rows; ++e)
            if (excluded_[e]) pairs.insert(pairs.end(), {scores_.edges(e, 0), scores_.edges(e, 1)});
        return pairs;
    }

private:
    const WholeScores& scores_;
    std::vector<std::uint8_t> excluded_;  // [e]
    Index count_ = 0;
};

}  // namespace

Groups exclusive_groups(const WholeScores& scores, const GroupLimits& limits) {
    Gains gains(scores);
    ExcludedPairs excluded(scores);
    Groups groups;
    for (Index round = 0; round < limits.rounds; ++round) {
        const bool more = excluded.extend(gains, limits.rounded);
        if (!more || excluded.count() < limits.least_pairs) break;
        const std::vector<Index> pairs = excluded.pairs();
        CliqueCover cover(scores.n, {pairs.data(), excluded.count(), 2});
        groups = cover.run(limits.most_groups);
        if (excluded.count() == scores.edges.rows) break;
        gains.lower(groups);
    }
    return groups;
}

std::vector<std::uint8_t> excluded_pairs(const WholeScores& scores) {
    ExcludedPairs excluded(scores);
    excluded.extend(Gains(scores), 0);
    return excluded.flags();
}

}  // namespace solvers::presolve
