#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>

#include "solvers/algorithms/presolve/blocks.hpp"
#include "solvers/algorithms/presolve/penalties.hpp"
#include "solvers/algorithms/presolve/roof_duality.hpp"
#include "solvers/algorithms/presolve/rules.hpp"

namespace solvers::presolve {
namespace {

auto bound_shrink(Index nodes, Edges edges, Array<const Index, 1> weight,
                  Array<const bool, 1> allowed, StopFlag stop) {
    require_edges(nodes, edges);
    require(weight.shape(0) == edges.shape(0), "every edge has a weight");
    require(allowed.shape(0) == RULES, "every rule is allowed or not");
    Shrunk shrunk;
    {
        nb::gil_scoped_release unlocked;
        shrunk = shrink(nodes, view(edges), view(weight), view(allowed), stop_of(stop));
    }
    Log& log = shrunk.log;
    const auto constant = log.constant;
    return std::tuple(as_array(std::move(log.node)), as_array(std::move(log.near), 3),
                      as_array(std::move(log.weight), 3), as_array(std::move(log.counts)), constant,
                      as_array(std::move(shrunk.edges), 2), as_array(std::move(shrunk.weight)));
}

void bound_restore(Array<const Index, 1> node, Array<const Index, 2> near,
                   Array<const Index, 2> weight, Array<Index, 1> spins) {
    require(near.shape(0) == node.shape(0) && weight.shape(0) == node.shape(0) &&
                near.shape(1) == 3 && weight.shape(1) == 3,
            "near and weight have three columns and a row for each node");
    const auto nodes = static_cast<Index>(spins.shape(0));
    require_indices(view(node), nodes, "the log names a node that does not exist");
    require_indices(std::span<const Index>(near.data(), near.size()), nodes,
                    "the log names a node that does not exist");
    restore(view(node), view(near), view(weight), view(spins));
}

auto bound_blocks(Index nodes, Edges edges, StopFlag stop) {
    require_edges(nodes, edges);
    Blocks blocks;
    {
        const Stop stopped = stop_of(stop);
        nb::gil_scoped_release unlocked;
        blocks = blocks_of(nodes, view(edges), stopped);
    }
    const auto count = blocks.count;
    return std::tuple(as_array(std::move(blocks.block)), count);
}

auto bound_numbered(Index nodes, Edges edges) {
    require_edges(nodes, edges);
    Numbered result = numbered(nodes, view(edges));
    return std::tuple(as_array(std::move(result.names)), as_array(std::move(result.ends), 2));
}

auto bound_exclusive_groups(Edges edges, Array<const Index, 1> unary, Array<const Index, 1> weights,
                            Index rounded, Index least_pairs, Index rounds, Index most_groups) {
    const auto n = static_cast<Index>(unary.shape(0));
    require_edges(n, edges);
    require(weights.shape(0) == edges.shape(0), "every edge has a weight");
    Groups groups;
    {
        nb::gil_scoped_release unlocked;
        groups = exclusive_groups({n, view(edges), view(unary), view(weights)},
                                  {rounded, least_pairs, rounds, most_groups});
    }
    return std::tuple(as_array(std::move(groups.starts)), as_array(std::move(groups.variable)));
}

auto bound_excluded_pairs(Edges edges, Array<const Index, 1> unary, Array<const Index, 1> weights) {
    const auto n = static_cast<Index>(unary.shape(0));
    require_edges(n, edges);
    require(weights.shape(0) == edges.shape(0), "every edge has a weight");
    std::vector<std::uint8_t> excluded;
    {
        nb::gil_scoped_release unlocked;
        excluded = excluded_pairs({n, view(edges), view(unary), view(weights)});
    }
    return as_array(std::move(excluded));
}

template <class Score>
void bound_halve(Edges edges, Array<const Score, 2> unary, Array<const Score, 2> pairwise,
                 Array<double, 2> field, Array<double, 1> constant) {
    const std::size_t batch = unary.shape(0);
    require_edges(static_cast<Index>(unary.shape(1)), edges);
    require(pairwise.shape(0) == batch && field.shape(0) == batch && constant.shape(0) == batch,
            "unary, pairwise, field and constant have one row for each instance");
    require(pairwise.shape(1) == edges.shape(0) && field.shape(1) == unary.shape(1),
            "pairwise has a column for each edge, and field one for each variable");
    nb::gil_scoped_release unlocked;
    halve(view(edges), view(unary), view(pairwise), view(field), view(constant));
}

template <class Score>
void bind_halve(nb::module_& m) {
    m.def("halve", &bound_halve<Score>, nb::arg("edges").noconvert(), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("field").noconvert(),
          nb::arg("constant").noconvert(),
          "Write the unary scores with half of the pairwise scores at each variable, and the "
          "constant of the bound.");
}

}  // namespace
}  // namespace solvers::presolve

BIND_KERNELS(presolve, m) {
    using namespace solvers::presolve;
    namespace nb = nanobind;
    m.def("shrink", &bound_shrink, nb::arg("nodes"), nb::arg("edges").noconvert(),
          nb::arg("weight").noconvert(), nb::arg("allowed").noconvert(),
          nb::arg("stop").noconvert(),
          "Take nodes out of a spin graph; return the log (node, near, weight, counts, constant), "
          "edges and weights.");
    m.def("restore", &bound_restore, nb::arg("node").noconvert(), nb::arg("near").noconvert(),
          nb::arg("weight").noconvert(), nb::arg("spins").noconvert(),
          "Set the spins of the nodes in a log.");
    m.def("blocks_of", &bound_blocks, nb::arg("nodes"), nb::arg("edges").noconvert(),
          nb::arg("stop").noconvert(),
          "Return the biconnected component of every edge, and the number of components; a set "
          "stop flag leaves one.");
    m.def("numbered", &bound_numbered, nb::arg("nodes"), nb::arg("edges").noconvert(),
          "Return the nodes that have edges, and the edges between their places among them.");
    m.def("exclusive_groups", &bound_exclusive_groups, nb::arg("edges").noconvert(),
          nb::arg("unary").noconvert(), nb::arg("weights").noconvert(), nb::arg("rounded"),
          nb::arg("least_pairs"), nb::arg("rounds"), nb::arg("most_groups"),
          "Return the starts of groups in the list of their members, and that list: some best "
          "state has at most one member of each group at 1.");
    m.def("excluded_pairs", &bound_excluded_pairs, nb::arg("edges").noconvert(),
          nb::arg("unary").noconvert(), nb::arg("weights").noconvert(),
          "Return for each edge whether some best state has no such pair at 1.");
    bind_halve<double>(m);
    bind_halve<float>(m);
}
