// The pairs of a problem as enumeration reads them: checked and translated once, for many calls.
#pragma once

#include "solvers/compiled/views.hpp"

namespace solvers::exhaustive {

inline constexpr int MAX_VARIABLES = 25;

class Pairs {
public:
    // Args:
    //     n: number of variables, 1 to MAX_VARIABLES.
    //     edges: `[e, 2]`, distinct, 0 <= i < j < n in each row.
    Pairs(int n, Matrix<const Index> edges) : n_(n), e_(edges.rows) {
        for (Index i = 0; i < n; ++i) places_[i] = i * (MAX_VARIABLES + 1);
        for (Index k = 0; k < edges.rows; ++k) {
            edges_[2 * k] = edges(k, 0);
            edges_[2 * k + 1] = edges(k, 1);
            places_[n + k] = edges(k, 1) * MAX_VARIABLES + edges(k, 0);
        }
    }

    int n() const { return n_; }
    Matrix<const Index> edges() const { return {edges_, e_, 2}; }

    // The place of each of the n + e coefficients in the flattened matrix of MAX_VARIABLES^2
    // weights, below or on its diagonal.
    std::span<const Index> places() const { return {places_, static_cast<std::size_t>(n_ + e_)}; }

private:
    int n_;
    Index e_;
    Index edges_[MAX_VARIABLES * (MAX_VARIABLES - 1)];
    Index places_[MAX_VARIABLES * (MAX_VARIABLES + 1) / 2];
};

}  // namespace solvers::exhaustive
