// Depth-first branch and bound for dense pairwise problems, within the concave relaxation of each
// level.
//
// Coordinate ascent bounds a node until the bound prunes it, or f(x) shows that this relaxation
// never will. Variables whose other value is pruned are fixed. Once LEVEL_STEP variables are fixed,
// the others become a level with a new, tighter diagonal. The smallest nodes are enumerated.
//
// The concave function may be that of a Lagrangian with triangle inequalities. The semidefinite
// relaxation of a level then moves the multipliers too. The multipliers of the root suit a level
// less and less as variables are fixed: unchanged, they would make its bound worse than none.
//
// The search keeps one node a depth. A node whose first child is being searched holds the branching
// of the second one; that child then takes its place.
#pragma once

#include <deque>
#include <vector>

#include "solvers/algorithms/branch_and_bound/nodes.hpp"
#include "solvers/algorithms/branch_and_bound/relaxation.hpp"
#include "solvers/compiled/best.hpp"
#include "solvers/compiled/stop.hpp"

namespace solvers::branch_and_bound {

// The best states so far, and the largest bound that the last of them pruned.
struct Incumbent {
    Best<double> best;
    double margin;    // nodes whose bound exceeds the last score by no more are pruned
    double& ceiling;  // the largest bound that was pruned

    double threshold() const { return best.worst_score() + margin; }
    void prune(double bound) const { ceiling = std::max(ceiling, bound); }
};

class Tree {
public:
    // Creates the tree: the whole problem is level 0, and its root the only node.
    //
    // Args:
    //     unary: `[n]`.
    //     pairwise: `[n, n]`, symmetric, with a zero diagonal.
    //     inequalities: the Lagrangian of the root adds them to the score; may be empty.
    //     step: step size of the multipliers at every level.
    //     stop: once it is set, the relaxation of the root ends early, with a worse bound.
    Tree(std::span<const double> unary, Matrix<const double> pairwise,
         std::vector<Inequality> inequalities, double step, Stop stop);

    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    // Handles up to `budget` nodes, or all that remain; returns how many.
    Index run(Index budget, const Incumbent& incumbent);

    Index variables() const { return n_; }
    // Returns the depth of the node that is handled next; -1 at the end of the search.
    Index depth() const { return top_; }
    // Returns upper bounds on the scores of the open nodes.
    std::vector<double> open_bounds() const;
    // Returns the upper bound of the root on all scores; its second child takes its place later.
    double root_bound() const { return root_bound_; }
    // Returns the mean d_i of the whole problem.
    double scale() const;

private:
    void copy_problem(std::span<const double> unary, Matrix<const double> pairwise);
    void begin_root(Stop stop);
    void relax(Node& node, Sweeps sweeps, int rounds, Stop stop);
    void relax_lagrangian(Node& node, Sweeps sweeps, int rounds, Stop stop);
    void mix_level(Node& node, Sweeps sweeps, Stop stop);
    void take_diagonal(Node& node);
    void descend(Node& node);
    Index fix_by_bounds(Node& node, double bound, const Incumbent& incumbent);
    Index fix_dominated(Node& node);
    void enumerate(const Node& node, const Incumbent& incumbent);
    void fill_table(const Node& node);
    bool settle(Node& node, const Incumbent& incumbent);
    void branch();
    Node& node_at(Index depth);
    Level& level_at(Index depth);

    Index n_;
    double step_;
    Index top_ = 0;
    double root_bound_;  // infinite until the root is handled
    bool at_root_ = true;
    std::deque<Level> levels_;  // along the current path, and below it what was there before
    std::deque<Node> nodes_;
    // Memory of the steps.
    Factor factor_;
    Row fields_;                      // [n]
    Row linear_;                      // [n]
    Row candidate_;                   // [n]
    Row table_;                       // [2^LEAF_VARIABLES]
    Row linear_table_;                // [2^LEAF_VARIABLES]
    std::vector<Index> order_;        // [n]
    std::vector<std::int8_t> state_;  // [n]
};

}  // namespace solvers::branch_and_bound
