#include "solvers/compiled/bindings.hpp"

#include <limits>

#include "solvers/algorithms/branch_and_bound/tree.hpp"
#include "solvers/algorithms/branch_and_bound/triangles.hpp"

namespace solvers::branch_and_bound {
namespace {

using Reals = Array<const double, 1>;
using RealMatrix = Array<const double, 2>;

std::vector<Triangle> triangles_of(const Array<const std::int16_t, 2>& rows, Index m) {
    require(rows.shape(1) == 4, "an inequality has three nodes and a kind");
    std::vector<Triangle> triangles;
    for (std::size_t t = 0; t < rows.shape(0); ++t) {
        const std::int16_t* row = rows.data() + 4 * t;
        require(m > row[0] && row[0] > row[1] && row[1] > row[2] && row[2] >= 0,
                "the nodes of an inequality fall");
        require(0 <= row[3] && row[3] < 4, "there are four kinds of inequalities");
        triangles.push_back({row[0], row[1], row[2], row[3]});
    }
    return triangles;
}

void init_tree(Tree* self, Reals unary, RealMatrix pairwise,
               Array<const std::int16_t, 2> inequalities, Reals multipliers, double step,
               StopFlag stop) {
    require(pairwise.shape(0) == unary.shape(0) && pairwise.shape(1) == unary.shape(0),
            "pairwise has a row and a column for each variable");
    require(multipliers.shape(0) == inequalities.shape(0), "every inequality has a multiplier");
    const std::vector<Triangle> triangles =
        triangles_of(inequalities, static_cast<Index>(unary.shape(0)) + 1);
    std::vector<Inequality> terms;
    for (std::size_t t = 0; t < triangles.size(); ++t) {
        const double multiplier = multipliers.data()[t];
        require(0.0 <= multiplier && multiplier < std::numeric_limits<double>::infinity(),
                "multipliers are finite and not negative");
        terms.push_back(inequality_of(triangles[t], multiplier));
    }
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    new (self) Tree(view(unary), view(pairwise), std::move(terms), step, flag);
}

Index run_tree(Tree& tree, Index budget, Array<double, 1> scores, Array<Index, 1> places,
               Array<std::int8_t, 2> states, double margin, Array<double, 1> ceiling) {
    require(scores.shape(0) > 0 && places.shape(0) == scores.shape(0) &&
                states.shape(0) == scores.shape(0),
            "scores, places and states have one row for each known state");
    require(static_cast<Index>(states.shape(1)) == tree.variables(),
            "states have an entry for each variable");
    require_indices<Index>(view(places), static_cast<Index>(states.shape(0)),
                           "there is no state at such a place");
    require(ceiling.shape(0) == 1, "ceiling has one entry");
    const Incumbent incumbent{{view(scores), view(places), view(states)}, margin, *ceiling.data()};
    nb::gil_scoped_release unlocked;
    return tree.run(budget, incumbent);
}

void init_relaxation(Relaxation* self, Index nodes, Index rank, Index room) {
    require(0 < nodes && nodes <= std::numeric_limits<std::int16_t>::max(),
            "there are 1 to 32767 nodes");
    require(rank > 0 && rank % 4 == 0, "the rank is a multiple of 4");
    require(room > 0, "there is room for an inequality");
    new (self) Relaxation(nodes, rank, room);
}

double tighten(Relaxation& relaxation, RealMatrix couplings, double constant, RealMatrix points,
               Array<const std::int16_t, 2> inequalities, Reals multipliers, double scale,
               double threshold, Index patience, Index rounds, StopFlag stop) {
    const auto m = static_cast<Index>(couplings.shape(0));
    require(couplings.shape(1) == couplings.shape(0) && 0 < m && m <= relaxation.capacity(),
            "couplings has a row and a column for each node, of which there is room for so many");
    require(static_cast<Index>(points.shape(0)) == relaxation.factors().rank() &&
                points.shape(1) == couplings.shape(0),
            "points has a row for each number of a vector and a column for each node");
    require(multipliers.shape(0) == inequalities.shape(0) &&
                static_cast<Index>(multipliers.shape(0)) <= relaxation.triangles().room,
            "every inequality has a multiplier and finds room");
    std::vector<Triangle> nodes = triangles_of(inequalities, m);
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    relaxation.load(view(couplings), constant, view(points), std::move(nodes), copied(multipliers));
    return relaxation.tighten(scale, threshold, patience, rounds, flag);
}

// Rows without their padding.
auto unpadded(const double* rows, Index count, Index columns, Index stride) {
    require(columns > 0, "there is no problem before the first call of `tighten`");
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(count * columns));
    for (Index r = 0; r < count; ++r)
        values.insert(values.end(), rows + r * stride, rows + r * stride + columns);
    return as_array(std::move(values), static_cast<std::size_t>(columns));
}

template <const double* (LowRank::*Rows)() const>
auto rows_of(const Relaxation& relaxation) {
    const LowRank& factors = relaxation.factors();
    return unpadded((factors.*Rows)(), factors.rank(), factors.size(), factors.stride());
}

auto gram_of(const Relaxation& relaxation) {
    const LowRank& factors = relaxation.factors();
    return unpadded(factors.gram().data, factors.size(), factors.size(), factors.stride());
}

auto inequalities_of(const Relaxation& relaxation) {
    std::vector<std::int16_t> rows;
    for (const Triangle& triangle : relaxation.triangles().nodes)
        rows.insert(rows.end(), {triangle.i, triangle.j, triangle.k, triangle.kind});
    return as_array(std::move(rows), 4);
}

}  // namespace
}  // namespace solvers::branch_and_bound

BIND_KERNELS(branch_and_bound, m) {
    using namespace solvers::branch_and_bound;
    namespace nb = nanobind;
    nb::class_<Tree>(m, "Tree",
                     "The depth-first search of one instance, whose scores are whole numbers.")
        .def("__init__", &init_tree, nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(),
             nb::arg("inequalities").noconvert(), nb::arg("multipliers").noconvert(),
             nb::arg("step"), nb::arg("stop").noconvert())
        .def("run", &run_tree, nb::arg("budget"), nb::arg("scores").noconvert(),
             nb::arg("places").noconvert(), nb::arg("states").noconvert(), nb::arg("margin"),
             nb::arg("ceiling").noconvert(), "Handle up to `budget` nodes; return how many.")
        .def_prop_ro("depth", &Tree::depth, "Of the node to go on with; -1 once all is searched.")
        .def_prop_ro(
            "open_bounds", [](const Tree& tree) { return solvers::as_array(tree.open_bounds()); },
            nb::rv_policy::move, "`[nodes]`: what no state of the open nodes scores more than.")
        .def_prop_ro("root_bound", &Tree::root_bound, "The upper bound of the root on all scores.")
        .def_prop_ro("scale", &Tree::scale, "The mean d_i of the whole problem.");
    nb::class_<Relaxation>(m, "Relaxation",
                           "The relaxation with triangle inequalities, node by node.")
        .def("__init__", &init_relaxation, nb::arg("nodes"), nb::arg("rank"), nb::arg("room"))
        .def("tighten", &tighten, nb::arg("couplings").noconvert(), nb::arg("constant"),
             nb::arg("points").noconvert(), nb::arg("inequalities").noconvert(),
             nb::arg("multipliers").noconvert(), nb::arg("scale"), nb::arg("threshold"),
             nb::arg("patience"), nb::arg("rounds"), nb::arg("stop").noconvert(),
             "Return an upper bound on all scores: the threshold, or a larger one.")
        .def_prop_ro("points", &rows_of<&LowRank::points>, nb::rv_policy::move,
                     "`[r, m]`: multiples of the vectors, as they were last.")
        .def_prop_ro("vectors", &rows_of<&LowRank::vectors>, nb::rv_policy::move, "`[r, m]`.")
        .def_prop_ro("field", &rows_of<&LowRank::field>, nb::rv_policy::move,
                     "`[r, m]`: the weighted sums of the vectors.")
        .def_prop_ro("gram", &gram_of, nb::rv_policy::move,
                     "`[m, m]`: products of the vectors, below the diagonal.")
        .def_prop_ro("inequalities", &inequalities_of, nb::rv_policy::move, "`[c, 4]` int16.")
        .def_prop_ro(
            "multipliers",
            [](const Relaxation& relaxation) {
                return solvers::as_array(std::vector(relaxation.triangles().multipliers));
            },
            nb::rv_policy::move, "`[c]`.");
}
