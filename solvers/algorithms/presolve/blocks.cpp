#include "solvers/algorithms/presolve/blocks.hpp"

#include <algorithm>

#include "solvers/compiled/graphs.hpp"

namespace solvers::presolve {
namespace {

// A depth-first search with an explicit path, since deep graphs would overflow the stack.
//
// Invariant: `place` numbers the nodes in the order of discovery; `reached[v]` is the least place
// to which v or a node below it has an edge. Where reached[v] >= place[u] for the node u above v,
// nothing below v leads above u: the edges passed since u was left for v form a block.
class Search {
public:
    Search(Index nodes, Matrix<const Index> edges)
        : lists_(neighbour_lists(nodes, edges)),
          step_(lists_.starts.begin(), lists_.starts.end() - 1),
          place_(nodes),
          reached_(nodes),
          entered_by_(nodes, -1),
          result_{std::vector<Index>(edges.rows, -1), 0} {}

    Blocks run(Stop stop) {
        for (Index root = 0; root < static_cast<Index>(place_.size()); ++root) {
            if (place_[root]) continue;
            enter(root);
            while (!path_.empty()) {
                if (stop.requested()) return {std::vector<Index>(result_.block.size(), 0), 1};
                const Index v = path_.back();
                if (step_[v] < lists_.starts[v + 1])
                    follow(v, step_[v]++);
                else
                    leave(v);
            }
        }
        return std::move(result_);
    }

private:
    void enter(Index v) {
        place_[v] = reached_[v] = ++clock_;
        path_.push_back(v);
    }

    // Follows one entry of the list of v.
    void follow(Index v, Index entry) {
        const Index w = lists_.near[entry];
        const Index edge = lists_.which[entry];
        if (edge == entered_by_[v] || place_[w] > place_[v]) return;  // seen from its other end
        passed_.push_back(edge);
        if (place_[w]) {
            reached_[v] = std::min(reached_[v], place_[w]);
        } else {
            entered_by_[w] = edge;
            enter(w);
        }
    }

    void leave(Index v) {
        path_.pop_back();
        if (path_.empty()) return;
        const Index u = path_.back();
        reached_[u] = std::min(reached_[u], reached_[v]);
        if (reached_[v] < place_[u]) return;
        Index edge;
        do {
            edge = passed_.back();
            passed_.pop_back();
            result_.block[edge] = result_.count;
        } while (edge != entered_by_[v]);
        ++result_.count;
    }

    NeighbourLists lists_;
    std::vector<Index> step_;        // [nodes]: the next entry of each list
    std::vector<Index> place_;       // [nodes]: 0 for nodes that are not found yet
    std::vector<Index> reached_;     // [nodes]
    std::vector<Index> entered_by_;  // [nodes]: the edge by which each was found
    std::vector<Index> path_;
    std::vector<Index> passed_;  // edges without a block yet
    Blocks result_;
    Index clock_ = 0;
};

}  // namespace

Blocks blocks_of(Index nodes, Matrix<const Index> edges, Stop stop) {
    return Search(nodes, edges).run(stop);
}

Numbered numbered(Index nodes, Matrix<const Index> edges) {
    std::vector<Index> place(nodes, -1);
    for (Index k = 0; k < edges.rows; ++k)
        for (int side = 0; side < 2; ++side) place[edges(k, side)] = 0;
    Numbered result;
    for (Index v = 0; v < nodes; ++v) {
        if (place[v] < 0) continue;
        place[v] = static_cast<Index>(result.names.size());
        result.names.push_back(v);
    }
    for (Index k = 0; k < edges.rows; ++k)
        for (int side = 0; side < 2; ++side) result.ends.push_back(place[edges(k, side)]);
    return result;
}

}  // namespace solvers::presolve
