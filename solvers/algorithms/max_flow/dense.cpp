#include "solvers/algorithms/max_flow/dense.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace solvers::max_flow {
namespace {

using Word = std::uint64_t;
constexpr Index UNLIMITED = std::numeric_limits<Index>::max();
constexpr Word bit_of(Index node) {
    return Word{1} << (node & 63);
}

// The flow on one instance; its invariant is that of one_word.cpp, in integers and with rows of
// words for node sets.
class Flow {
public:
    Flow(Index n, Stop stop)
        : stop_(stop),
          n_(n),
          words_((n + 63) / 64),
          residual_(n * n),
          balance_(n),
          distance_(n),
          successors_(n * words_),
          layers_((n + 1) * words_) {}

    // Sets the balances, residual capacities and successors of no flow.
    void load(Matrix<const std::uint32_t> ends, std::span<const Index> unary,
              std::span<const Index> pairwise) {
        for (Index k = 0; k < length(pairwise); ++k) {
            const Index i = ends(k, 0);
            const Index j = ends(k, 1);
            residual_[i * n_ + j] = pairwise[k];
            residual_[j * n_ + i] = pairwise[k];
        }
        for (Index i = 0; i < n_; ++i) {
            Index total = 0;
            for (Index w = 0; w < words_; ++w) {
                const Index* row = &residual_[i * n_ + 64 * w];
                const Index count = std::min(n_ - 64 * w, Index{64});
                Word word = 0;
                for (Index j = 0; j < count; ++j) {
                    total += row[j];
                    word |= static_cast<Word>(row[j] > 0) << j;
                }
                successors_[i * words_ + w] = word;
            }
            balance_[i] = 2 * unary[i] + total;
        }
    }

    // Pushes excess until none can reach a deficit; the nodes without distance are then the source
    // side. Where it has to end before, the identity still holds: the excess is an upper bound.
    void maximise() {
        std::ranges::fill(distance_, Index{0});
        bool active = true;
        while (active) {
            active = false;
            const Index depth = find_layers();
            for (Index d = depth - 1; d > 0; --d)
                for (Index tail = 0; tail < n_ && !stop_.requested(); ++tail)
                    if (distance_[tail] == d && balance_[tail] > 0) {
                        active = true;
                        push(tail, &layers_[(d - 1) * words_]);
                    }
        }
    }

    bool on_source_side(Index node) const { return distance_[node] == UNREACHED; }

    // Returns sum_i max(balance_i, 0): twice the maximum, exactly.
    Index excess() const {
        Index total = 0;
        for (Index balance : balance_) total += std::max(balance, Index{0});
        return total;
    }

private:
    bool meets(const Word* row, const Word* other) const {
        Word common = 0;
        for (Index w = 0; w < words_; ++w) common |= row[w] & other[w];
        return common != 0;
    }

    // Computes the distances, in arcs to the nearest deficit, and the words of each layer; returns
    // their number.
    //
    // Nodes that were cut off stay so, as distances do not fall.
    Index find_layers() {
        Index waiting = start_layers();
        Index depth = 1;
        while (waiting > 0) {
            const Word* below = &layers_[(depth - 1) * words_];
            Word* layer = &layers_[depth * words_];
            std::fill_n(layer, words_, Word{0});
            Index reached = 0;
            for (Index i = 0; i < n_; ++i)
                if (distance_[i] == n_ && meets(&successors_[i * words_], below)) {
                    distance_[i] = depth;
                    layer[i >> 6] |= bit_of(i);
                    ++reached;
                }
            if (reached == 0) break;
            waiting -= reached;
            ++depth;
        }
        if (waiting > 0)
            for (Index& distance : distance_)
                if (distance == n_) distance = UNREACHED;
        return depth;
    }

    // Puts the deficits into layer 0, gives other nodes the distance n, and returns the number of
    // these.
    Index start_layers() {
        Index waiting = 0;
        std::fill_n(layers_.begin(), words_, Word{0});
        for (Index i = 0; i < n_; ++i) {
            if (balance_[i] < 0) {
                distance_[i] = 0;
                layers_[i >> 6] |= bit_of(i);
            } else if (distance_[i] != UNREACHED) {
                distance_[i] = n_;
                ++waiting;
            }
        }
        return waiting;
    }

    // Moves excess from `tail` to `heads [words]`, and removes the deficits that it filled from
    // `heads`.
    //
    // Loops: over the words of `heads`, then over their bits. Invariant: with `excess` in place of
    // balance_[tail], the identity of one_word.cpp holds after every bit. A head takes no more than
    // its deficit. The inner body has no branch, because it is unpredictable which of the three
    // limits binds.
    void push(Index tail, Word* heads) {
        Index excess = balance_[tail];
        const Index tail_word = tail >> 6;
        const Word tail_bit = bit_of(tail);
        for (Index w = 0; w < words_ && excess != 0; ++w) {
            // Residual arcs to the heads of this word.
            Word admissible = heads[w] & successors_[tail * words_ + w];
            Word saturated = 0;
            Word filled = 0;
            while (admissible != 0 && excess > 0) {
                const int bit = std::countr_zero(admissible);
                admissible &= admissible - 1;
                const Index head = 64 * w + bit;
                Index capacity = residual_[tail * n_ + head];
                Index level = balance_[head];
                const Index room = level < 0 ? -level : UNLIMITED;
                const Index amount = std::min(std::min(capacity, room), excess);
                // Moves `amount` from balance_tail to balance_head, and from residual_(tail, head)
                // to residual_(head, tail).
                excess -= amount;
                capacity -= amount;
                level += amount;
                residual_[tail * n_ + head] = capacity;
                residual_[head * n_ + tail] += amount;
                balance_[head] = level;
                successors_[head * words_ + tail_word] |= tail_bit;
                saturated |= static_cast<Word>(capacity == 0) << bit;
                filled |= static_cast<Word>(level == 0) << bit;
            }
            successors_[tail * words_ + w] ^= saturated;
            heads[w] ^= filled;
        }
        balance_[tail] = excess;
    }

    Stop stop_;
    Index n_;
    Index words_;
    std::vector<Index> residual_;   // [n, n]
    std::vector<Index> balance_;    // [n]
    std::vector<Index> distance_;   // [n]
    std::vector<Word> successors_;  // [n, words]
    std::vector<Word> layers_;      // [n + 1, words]
};

}  // namespace

void cut_dense(Matrix<const std::uint32_t> ends, Stop stop, Matrix<const Index> unary,
               Matrix<const Index> pairwise, Matrix<std::int8_t> z, std::span<Index> doubled) {
    Flow flow(unary.columns, stop);
    for (Index b = 0; b < unary.rows; ++b) {
        flow.load(ends, unary[b], pairwise[b]);
        flow.maximise();
        for (Index i = 0; i < unary.columns; ++i) z(b, i) = flow.on_source_side(i);
        doubled[b] = flow.excess();
    }
}

}  // namespace solvers::max_flow
