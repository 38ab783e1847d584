// The first pushes of several instances over the same graph, one instance in each vector lane.
//
// Most excess lies a few arcs from a deficit. Paths that short differ from instance to instance, so
// that branches over them are mispredicted; here there are none. What is left is for the trees of
// trees.hpp, which also prove the cut: any push keeps the identity of one_word.py.
#pragma once

#include <vector>

#include "solvers/algorithms/max_flow/trees.hpp"
#include "solvers/compiled/vectors.hpp"

namespace solvers::max_flow {

class LanePushes {
public:
    // Number of instances side by side.
    static constexpr Index WIDTH = REGISTER_LANES;

    // Args:
    //     graph: its heads and mates; it must outlive this object.
    //     edge: `[2 e]`, the edge of each arc.
    LanePushes(const Graph& graph, std::span<const std::uint32_t> edge);

    // Pushes the excess of the instances first .. first + WIDTH - 1 towards deficits.
    //
    // Returns false if little excess could reach a deficit.
    //
    // Args:
    //     unary: `[batch, n]`; lanes beyond the batch repeat its last row.
    //     pairwise: `[batch, e]`, >= 0.
    bool push(Matrix<const Index> unary, Matrix<const Index> pairwise, Index first);

    // Writes the balances and residual capacities of one lane to a graph of the same arcs.
    void unload(Index lane, Graph& graph) const;

private:
    // A struct, since templates drop the attributes of a bare vector type.
    struct Lanes {
        RegisterIndices values;
    };

    void load(Matrix<const Index> unary, Matrix<const Index> pairwise, Index first);
    void push_from(Node tail);
    Index filled_lanes() const;

    const Graph& graph_;
    std::span<const std::uint32_t> edge_;
    std::vector<Lanes> residual_;  // [2 e]
    std::vector<Lanes> balance_;   // [n]
    Lanes filled_;  // nonzero in lanes in which a deficit got something since this was cleared
    std::vector<Lanes> distance_;  // [n]: a guess of how many arcs away the nearest deficit is
};

}  // namespace solvers::max_flow
