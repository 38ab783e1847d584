#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/tuple.h>

#include <bit>
#include <tuple>

#include "solvers/algorithms/cycle_cuts/separation.hpp"
#include "solvers/algorithms/cycle_cuts/sides.hpp"
#include "solvers/algorithms/cycle_cuts/sweep.hpp"

namespace solvers::cycle_cuts {
namespace {

using Indices = Array<const Index, 1>;
using Floats = Array<const double, 1>;

Graph graph_of(const Indices& starts, const Indices& near, const Indices& edge,
               const Array<const Index, 2>& ends) {
    require(starts.shape(0) > 0 && ends.shape(1) == 2,
            "starts have n + 1 entries, and ends two columns");
    const auto n = static_cast<Index>(starts.shape(0)) - 1;
    const auto m = static_cast<Index>(ends.shape(0));
    require(near.shape(0) == 2 * ends.shape(0) && edge.shape(0) == near.shape(0),
            "near and edge have two entries for each edge");
    Index before = 0;
    for (Index start : view(starts)) {
        require(start >= before && start <= 2 * m, "the lists of neighbours do not rise");
        before = start;
    }
    require_indices(view(near), n, "a neighbour does not exist");
    require_indices(view(edge), m, "an edge does not exist");
    require_indices(std::span<const Index>(ends.data(), ends.size()), n,
                    "an edge names a vertex that does not exist");
    return {view(starts), view(near), view(edge), view(ends)};
}

Forest forest_of(const Indices& parent, const Indices& link, const Indices& depth) {
    return {copied(parent), copied(link), copied(depth)};
}

auto as_arrays(Cycles&& cycles) {
    std::vector<std::uint8_t> odd(cycles.odd.begin(), cycles.odd.end());
    return std::tuple(as_array(std::move(cycles.starts)), as_array(std::move(cycles.edges)),
                      as_array(std::move(odd)), as_array(std::move(cycles.cost)),
                      as_array(std::move(cycles.mark)));
}

auto bound_forest(Indices starts, Indices near, Indices edge, Array<const Index, 2> ends,
                  Indices order) {
    const Graph graph = graph_of(starts, near, edge, ends);
    require_indices(view(order), graph.edges(), "the order names an edge that does not exist");
    Forest forest;
    {
        nb::gil_scoped_release unlocked;
        forest = spanning_forest(graph, view(order));
    }
    return std::tuple(as_array(std::move(forest.parent)), as_array(std::move(forest.link)),
                      as_array(std::move(forest.depth)));
}

void require_forest(Index n, Index m, const Indices& parent, const Indices& link,
                    const Indices& depth) {
    for (const Indices* array : {&parent, &link, &depth})
        require(static_cast<Index>(array->shape(0)) == n, "a forest has an entry for each vertex");
    for (Index v = 0; v < n; ++v) {
        require(parent.data()[v] >= -1 && parent.data()[v] < n && link.data()[v] >= -1 &&
                    link.data()[v] < m,
                "a vertex of the forest names a parent or an edge that does not exist");
        require(link.data()[v] < 0 || depth.data()[parent.data()[v]] < depth.data()[v],
                "a vertex of the forest is no deeper than its parent");
    }
}

auto bound_sides(Floats x, Indices parent, Indices link, Indices depth) {
    require_forest(static_cast<Index>(depth.shape(0)), static_cast<Index>(x.shape(0)), parent, link,
                   depth);
    return as_array(sides_of(forest_of(parent, link, depth), view(x)));
}

bool bound_propagate(Index vertices, Array<const Index, 2> ends, Array<std::int8_t, 1> fixed) {
    require(ends.shape(1) == 2 && ends.shape(0) == fixed.shape(0),
            "every edge has two ends and is fixed or FREE");
    require_indices(std::span<const Index>(ends.data(), ends.size()), vertices,
                    "an edge names a vertex that does not exist");
    return propagate(vertices, view(ends), view(fixed));
}

auto bound_fundamental(Indices starts, Indices near, Indices edge, Array<const Index, 2> ends,
                       Floats x, Indices parent, Indices link, Indices depth, StopFlag stop) {
    const Graph graph = graph_of(starts, near, edge, ends);
    require(static_cast<Index>(x.shape(0)) == graph.edges(), "x has an entry for each edge");
    require_forest(graph.vertices(), graph.edges(), parent, link, depth);
    const Forest forest = forest_of(parent, link, depth);
    const Stop flag = stop_of(stop);
    Cycles cycles;
    {
        nb::gil_scoped_release unlocked;
        cycles = fundamental_cycles(graph, view(x), forest, flag);
    }
    return as_arrays(std::move(cycles));
}

auto bound_cheapest(Indices starts, Indices near, Indices edge, Array<const Index, 2> ends,
                    Floats x, Indices sources, StopFlag stop) {
    const Graph graph = graph_of(starts, near, edge, ends);
    require(static_cast<Index>(x.shape(0)) == graph.edges(), "x has an entry for each edge");
    require_indices(view(sources), graph.vertices(), "a source is no vertex");
    const Stop flag = stop_of(stop);
    Cycles cycles;
    {
        nb::gil_scoped_release unlocked;
        cycles = cheapest_cycles(graph, view(x), view(sources), flag);
    }
    return as_arrays(std::move(cycles));
}

Change change_of(Index slot, Index constant, const Indices& first, const Indices& second,
                 const Indices& change, Index slots) {
    require(first.shape(0) == change.shape(0) && second.shape(0) == change.shape(0),
            "every term has two slots");
    require(slot >= 0 && slot < slots, "a slot lies outside the frontier");
    require_indices(view(first), slots, "a term names a slot outside the frontier");
    require_indices(view(second), slots, "a term names a slot outside the frontier");
    return {slot, constant, view(first), view(second), view(change)};
}

auto bound_extended(Array<const std::uint64_t, 2> key, Indices value, bool both, Index slot,
                    Index constant, Indices first, Indices second, Indices change,
                    Array<const std::uint64_t, 1> kept, Index needed, Index most, StopFlag stop) {
    require(key.shape(1) == 2 && key.shape(0) == value.shape(0) && kept.shape(0) == 2,
            "keys have two words and a bound each");
    require(most < Index{1} << 30, "so many states do not fit");
    const Change step = change_of(slot, constant, first, second, change, 128);
    const Stop flag = stop_of(stop);
    States next;
    {
        nb::gil_scoped_release unlocked;
        next = extended(view(key), view(value), both, step, {kept.data()[0], kept.data()[1]},
                        needed, most, flag);
    }
    return std::tuple(as_array(std::move(next.key), 2), as_array(std::move(next.value)),
                      as_array(std::move(next.origin)));
}

Index bound_extend_table(Array<Index, 1> table, Index live, Index slot, Index constant,
                         Indices first, Indices second, Indices change, Index needed,
                         StopFlag stop) {
    require(std::has_single_bit(table.shape(0)), "the length of the table is no power of two");
    const Index bits = std::countr_zero(table.shape(0));
    const Change step = change_of(slot, constant, first, second, change, bits);
    require(!(live >> slot & 1), "the slot of the vertex is live already");
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    return extend_table(view(table), live, step, needed, flag);
}

void bound_drop_slots(Array<Index, 1> table, Index live, Index leaving, StopFlag stop) {
    require(std::has_single_bit(table.shape(0)), "the length of the table is no power of two");
    require(leaving >= 0 && static_cast<std::size_t>(leaving) < table.shape(0),
            "a slot lies outside the table");
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    drop_slots(view(table), live, leaving, flag);
}

}  // namespace
}  // namespace solvers::cycle_cuts

BIND_KERNELS(cycle_cuts, m) {
    using namespace solvers::cycle_cuts;
    namespace nb = nanobind;
    const auto whole = [](const char* name) { return nb::arg(name).noconvert(); };
    m.def("spanning_forest", &bound_forest, whole("starts"), whole("near"), whole("edge"),
          whole("ends"), whole("order"),
          "Return parents, edges to them and depths of the spanning forest that takes edges in "
          "this order.");
    m.def("sides_of", &bound_sides, whole("x"), whole("parent"), whole("link"), whole("depth"),
          "Return the sides of vertices whose edges in the forest are cut where x > 1/2.");
    m.def("propagate", &bound_propagate, nb::arg("vertices"), whole("ends"), whole("fixed"),
          "Fix the edges between joined vertices; return False where fixed edges contradict.");
    m.def("fundamental_cycles", &bound_fundamental, whole("starts"), whole("near"), whole("edge"),
          whole("ends"), whole("x"), whole("parent"), whole("link"), whole("depth"), whole("stop"),
          "Return the violated cycles of a forest and one more edge each.");
    m.def("cheapest_cycles", &bound_cheapest, whole("starts"), whole("near"), whole("edge"),
          whole("ends"), whole("x"), whole("sources"), whole("stop"),
          "Return a cheapest odd cycle through every source that has a violated one.");
    m.def("extended", &bound_extended, whole("key"), whole("value"), nb::arg("both"),
          nb::arg("slot"), nb::arg("constant"), whole("first"), whole("second"), whole("change"),
          whole("kept"), nb::arg("needed"), nb::arg("most"), whole("stop"),
          "Return keys, bounds and origins of the states after one more vertex.");
    m.def("extend_table", &bound_extend_table, whole("table"), nb::arg("live"), nb::arg("slot"),
          nb::arg("constant"), whole("first"), whole("second"), whole("change"), nb::arg("needed"),
          whole("stop"),
          "Give one more vertex its sides, in place; return how many states there are.");
    m.def("drop_slots", &bound_drop_slots, whole("table"), nb::arg("live"), nb::arg("leaving"),
          whole("stop"), "Keep the best of entries that differ only in leaving bits, in place.");
}
