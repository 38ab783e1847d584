#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "solvers/algorithms/exhaustive/at_once.hpp"
#include "solvers/algorithms/exhaustive/best_states.hpp"
#include "solvers/algorithms/exhaustive/host.hpp"
#include "solvers/algorithms/exhaustive/lanes.hpp"
#include "solvers/algorithms/exhaustive/pairs.hpp"

namespace solvers::exhaustive {
namespace {

void make_pairs(Pairs* self, Index n, const Edges& edges) {
    require(n >= 1 && n <= MAX_VARIABLES, "n is outside 1 to 25");
    require_edges(n, edges);
    require(edges.shape(0) <= static_cast<std::size_t>(n * (n - 1) / 2), "an edge comes twice");
    const Matrix<const Index> pairs = view(edges);
    for (Index k = 0; k < pairs.rows; ++k)
        require(pairs(k, 0) < pairs(k, 1), "an edge does not name its first variable first");
    new (self) Pairs(static_cast<int>(n), pairs);
}

// Returns whether there are scores and a state of as many instances over the pairs.
template <class Score>
bool fit_pairs(const Pairs& pairs, const Array<const Score, 2>& unary,
               const Array<const Score, 2>& pairwise, const Array<std::int8_t, 2>& z) {
    const auto n = static_cast<std::size_t>(pairs.n());
    const auto e = static_cast<std::size_t>(pairs.edges().rows);
    const std::size_t batch = z.shape(0);
    return z.shape(1) == n && unary.shape(1) == n && pairwise.shape(1) == e &&
           unary.shape(0) == batch && pairwise.shape(0) == batch;
}

template <class Score>
void bound_maximise(const Pairs& pairs, Array<const Score, 2> unary, Array<const Score, 2> pairwise,
                    Array<std::int8_t, 2> z) {
    require(fit_pairs(pairs, unary, pairwise, z),
            "unary, pairwise and z have a row for each instance, and a column for each variable or "
            "pair");
    nb::gil_scoped_release unlocked;
    const bool in_lanes = pay_lanes(pairs.n(), static_cast<Index>(z.shape(0)));
    const auto kernel = in_lanes ? &maximise_in_lanes<Score> : &maximise<Score>;
    kernel(pairs, view(unary), view(pairwise), view(z));
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
    if (!fits_one_instance(AT_ONCE_VARIABLES, unary, z) || !fits_one_matrix(n, matrix))
        return std::nullopt;
    const auto size = static_cast<Index>(n);
    return maximise_matrix(one_row(unary), {matrix.data(), 1, size, size}, largest, one_row(z));
}

std::optional<double> bound_maximise_one(const Pairs& pairs, Array<const double, 1> unary,
                                         Array<const double, 1> pairwise, double largest,
                                         Array<std::int8_t, 1> z) {
    if (!fits_one_instance(AT_ONCE_VARIABLES, unary, z) ||
        unary.shape(0) != static_cast<std::size_t>(pairs.n()) ||
        pairwise.shape(0) != static_cast<std::size_t>(pairs.edges().rows) ||
        !is_aligned(pairwise.data()))
        return std::nullopt;
    double score = 0.0;
    if (!maximise_at_once(pairs, one_row(unary), one_row(pairwise), largest, one_row(z),
                          {&score, 1}))
        return std::nullopt;
    return score;
}

bool bound_maximise_batch(const Pairs& pairs, Array<const double, 2> unary,
                          Array<const double, 2> pairwise, double largest, Array<std::int8_t, 2> z,
                          Array<double, 1> score) {
    if (pairs.n() > AT_ONCE_VARIABLES || !fit_pairs(pairs, unary, pairwise, z) ||
        score.shape(0) != z.shape(0) || !is_aligned(unary.data()) || !is_aligned(pairwise.data()))
        return false;
    nb::gil_scoped_release unlocked;
    return maximise_at_once(pairs, view(unary), view(pairwise), largest, view(z), view(score));
}

template <class Score>
void bind_maximise(nb::module_& m) {
    m.def("maximise", &bound_maximise<Score>, nb::arg("pairs"), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("z").noconvert(),
          "Write a maximiser of each instance to `z`.");
}

}  // namespace
}  // namespace solvers::exhaustive

BIND_KERNELS(exhaustive, m) {
    using namespace solvers::exhaustive;
    namespace nb = nanobind;
    nb::class_<Pairs>(m, "Pairs", "Pairs of at most 25 variables, checked for many calls.")
        .def("__init__", &make_pairs, nb::arg("n"), nb::arg("edges").noconvert());
    bind_maximise<double>(m);
    bind_maximise<float>(m);
    m.def("maximise_matrix", &bound_maximise_matrix, nb::arg("unary").noconvert(),
          nb::arg("matrix").noconvert(), nb::arg("largest"), nb::arg("z").noconvert(),
          "Write a maximiser of one instance to `z`, and return its score.\n\n"
          "Return None where the scores need another look.");
    m.def("maximise_one", &bound_maximise_one, nb::arg("pairs"), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("largest"), nb::arg("z").noconvert(),
          "Write a maximiser of one instance over these pairs to `z`, and return its score.\n\n"
          "Return None where the scores need another look.");
    m.def("maximise_batch", &bound_maximise_batch, nb::arg("pairs"), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("largest"), nb::arg("z").noconvert(),
          nb::arg("score").noconvert(),
          "Write a maximiser of each instance to `z`, and its score.\n\n"
          "Return False where the scores of an instance need another look.");
    m.def("best_codes", &bound_best_codes, nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("codes").noconvert(),
          "Write the best states of each instance as integers, the best first.");
}
