#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/pair.h>

#include <memory>

#include "solvers/labels/algorithms/dual_ascent/decoding.hpp"
#include "solvers/labels/algorithms/dual_ascent/search.hpp"
#include "solvers/labels/algorithms/fusion.hpp"
#include "solvers/labels/algorithms/mean_field.hpp"
#include "solvers/labels/algorithms/tabu.hpp"
#include "solvers/labels/algorithms/tree_max_sum.hpp"
#include "solvers/labels/algorithms/tree_messages.hpp"

namespace solvers::labels {
namespace {

using Indices = Array<const Index, 1>;
using Scores = Array<const Index, 2>;
using Floats = Array<const double, 1>;
using Labels = Array<Index, 1>;
using KernelArray4 = nb::ndarray<const Index, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

void require_neighbours(const Indices& starts, const Indices& near, const Indices& edge,
                        const Indices& side, std::size_t edges) {
    require(starts.shape(0) > 0, "starts have n + 1 entries");
    require(near.shape(0) == 2 * edges && edge.shape(0) == near.shape(0) &&
                side.shape(0) == near.shape(0),
            "near, edge and side have two entries for each edge");
    Index before = 0;
    for (Index start : view(starts)) {
        require(start >= before && start <= static_cast<Index>(near.shape(0)),
                "the lists of neighbours do not rise");
        before = start;
    }
    require_indices(view(near), static_cast<Index>(starts.shape(0)) - 1,
                    "a neighbour does not exist");
    require_indices(view(edge), static_cast<Index>(edges), "an edge does not exist");
    require_indices(view(side), 2, "an edge has two sides");
}

// Graph of an instance, with the arrays that it views.
class BoundGraph {
public:
    BoundGraph(Indices starts, Indices near, Indices edge, Indices side, Indices table_of,
               KernelArray4 tables, Indices weights)
        : arrays_{starts, near, edge, side, table_of, weights}, tables_(tables) {
        require_neighbours(starts, near, edge, side, table_of.shape(0));
        require(tables.shape(0) == 2 && tables.shape(2) == tables.shape(3),
                "tables are square, and given both ways");
        require(weights.shape(0) == 0 || weights.shape(0) == table_of.shape(0),
                "every edge has a weight, or none has");
        if (weights.shape(0) == 0)
            require_indices(view(table_of), static_cast<Index>(tables.shape(1)),
                            "an edge has no table");
        const auto t = static_cast<Index>(tables.shape(1));
        const auto k = static_cast<Index>(tables.shape(3));
        graph = {view(starts),   view(near),
                 view(edge),     view(side),
                 view(table_of), {{tables.data(), t, k, k}, {tables.data() + t * k * k, t, k, k}},
                 view(weights)};
    }

    void require_labels(Index n, Index k) const {
        require(n == graph.variables(), "there is an entry for each variable");
        require(graph.weighted() || length(graph.table_of) == 0 || k == graph.tables[0].columns,
                "the tables have a row for each value");
    }

    Graph graph{};

private:
    Indices arrays_[6];
    KernelArray4 tables_;
};

void require_values(std::span<const Index> labels, Index n, Index k) {
    require(length(labels) == n, "there is a label for each variable");
    require_indices(labels, k, "a label is no value");
}

void require_sizes(const Indices& sizes, Index n, Index k) {
    require(static_cast<Index>(sizes.shape(0)) == n, "there is a size for each variable");
    for (Index size : view(sizes)) require(size >= 1 && size <= k, "a variable has 1 to k values");
}

Index rows_of(const Scores& scores) {
    return static_cast<Index>(scores.shape(0));
}
Index columns_of(const Scores& scores) {
    return static_cast<Index>(scores.shape(1));
}

// Search, with the arrays that it views.
class BoundSearch {
public:
    BoundSearch(const BoundGraph& graph, Scores unary, Indices sizes, Indices alike,
                Index below_all, Index step, Index depth)
        : unary_(unary), sizes_(sizes) {
        graph.require_labels(rows_of(unary), columns_of(unary));
        require_sizes(sizes, rows_of(unary), columns_of(unary));
        require(columns_of(unary) < Index{1} << 16, "there are 2^16 values or more");
        require_values(view(alike), columns_of(unary), columns_of(unary));
        require(rows_of(unary) > 0 && depth >= 2,
                "there are variables, and the stack has room for a node and a child");
        search = std::make_unique<LabelSearch>(graph.graph, view(unary), view(sizes), view(alike),
                                               below_all, step, depth);
    }

    Index run(Index nodes, StopFlag stop) { return run_nodes(*search, nodes, stop); }

    void offer(Indices labels) {
        require_values(view(labels), search->variables(), columns_of(unary_));
        search->offer(view(labels));
    }

    std::unique_ptr<LabelSearch> search;

private:
    Scores unary_;
    Indices sizes_;
};

Index bound_score(Scores unary, const BoundGraph& graph, Indices labels) {
    graph.require_labels(rows_of(unary), columns_of(unary));
    require_values(view(labels), rows_of(unary), columns_of(unary));
    return score_of(view(unary), graph.graph, view(labels));
}

void bound_move(Scores unary, const BoundGraph& graph, Scores pairs, Indices labels,
                Indices proposal, Index least, Index shift, Labels field, Labels weights) {
    graph.require_labels(rows_of(unary), columns_of(unary));
    require_values(view(labels), rows_of(unary), columns_of(unary));
    require_values(view(proposal), rows_of(unary), columns_of(unary));
    require(pairs.shape(1) == 2 && weights.shape(0) == pairs.shape(0) &&
                field.shape(0) == unary.shape(0),
            "field has an entry for each variable, and weights one for each pair");
    require(static_cast<Index>(pairs.shape(0)) == length(graph.graph.table_of),
            "every edge is a pair");
    require_indices(std::span<const Index>(pairs.data(), pairs.size()), rows_of(unary),
                    "a pair names no variable");
    require(shift >= 0 && shift < 63, "the shift is outside 0 to 62");
    fill_move(view(unary), graph.graph, view(pairs), view(labels), view(proposal), least, shift,
              view(field), view(weights));
}

void bound_walk(const BoundGraph& graph, Scores unary, Indices sizes, Labels labels, Labels best,
                Index low, Index steps, std::uint64_t seed, StopFlag stop) {
    graph.require_labels(rows_of(unary), columns_of(unary));
    require_sizes(sizes, rows_of(unary), columns_of(unary));
    require_values({labels.data(), labels.shape(0)}, rows_of(unary), columns_of(unary));
    require(best.shape(0) == labels.shape(0), "best has a label for each variable");
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    tabu_walk(graph.graph, view(unary), view(sizes), view(labels), view(best), low, steps, seed,
              flag);
}

using KernelTables = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

void bound_best_labels(Indices sizes, Scores steps, Indices table_of, KernelTables rows,
                       KernelTables turned, Array<const double, 2> weights,
                       Array<const double, 3> unary, Indices table, Indices weight,
                       Array<Index, 2> labels) {
    const auto n = static_cast<Index>(unary.shape(1));
    const auto k = static_cast<Index>(unary.shape(2));
    const std::size_t batch = unary.shape(0);
    require_sizes(sizes, n, k);
    require(static_cast<Index>(steps.shape(0)) == n && steps.shape(1) == 4,
            "every variable has a step of four entries");
    require(table.shape(0) == batch && weight.shape(0) == batch && labels.shape(0) == batch &&
                static_cast<Index>(labels.shape(1)) == n,
            "table, weight and labels have one row for each instance");
    for (Index t = 0; t < n; ++t) {
        const Index* step = steps.data() + 4 * t;
        require(step[0] >= 0 && step[0] < n && step[1] >= -1 && step[1] < n,
                "a step names no variable");
        if (step[1] < 0) continue;
        require(step[2] >= 0 && step[2] < static_cast<Index>(table_of.shape(0)),
                "a step names no edge");
        const KernelTables& read = step[3] ? rows : turned;
        require(table_of.data()[step[2]] >= 0 &&
                    table_of.data()[step[2]] < static_cast<Index>(read.shape(1)) &&
                    static_cast<Index>(read.shape(2)) == k &&
                    static_cast<Index>(read.shape(3)) == k,
                "an edge has no table");
        require_indices(view(table), static_cast<Index>(read.shape(0)),
                        "an instance has no tables");
        require(weights.shape(1) == 0 || static_cast<std::size_t>(step[2]) < weights.shape(1),
                "an edge has no weight");
    }
    require_indices(view(weight), static_cast<Index>(weights.shape(0)),
                    "an instance has no weights");
    const auto tables_of = [k](const KernelTables& tables) {
        return TablesOf{tables.data(), static_cast<Index>(tables.shape(1)) * k * k, k};
    };
    const ForestTables forest{view(sizes),     view(steps),       view(table_of),
                              tables_of(rows), tables_of(turned), view(weights)};
    nb::gil_scoped_release unlocked;
    best_labels(forest, view(unary), view(table), view(weight), view(labels));
}

// Tree of an instance, with the arrays that it views.
class BoundTree {
public:
    BoundTree(Indices starts, Indices near, Indices edge, Indices side, Indices order,
              Indices place, Indices sizes, Array<const double, 3> tables, Indices table_of,
              Floats factors, bool equal)
        : arrays_{starts, near, edge, side, order, place, sizes, table_of},
          tables_(tables),
          factors_(factors) {
        require_neighbours(starts, near, edge, side, table_of.shape(0));
        const auto n = static_cast<Index>(starts.shape(0)) - 1;
        require(static_cast<Index>(order.shape(0)) == n && static_cast<Index>(place.shape(0)) == n,
                "the order has n entries");
        require_indices(view(order), n, "the order names no variable");
        require_sizes(sizes, n,
                      table_of.shape(0) ? static_cast<Index>(tables.shape(1)) : Index{1} << 62);
        require(tables.shape(1) == tables.shape(2) && factors.shape(0) == table_of.shape(0),
                "tables are square, and every edge has a factor");
        require_indices(view(table_of), static_cast<Index>(tables.shape(0)),
                        "an edge has no table");
        tree = {view(starts), view(near),   view(edge),     view(side),    view(order), view(place),
                view(sizes),  view(tables), view(table_of), view(factors), equal};
    }

    void require_shapes(const Array<double, 2>& unary, std::size_t k) const {
        require(static_cast<Index>(unary.shape(0)) == tree.variables() && unary.shape(1) == k,
                "there is a row for each variable");
        for (Index size : tree.sizes)
            require(static_cast<std::size_t>(size) <= k, "a variable has more values than columns");
    }

    Tree tree{};

private:
    Indices arrays_[8];
    Array<const double, 3> tables_;
    Floats factors_;
};

void require_messages(const Tree& tree, const Floats& weights, const Array<double, 3>& message,
                      std::size_t k) {
    const std::size_t edges = tree.table_of.size();
    require(weights.shape(0) == edges && message.shape(0) == edges,
            "every edge has a weight and messages");
    require(message.shape(1) == 2 && message.shape(2) == k,
            "an edge sends messages to the values of two ends");
}

auto bound_pass(const BoundTree& bound, Array<double, 2> unary, Floats weights,
                Array<double, 3> message, bool forward, double damping, StopFlag stop) {
    bound.require_shapes(unary, unary.shape(1));
    require_messages(bound.tree, weights, message, unary.shape(1));
    const Stop flag = stop_of(stop);
    Passed passed{};
    {
        nb::gil_scoped_release unlocked;
        passed =
            pass_on(bound.tree, view(unary), view(weights), view(message), forward, damping, flag);
    }
    return std::pair(passed.total, passed.moved);
}

double bound_beliefs(const BoundTree& bound, Array<double, 2> unary, Floats weights,
                     Array<double, 3> message, Array<double, 2> of_variables,
                     Array<double, 3> of_pairs, StopFlag stop) {
    bound.require_shapes(unary, unary.shape(1));
    bound.require_shapes(of_variables, unary.shape(1));
    require_messages(bound.tree, weights, message, unary.shape(1));
    require(of_pairs.shape(0) == weights.shape(0) && of_pairs.shape(1) == unary.shape(1) &&
                of_pairs.shape(2) == unary.shape(1),
            "of_pairs has a square for each edge");
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    return beliefs(bound.tree, view(unary), view(weights), view(message), view(of_variables),
                   view(of_pairs), flag);
}

double bound_raise(const BoundTree& bound, Array<double, 2> unary, Array<double, 2> q,
                   StopFlag stop) {
    bound.require_shapes(unary, q.shape(1));
    bound.require_shapes(q, q.shape(1));
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    return raise_bound(bound.tree, view(unary), view(q), flag);
}

double bound_mean(const BoundTree& bound, Array<double, 2> unary, Array<double, 2> q) {
    bound.require_shapes(unary, q.shape(1));
    bound.require_shapes(q, q.shape(1));
    nb::gil_scoped_release unlocked;
    return mean_and_entropy(bound.tree, view(unary), view(q));
}

auto bound_roots_last(Indices starts, Indices near) {
    require(starts.shape(0) > 0, "starts have n + 1 entries");
    require_indices(view(near), static_cast<Index>(starts.shape(0)) - 1,
                    "a neighbour does not exist");
    require_indices(view(starts), static_cast<Index>(near.shape(0)) + 1,
                    "a list of neighbours lies outside");
    return as_array(roots_last(view(starts), view(near)));
}

}  // namespace
}  // namespace solvers::labels

BIND_KERNELS(labels, m) {
    using namespace solvers::labels;
    namespace nb = nanobind;
    const auto whole = [](const char* name) { return nb::arg(name).noconvert(); };
    m.attr("IMPOSSIBLE") = IMPOSSIBLE;
    m.attr("FORBIDDEN_FIELD") = FORBIDDEN_FIELD;
    nb::class_<BoundGraph>(m, "Graph", "Who is joined with whom, and by what whole scores.")
        .def(nb::init<Indices, Indices, Indices, Indices, Indices, KernelArray4, Indices>(),
             whole("starts"), whole("near"), whole("edge"), whole("side"), whole("table_of"),
             whole("tables"), whole("weights"));
    nb::class_<BoundSearch>(m, "Search",
                            "A search for the best labels of one instance, node by node.")
        .def(nb::init<const BoundGraph&, Scores, Indices, Indices, solvers::Index, solvers::Index,
                      solvers::Index>(),
             nb::keep_alive<1, 2>(), nb::arg("graph"), whole("unary"), whole("sizes"),
             whole("alike"), nb::arg("below_all"), nb::arg("step"), nb::arg("depth"))
        .def("run", &BoundSearch::run, nb::arg("nodes"), whole("stop"),
             "Handle up to `nodes` nodes; return how many.")
        .def("offer", &BoundSearch::offer, whole("labels"),
             "Take labels where they are better than its own.")
        .def(
            "double_stack", [](BoundSearch& self) { self.search->double_stack(); },
            "Make room for twice the depth.")
        .def_prop_ro(
            "finished", [](const BoundSearch& self) { return self.search->finished(); },
            "Whether everything was searched.")
        .def_prop_ro(
            "fresh", [](const BoundSearch& self) { return self.search->fresh(); },
            "Whether the root is still to be bounded.")
        .def_prop_ro(
            "full", [](const BoundSearch& self) { return self.search->full(); },
            "Whether the stack has no room for a child.")
        .def_prop_ro(
            "bytes", [](const BoundSearch& self) { return self.search->bytes(); },
            "Memory of the stack.")
        .def_prop_ro(
            "bound", [](const BoundSearch& self) { return self.search->bound(); },
            "No whole score is larger; `below_all` where all assignments are forbidden.")
        .def_prop_ro(
            "labels",
            [](const BoundSearch& self) {
                return solvers::as_array(std::vector(self.search->labels()));
            },
            nb::rv_policy::move, "`[n]`, the best labels so far.");
    m.def("score_of", &bound_score, whole("unary"), nb::arg("graph"), whole("labels"),
          "Return the score of labels; FORBIDDEN_FIELD where they are forbidden.");
    m.def("fill_move", &bound_move, whole("unary"), nb::arg("graph"), whole("pairs"),
          whole("labels"), whole("proposal"), nb::arg("least"), nb::arg("shift"), whole("field"),
          whole("weights"), "Write the binary problem of mixing labels with a proposal.");
    m.def("tabu_walk", &bound_walk, nb::arg("graph"), whole("unary"), whole("sizes"),
          whole("labels"), whole("best"), nb::arg("low"), nb::arg("steps"), nb::arg("seed"),
          whole("stop"), "Walk from labels; write the best ones met.");
    m.def("best_labels", &bound_best_labels, whole("sizes"), whole("steps"), whole("table_of"),
          whole("rows"), whole("turned"), whole("weights"), whole("unary"), whole("table"),
          whole("weight"), whole("labels"),
          "Write an assignment of the highest score of each instance of a forest.");
    nb::class_<BoundTree>(m, "Tree", "Who is joined with whom, by what scores, in what order.")
        .def(nb::init<Indices, Indices, Indices, Indices, Indices, Indices, Indices,
                      solvers::Array<const double, 3>, Indices, Floats, bool>(),
             whole("starts"), whole("near"), whole("edge"), whole("side"), whole("order"),
             whole("place"), whole("sizes"), whole("tables"), whole("table_of"), whole("factors"),
             nb::arg("equal"));
    m.def("roots_last", &bound_roots_last, whole("starts"), whole("near"),
          "Return an order in which all variables but the last of each component have a neighbour "
          "behind them.");
    m.def("pass_on", &bound_pass, nb::arg("tree"), whole("unary"), whole("weights"),
          whole("message"), nb::arg("forward"), nb::arg("damping"), whole("stop"),
          "Visit every variable; return the total and the farthest move.");
    m.def("beliefs", &bound_beliefs, nb::arg("tree"), whole("unary"), whole("weights"),
          whole("message"), whole("of_variables"), whole("of_pairs"), whole("stop"),
          "Write marginals; return the estimate of log Z by Bethe.");
    m.def("raise_bound", &bound_raise, nb::arg("tree"), whole("unary"), whole("q"), whole("stop"),
          "Visit every variable of a mean field; return the largest change of a probability.");
    m.def("mean_and_entropy", &bound_mean, nb::arg("tree"), whole("unary"), whole("q"),
          "Return the mean score of a mean field, plus its entropy.");
}
