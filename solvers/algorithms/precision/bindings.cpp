#include "solvers/compiled/bindings.hpp"

#include "solvers/algorithms/precision/integers.hpp"

namespace solvers::precision {
namespace {

template <class Score>
void bound_round(Array<const Score, 2> scores, Array<const std::int32_t, 1> exponent,
                 Array<Index, 2> nearest, Array<double, 1> moved) {
    const std::size_t batch = scores.shape(0);
    require(exponent.shape(0) == batch && nearest.shape(0) == batch && moved.shape(0) == batch,
            "scores, exponent, nearest and moved have one row for each instance");
    require(nearest.shape(1) == scores.shape(1), "nearest has as many columns as scores");
    nb::gil_scoped_release unlocked;
    round_instances(view(scores), view(exponent), view(nearest), view(moved));
}

template <class Score>
void bind_round(nb::module_& m) {
    m.def("round_instances", &bound_round<Score>, nb::arg("scores").noconvert(),
          nb::arg("exponent").noconvert(), nb::arg("nearest").noconvert(),
          nb::arg("moved").noconvert(),
          "Write the nearest integers to scores / 2^exponent, and the total change of each "
          "instance.");
}

}  // namespace
}  // namespace solvers::precision

BIND_KERNELS(precision, m) {
    solvers::precision::bind_round<double>(m);
    solvers::precision::bind_round<float>(m);
}
