#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "solvers/algorithms/max_flow/dense.hpp"
#include "solvers/algorithms/max_flow/one_instance.hpp"
#include "solvers/algorithms/max_flow/one_word.hpp"
#include "solvers/algorithms/max_flow/sparse.hpp"
#include "solvers/algorithms/max_flow/supermodular_flips.hpp"

namespace solvers::max_flow {
namespace {

// The arguments of all cuts: `[e, 2]` nodes, and one row of scores for each instance.
template <class End, class Score, class Bound>
void require_shapes(Matrix<const End> ends, const Array<const Score, 2>& unary,
                    const Array<const Score, 2>& pairwise, const Array<std::int8_t, 2>& z,
                    const Array<Bound, 1>& bound) {
    const std::size_t batch = unary.shape(0);
    require(ends.columns == 2, "edges have two columns");
    require(pairwise.shape(0) == batch && z.shape(0) == batch && bound.shape(0) == batch,
            "unary, pairwise, z and bound have one row for each instance");
    require(z.shape(1) == unary.shape(1), "z has a column for each variable");
    require(static_cast<Index>(pairwise.shape(1)) == ends.rows,
            "pairwise has a column for each edge");
    require_indices(std::span<const End>(ends.data, 2 * ends.rows),
                    static_cast<Index>(unary.shape(1)),
                    "an edge names a variable that does not exist");
}

template <class Score>
void one_word(Array<const std::uint8_t, 2> ends, Array<const Score, 2> unary,
              Array<const Score, 2> pairwise, Array<std::int8_t, 2> z, Array<double, 1> bound) {
    require(unary.shape(1) <= ONE_WORD_NODES, "one word holds 62 variables");
    require_shapes(view(ends), unary, pairwise, z, bound);
    nb::gil_scoped_release unlocked;
    cut_in_one_word(view(ends), view(unary), view(pairwise), view(z), view(bound));
}

void dense(Array<const std::uint32_t, 2> ends, StopFlag stop, Array<const Index, 2> unary,
           Array<const Index, 2> pairwise, Array<std::int8_t, 2> z, Array<Index, 1> doubled) {
    require_shapes(view(ends), unary, pairwise, z, doubled);
    const Stop stopped = stop_of(stop);
    nb::gil_scoped_release unlocked;
    cut_dense(view(ends), stopped, view(unary), view(pairwise), view(z), view(doubled));
}

void sparse(Array<const Index, 2> edges, StopFlag stop, Array<const Index, 2> unary,
            Array<const Index, 2> pairwise, Array<std::int8_t, 2> z, Array<Index, 1> doubled) {
    require_shapes(view(edges), unary, pairwise, z, doubled);
    require(edges.shape(0) < std::size_t{1} << 30, "there are 2^30 edges or more");
    require(unary.shape(1) < std::size_t{1} << 31, "there are 2^31 variables or more");
    nb::gil_scoped_release unlocked;
    cut_sparse(view(edges), stop_of(stop), view(unary), view(pairwise), view(z), view(doubled));
}

template <class Score>
void flips(Array<const Index, 2> edges, Array<const Score, 2> pairwise, Array<std::int8_t, 2> flips,
           Array<bool, 1> exist) {
    const std::size_t batch = pairwise.shape(0);
    require(edges.shape(1) == 2 && edges.shape(0) == pairwise.shape(1),
            "edges have two columns and a row for each score");
    require(flips.shape(0) == batch && exist.shape(0) == batch,
            "pairwise, flips and exist have one row for each instance");
    require_indices(std::span<const Index>(edges.data(), 2 * edges.shape(0)),
                    static_cast<Index>(flips.shape(1)),
                    "an edge names a variable that does not exist");
    nb::gil_scoped_release unlocked;
    fill_flips(view(edges), view(pairwise), view(flips), view(exist));
}

// Score, bound, and whether the bound proves the state.
using Certified = std::optional<std::tuple<double, double, bool>>;

Certified as_tuple(const std::optional<checks::Certified>& answer) {
    if (!answer) return std::nullopt;
    return std::tuple(answer->score, answer->bound, answer->proved);
}

Certified bound_maximise_matrix(Array<const double, 1> unary, Array<const double, 2> matrix,
                                double largest, Array<std::int8_t, 1> z) {
    const std::size_t n = unary.shape(0);
    if (!fits_one_instance(ONE_WORD_NODES, unary, z) || !fits_one_matrix(n, matrix))
        return std::nullopt;
    const auto size = static_cast<Index>(n);
    return as_tuple(
        maximise_matrix(one_row(unary), {matrix.data(), 1, size, size}, largest, one_row(z)));
}

Certified bound_maximise_pairs(Array<const Index, 2> edges, Array<const double, 1> unary,
                               Array<const double, 1> pairwise, double largest,
                               Array<std::int8_t, 1> z) {
    const std::size_t n = unary.shape(0);
    const std::size_t e = edges.shape(0);
    if (!fits_one_instance(ONE_WORD_NODES, unary, z) || pairwise.shape(0) != e ||
        !is_aligned(pairwise.data()))
        return std::nullopt;
    require_edges(static_cast<Index>(n), edges);
    require(e <= n * (n - 1) / 2, "an edge comes twice");
    return as_tuple(
        maximise_pairs(view(edges), one_row(unary), one_row(pairwise), largest, one_row(z)));
}

template <class Score>
void bind_scores(nb::module_& m) {
    m.def("one_word", &one_word<Score>, nb::arg("ends").noconvert(), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("z").noconvert(), nb::arg("bound").noconvert(),
          "Write a maximiser of each supermodular instance of at most 62 variables, and a bound.");
    m.def("flips", &flips<Score>, nb::arg("edges").noconvert(), nb::arg("pairwise").noconvert(),
          nb::arg("flips").noconvert(), nb::arg("exist").noconvert(),
          "Write the bit flips after which no pairwise score is negative, and whether there are "
          "any.");
}

}  // namespace
}  // namespace solvers::max_flow

BIND_KERNELS(max_flow, m) {
    using namespace solvers::max_flow;
    namespace nb = nanobind;
    bind_scores<double>(m);
    bind_scores<float>(m);
    m.def("maximise_matrix", &bound_maximise_matrix, nb::arg("unary").noconvert(),
          nb::arg("matrix").noconvert(), nb::arg("largest"), nb::arg("z").noconvert(),
          "Write a maximiser of one instance to `z`; return its score, a bound and whether it "
          "proves the score.\n\n"
          "Return None where the scores need another look, or one of a pair is negative.");
    m.def("maximise_pairs", &bound_maximise_pairs, nb::arg("edges").noconvert(),
          nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(), nb::arg("largest"),
          nb::arg("z").noconvert(), "Do the same as `maximise_matrix` for one score of each edge.");
    m.def("dense", &dense, nb::arg("ends").noconvert(), nb::arg("stop").noconvert(),
          nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(), nb::arg("z").noconvert(),
          nb::arg("doubled").noconvert(),
          "Write a maximiser of each supermodular integer instance, and twice its maximum; a set "
          "stop flag leaves upper bounds.");
    m.def("sparse", &sparse, nb::arg("edges").noconvert(), nb::arg("stop").noconvert(),
          nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(), nb::arg("z").noconvert(),
          nb::arg("doubled").noconvert(), "Do the same as `dense` on lists of arcs.");
}
