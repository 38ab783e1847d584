#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "solvers/algorithms/exhaustive/best_states.hpp"
#include "solvers/algorithms/exhaustive/host.hpp"
#include "solvers/algorithms/exhaustive/lanes.hpp"
#include "solvers/algorithms/exhaustive/one_instance.hpp"

namespace solvers::exhaustive {
namespace {

// Number of instances from which on lanes pay, even if some stay empty.
constexpr std::size_t LANES_WORTH = 4;

template <class Score>
void bound_maximise(Array<const std::uint64_t, 1> positions, int n, Array<const Score, 2> unary,
                    Array<const Score, 2> pairwise, Array<std::int8_t, 2> z) {
    require(n >= 1 && n <= MAX_VARIABLES, "n is outside 1 to 25");
    const std::size_t variables = static_cast<std::size_t>(n);
    require(z.shape(1) == variables && unary.shape(1) == variables,
            "unary and z have a column for each variable");
    require(unary.shape(0) == z.shape(0) && pairwise.shape(0) == z.shape(0),
            "unary, pairwise and z have one row for each instance");
    require(variables + pairwise.shape(1) == positions.shape(0),
            "there is a position for each coefficient");
    require_indices(view(positions), MAX_VARIABLES * MAX_VARIABLES,
                    "a position lies outside the matrix of weights");
    nb::gil_scoped_release unlocked;
    const bool in_lanes = n <= LANE_VARIABLES && z.shape(0) >= LANES_WORTH;
    const auto kernel = in_lanes ? &maximise_in_lanes<Score> : &maximise<Score>;
    kernel(view(positions), n, view(unary), view(pairwise), view(z));
}

void bound_best_codes(Array<const double, 2> unary, Array<const double, 3> pairwise,
                      Array<Index, 2> codes) {
    const std::size_t n = unary.shape(1);
    require(n >= 1 && n < 60, "n is outside 1 to 59");
    require(pairwise.shape(1) == n && pairwise.shape(2) == n,
            "pairwise has a matrix for each instance");
    require(pairwise.shape(0) == unary.shape(0) && codes.shape(0) == unary.shape(0),
            "unary, pairwise and codes have one row for each instance");
    require(codes.shape(1) >= 1 && codes.shape(1) <= std::size_t{1} << n,
            "there are 2^n states at most");
    nb::gil_scoped_release unlocked;
    best_codes(view(unary), view(pairwise), view(codes));
}

std::optional<double> bound_maximise_matrix(Array<const double, 1> unary,
                                            Array<const double, 2> matrix, double largest,
                                            Array<std::int8_t, 1> z) {
    const std::size_t n = unary.shape(0);
    if (!fits_one_instance(ONE_INSTANCE_VARIABLES, unary, z) || !fits_one_matrix(n, matrix))
        return std::nullopt;
    const auto size = static_cast<Index>(n);
    return maximise_matrix(one_row(unary), {matrix.data(), 1, size, size}, largest, one_row(z));
}

std::optional<double> bound_maximise_pairs(Array<const std::uint64_t, 1> positions,
                                           Array<const Index, 2> edges,
                                           Array<const double, 1> unary,
                                           Array<const double, 1> pairwise, double largest,
                                           Array<std::int8_t, 1> z) {
    const std::size_t e = edges.shape(0);
    if (!fits_one_instance(ONE_INSTANCE_VARIABLES, unary, z) || pairwise.shape(0) != e ||
        !is_aligned(pairwise.data()))
        return std::nullopt;
    require(edges.shape(1) == 2 && positions.shape(0) == unary.shape(0) + e,
            "there is a position for each coefficient, and a row of two for each edge");
    require_indices(view(positions), MAX_VARIABLES * MAX_VARIABLES,
                    "a position lies outside the matrix of weights");
    require_indices(std::span<const Index>(edges.data(), edges.size()),
                    static_cast<Index>(unary.shape(0)),
                    "an edge names a variable that does not exist");
    return maximise_pairs(view(positions), view(edges), one_row(unary), one_row(pairwise), largest,
                          one_row(z));
}

template <class Score>
void bind_maximise(nb::module_& m) {
    m.def("maximise", &bound_maximise<Score>, nb::arg("positions").noconvert(), nb::arg("n"),
          nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(), nb::arg("z").noconvert(),
          "Write a maximiser of each instance to `z`.");
}

}  // namespace
}  // namespace solvers::exhaustive

BIND_KERNELS(exhaustive, m) {
    using namespace solvers::exhaustive;
    namespace nb = nanobind;
    bind_maximise<double>(m);
    bind_maximise<float>(m);
    m.def("maximise_matrix", &bound_maximise_matrix, nb::arg("unary").noconvert(),
          nb::arg("matrix").noconvert(), nb::arg("largest"), nb::arg("z").noconvert(),
          "Write a maximiser of one instance to `z`, and return its score.\n\n"
          "Return None where the scores need another look.");
    m.def("maximise_pairs", &bound_maximise_pairs, nb::arg("positions").noconvert(),
          nb::arg("edges").noconvert(), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("largest"), nb::arg("z").noconvert(),
          "Write a maximiser of one instance over these pairs to `z`, and return its score.\n\n"
          "Return None where the scores need another look.");
    m.def("best_codes", &bound_best_codes, nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("codes").noconvert(),
          "Write the best states of each instance as integers, the best first.");
}
