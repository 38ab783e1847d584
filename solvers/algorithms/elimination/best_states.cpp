#include "solvers/algorithms/elimination/best_states.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "solvers/compiled/buffer.hpp"

namespace solvers::elimination {
namespace {

constexpr Index MOST_BITS = 40;  // of a table; those of more are far beyond any memory

// A state that is found after all better ones: it differs from one that was found before by its
// choice at one step, and the choices before that step lose nothing.
struct Offer {
    double loss;
    Index number;  // the older one first among those of equal loss
    Index left;    // the state that it leaves; -1 for the best one
    Index step;

    bool operator>(const Offer& other) const {
        return loss > other.loss || (loss == other.loss && number > other.number);
    }
};

}  // namespace

Buckets::Buckets(Matrix<const Index> edges, std::span<const Index> order)
    : order_(order.begin(), order.end()), tables_(1), ends_(2 * edges.rows) {
    std::vector<Index> step(order.size());
    for (Index t = 0; t < length(order); ++t) step[order[t]] = t;
    for (Index e = 0; e < edges.rows; ++e) {
        const auto [first, last] = std::minmax(step[edges(e, 0)], step[edges(e, 1)]);
        ends_[2 * e] = first;
        ends_[2 * e + 1] = last;
    }
    later_ = separators_of(size(), {ends_.data(), edges.rows, 2});
    for (Index t = 0; t < size(); ++t) {
        std::reverse(later_.variables.begin() + later_.starts[t],
                     later_.variables.begin() + later_.starts[t + 1]);
        const Index bits = std::min(later_.size(t), MOST_BITS);
        tables_.push_back(tables_.back() + (Index{2} << bits));
    }
}

// Returns the place in a step's table of the entry of value 0, given the steps after it.
Index Buckets::place_of(Index t, const std::int8_t* z) const {
    Index place = tables_[t];
    int bit = 1;
    for (Index other : later(t)) place += Index{z[other]} << bit++;
    return place;
}

void Buckets::add_edge(Index t, Index other, double weight, std::span<double> table) const {
    const Index bit = std::ranges::find(later(t), other) - later(t).begin() + 1;
    for (Index s = tables_[t] + 1; s < tables_[t + 1]; s += 2)
        if ((s - tables_[t]) >> bit & 1) table[s] += weight;
}

// Writes all tables: the score of a step and those before it, for each of its values.
void Buckets::fill(std::span<const double> unary, std::span<const double> pairwise,
                   std::span<double> table) const {
    for (Index t = 0; t < size(); ++t)
        for (Index s = tables_[t]; s < tables_[t + 1]; s += 2) {
            table[s] = 0.0;
            table[s + 1] = unary[order_[t]];
        }
    for (Index e = 0; e < edges(); ++e)
        add_edge(ends_[2 * e], ends_[2 * e + 1], pairwise[e], table);
    for (Index t = 0; t < size(); ++t)
        if (later_.parent[t] >= 0) hand_on(t, table);
}

// Adds the better half of the table of a step to that of its parent.
void Buckets::hand_on(Index t, std::span<double> table) const {
    const Index parent = later_.parent[t];
    const auto scope = later(parent);
    std::vector<Index> to{0};  // the bit of each later step in the parent's entries
    for (Index other : later(t).subspan(1))
        to.push_back(std::ranges::lower_bound(scope, other) - scope.begin() + 1);
    const Index entries = tables_[parent + 1] - tables_[parent];
    for (Index s = 0; s < entries; ++s) {
        Index from = 0;
        for (std::size_t k = 0; k < to.size(); ++k) from |= (s >> to[k] & 1) << k;
        const Index place = tables_[t] + 2 * from;
        table[tables_[parent] + s] += std::max(table[place], table[place + 1]);
    }
}

// Chooses the steps before `before` so that they lose nothing; writes the loss of each one's other
// value.
void Buckets::complete(std::span<const double> table, Index before, std::span<std::int8_t> z,
                       std::span<double> losses) const {
    for (Index t = before - 1; t >= 0; --t) {
        const Index place = place_of(t, z.data());
        z[t] = table[place + 1] > table[place];
        losses[t] = std::abs(table[place + 1] - table[place]);
    }
}

// Invariant: the heap offers each state that was not found yet through exactly one found state,
// with a loss that is at most its own.
void Buckets::rank(std::span<const double> unary, std::span<const double> pairwise,
                   Matrix<std::int8_t> states) const {
    const Buffer<double> memory(entries());
    const std::span<double> table(memory.data(), entries());
    fill(unary, pairwise, table);
    std::vector<std::int8_t> ranked(states.rows * size());  // [count, n], by step
    const Matrix<std::int8_t> by_step{ranked.data(), states.rows, size()};
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> heap;
    heap.push({0.0, 0, -1, size()});
    Index number = 1;
    std::vector<double> losses(size());
    std::vector<Index> cheap;
    for (Index k = 0; k < states.rows; ++k) {
        const Offer offer = heap.top();
        heap.pop();
        const auto z = by_step[k];
        if (offer.left >= 0) {
            std::ranges::copy(by_step[offer.left], z.begin());
            z[offer.step] ^= 1;
        }
        complete(table, offer.step, z, losses);
        for (Index t = 0; t < size(); ++t) states(k, order_[t]) = z[t];
        cheap.resize(offer.step);
        std::iota(cheap.begin(), cheap.end(), 0);
        // More states than `count` are never needed.
        const Index wanted = std::min<Index>(offer.step, states.rows - k);
        // Of equal losses, the first step counts as the lower one.
        std::ranges::partial_sort(cheap, cheap.begin() + wanted, {},
                                  [&](Index t) { return std::pair(losses[t], t); });
        for (Index t : std::span<const Index>(cheap).first(wanted))
            heap.push({offer.loss + losses[t], number++, k, t});
    }
}

}  // namespace solvers::elimination
