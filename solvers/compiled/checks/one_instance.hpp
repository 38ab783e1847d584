// Checks of one small instance before and after its search, for kernels that go from raw scores to
// a certified maximiser in one call.
//
// Python's checks of a problem and of an answer take ten times as long as a search of a small
// instance. Such a kernel runs the same checks in the same order. It declines unusual cases, and
// Python then runs its own checks, messages and tolerances.
#pragma once

#include <limits>
#include <optional>

#include "solvers/compiled/checks/problem_checks.hpp"
#include "solvers/compiled/scores.hpp"

namespace solvers::checks {

// A state's score, a bound on the scores of all states, and whether the bound proves the state.
struct Certified {
    double score;
    double bound;
    bool proved;
};

// The checked scores of one instance.
struct Passed {
    double lowest;    // pairwise score; 0 where none is negative
    double rounding;  // how far a score and a bound can be apart by rounding alone
};

// Checks the scores `[1, n]` and `[1, e]` of one instance.
//
// Returns nothing if they are not finite, add up to more than `largest`, or are such that rounding
// could confuse them.
inline std::optional<Passed> passed(Matrix<const double> unary, Matrix<const double> pairwise,
                                    double largest) {
    constexpr double digits = std::numeric_limits<double>::epsilon();
    // The error of a sum of all scores, as a share of its magnitude: `Problem._share_of_rounding`.
    const auto terms = static_cast<double>(unary.columns + pairwise.columns + 1);
    double magnitude = 0.0;
    double rounding = 0.0;
    const Survey survey = Surveyor<double>(unary, pairwise, 2.0 * digits * terms, digits,
                                           {&magnitude, 1}, {&rounding, 1})
                              .survey();
    if (!(survey.largest <= largest) || survey.suspicious) return std::nullopt;
    return Passed{survey.lowest, rounding};
}

// Scores the state z `[1, n]`, and compares the score with a bound on all scores.
//
// Returns nothing if the bound is invalid: below the score by more than rounding, or NaN.
inline std::optional<Certified> certified(Matrix<const double> unary, Matrix<const double> pairwise,
                                          Matrix<const Index> edges, Matrix<const std::int8_t> z,
                                          double bound, double rounding) {
    const double score = score_of(unary[0], pairwise[0], edges, z[0]);
    double raised = 0.0;
    bool proved = false;
    const Index fault = certify({&score, 1}, {&bound, 1}, {&rounding, 1}, {&rounding, 1},
                                {&raised, 1}, {&proved, 1});
    if (fault != FINE) return std::nullopt;
    return Certified{score, raised, proved};
}

// The pairs i < j of a matrix that have a score, row by row, for at most N variables.
template <Index N>
class UsedPairs {
public:
    // Returns false if the matrix `[1, n, n]` is neither upper triangular nor symmetric, has an
    // entry on its diagonal, or scores no pair.
    bool read(Cube<const double> matrix) {
        const Index n = matrix.rows;
        const Index all = n * (n - 1) / 2;
        const Triangle triangle =
            read_matrix(matrix, Matrix<double>{scores_, 1, all},
                        std::span<std::uint8_t>(used_, static_cast<std::size_t>(all)));
        if (triangle.form != Form::UPPER_OR_SYMMETRIC || triangle.used == 0) return false;
        // Moves the used pairs forward; e of them so far, and k runs over all pairs i < j.
        Index e = 0;
        Index k = 0;
        for (Index i = 0; i < n; ++i)
            for (Index j = i + 1; j < n; ++j, ++k) {
                if (!used_[k]) continue;
                scores_[e] = scores_[k];
                edges_[2 * e] = i;
                edges_[2 * e + 1] = j;
                ++e;
            }
        e_ = e;
        return true;
    }

    Matrix<const double> scores() const { return {scores_, 1, e_}; }
    Matrix<const Index> edges() const { return {edges_, e_, 2}; }

private:
    static constexpr Index PAIRS = N * (N - 1) / 2;

    Index e_ = 0;
    double scores_[PAIRS];
    Index edges_[2 * PAIRS];
    std::uint8_t used_[PAIRS];
};

}  // namespace solvers::checks
