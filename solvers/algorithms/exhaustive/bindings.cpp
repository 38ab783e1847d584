#include "solvers/compiled/bindings.hpp"

#include "solvers/algorithms/exhaustive/best_states.hpp"
#include "solvers/algorithms/exhaustive/host.hpp"

namespace solvers::exhaustive {
namespace {

void bound_maximise(Array<const std::uint64_t, 1> positions, int n,
                    Array<const double, 2> coefficients, Array<std::int8_t, 2> z) {
    require(n >= 1 && n <= MAX_VARIABLES, "n is outside 1 to 25");
    require(z.shape(1) == static_cast<std::size_t>(n), "z has a column for each variable");
    require(coefficients.shape(0) == z.shape(0),
            "coefficients and z have one row for each instance");
    require(coefficients.shape(1) == positions.shape(0),
            "coefficients have a column for each position");
    for (std::uint64_t position : view(positions))
        require(position < MAX_VARIABLES * MAX_VARIABLES,
                "a position lies outside the matrix of weights");
    nb::gil_scoped_release unlocked;
    maximise(view(positions), n, view(coefficients), view(z));
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

}  // namespace
}  // namespace solvers::exhaustive

BIND_KERNELS(exhaustive, m) {
    using namespace solvers::exhaustive;
    namespace nb = nanobind;
    m.def("maximise", &bound_maximise, nb::arg("positions").noconvert(), nb::arg("n"),
          nb::arg("coefficients").noconvert(), nb::arg("z").noconvert(),
          "Write a maximiser of each instance to `z`.");
    m.def("best_codes", &bound_best_codes, nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("codes").noconvert(),
          "Write the best states of each instance as integers, the best first.");
}
