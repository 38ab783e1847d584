#include "solvers/algorithms/local_search/ascent.hpp"

#include "solvers/compiled/graphs.hpp"

namespace solvers::local_search {
namespace {

// Visits the variables of an instance once; returns how many it flipped.
Index round_of_flips(const NeighbourLists& lists, std::span<const double> unary,
                     std::span<const double> pairwise, std::span<std::int8_t> z) {
    Index flips = 0;
    for (Index i = 0; i < length(z); ++i) {
        double field = unary[i];
        for (Index k = lists.starts[i]; k < lists.starts[i + 1]; ++k)
            if (z[lists.near[k]]) field += pairwise[lists.which[k]];
        const bool gains = z[i] ? field < 0.0 : field > 0.0;
        if (!gains) continue;
        z[i] ^= 1;
        ++flips;
    }
    return flips;
}

}  // namespace

void flip_what_gains(Matrix<const Index> edges, Matrix<const double> unary,
                     Matrix<const double> pairwise, Matrix<std::int8_t> z) {
    const NeighbourLists lists = neighbour_lists(z.columns, edges);
    for (Index b = 0; b < z.rows; ++b) {
        Index rounds = 0;
        while (rounds < z.columns && round_of_flips(lists, unary[b], pairwise[b], z[b]) > 0)
            ++rounds;
    }
}

}  // namespace solvers::local_search
