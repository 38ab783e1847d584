// A weighted graph whose edges move, merge and vanish, in linked lists.
#pragma once

#include <cstdlib>
#include <utility>
#include <vector>

#include "solvers/compiled/views.hpp"

namespace solvers::presolve {

inline constexpr Index NONE = -1;

// Edge k has two arcs: 2 k is in the list of its first end, 2 k + 1 in that of its second. Each
// stores the other end.
class ChangingGraph {
public:
    // Builds the graph of distinct `edges [e, 2]` with the weights `[e]`.
    ChangingGraph(Index nodes, Matrix<const Index> edges, std::span<const Index> weight)
        : first_(nodes, NONE),
          degree_(nodes),
          strength_(nodes),
          head_(2 * edges.rows),
          after_(2 * edges.rows),
          before_(2 * edges.rows),
          weight_(edges.rows) {
        for (Index k = 0; k < edges.rows; ++k) attach(k, edges(k, 0), edges(k, 1), weight[k]);
    }

    Index nodes() const { return static_cast<Index>(first_.size()); }
    Index edges() const { return static_cast<Index>(weight_.size()); }

    // Return the first arc of a node, and the next arc of the same node; NONE at the end.
    Index first(Index node) const { return first_[node]; }
    Index after(Index arc) const { return after_[arc]; }
    // Return the node that an arc leads to, and the weight of its edge.
    Index head(Index arc) const { return head_[arc]; }
    Index weight(Index arc) const { return weight_[arc / 2]; }
    // Return the number of edges of a node, and their sum of |weight|.
    Index degree(Index node) const { return degree_[node]; }
    Index strength(Index node) const { return strength_[node]; }

    // Removes edge k, which is unused then.
    void detach(Index k) {
        for (int side = 0; side < 2; ++side) {
            const Index arc = 2 * k + side;
            const Index here = head_[arc ^ 1];
            const Index before = before_[arc];
            const Index after = after_[arc];
            if (before == NONE)
                first_[here] = after;
            else
                after_[before] = after;
            if (after != NONE) before_[after] = before;
            --degree_[here];
            strength_[here] -= std::abs(weight_[k]);
        }
    }

    // Returns the edge that joins i with j, or NONE.
    Index edge_between(Index i, Index j) const {
        if (degree_[i] > degree_[j]) std::swap(i, j);
        Index arc = first_[i];
        while (arc != NONE && head_[arc] != j) arc = after_[arc];
        return arc == NONE ? NONE : arc / 2;
    }

    // Returns the weight of the edge that joins i with j; 0 without one.
    Index weight_between(Index i, Index j) const {
        const Index k = edge_between(i, j);
        return k == NONE ? 0 : weight_[k];
    }

    // Adds to the weight between i and j, using the unused edge if there was none; an edge of
    // weight 0 vanishes.
    void add(Index unused, Index i, Index j, Index weight) {
        Index k = edge_between(i, j);
        if (k == NONE) {
            k = unused;
        } else {
            weight += weight_[k];
            detach(k);
        }
        if (weight != 0) attach(k, i, j, weight);
    }

private:
    // Makes the unused edge k an edge from i to j.
    void attach(Index k, Index i, Index j, Index weight) {
        weight_[k] = weight;
        insert_arc(2 * k, i, j);
        insert_arc(2 * k + 1, j, i);
    }

    void insert_arc(Index arc, Index here, Index there) {
        head_[arc] = there;
        before_[arc] = NONE;
        after_[arc] = first_[here];
        if (first_[here] != NONE) before_[first_[here]] = arc;
        first_[here] = arc;
        ++degree_[here];
        strength_[here] += std::abs(weight_[arc / 2]);
    }

    std::vector<Index> first_;     // [nodes]
    std::vector<Index> degree_;    // [nodes]
    std::vector<Index> strength_;  // [nodes]
    std::vector<Index> head_;      // [2 e]
    std::vector<Index> after_;     // [2 e]
    std::vector<Index> before_;    // [2 e]
    std::vector<Index> weight_;    // [e]
};

}  // namespace solvers::presolve
