#include "solvers/compiled/bindings.hpp"

#include "solvers/compiled/best.hpp"
#include "solvers/compiled/graphs.hpp"
#include "solvers/compiled/random.hpp"
#include "solvers/compiled/resolution.hpp"
#include "solvers/compiled/scores.hpp"

namespace solvers {
namespace {

template <class Score>
void scores(Array<const Score, 2> unary, Array<const Score, 2> pairwise,
            Array<const Index, 2> edges, Array<const std::int8_t, 2> z, Array<double, 1> score) {
    require(unary.shape(0) == z.shape(0) && pairwise.shape(0) == z.shape(0) &&
                score.shape(0) == z.shape(0),
            "unary, pairwise, z and score have one row for each instance");
    require(unary.shape(1) == z.shape(1), "unary and z have a column for each variable");
    require(pairwise.shape(1) == edges.shape(0), "pairwise has a column for each edge");
    require_edges(static_cast<Index>(z.shape(1)), edges);
    nb::gil_scoped_release unlocked;
    fill_scores(view(unary), view(pairwise), view(edges), view(z), view(score));
}

void neighbours(Index n, Array<const Index, 2> edges, Array<Index, 1> starts, Array<Index, 1> near,
                Array<Index, 1> which) {
    require(n >= 0, "n is negative");
    require(static_cast<Index>(starts.shape(0)) == n + 1, "starts have n + 1 entries");
    require(near.shape(0) == 2 * edges.shape(0) && which.shape(0) == 2 * edges.shape(0),
            "near and which have two entries for each edge");
    require_edges(n, edges);
    fill_neighbour_lists(n, view(edges), view(starts), view(near), view(which));
}

template <class Score>
bool take(Array<Score, 1> scores, Array<Index, 1> places, Array<std::int8_t, 2> states, Score score,
          Array<const std::int8_t, 1> z) {
    require(scores.shape(0) > 0 && scores.shape(0) == places.shape(0) &&
                scores.shape(0) == states.shape(0),
            "scores, places and states have one row for each state");
    require(z.shape(0) == states.shape(1), "z has an entry for each variable");
    for (Index row : view(places))
        require(row >= 0 && row < static_cast<Index>(states.shape(0)),
                "a place names a row that does not exist");
    return Best<Score>{view(scores), view(places), view(states)}.take(score, view(z));
}

template <class Score>
void bind_take(nb::module_& m) {
    m.def(
        "take", &take<Score>, nb::arg("scores").noconvert(), nb::arg("places").noconvert(),
        nb::arg("states").noconvert(), nb::arg("score"), nb::arg("z").noconvert(),
        "Put a state in its place among the best ones; return whether it is new and good enough.");
}

template <class First, class Second>
Resolution<First, Second> resolution_of(const Array<const First, 2>& first,
                                        const Array<const Second, 2>& second,
                                        const Array<const double, 1>& magnitude, double factor,
                                        double digits) {
    require(first.shape(0) == magnitude.shape(0), "every instance has a magnitude");
    require(second.shape(0) == first.shape(0) || second.shape(0) == 1,
            "the second scores have a row for each instance, or one");
    return {view(first), view(second), view(magnitude), factor, digits};
}

template <class First, class Second>
bool suspicious(Array<const First, 2> first, Array<const Second, 2> second,
                Array<const double, 1> magnitude, double factor, double digits) {
    return resolution_of(first, second, magnitude, factor, digits).suspicious();
}

template <class First, class Second>
void find_units(Array<const First, 2> first, Array<const Second, 2> second,
                Array<const double, 1> magnitude, double factor, double digits,
                Array<double, 1> units, Array<double, 1> least, Array<double, 1> short_share,
                Array<double, 1> telling_share) {
    require(units.shape(0) == magnitude.shape(0) && least.shape(0) == units.shape(0) &&
                short_share.shape(0) == units.shape(0) && telling_share.shape(0) == units.shape(0),
            "units, least and both shares have an entry for each instance");
    resolution_of(first, second, magnitude, factor, digits)
        .find_units(view(units), view(least), view(short_share), view(telling_share));
}

template <class First, class Second>
void bind_resolution(nb::module_& m) {
    m.def("suspicious", &suspicious<First, Second>, nb::arg("first").noconvert(),
          nb::arg("second").noconvert(), nb::arg("magnitude").noconvert(), nb::arg("factor"),
          nb::arg("digits"), Unlocked(),
          "Return whether rounding could confuse the scores of some instance.");
    m.def("find_units", &find_units<First, Second>, nb::arg("first").noconvert(),
          nb::arg("second").noconvert(), nb::arg("magnitude").noconvert(), nb::arg("factor"),
          nb::arg("digits"), nb::arg("units").noconvert(), nb::arg("least").noconvert(),
          nb::arg("short_share").noconvert(), nb::arg("telling_share").noconvert(),
          "Write what all scores of an instance are multiples of, the smallest one, and the share "
          "of short ones.");
}

std::uint64_t seeded(std::uint64_t seed) {
    return Random::seeded(seed).state();
}

}  // namespace

}  // namespace solvers

BIND_KERNELS(common, m) {
    using namespace solvers;
    m.def("scores", &scores<double>, nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(),
          nb::arg("edges").noconvert(), nb::arg("z").noconvert(), nb::arg("score").noconvert(),
          "Write the score of the state `z[b]` of each instance b.");
    m.def("scores", &scores<float>, nb::arg("unary").noconvert(), nb::arg("pairwise").noconvert(),
          nb::arg("edges").noconvert(), nb::arg("z").noconvert(), nb::arg("score").noconvert());
    m.def("neighbour_lists", &neighbours, nb::arg("n"), nb::arg("edges").noconvert(),
          nb::arg("starts").noconvert(), nb::arg("near").noconvert(), nb::arg("which").noconvert(),
          "Write the neighbours of each vertex, and the edges to them, one list after the other.");
    bind_resolution<double, double>(m);
    bind_resolution<float, float>(m);
    bind_resolution<double, float>(m);
    bind_resolution<float, double>(m);
    bind_take<double>(m);
    bind_take<Index>(m);
    m.def("seeded", &seeded, nb::arg("seed"),
          "Return the state of the random stream of a seed below 2^32.");
}
