#include "solvers/algorithms/mini_buckets/search.hpp"

#include <algorithm>
#include <limits>

namespace solvers::mini_buckets {
namespace {

// Returns the bits of `index` at `places`, moved together.
Index projected(Index index, std::span<const Index> places) {
    Index result = 0;
    for (Index k = 0; k < length(places); ++k) result |= ((index >> places[k]) & 1) << k;
    return result;
}

// Projections of all indices below `size`, a power of two: those of the low half of the bits are
// tabled.
class Projections {
public:
    Projections(Index size, std::span<const Index> places) : size_(size), places_(places) {
        while (size >> (2 * (low_bits_ + 1))) ++low_bits_;
        low_.resize(Index{1} << low_bits_);
        for (Index index = 0; index < static_cast<Index>(low_.size()); ++index)
            low_[index] = projected(index, places);
    }

    // Calls visit(index, projection) for every index in order.
    template <class Visit>
    void for_each(Visit visit) const {
        for (Index high = 0; high < size_ >> low_bits_; ++high) {
            const Index first = high << low_bits_;
            const Index base = projected(first, places_);
            for (Index index = 0; index < static_cast<Index>(low_.size()); ++index)
                visit(first + index, base + low_[index]);
        }
    }

private:
    Index size_;
    std::span<const Index> places_;
    int low_bits_ = 0;
    std::vector<Index> low_;
};

}  // namespace

Search::Search(Layout layout, std::vector<std::int8_t> state, Index best)
    : layout_(std::move(layout)),
      table_(layout_.tables.back()),
      bound_(state.size() + 1),
      later_(state.size()),
      tried_(state.size()),
      state_(state),
      best_state_(std::move(state)),
      best_(best) {}

std::span<Index> Search::table(Index mini) {
    const Index begin = layout_.tables[mini];
    return {table_.data() + begin, static_cast<std::size_t>(layout_.tables[mini + 1] - begin)};
}

std::optional<Index> Search::fill(std::span<const Index> unary, std::span<const Index> pairwise,
                                  Stop stop) {
    Index bound = 0;
    for (Index step = 0; step < static_cast<Index>(layout_.order.size()); ++step) {
        const Index first = layout_.minis[step];
        const Index last = layout_.minis[step + 1];
        for (Index mini = first; mini < last; ++mini) {
            if (stop.requested()) return std::nullopt;
            fill_mini(mini, pairwise);
        }
        const std::span<Index> entries = table(first);
        for (Index& entry : entries.last(entries.size() / 2)) entry += unary[layout_.order[step]];
        if (last - first > 1) match(first, last);
        for (Index mini = first; mini < last; ++mini)
            if (layout_.scopes[mini].empty()) bound += std::max(table(mini)[0], table(mini)[1]);
    }
    bound_[0] = bound;
    return bound;
}

// Sums the pairwise terms and the messages of a mini-bucket.
void Search::fill_mini(Index mini, std::span<const Index> pairwise) {
    const std::span<Index> entries = table(mini);
    const Index half = length(entries) / 2;
    std::ranges::fill(entries, Index{0});
    const std::span<const Index> edges = layout_.term_edges[mini];
    for (Index term = 0; term < length(edges); ++term) {
        const Index bit = Index{1} << layout_.term_bits[mini][term];
        const Index weight = pairwise[edges[term]];
        for (Index base = half + bit; base < 2 * half; base += 2 * bit)
            for (Index index = base; index < base + bit; ++index) entries[index] += weight;
    }
    for (Index read = layout_.sources.starts[mini]; read < layout_.sources.starts[mini + 1];
         ++read) {
        const std::span<const Index> message = table(layout_.sources.entries[read]);
        const Index top = length(message) / 2;
        Projections(length(entries), layout_.places[read]).for_each([&](Index index, Index place) {
            entries[index] += std::max(message[place], message[top + place]);
        });
    }
}

// Shifts scores between the mini-buckets of a bucket, by states of the variables that all of them
// have, until their maxima agree.
//
// The shifts of a state add up to zero, so the sum of the mini-buckets stays; the sum of their
// maxima falls.
void Search::match(Index first, Index last) {
    const Index count = last - first;
    const Index size = Index{1} << layout_.shared[first].size();
    std::vector<Index> peaks(count * size, std::numeric_limits<Index>::min());
    for (Index k = 0; k < count; ++k) {
        const std::span<const Index> entries = table(first + k);
        Index* maxima = &peaks[k * size];
        Projections(length(entries), layout_.shared[first + k])
            .for_each([&](Index index, Index place) {
                maxima[place] = std::max(maxima[place], entries[index]);
            });
    }
    for (Index state = 0; state < size; ++state) {
        Index total = 0;
        for (Index k = 0; k < count; ++k) total += peaks[k * size + state];
        Index mean = total / count;
        if (mean * count > total) --mean;  // rounded down
        for (Index k = 0; k < count; ++k) peaks[k * size + state] = mean - peaks[k * size + state];
        peaks[state] += total - mean * count;
    }
    for (Index k = 0; k < count; ++k) {
        const std::span<Index> entries = table(first + k);
        const Index* shifts = &peaks[k * size];
        Projections(length(entries), layout_.shared[first + k])
            .for_each([&](Index index, Index place) { entries[index] += shifts[place]; });
    }
}

// One step of the loop tries the next state of the variable at depth_, and then goes down or up.
//
// Invariant: bound_[depth] holds for all assignments that agree with the first `depth` variables;
// the states of a variable are tried best first. With loss(z_v) = sum over the mini-buckets of v of
// (their maximum - their entry at z_v), the bound of a child is bound(parent) - loss(z_v).
void Search::run(Index nodes) {
    const Index n = static_cast<Index>(state_.size());
    while (depth_ >= 0 && nodes > 0) {
        const Index depth = depth_;
        if (depth == n) {  // a whole assignment, whose bound is its score
            if (bound_[n] > best_) {
                best_ = bound_[n];
                best_state_ = state_;
            }
            --depth_;
            continue;
        }
        const Index v = layout_.order[n - 1 - depth];
        if (tried_[depth] == 0) {
            // The better state first: bound(child) = bound(parent) - loss(z_v).
            --nodes;
            const Losses loss = losses(n - 1 - depth);
            state_[v] = loss.one < loss.zero;
            bound_[depth + 1] = bound_[depth] - std::min(loss.zero, loss.one);
            later_[depth] = bound_[depth] - std::max(loss.zero, loss.one);
        } else if (tried_[depth] == 1) {
            state_[v] = static_cast<std::int8_t>(1 - state_[v]);
            bound_[depth + 1] = later_[depth];
        }
        ++tried_[depth];
        // Go down if a state is left and its bound beats the incumbent, else go up.
        if (tried_[depth] <= 2 && bound_[depth + 1] > best_) {
            ++depth_;
            if (depth_ < n) tried_[depth_] = 0;
        } else {
            --depth_;
        }
    }
}

// Returns by how much each state of a step's variable falls short of the maxima of its
// mini-buckets.
Search::Losses Search::losses(Index step) const {
    Losses result{0, 0};
    for (Index mini = layout_.minis[step]; mini < layout_.minis[step + 1]; ++mini) {
        const std::span<const Index> scope = layout_.scopes[mini];
        Index index = 0;
        for (Index k = 0; k < length(scope); ++k) index |= Index{state_[scope[k]]} << k;
        const Index start = layout_.tables[mini];
        const Index off = table_[start + index];
        const Index on = table_[(start + layout_.tables[mini + 1]) / 2 + index];
        result.zero += std::max(off, on) - off;
        result.one += std::max(off, on) - on;
    }
    return result;
}

}  // namespace solvers::mini_buckets
