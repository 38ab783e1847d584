// The separators of an elimination order, and the forest that they form.
//
// The separator of a variable are the variables that it shares a term or a message with when it is
// eliminated; its parent is the one of them that is eliminated first. The separator of a child has
// no variables but its parent and those of its parent's separator. Variables are numbered here by
// their places in the order.
#pragma once

#include <vector>

#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

struct Separators {
    std::vector<Index> starts;     // [n + 1]
    std::vector<Index> variables;  // each in descending order, so that the parent comes last
    std::vector<Index> parent;     // [n], or -1

    std::span<const Index> of(Index v) const {
        return {variables.data() + starts[v], variables.data() + starts[v + 1]};
    }
    Index size(Index v) const { return starts[v + 1] - starts[v]; }
};

// The separators of the order 0, 1, ... n - 1; edges `[e, 2]` are distinct pairs.
Separators separators_of(Index n, Matrix<const Index> edges);

// An order `[n]` of all variables in which the subtree of each comes right before it, wide children
// first.
std::vector<Index> children_first(const Separators& separators);

}  // namespace solvers::elimination
