#include "solvers/compiled/bindings.hpp"

#include <optional>

#include "solvers/compiled/checks/problem_checks.hpp"
#include "solvers/compiled/scores.hpp"

namespace solvers::checks {
namespace {

// Other Python threads run meanwhile where there is so much to read: to hand over the lock takes
// longer than a small problem.
constexpr std::size_t MANY = 1 << 14;

class UnlockedForMany {
public:
    explicit UnlockedForMany(std::size_t numbers) {
        if (numbers > MANY) unlocked_.emplace();
    }

private:
    std::optional<nb::gil_scoped_release> unlocked_;
};

// Raises TypeError, as for arrays in another order: GCC takes every element to lie where its type
// may. nanobind does not ask.
template <class... Arrays>
void require_aligned(const Arrays&... arrays) {
    const auto aligned = [](const auto& array) {
        return reinterpret_cast<std::uintptr_t>(array.data()) % sizeof(*array.data()) == 0;
    };
    if (!(aligned(arrays) && ...)) throw nb::type_error("an array is not aligned");
}

template <class Score>
nb::tuple bound_survey(Array<const Score, 2> unary, Array<const Score, 2> pairwise, double factor,
                       Array<double, 2> sums) {
    require_aligned(unary, pairwise);
    require(pairwise.shape(0) == unary.shape(0) && sums.shape(0) == 2 &&
                sums.shape(1) == unary.shape(0),
            "unary, pairwise and both sums have one entry for each instance");
    constexpr double digits = std::numeric_limits<Score>::epsilon();
    Survey found;
    {
        const UnlockedForMany unlocked(unary.size() + pairwise.size());
        found = survey(view(unary), view(pairwise), factor, digits, view(sums)[0], view(sums)[1]);
    }
    return nb::make_tuple(found.largest, found.lowest, found.suspicious);
}

template <class Score>
nb::tuple bound_read_matrix(Array<const Score, 3> matrix, Array<Score, 2> upper,
                            Array<std::uint8_t, 1> used) {
    const std::size_t n = matrix.shape(1);
    require_aligned(matrix);
    require(n >= 1 && matrix.shape(2) == n, "matrices are square");
    require(upper.shape(0) == matrix.shape(0) && upper.shape(1) == n * (n - 1) / 2 &&
                used.shape(0) == upper.shape(1),
            "upper and used have a column for each pair");
    Triangle found;
    {
        const UnlockedForMany unlocked(matrix.size());
        found = read_matrix(view(matrix), view(upper), view(used));
    }
    return nb::make_tuple(static_cast<int>(found.form), found.used);
}

// The states may be any numbers; the edges are those of a `Topology`, which are checked again here
// as they index the states.
template <class Score>
bool bound_score(Array<const Score, 2> unary, Array<const Score, 2> pairwise,
                 Array<const Index, 2> edges, Array<const std::int8_t, 2> z,
                 Array<double, 1> score) {
    require_aligned(unary, pairwise, edges);
    require(unary.shape(0) == z.shape(0) && pairwise.shape(0) == z.shape(0) &&
                score.shape(0) == z.shape(0),
            "unary, pairwise, z and score have one row for each instance");
    require(unary.shape(1) == z.shape(1), "unary and z have a column for each variable");
    require(edges.shape(1) == 2 && pairwise.shape(1) == edges.shape(0),
            "edges have two columns, and pairwise a column for each of them");
    require_indices(std::span<const Index>(edges.data(), edges.size()),
                    static_cast<Index>(z.shape(1)), "an edge names a variable that does not exist");
    const UnlockedForMany unlocked(unary.size() + pairwise.size());
    std::uint8_t bits = 0;
    for (std::int8_t value : std::span<const std::int8_t>(z.data(), z.size()))
        bits |= static_cast<std::uint8_t>(value);
    if (bits > 1) return false;
    fill_scores(view(unary), view(pairwise), view(edges), view(z), view(score));
    return true;
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
          "Write the entries above the diagonals, and which of them are not zero everywhere.\n\n"
          "Return 1 where there is an entry on a diagonal, 2 where the matrices are neither upper "
          "triangular nor symmetric, else 0; and how many pairs are used.");
    m.def("score", &bound_score<Score>, nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("edges").noconvert(), nb::arg("z").noconvert(),
          nb::arg("score").noconvert(),
          "Write the score of the state `z[b]` of each instance b; return False, and write "
          "nothing, where a state has other numbers than 0 and 1.");
}

}  // namespace
}  // namespace solvers::checks

BIND_KERNELS(checks, m) {
    using namespace solvers::checks;
    bind_checks<double>(m);
    bind_checks<float>(m);
}
