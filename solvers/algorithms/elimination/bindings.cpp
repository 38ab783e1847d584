#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "solvers/algorithms/elimination/best_states.hpp"
#include "solvers/algorithms/elimination/bit_graph.hpp"
#include "solvers/algorithms/elimination/counted.hpp"
#include "solvers/algorithms/elimination/frontier_order.hpp"
#include "solvers/algorithms/elimination/max_sum.hpp"
#include "solvers/algorithms/elimination/one_instance.hpp"
#include "solvers/algorithms/elimination/peel.hpp"
#include "solvers/algorithms/elimination/schedule.hpp"

namespace solvers::elimination {
namespace {

using Order = Array<const Index, 1>;

void require_permutation(const Order& order) {
    std::vector<bool> seen(order.shape(0));
    for (Index v : view(order)) {
        require(v >= 0 && v < length(view(order)) && !seen[v], "an order has each variable once");
        seen[v] = true;
    }
}

// --- orders -----------------------------------------------------------------------------------

std::pair<Index, Index> bound_peel(const Edges& edges, const Array<Index, 1>& order,
                                   const Array<Index, 2>& inner) {
    require_edges(static_cast<Index>(order.shape(0)), edges);
    require(inner.shape(0) == edges.shape(0) && inner.shape(1) == 2,
            "inner has a row for each edge");
    nb::gil_scoped_release unlocked;
    const Peeled peeled = peel(view(edges), view(order), view(inner));
    return {peeled.vertices, peeled.edges};
}

void make_bit_graph(BitGraph* self, Index n, const Edges& edges) {
    require(n >= 0, "n is negative");
    require_edges(n, edges);
    new (self) BitGraph(n, view(edges));
}

void require_order_of(const BitGraph& graph, std::size_t vertices) {
    require(static_cast<Index>(vertices) == graph.size(), "the order has an entry for each vertex");
}

std::pair<Index, double> greedy(const BitGraph& graph, double fill, double degree, double jitter,
                                std::uint64_t seed, Index width_limit, double entries_limit,
                                const Array<Index, 1>& order, const StopFlag& stop) {
    require_order_of(graph, order.shape(0));
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    const Cost cost =
        graph.greedy({fill, degree, jitter, seed}, {width_limit, entries_limit}, view(order), flag);
    return {cost.width, cost.entries};
}

std::pair<Index, double> follow(const BitGraph& graph, const Order& order, Index width_limit) {
    require_order_of(graph, order.shape(0));
    require_permutation(order);
    nb::gil_scoped_release unlocked;
    const Cost cost = graph.follow(view(order), width_limit);
    return {cost.width, cost.entries};
}

void breadth_first(const BitGraph& graph, Index start, const Array<Index, 1>& order) {
    require_order_of(graph, order.shape(0));
    require(graph.size() == 0 || (start >= 0 && start < graph.size()), "start is no vertex");
    nb::gil_scoped_release unlocked;
    graph.breadth_first(start, view(order));
}

Neighbours neighbours_of(const Order& starts, const Order& near) {
    require(starts.shape(0) >= 2, "a graph has at least one vertex");
    const Neighbours graph{view(starts), view(near)};
    require(graph.starts.front() == 0 && graph.starts.back() == length(graph.near),
            "starts begin with 0 and end with the number of neighbours");
    for (Index v = 0; v < graph.size(); ++v)
        require(graph.starts[v] <= graph.starts[v + 1], "starts do not rise");
    for (Index u : graph.near) require(u >= 0 && u < graph.size(), "a neighbour is no vertex");
    return graph;
}

void require_vertex(const Neighbours& graph, Index v) {
    require(v >= 0 && v < graph.size(), "start is no vertex");
}

void require_hub(const Neighbours& graph, Index hub) {
    require(hub >= -1 && hub < graph.size(), "hub is no vertex");
}

void require_entries(const Neighbours& graph, std::size_t count) {
    require(static_cast<Index>(count) == graph.size(), "an array has an entry for each vertex");
}

void bound_distances(const Order& starts, const Order& near, Index from, Index hub,
                     const Array<Index, 1>& distance) {
    const Neighbours graph = neighbours_of(starts, near);
    require_vertex(graph, from);
    require_hub(graph, hub);
    require_entries(graph, distance.shape(0));
    nb::gil_scoped_release unlocked;
    fill_distances(graph, from, hub, view(distance));
}

void bound_layers(const Order& starts, const Order& near, const Order& distance, Index hub,
                  const Array<Index, 1>& layer) {
    const Neighbours graph = neighbours_of(starts, near);
    require_hub(graph, hub);
    require_entries(graph, distance.shape(0));
    require_entries(graph, layer.shape(0));
    nb::gil_scoped_release unlocked;
    fill_layers(graph, view(distance), hub, view(layer));
}

double bound_sweep(const Order& starts, const Order& near, const Order& level, Index start,
                   Index hub, double most, const Array<Index, 1>& order) {
    const Neighbours graph = neighbours_of(starts, near);
    require_vertex(graph, start);
    require_hub(graph, hub);
    require_entries(graph, level.shape(0));
    require_entries(graph, order.shape(0));
    nb::gil_scoped_release unlocked;
    return sweep(graph, view(level), {start, hub}, most, view(order));
}

// --- schedules and max-sum --------------------------------------------------------------------

void make_schedule(Schedule* self, const Edges& edges, const Order& order) {
    require_edges(static_cast<Index>(order.shape(0)), edges);
    require_permutation(order);
    new (self) Schedule(view(edges), view(order));
}

// Arrays of a schedule that Python reads without a copy; they live as long as the schedule.
using Numbers = nb::ndarray<nb::numpy, const Index, nb::ndim<1>, nb::c_contig>;
using Rows = nb::ndarray<nb::numpy, const Index, nb::ndim<2>, nb::c_contig>;

template <std::vector<Index> Schedule::* Member>
Numbers numbers(const Schedule& schedule) {
    const std::vector<Index>& values = schedule.*Member;
    return Numbers(values.data(), {values.size()}, nb::find(schedule));
}

template <auto Member>
Rows rows(const Schedule& schedule) {
    const auto& values = schedule.*Member;
    constexpr std::size_t columns = sizeof(values[0]) / sizeof(Index);
    return Rows(reinterpret_cast<const Index*>(values.data()), {values.size(), columns},
                nb::find(schedule));
}

// Only extents are checked, since a call takes a microsecond: the indices in a schedule are in
// range because it was made from checked edges.
template <class Score, auto Kernel>
void bound_max_sum(const Schedule& schedule, const StopFlag& stop,
                   const Array<const Score, 2>& unary, const Array<const Score, 2>& pairwise,
                   const Array<std::int8_t, 2>& z, const Array<double, 1>& maxima) {
    const auto batch = z.shape(0);
    require(unary.shape(0) == batch && pairwise.shape(0) == batch && maxima.shape(0) == batch,
            "unary, pairwise, z and maxima have one row for each instance");
    const auto n = static_cast<std::size_t>(schedule.variable_count());
    require(unary.shape(1) == n && z.shape(1) == n,
            "unary and z have a column for each variable of the schedule");
    require(pairwise.shape(1) == static_cast<std::size_t>(schedule.edge_count),
            "pairwise has a column for each edge of the schedule");
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    Kernel(schedule, flag, {view(unary), view(pairwise)}, {view(z), view(maxima)});
}

template <class Score>
void lanes(const Schedule& schedule, const StopFlag& stop, const Array<const Score, 2>& unary,
           const Array<const Score, 2>& pairwise, const Array<std::int8_t, 2>& z,
           const Array<double, 1>& maxima) {
    require(schedule.has_offsets, "a schedule without offsets has too large tables for lanes");
    bound_max_sum<Score, max_sum_lanes<Score>>(schedule, stop, unary, pairwise, z, maxima);
}

template <class Score>
constexpr auto tables = bound_max_sum<Score, max_sum_tables<Score>>;

std::optional<double> bound_maximise_pairs(const Schedule& schedule,
                                           const Array<const Index, 2>& edges,
                                           const Array<const double, 1>& unary,
                                           const Array<const double, 1>& pairwise, double largest,
                                           const Array<std::int8_t, 1>& z) {
    const std::size_t n = unary.shape(0);
    const auto e = static_cast<std::size_t>(schedule.edge_count);
    require(edges.shape(0) == e && edges.shape(1) == 2, "the edges are those of another schedule");
    require_edges(schedule.variable_count(), edges);
    if (!fits_one_instance(static_cast<std::size_t>(schedule.variable_count()), unary, z) ||
        n != static_cast<std::size_t>(schedule.variable_count()) || pairwise.shape(0) != e ||
        !is_aligned(pairwise.data()))
        return std::nullopt;
    const std::optional<checks::Certified> answer = maximise_pairs(
        schedule, view(edges), one_row(unary), one_row(pairwise), largest, one_row(z));
    if (!answer) return std::nullopt;
    return answer->score;
}

// --- counts and rankings ----------------------------------------------------------------------

std::optional<Forest> bound_forest(Index n, const Edges& edges) {
    require(n >= 0, "n is negative");
    require_edges(n, edges);
    return forest_of(n, view(edges));
}

void make_count_tables(CountTables* self, const Forest& forest,
                       const Array<const std::int8_t, 1>& group, Index most) {
    require(static_cast<Index>(group.shape(0)) == forest.size(),
            "the group has an entry for each variable");
    for (std::int8_t member : view(group))
        require(member == 0 || member == 1, "a group has entries 0 and 1");
    require(most >= 0, "counts are not negative");
    require(most <= forest.size(), "a count is above the number of variables");
    new (self) CountTables(forest, view(group), most);
}

void bound_counted(const Forest& forest, const CountTables& tables, Index low,
                   const Array<const std::int8_t, 1>& values, const StopFlag& stop,
                   const Array<const double, 2>& unary, const Array<const double, 2>& pairwise,
                   const Array<std::int8_t, 2>& z, const Array<bool, 1>& complete) {
    const auto n = static_cast<std::size_t>(forest.size());
    require(tables.sizes.size() == n, "the tables are those of another forest");
    require(values.shape(0) == n && unary.shape(1) == n && z.shape(1) == n,
            "values, unary and z have an entry for each variable");
    require(pairwise.shape(1) == static_cast<std::size_t>(forest.edges),
            "pairwise has a column for each edge");
    require(unary.shape(0) == z.shape(0) && pairwise.shape(0) == z.shape(0) &&
                complete.shape(0) == z.shape(0),
            "unary, pairwise, z and complete have one row for each instance");
    const Stop stopped = stop_of(stop);
    nb::gil_scoped_release unlocked;
    counted_max_sum(forest, tables, {low, tables.most}, view(values), stopped, view(unary),
                    view(pairwise), view(z), view(complete));
}

void make_buckets(Buckets* self, const Edges& edges, const Order& order) {
    require_edges(static_cast<Index>(order.shape(0)), edges);
    require_permutation(order);
    new (self) Buckets(view(edges), view(order));
}

void rank(const Buckets& buckets, const Array<const double, 1>& unary,
          const Array<const double, 1>& pairwise, const Array<std::int8_t, 2>& states) {
    require(
        static_cast<Index>(unary.shape(0)) == buckets.size() && states.shape(1) == unary.shape(0),
        "unary and states have an entry for each variable");
    require(static_cast<Index>(pairwise.shape(0)) == buckets.edges(),
            "pairwise has an entry for each edge");
    require(buckets.size() >= 62 || states.shape(0) <= std::size_t{1} << buckets.size(),
            "there are 2^n states at most");
    nb::gil_scoped_release unlocked;
    buckets.rank(view(unary), view(pairwise), view(states));
}

}  // namespace
}  // namespace solvers::elimination

BIND_KERNELS(elimination, m) {
    using namespace solvers::elimination;
    namespace nb = nanobind;
    m.def("peel", &bound_peel, nb::arg("edges").noconvert(), nb::arg("order").noconvert(),
          nb::arg("inner").noconvert(),
          "Take tree-like parts off a graph; return how many vertices went and how many edges are "
          "left.\n\n"
          "`order` are those that went, then the others, between which `inner` are the edges.");
    nb::class_<BitGraph>(m, "BitGraph", "A graph as a matrix of bits.")
        .def("__init__", &make_bit_graph, nb::arg("n"), nb::arg("edges").noconvert())
        .def("greedy", &greedy, nb::arg("fill"), nb::arg("degree"), nb::arg("jitter"),
             nb::arg("seed"), nb::arg("width_limit"), nb::arg("entries_limit"),
             nb::arg("order").noconvert(), nb::arg("stop").noconvert(),
             "Write the order of the least costs; return its width and its entries, infinitely "
             "many where it fails.")
        .def("follow", &follow, nb::arg("order").noconvert(), nb::arg("width_limit"),
             "Return the width and the entries of an order.")
        .def("breadth_first", &breadth_first, nb::arg("start"), nb::arg("order").noconvert(),
             "Write all vertices by their distance from a vertex far off.");
    m.def(
        "distances", &bound_distances, nb::arg("starts").noconvert(), nb::arg("near").noconvert(),
        nb::arg("start"), nb::arg("hub"), nb::arg("distance").noconvert(),
        "Write the number of steps from a vertex to each other without the hub; -1 if none exist.");
    m.def("layers", &bound_layers, nb::arg("starts").noconvert(), nb::arg("near").noconvert(),
          nb::arg("distance").noconvert(), nb::arg("hub"), nb::arg("layer").noconvert(),
          "Write the steps from all vertices that are farthest by some distances.");
    m.def("sweep", &bound_sweep, nb::arg("starts").noconvert(), nb::arg("near").noconvert(),
          nb::arg("level").noconvert(), nb::arg("start"), nb::arg("hub"), nb::arg("most"),
          nb::arg("order").noconvert(),
          "Write an order with a small frontier; return the sum of 2^(its size), infinity where it "
          "reaches `most`.");

    nb::class_<Schedule>(m, "Schedule", "The schedule of an elimination, for its kernels.")
        .def("__init__", &make_schedule, nb::arg("edges").noconvert(), nb::arg("order").noconvert())
        .def_prop_ro("steps", &rows<&Schedule::steps>)
        .def_prop_ro("variables", &numbers<&Schedule::variables>)
        .def_prop_ro("edges", &numbers<&Schedule::edges>)
        .def_prop_ro("reads", &rows<&Schedule::reads>)
        .def_prop_ro("strides", &numbers<&Schedule::strides>)
        .def_prop_ro("offsets", &numbers<&Schedule::offsets>)
        .def_ro("width", &Schedule::width)
        .def_ro("entries", &Schedule::entries)
        .def_ro("table_arena", &Schedule::table_arena)
        .def_ro("lane_arena", &Schedule::lane_arena)
        .def_ro("most_reads", &Schedule::most_reads)
        .def_ro("has_offsets", &Schedule::has_offsets);
    const auto bind_max_sum = [&m](const char* name, auto kernel, const char* text) {
        m.def(name, kernel, nb::arg("schedule"), nb::arg("stop").noconvert(),
              nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(),
              nb::arg("z").noconvert(), nb::arg("maxima").noconvert(), text);
    };
    const char* lanes_text = "Write maximisers and scores, several instances side by side.";
    bind_max_sum("max_sum_lanes", &lanes<double>, lanes_text);
    bind_max_sum("max_sum_lanes", &lanes<float>, lanes_text);
    const char* tables_text = "Write maximisers and scores, several entries side by side.";
    bind_max_sum("max_sum_tables", tables<double>, tables_text);
    bind_max_sum("max_sum_tables", tables<float>, tables_text);

    m.def("maximise_pairs", &bound_maximise_pairs, nb::arg("schedule"),
          nb::arg("edges").noconvert(), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("largest"), nb::arg("z").noconvert(),
          "Write a maximiser of one instance to `z`; return its score.\n\n"
          "Return None where the scores need another look.");

    nb::class_<Forest>(m, "Forest", "A graph without circles, children first.")
        .def_ro("edges", &Forest::edges);
    m.def("forest", &bound_forest, nb::arg("n"), nb::arg("edges").noconvert(),
          "Return the forest of a graph; None if it has a cycle.");
    nb::class_<CountTables>(m, "CountTables", "Where the tables of a forest and a group lie.")
        .def("__init__", &make_count_tables, nb::arg("forest"), nb::arg("group").noconvert(),
             nb::arg("most"))
        .def_ro("work", &CountTables::work)
        .def_prop_ro("bytes", &CountTables::bytes);
    m.def("counted_max_sum", &bound_counted, nb::arg("forest"), nb::arg("tables"), nb::arg("low"),
          nb::arg("values").noconvert(), nb::arg("stop").noconvert(), nb::arg("unary").noconvert(),
          nb::arg("pairwise").noconvert(), nb::arg("z").noconvert(),
          nb::arg("complete").noconvert(),
          "Write the best states with at least `low` of the group at 1, and at most as many as the "
          "tables count, and which instances are complete; leave a state as it is where there is "
          "none.");

    nb::class_<Buckets>(m, "Buckets", "An elimination, by step.")
        .def("__init__", &make_buckets, nb::arg("edges").noconvert(), nb::arg("order").noconvert())
        .def_prop_ro("entries", &Buckets::entries)
        .def("rank", &rank, nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(),
             nb::arg("states").noconvert(), "Write the best states of one instance, in order.");
}
