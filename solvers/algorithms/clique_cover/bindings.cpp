#include "solvers/compiled/bindings.hpp"

#include "solvers/algorithms/clique_cover/search.hpp"

namespace solvers::clique_cover {
namespace {

using Indices = Array<const Index, 1>;

void init_search(CliqueSearch* self, Indices unary, Edges edges, Indices pairwise,
                 Array<const std::uint8_t, 1> excludes, Array<const std::int8_t, 1> state,
                 Index score, StopFlag stop) {
    require(unary.shape(0) > 0, "there are no variables");
    require_edges(static_cast<Index>(unary.shape(0)), edges);
    require(pairwise.shape(0) == edges.shape(0) && excludes.shape(0) == edges.shape(0),
            "pairwise and excludes have an entry for each edge");
    require(state.shape(0) == unary.shape(0), "state has an entry for each variable");
    const Scores scores{view(unary), view(edges), view(pairwise), view(excludes)};
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    new (self) CliqueSearch(scores, view(state), score, flag);
}

void offer(CliqueSearch& search, Array<const std::int8_t, 1> state, Index score) {
    require(static_cast<Index>(state.shape(0)) == search.variables(),
            "state has an entry for each variable");
    search.offer(view(state), score);
}

}  // namespace
}  // namespace solvers::clique_cover

BIND_KERNELS(clique_cover, m) {
    using namespace solvers::clique_cover;
    namespace nb = nanobind;
    nb::class_<CliqueSearch>(m, "CliqueSearch",
                             "A search for the best state of one instance, node by node.")
        .def("__init__", &init_search, nb::arg("unary").noconvert(), nb::arg("edges").noconvert(),
             nb::arg("pairwise").noconvert(), nb::arg("excludes").noconvert(),
             nb::arg("state").noconvert(), nb::arg("score"), nb::arg("stop").noconvert())
        .def("run", &solvers::run_nodes<CliqueSearch>, nb::arg("nodes"),
             nb::arg("stop").noconvert(), "Handle up to `nodes` nodes; return how many.")
        .def("offer", &offer, nb::arg("state").noconvert(), nb::arg("score"),
             "Take a state `[n]` if it scores more than the best one.")
        .def_prop_ro("searched", &CliqueSearch::searched,
                     "The share of the root's branches that are searched.")
        .def_prop_ro("finished", &CliqueSearch::finished, "Whether everything was searched.")
        .def_prop_ro("bound", &CliqueSearch::bound, "An upper bound on all integer scores.")
        .def_prop_ro("score", &CliqueSearch::score, "The integer score of the best state.")
        .def_prop_ro("state", solvers::copy_of(&CliqueSearch::state), nb::rv_policy::move,
                     "`[n]` int8, the best state so far.");
}
