// Checks of small instances before and after their search, for kernels that go from raw scores to
// certified maximisers in one call.
//
// Python's checks of a problem and of an answer take ten times as long as a search of a small
// instance. Such a kernel runs the same checks in the same order. It declines unusual cases, and
// Python then runs its own checks, messages and tolerances.
#pragma once

#include <algorithm>
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

// Sums of the scores of at most LANES instances.
struct GroupSums {
    double magnitude[LANES];
    double rounding[LANES];
};

// Reads the scores `[rows, n]` and `[rows, e]` of at most LANES instances.
inline Surveyor<double> group_surveyor(Matrix<const double> unary, Matrix<const double> pairwise,
                                       GroupSums& sums) {
    constexpr double digits = std::numeric_limits<double>::epsilon();
    // The error of a sum of all scores, as a share of its magnitude: `Problem._share_of_rounding`.
    const auto terms = static_cast<double>(unary.columns + pairwise.columns + 1);
    const auto rows = static_cast<std::size_t>(unary.rows);
    return Surveyor<double>(unary, pairwise, 2.0 * digits * terms, digits, {sums.magnitude, rows},
                            {sums.rounding, rows});
}

// Returns false if scores are not finite, add up to more than `largest`, or are such that rounding
// could confuse them.
inline bool is_usual(const Survey& survey, double largest) {
    return survey.largest <= largest && !survey.suspicious;
}

// Checks the scores `[1, n]` and `[1, e]` of one instance; returns nothing if they are not usual.
inline std::optional<Passed> passed(Matrix<const double> unary, Matrix<const double> pairwise,
                                    double largest) {
    GroupSums sums;
    const Survey survey = group_surveyor(unary, pairwise, sums).survey();
    if (!is_usual(survey, largest)) return std::nullopt;
    return Passed{survey.lowest, sums.rounding[0]};
}

// The rows first .. first + LANES of a matrix, or as many of them as there are.
template <class T>
Matrix<T> group_of(Matrix<T> values, Index first) {
    const Index rows = std::min(Index{LANES}, values.rows - first);
    return {values.data + first * values.columns, rows, values.columns};
}

// Returns whether the scores `[batch, n]` and `[batch, e]` of all instances are usual.
inline bool pass(Matrix<const double> unary, Matrix<const double> pairwise, double largest) {
    GroupSums sums;
    for (Index first = 0; first < unary.rows; first += LANES) {
        const Survey survey =
            group_surveyor(group_of(unary, first), group_of(pairwise, first), sums).survey();
        if (!is_usual(survey, largest)) return false;
    }
    return true;
}

// Does the same for LANES instances, whose scores are transposed already, `[n + e, LANES]`.
inline bool pass_in_lanes(Matrix<const double> unary, Matrix<const double> pairwise,
                          const double* turned, double largest) {
    GroupSums sums;
    return is_usual(group_surveyor(unary, pairwise, sums).survey_lanes(turned), largest);
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
