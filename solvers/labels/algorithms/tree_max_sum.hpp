// The best assignment of every instance of a batch whose graph is a forest: Viterbi's algorithm.
//
// The values of a message stay side by side in registers while the kernel reads the rows of a
// table. No choices are stored. In the backward pass, each variable chooses again for the value of
// its parent.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::labels {

// Tables of instances, `[1 or all, t, k, k]`; a stride of zero if all instances share them.
struct TablesOf {
    const double* data;
    Index instance;  // entries from one instance to the next
    Index k;

    Matrix<const double> of(Index which, Index table) const {
        return {data + which * instance + table * k * k, k, k};
    }
};

struct ForestTables {
    std::span<const Index> sizes;  // [n]
    Matrix<const Index> steps;  // [n, 4]: variable, parent or -1, edge, whether the variable is the
                                // edge's first; children before parents
    std::span<const Index> table_of;  // [e]
    TablesOf rows;
    TablesOf turned;               // the same, transposed; unused where no step reads it
    Matrix<const double> weights;  // [1 or all, e], or no columns where all are one
};

// Writes an assignment of the highest score of each instance.
//
// Args:
//     unary: `[batch, n, k]`.
//     table: `[batch]`, the tables of each instance.
//     weight: `[batch]`, the weights of each instance.
//     labels: `[batch, n]`, written.
void best_labels(const ForestTables& forest, Cube<const double> unary, std::span<const Index> table,
                 std::span<const Index> weight, Matrix<Index> labels);

}  // namespace solvers::labels
