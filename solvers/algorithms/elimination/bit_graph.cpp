#include "solvers/algorithms/elimination/bit_graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>

namespace solvers::elimination {
namespace {

constexpr double FAILED = std::numeric_limits<double>::infinity();

constexpr Word bit_of(Index v) {
    return Word{1} << (v & 63);
}

double entries_of(Index degree) {
    return std::ldexp(1.0, static_cast<int>(degree));
}

// Writes the positions of the set bits of a row and returns how many there are.
inline Index members_of(const Word* __restrict row, Index words, Index* __restrict members) {
    Index count = 0;
    for (Index w = 0; w < words; ++w)
        for (Word word = row[w]; word; word &= word - 1)
            members[count++] = 64 * w + std::countr_zero(word);
    return count;
}

// A graph while its vertices are eliminated. `Words` is the length of a row where it is a constant
// of the compilation, or 0.
template <int Words>
class Shrinking {
public:
    Shrinking(Index words, std::vector<Word> bits) : words_(words), bits_(std::move(bits)) {}

    Index words() const { return Words ? Words : words_; }
    const Word* row(Index v) const { return bits_.data() + v * words(); }

    // Writes the neighbours of v and returns how many there are.
    Index neighbours_of(Index v, Index* __restrict neighbours) const {
        return members_of(row(v), words(), neighbours);
    }

    // Returns how many edges the elimination of v adds: half of the bits of v that its neighbours
    // lack, without the bit of each neighbour itself.
    Index fill_of(Index v, std::span<const Index> neighbours) {
        const Word* row_v = row(v);
        const auto words = words_with(neighbours);
        Index missing = 0;
        for (Index u : neighbours) {
            const Word* other = row(u);
            for (Index w : words) missing += std::popcount(row_v[w] & ~other[w]);
        }
        return (missing - length(neighbours)) / 2;
    }

    // Joins the neighbours of v and takes v out.
    void eliminate(Index v, std::span<const Index> neighbours) {
        const Word* __restrict row_v = row(v);
        const auto words = words_with(neighbours);
        for (Index u : neighbours) {
            Word* __restrict other = bits_.data() + u * this->words();
            for (Index w : words) other[w] |= row_v[w];
            other[u >> 6] &= ~bit_of(u);
            other[v >> 6] &= ~bit_of(v);
        }
    }

private:
    // Visits all words of a row where these are few, else those with one of these vertices.
    auto words_with(std::span<const Index> ascending) {
        if constexpr (Words) {
            return std::views::iota(0, Words);
        } else {
            some_words_.clear();
            for (Index u : ascending)
                if (some_words_.empty() || some_words_.back() != u >> 6)
                    some_words_.push_back(u >> 6);
            return std::span<const Index>(some_words_);
        }
    }

    Index words_;
    std::vector<Word> bits_;
    std::vector<Index> some_words_;  // scratch
};

// The cost of each vertex, and the first vertex of the least cost: a block remembers its minimum
// until one of its costs changes.
class Costs {
public:
    explicit Costs(Index n)
        : blocks_((n + BLOCK - 1) / BLOCK),
          costs_(blocks_ * BLOCK, FAILED),
          least_(blocks_, FAILED) {}

    void set(Index v, double cost) {
        costs_[v] = cost;
        least_[v / BLOCK] = STALE;
    }

    Index first_least() {
        Index best = 0;
        for (Index b = 0; b < blocks_; ++b) {
            if (least_[b] == STALE) least_[b] = minimum(costs_.data() + b * BLOCK);
            if (least_[b] < least_[best]) best = b;
        }
        Index v = best * BLOCK;
        while (costs_[v] != least_[best]) ++v;
        return v;
    }

private:
    static constexpr Index BLOCK = 32;
    static constexpr double STALE = -FAILED;

    static double minimum(const double* costs) {
        double least = FAILED;
#pragma omp simd reduction(min : least)
        for (Index i = 0; i < BLOCK; ++i) least = costs[i] < least ? costs[i] : least;
        return least;
    }

    Index blocks_;
    std::vector<double> costs_;
    std::vector<double> least_;  // of each block, or STALE
};

// Invariant: degree and cost are those of the remaining graph, except for `stale` vertices; gone
// vertices cost infinitely much. The elimination of a vertex changes only the degrees of its
// neighbours and, where it adds edges, the fill of their neighbours.
template <int Words>
class Greedy {
public:
    Greedy(Shrinking<Words> graph, Index n, const Greed& greed)
        : graph_(std::move(graph)),
          greed_(greed),
          random_(Random::seeded(greed.seed)),
          degree_(n),
          neighbours_(n),
          stale_(n),
          costs_(n),
          reach_(graph_.words()),
          stale_count_(n) {
        std::iota(stale_.begin(), stale_.end(), 0);
    }

    Cost run(const Limits& limits, std::span<Index> order, Stop stop) {
        Cost total{0, 0.0};
        for (Index& next : order) {
            for (Index k = 0; k < stale_count_; ++k) {
                if (stop.requested()) return {length(order), FAILED};
                update(stale_[k]);
            }
            const Index v = costs_.first_least();
            total.width = std::max(total.width, degree_[v]);
            total.entries += entries_of(degree_[v]);
            if (total.width > limits.width || total.entries >= limits.entries)
                return {total.width, FAILED};
            next = v;
            eliminate(v);
        }
        return total;
    }

private:
    std::span<const Index> neighbours_of(Index v) {
        const Index count = graph_.neighbours_of(v, neighbours_.data());
        return std::span<const Index>(neighbours_).first(count);
    }

    void update(Index v) {
        const auto neighbours = neighbours_of(v);
        degree_[v] = length(neighbours);
        double cost = greed_.degree * static_cast<double>(degree_[v]);
        if (greed_.fill != 0.0)
            cost += greed_.fill * static_cast<double>(graph_.fill_of(v, neighbours));
        if (greed_.jitter != 0.0) cost += greed_.jitter * random_.uniform();
        costs_.set(v, cost);
    }

    void eliminate(Index v) {
        costs_.set(v, FAILED);
        const auto neighbours = neighbours_of(v);
        const bool adds = greed_.fill != 0.0 && graph_.fill_of(v, neighbours) > 0;
        graph_.eliminate(v, neighbours);
        std::ranges::fill(reach_, Word{0});
        for (Index u : neighbours) {
            reach_[u >> 6] |= bit_of(u);
            if (!adds) continue;
            const Word* row = graph_.row(u);
            for (Index w = 0; w < graph_.words(); ++w) reach_[w] |= row[w];
        }
        stale_count_ = members_of(reach_.data(), graph_.words(), stale_.data());
    }

    Shrinking<Words> graph_;
    Greed greed_;
    Random random_;
    std::vector<Index> degree_;
    std::vector<Index> neighbours_;  // scratch
    std::vector<Index> stale_;       // vertices whose cost is to be found anew
    Costs costs_;
    std::vector<Word> reach_;  // scratch
    Index stale_count_;
};

template <int Words>
Cost followed(Shrinking<Words> graph, std::span<const Index> order, Index width_limit) {
    std::vector<Index> neighbours(order.size());
    Cost total{0, 0.0};
    for (Index v : order) {
        const Index degree = graph.neighbours_of(v, neighbours.data());
        total.width = std::max(total.width, degree);
        total.entries += entries_of(degree);
        if (total.width > width_limit) return {total.width, FAILED};
        graph.eliminate(v, std::span<const Index>(neighbours).first(degree));
    }
    return total;
}

// Calls `visit` with a graph whose rows have a constant length, if that is short.
template <class Visit>
auto with_words(Index words, const std::vector<Word>& bits, const Visit& visit) {
    switch (words) {
        case 1: return visit(Shrinking<1>(words, bits));
        case 2: return visit(Shrinking<2>(words, bits));
        case 3: return visit(Shrinking<3>(words, bits));
        case 4: return visit(Shrinking<4>(words, bits));
        case 5: return visit(Shrinking<5>(words, bits));
        case 6: return visit(Shrinking<6>(words, bits));
        case 7: return visit(Shrinking<7>(words, bits));
        case 8: return visit(Shrinking<8>(words, bits));
        default: return visit(Shrinking<0>(words, bits));
    }
}

}  // namespace

BitGraph::BitGraph(Index n, Matrix<const Index> edges)
    : size_(n), words_((n + 63) / 64), bits_(n * words_) {
    for (Index e = 0; e < edges.rows; ++e)
        for (int side = 0; side < 2; ++side) {
            const Index v = edges(e, side);
            const Index u = edges(e, 1 - side);
            bits_[v * words_ + (u >> 6)] |= bit_of(u);
        }
}

Cost BitGraph::greedy(const Greed& greed, const Limits& limits, std::span<Index> order,
                      Stop stop) const {
    return with_words(words_, bits_, [&]<int Words>(Shrinking<Words> graph) {
        return Greedy<Words>(std::move(graph), size_, greed).run(limits, order, stop);
    });
}

Cost BitGraph::follow(std::span<const Index> order, Index width_limit) const {
    return with_words(words_, bits_, [&]<int Words>(Shrinking<Words> graph) {
        return followed(std::move(graph), order, width_limit);
    });
}

void BitGraph::breadth_first(Index start, std::span<Index> order) const {
    std::vector<Index> members(size_);
    std::vector<bool> seen;
    for (int pass = 0; pass < 2; ++pass) {
        seen.assign(size_, false);
        Index tail = 0;
        const auto take = [&](Index v) {
            seen[v] = true;
            order[tail++] = v;
        };
        for (Index head = 0; head < size_; ++head) {
            if (head == tail) {  // the next component
                while (seen[start]) start = (start + 1) % size_;
                take(start);
            }
            const Word* row = bits_.data() + order[head] * words_;
            const Index count = members_of(row, words_, members.data());
            for (Index k = 0; k < count; ++k)
                if (!seen[members[k]]) take(members[k]);
        }
        if (size_) start = order[size_ - 1];
    }
}

}  // namespace solvers::elimination
