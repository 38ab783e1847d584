#include "solvers/compiled/bindings.hpp"

#include "solvers/algorithms/local_search/ascent.hpp"
#include "solvers/algorithms/local_search/contraction.hpp"
#include "solvers/algorithms/local_search/subgraph_order.hpp"
#include "solvers/algorithms/local_search/tabu.hpp"

namespace solvers::local_search {
namespace {

using Places = Array<const std::int32_t, 1>;

void require_adjacency(Index n, Index e, bool dense, const Array<const Index, 1>& first,
                       const Places& node, const Places& edge) {
    require(static_cast<Index>(first.shape(0)) == n + 1 && node.shape(0) == edge.shape(0),
            "first has n + 1 entries, and node as many as edge");
    if (dense) return;
    require_indices(view(first), static_cast<Index>(node.shape(0)) + 1,
                    "a list lies outside the adjacency");
    for (Index i = 0; i < n; ++i)
        require(first.data()[i] <= first.data()[i + 1], "the lists of the adjacency do not rise");
    require_indices(view(node), n, "the adjacency names a variable that does not exist");
    require_indices(view(edge), e, "the adjacency names an edge that does not exist");
}

template <class Gain>
void bound_search(Edges edges, bool dense, Array<const Index, 1> first, Places node, Places edge,
                  Index runs, Index patience, StopFlag stop, Array<const bool, 1> used,
                  Array<const double, 2> unary, Array<const double, 2> pairwise,
                  Array<const double, 1> scale, Array<const bool, 1> symmetric,
                  Array<std::int8_t, 3> pool, Array<double, 2> values, Array<Index, 1> stalled,
                  Array<std::uint64_t, 1> random) {
    const auto n = static_cast<Index>(unary.shape(1));
    const std::size_t batch = unary.shape(0);
    require(n > 0, "there are no variables");
    require_edges(n, edges);
    require_adjacency(n, static_cast<Index>(edges.shape(0)), dense, first, node, edge);
    require(pairwise.shape(1) == edges.shape(0), "pairwise has a column for each edge");
    for (std::size_t rows : {used.shape(0), pairwise.shape(0), scale.shape(0), symmetric.shape(0),
                             pool.shape(0), values.shape(0), stalled.shape(0), random.shape(0)})
        require(rows == batch, "all arrays of the batch have one row for each instance");
    require(
        pool.shape(1) == values.shape(1) && values.shape(1) > 0 && pool.shape(2) == unary.shape(1),
        "pool has a state, and values a score, for each elite");
    const Graph graph{view(edges), dense, view(first), view(node), view(edge)};
    const Instances instances{view(used),   view(unary),     view(pairwise),
                              view(scale),  view(symmetric), view(pool),
                              view(values), view(stalled),   view(random)};
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    search_instances<Gain>(graph, {runs, patience}, flag, instances);
}

template <class Gain>
void bind_search(nb::module_& m, const char* name) {
    m.def(name, &bound_search<Gain>, nb::arg("edges").noconvert(), nb::arg("dense"),
          nb::arg("first").noconvert(), nb::arg("node").noconvert(), nb::arg("edge").noconvert(),
          nb::arg("runs"), nb::arg("patience"), nb::arg("stop").noconvert(),
          nb::arg("used").noconvert(), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("scale").noconvert(),
          nb::arg("symmetric").noconvert(), nb::arg("pool").noconvert(),
          nb::arg("values").noconvert(), nb::arg("stalled").noconvert(),
          nb::arg("random").noconvert(), "Make more tabu runs for the instances that are used.");
}

void bound_scales(Edges edges, Array<const double, 2> unary, Array<const double, 2> pairwise,
                  Array<double, 1> scale, Array<bool, 1> coarse, Array<bool, 1> symmetric) {
    const std::size_t batch = unary.shape(0);
    require_edges(static_cast<Index>(unary.shape(1)), edges);
    require(pairwise.shape(0) == batch && pairwise.shape(1) == edges.shape(0) &&
                scale.shape(0) == batch && coarse.shape(0) == batch && symmetric.shape(0) == batch,
            "all arrays have one row for each instance, and pairwise a column for each edge");
    nb::gil_scoped_release unlocked;
    find_scales(view(edges), view(unary), view(pairwise), view(scale), view(coarse),
                view(symmetric));
}

void bound_flips(Edges edges, Array<const double, 2> unary, Array<const double, 2> pairwise,
                 Array<std::int8_t, 2> z) {
    require_edges(static_cast<Index>(z.shape(1)), edges);
    require(unary.shape(0) == z.shape(0) && pairwise.shape(0) == z.shape(0) &&
                unary.shape(1) == z.shape(1) && pairwise.shape(1) == edges.shape(0),
            "unary, pairwise and z have one row for each instance");
    nb::gil_scoped_release unlocked;
    flip_what_gains(view(edges), view(unary), view(pairwise), view(z));
}

Index bound_clusters(Edges edges, Array<const Index, 1> group, Array<Index, 1> component) {
    require(component.shape(0) == group.shape(0), "every vertex has a group and a component");
    require_edges(static_cast<Index>(group.shape(0)), edges);
    nb::gil_scoped_release unlocked;
    return fill_clusters(view(edges), view(group), view(component));
}

auto bound_order(Index n, Edges edges, Index width, std::uint64_t state) {
    require_edges(n, edges);
    require(width >= 0, "the width is negative");
    require(state != 0, "the state of a random stream is never zero");
    std::vector<Index> order;
    {
        nb::gil_scoped_release unlocked;
        Random random(state);
        order = subgraph_order(n, view(edges), width, random);
    }
    return as_array(std::move(order));
}

}  // namespace
}  // namespace solvers::local_search

BIND_KERNELS(local_search, m) {
    using namespace solvers::local_search;
    namespace nb = nanobind;
    bind_search<std::int32_t>(m, "search_in_integers");
    bind_search<double>(m, "search_in_floats");
    m.def("find_scales", &bound_scales, nb::arg("edges").noconvert(), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("scale").noconvert(),
          nb::arg("coarse").noconvert(), nb::arg("symmetric").noconvert(),
          "Write the scale of each instance, and whether integers suffice.");
    m.def("flip_what_gains", &bound_flips, nb::arg("edges").noconvert(),
          nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(), nb::arg("z").noconvert(),
          "Flip the variables of z until no flip gains.");
    m.def("fill_clusters", &bound_clusters, nb::arg("edges").noconvert(),
          nb::arg("group").noconvert(), nb::arg("component").noconvert(),
          "Write the component of every vertex; return the number of components.");
    m.def("subgraph_order", &bound_order, nb::arg("n"), nb::arg("edges").noconvert(),
          nb::arg("width"), nb::arg("state"),
          "Return an order in which some vertices can be eliminated with small separators.");
}
