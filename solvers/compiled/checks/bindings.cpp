#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "solvers/compiled/checks/problem_checks.hpp"
#include "solvers/compiled/scores.hpp"

namespace solvers::checks {
namespace {

// Other Python threads run meanwhile if there is much to read: for a small problem, handing over
// the lock takes longer than the check.
constexpr std::size_t MANY = 1 << 14;

class UnlockedForMany {
public:
    explicit UnlockedForMany(std::size_t numbers) {
        if (numbers > MANY) unlocked_.emplace();
    }

private:
    std::optional<nb::gil_scoped_release> unlocked_;
};

// Raises TypeError for unaligned arrays, as for arrays in another order: GCC assumes that every
// element is aligned, and nanobind does not check it.
template <class... Arrays>
void require_aligned(const Arrays&... arrays) {
    const auto aligned = [](const auto& array) {
        return reinterpret_cast<std::uintptr_t>(array.data()) % sizeof(*array.data()) == 0;
    };
    if (!(aligned(arrays) && ...)) throw nb::type_error("an array is not aligned");
}

template <class Score>
std::tuple<double, double, bool> bound_survey(Array<const Score, 2> unary,
                                              Array<const Score, 2> pairwise, double factor,
                                              Array<double, 2> sums) {
    require_aligned(unary, pairwise);
    require(pairwise.shape(0) == unary.shape(0) && sums.shape(0) == 2 &&
                sums.shape(1) == unary.shape(0),
            "unary, pairwise and both sums have one entry for each instance");
    constexpr double digits = std::numeric_limits<Score>::epsilon();
    Survey survey;
    {
        const UnlockedForMany unlocked(unary.size() + pairwise.size());
        survey = Surveyor<Score>(view(unary), view(pairwise), factor, digits, view(sums)[0],
                                 view(sums)[1])
                     .survey();
    }
    return {survey.largest, survey.lowest, survey.suspicious};
}

template <class Score>
std::tuple<int, Index> bound_read_matrix(Array<const Score, 3> matrix, Array<Score, 2> upper,
                                         Array<std::uint8_t, 1> used) {
    const std::size_t n = matrix.shape(1);
    require_aligned(matrix);
    require(n >= 1 && matrix.shape(2) == n, "matrices are square");
    require(upper.shape(0) == matrix.shape(0) && upper.shape(1) == n * (n - 1) / 2 &&
                used.shape(0) == upper.shape(1),
            "upper and used have a column for each pair");
    Triangle triangle;
    {
        const UnlockedForMany unlocked(matrix.size());
        triangle = read_matrix(view(matrix), view(upper), view(used));
    }
    return {static_cast<int>(triangle.form), triangle.used};
}

// The edges are those of a `Topology`; they are checked again here since they index the states.
template <class Score>
Index bound_certify(Array<const Score, 2> unary, Array<const Score, 2> pairwise,
                    Array<const Index, 2> edges, Array<const std::int8_t, 2> z,
                    std::optional<Array<const double, 1>> bound, Array<const double, 1> rounding,
                    Array<const double, 1> tolerance, Array<double, 2> scores,
                    Array<bool, 1> proved) {
    const std::size_t batch = unary.shape(0);
    require_aligned(unary, pairwise, edges);
    require(z.shape(0) == batch && pairwise.shape(0) == batch && rounding.shape(0) == batch &&
                tolerance.shape(0) == batch && proved.shape(0) == batch &&
                (!bound || bound->shape(0) == batch),
            "all but the edges have an entry for each instance");
    require(scores.shape(0) == 2 && scores.shape(1) == batch,
            "scores have one row for the scores and one for the bounds");
    require(unary.shape(1) == z.shape(1), "unary and z have a column for each variable");
    require(edges.shape(1) == 2 && pairwise.shape(1) == edges.shape(0),
            "edges have two columns, and pairwise a column for each of them");
    require_indices(std::span<const Index>(edges.data(), edges.size()),
                    static_cast<Index>(z.shape(1)), "an edge names a variable that does not exist");
    const UnlockedForMany unlocked(unary.size() + pairwise.size());
    if (!are_binary(std::span<const std::int8_t>(z.data(), z.size()))) return NO_STATE;
    const auto [score, raised] = std::pair(view(scores)[0], view(scores)[1]);
    fill_scores(view(unary), view(pairwise), view(edges), view(z), score);
    const auto bounds = bound ? view(*bound) : std::span<const double>(score);
    return certify(score, bounds, view(rounding), view(tolerance), raised, view(proved));
}

template <class Score>
void bind_checks(nb::module_& m) {
    m.def("survey", &bound_survey<Score>, nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("factor"), nb::arg("sums").noconvert(),
          "Write the sum of absolute scores of each instance, and `factor` times that.\n\n"
          "Return the largest sum, the lowest pairwise score or 0, and whether rounding could "
          "confuse scores.");
    m.def("read_matrix", &bound_read_matrix<Score>, nb::arg("matrix").noconvert(),
          nb::arg("upper").noconvert(), nb::arg("used").noconvert(),
          "Write the entries above the diagonals, and which of them are nonzero anywhere.\n\n"
          "Return 1 where there is an entry on a diagonal, 2 where the matrices are neither upper "
          "triangular nor symmetric, else 0; and how many pairs are used.");
    m.def("certify", &bound_certify<Score>, nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("edges").noconvert(), nb::arg("z").noconvert(),
          nb::arg("bound").noconvert().none(), nb::arg("rounding").noconvert(),
          nb::arg("tolerance").noconvert(), nb::arg("scores").noconvert(),
          nb::arg("proved").noconvert(),
          "Write the score of the state `z[b]` of each instance b, a bound on all scores, and "
          "whether it proves the state.\n\n"
          "Return -1; or an instance where the bound is none; or -2, where a state has other "
          "numbers than 0 and 1.");
}

}  // namespace
}  // namespace solvers::checks

BIND_KERNELS(checks, m) {
    using namespace solvers::checks;
    bind_checks<double>(m);
    bind_checks<float>(m);
}
