#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/pair.h>

#include "solvers/algorithms/dual_ascent/search.hpp"

namespace solvers::dual_ascent {
namespace {

using Indices = Array<const Index, 1>;
using States = Array<const std::int8_t, 2>;

Graph graph_of(const Indices& starts, const Indices& near, const Indices& edge, const Indices& side,
               const Indices& pairwise) {
    require(starts.shape(0) > 1, "there are no variables");
    const auto n = static_cast<Index>(starts.shape(0)) - 1;
    const std::size_t arcs = 2 * pairwise.shape(0);
    require(near.shape(0) == arcs && edge.shape(0) == arcs && side.shape(0) == arcs,
            "near, edge and side have two entries for each edge");
    require_indices(view(starts), static_cast<Index>(arcs) + 1,
                    "a list of neighbours lies outside");
    for (Index i = 0; i < n; ++i)
        require(starts.data()[i] <= starts.data()[i + 1], "the lists of neighbours do not rise");
    require_indices(view(near), n, "a neighbour does not exist");
    require_indices(view(edge), static_cast<Index>(pairwise.shape(0)), "an edge does not exist");
    require_indices(view(side), 2, "an edge has two sides");
    return {copied(starts), copied(near), copied(edge), copied(side), copied(pairwise)};
}

void init_search(DualSearch* self, Indices starts, Indices near, Indices edge, Indices side,
                 Indices pairwise, Indices unary, States states, Indices scores, Index depth) {
    Graph graph = graph_of(starts, near, edge, side, pairwise);
    require(static_cast<Index>(unary.shape(0)) == graph.variables(),
            "unary has an entry for each variable");
    require(states.shape(1) == unary.shape(0) && states.shape(0) == scores.shape(0) &&
                scores.shape(0) > 0,
            "states and scores have one row for each state");
    require(depth >= 2, "the stack has room for a node and a child");
    new (self) DualSearch(std::move(graph), copied(unary), copied(states), copied(scores), depth);
}

Node node_of(const Graph& graph, const Array<std::int8_t, 1>& state, const Array<Index, 1>& field,
             const Array<Index, 2>& message, Index constant, Index bound) {
    require(
        static_cast<Index>(state.shape(0)) == graph.variables() && field.shape(0) == state.shape(0),
        "state and field have an entry for each variable");
    require(static_cast<Index>(message.shape(0)) == graph.edges() && message.shape(1) == 2,
            "message has two columns and a row for each edge");
    return {view(state), view(field), view(message), constant, bound};
}

auto bound_sweep(Indices starts, Indices near, Indices edge, Indices side, Indices pairwise,
                 Array<std::int8_t, 1> state, Array<Index, 1> field, Array<Index, 2> message,
                 bool forward, Index constant, Index bound, Index incumbent) {
    const Graph graph = graph_of(starts, near, edge, side, pairwise);
    Node node = node_of(graph, state, field, message, constant, bound);
    node.sweep(graph, forward ? Direction::forward : Direction::backward, incumbent);
    return std::pair(node.constant, node.bound);
}

auto bound_fix(Index i, Index value, Indices starts, Indices near, Indices edge, Indices side,
               Indices pairwise, Array<std::int8_t, 1> state, Array<Index, 1> field,
               Array<Index, 2> message, Index constant, Index bound) {
    const Graph graph = graph_of(starts, near, edge, side, pairwise);
    Node node = node_of(graph, state, field, message, constant, bound);
    require(i >= 0 && i < graph.variables() && (value == 0 || value == 1),
            "there is no such variable or value");
    node.fix(graph, i, value);
    return std::pair(node.constant, node.bound);
}

bool offer(DualSearch& search, Index score, Array<const std::int8_t, 1> z) {
    require(static_cast<Index>(z.shape(0)) == search.variables(),
            "z has an entry for each variable");
    return search.offer(score, view(z));
}

}  // namespace
}  // namespace solvers::dual_ascent

BIND_KERNELS(dual_ascent, m) {
    using namespace solvers::dual_ascent;
    namespace nb = nanobind;
    nb::class_<DualSearch>(m, "DualSearch",
                           "A search for the best assignments of one instance, node by node.")
        .def("__init__", &init_search, nb::arg("starts").noconvert(), nb::arg("near").noconvert(),
             nb::arg("edge").noconvert(), nb::arg("side").noconvert(),
             nb::arg("pairwise").noconvert(), nb::arg("unary").noconvert(),
             nb::arg("states").noconvert(), nb::arg("scores").noconvert(), nb::arg("depth"))
        .def("run", &solvers::run_nodes<DualSearch>, nb::arg("nodes"), nb::arg("stop").noconvert(),
             "Handle up to `nodes` nodes; return how many.")
        .def("offer", &offer, nb::arg("score"), nb::arg("z").noconvert(),
             "Keep a state if it beats the last one.")
        .def("double_stack", &DualSearch::double_stack, "Make room for twice the depth.")
        .def_prop_ro("finished", &DualSearch::finished, "Whether everything was searched.")
        .def_prop_ro("full", &DualSearch::full, "Whether the stack has no room for a child.")
        .def_prop_ro("bytes", &DualSearch::bytes, "Memory of the stack.")
        .def_prop_ro("bound", &DualSearch::bound,
                     "An upper bound on all integer scores except those of the states.")
        .def_prop_ro("scores", solvers::copy_of(&DualSearch::scores), nb::rv_policy::move,
                     "`[count]`, falling.")
        .def_prop_ro(
            "states",
            [](const DualSearch& search) {
                return solvers::as_array(search.states(),
                                         static_cast<std::size_t>(search.variables()));
            },
            nb::rv_policy::move, "`[count, n]` int8, the best first.");
    m.def("sweep", &bound_sweep, nb::arg("starts").noconvert(), nb::arg("near").noconvert(),
          nb::arg("edge").noconvert(), nb::arg("side").noconvert(), nb::arg("pairwise").noconvert(),
          nb::arg("state").noconvert(), nb::arg("field").noconvert(),
          nb::arg("message").noconvert(), nb::arg("forward"), nb::arg("constant"), nb::arg("bound"),
          nb::arg("incumbent"),
          "Visit every free variable of a node; return its constant and its bound.");
    m.def("fix", &bound_fix, nb::arg("i"), nb::arg("value"), nb::arg("starts").noconvert(),
          nb::arg("near").noconvert(), nb::arg("edge").noconvert(), nb::arg("side").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("state").noconvert(),
          nb::arg("field").noconvert(), nb::arg("message").noconvert(), nb::arg("constant"),
          nb::arg("bound"), "Set a free variable of a node; return its constant and its bound.");
}
