// The first pushes of several instances over the same graph, one instance in each vector lane.
//
// Most excess lies a few arcs from a deficit. Paths that short differ from instance to instance, so
// that branches over them are mispredicted; here there are none. At the end the distances are
// exact: nodes from which no deficit can be reached are on the source side of a minimum cut, and
// stay there. Often that decides the cut. What is left is for the trees of trees.hpp, which also
// prove the cut: any push keeps the identity of one_word.py.
//
// References:
//     Cherkassky, Goldberg (1997), On implementing the push-relabel method for the maximum flow
//     problem: global relabelling.
#pragma once

#include "solvers/algorithms/max_flow/trees.hpp"
#include "solvers/compiled/buffer.hpp"
#include "solvers/compiled/vectors.hpp"

namespace solvers::max_flow {

class LanePushes {
    // A struct, since templates drop the attributes of a bare vector type.
    struct Lanes;

public:
    // Number of instances side by side.
    static constexpr Index WIDTH = 8;

    // Whether lanes are faster than branches: registers hold more than two instances.
    static constexpr bool FAST = REGISTER_LANES > 2;

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

    // Writes the part of each cut that `push` has decided: 1 for a node from which no deficit can
    // be reached, 0 for others, and the sum of the excess of those nodes.
    //
    // Args:
    //     first: as for `push`; lanes beyond the batch write nothing.
    //     z: `[batch, n]`.
    //     doubled: `[batch]`.
    void settle(Index first, Matrix<std::int8_t> z, std::span<Index> doubled) const;

    // Returns whether no excess of a lane can reach a deficit: `settle` has written its cut.
    bool is_settled(Index lane) const;

    // Writes what is left to do in one lane to a graph of the same arcs: its balances and residual
    // capacities, without the excess that is settled and the arcs that lead to it.
    void unload(Index lane, Graph& graph) const;

private:
    static constexpr int PARTS = static_cast<int>(WIDTH) / REGISTER_LANES;

    struct Lanes {
        RegisterIndices part[PARTS];
        Index operator[](Index lane) const {
            return part[lane / REGISTER_LANES][lane % REGISTER_LANES];
        }
    };

    void load(Matrix<const Index> unary, Matrix<const Index> pairwise, Index first);
    void push_from(Node tail);
    void relabel();
    void relax(Node tail, Lanes& changes);
    Lanes total_deficit() const;
    static Index count(const Lanes& flags);

    const Graph& graph_;
    std::span<const std::uint32_t> edge_;
    Buffer<Lanes> residual_;  // [2 e]
    Buffer<Lanes> balance_;   // [n]
    Buffer<Lanes> distance_;  // [n]: a guess of how many arcs away the nearest deficit is;
                              // after `push`, FAR_AWAY if there is none
    Lanes active_;            // after `push`: nonzero in lanes in which excess can reach a deficit
};

}  // namespace solvers::max_flow
