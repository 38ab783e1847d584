#include "solvers/compiled/bindings.hpp"

#include <nanobind/stl/optional.h>

#include "solvers/algorithms/mini_buckets/search.hpp"

namespace solvers::mini_buckets {
namespace {

using Indices = Array<const Index, 1>;

// Checks that lists start and end where they should, with entries in 0 .. limit - 1.
Lists lists_of(const Indices& entries, const Indices& starts, Index count, Index limit) {
    require(static_cast<Index>(starts.shape(0)) == count + 1,
            "every list has a start, and the last one an end");
    Index before = 0;
    for (Index start : view(starts)) {
        require(start >= before, "the starts of lists do not rise");
        before = start;
    }
    require(starts.data()[0] == 0 && before == static_cast<Index>(entries.shape(0)),
            "the lists do not fill their array");
    require_indices(view(entries), limit, "an entry of a list lies outside");
    return {copied(entries), copied(starts)};
}

struct Arrays {
    Indices order, minis, scopes, variables, tables, terms, term_edges, term_bits, reads, sources,
        places, place_starts, shared, shared_starts;
};

// Checks that the table of a mini-bucket, and the bits of its terms, messages and shared variables,
// fit its variables.
void require_mini(const Layout& layout, Index mini) {
    const auto bits =
        static_cast<Index>(layout.scopes[mini].size()) + 1;  // with the bucket's own variable
    require(layout.tables[mini + 1] - layout.tables[mini] == Index{1} << bits,
            "a table does not have an entry for each state of its variables");
    require_indices(layout.term_bits[mini], bits,
                    "a term names a bit that its mini-bucket does not have");
    require_indices(layout.shared[mini], bits, "a shared variable is none of its mini-bucket");
    for (Index read = layout.sources.starts[mini]; read < layout.sources.starts[mini + 1]; ++read) {
        require_indices(layout.places[read], bits,
                        "a message names a bit that its reader does not have");
        require(layout.places[read].size() == layout.scopes[layout.sources.entries[read]].size(),
                "a message does not name a bit for each of its variables");
    }
}

Layout layout_of(const Arrays& a, Index n, Index e) {
    const auto count = static_cast<Index>(a.tables.shape(0)) - 1;
    const auto reads = static_cast<Index>(a.sources.shape(0));
    require(static_cast<Index>(a.order.shape(0)) == n &&
                static_cast<Index>(a.minis.shape(0)) == n + 1 && count >= 0,
            "the order has n entries, and minis n + 1");
    require_indices(view(a.order), n, "the order names a variable that does not exist");
    require_indices(view(a.minis), count + 1, "a bucket names a mini-bucket that does not exist");
    Layout layout;
    layout.order = copied(a.order);
    layout.minis = copied(a.minis);
    layout.tables = copied(a.tables);
    layout.scopes = lists_of(a.variables, a.scopes, count, n);
    layout.term_edges = lists_of(a.term_edges, a.terms, count, e);
    layout.term_bits = lists_of(a.term_bits, a.terms, count, 62);
    layout.sources = lists_of(a.sources, a.reads, count, count);
    layout.places = lists_of(a.places, a.place_starts, reads, 62);
    layout.shared = lists_of(a.shared, a.shared_starts, count, 62);
    require(layout.tables[0] == 0, "the first table starts at 0");
    for (Index mini = 0; mini < count; ++mini) require_mini(layout, mini);
    return layout;
}

void init_search(Search* self, nb::args arrays, Array<const std::int8_t, 1> state, Index best,
                 Index edges) {
    require(arrays.size() == 14, "a layout has 14 arrays");
    Indices cast[14];
    for (std::size_t k = 0; k < 14; ++k) cast[k] = nb::cast<Indices>(arrays[k]);
    const Arrays all{cast[0], cast[1], cast[2], cast[3],  cast[4],  cast[5],  cast[6],
                     cast[7], cast[8], cast[9], cast[10], cast[11], cast[12], cast[13]};
    Layout layout = layout_of(all, static_cast<Index>(state.shape(0)), edges);
    new (self) Search(std::move(layout), copied(state), best);
}

std::optional<Index> fill(Search& search, Indices unary, Indices pairwise, StopFlag stop) {
    require(unary.shape(0) == search.layout().order.size(), "unary has an entry for each variable");
    require_indices(std::span<const Index>(search.layout().term_edges.entries),
                    static_cast<Index>(pairwise.shape(0)),
                    "pairwise has no entry for an edge of the layout");
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    return search.fill(view(unary), view(pairwise), flag);
}

}  // namespace
}  // namespace solvers::mini_buckets

BIND_KERNELS(mini_buckets, m) {
    using namespace solvers::mini_buckets;
    namespace nb = nanobind;
    nb::class_<Search>(m, "Search", "A search bounded by the tables of mini-buckets, node by node.")
        .def("__init__", &init_search, nb::arg("layout"), nb::kw_only(),
             nb::arg("state").noconvert(), nb::arg("best"), nb::arg("edges"))
        .def("fill", &fill, nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(),
             nb::arg("stop").noconvert(),
             "Fill the tables; return the bound on every score, or None once the stop flag is set.")
        .def("run", &Search::run, nb::arg("nodes"), solvers::Unlocked(),
             "Handle up to `nodes` nodes.")
        .def_prop_ro("finished", &Search::finished, "Whether everything was searched.")
        .def_prop_ro("best", &Search::best, "The score of the best assignment.")
        .def_prop_ro("state", solvers::copy_of(&Search::best_state), nb::rv_policy::move,
                     "`[n]` int8, the best assignment.");
}
