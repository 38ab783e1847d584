#include "solvers/algorithms/max_flow/one_word.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "solvers/compiled/vectors.hpp"

namespace solvers::max_flow {
namespace {

using Word = std::uint64_t;
constexpr double NO_LIMIT = std::numeric_limits<double>::infinity();

struct Signs {
    Word deficit;  // nodes with capacity to the sink
    Word excess;   // nodes with capacity from the source
};

// The flow on one instance. Invariant, for every state z:
//
//     2 score(z) = sum_i balance_i z_i - sum_(i != j) residual_ij z_i (1 - z_j).
class OneWordFlow {
public:
    explicit OneWordFlow(Index n)
        : n_(n),
          stride_((n + LANES - 1) / LANES * LANES),
          residual_(n * stride_),
          balance_(stride_),
          successors_(stride_),
          layers_(n) {}

    // Sets the balances, residual capacities and successors of no flow.
    template <class Score>
    void load(Matrix<const std::uint8_t> ends, std::span<const Score> unary,
              std::span<const Score> pairwise) {
        for (Index i = 0; i < n_; ++i) balance_[i] = 2.0 * static_cast<double>(unary[i]);
        for (Index k = 0; k < length(pairwise); ++k) {
            const Index i = ends(k, 0);
            const Index j = ends(k, 1);
            const double weight = static_cast<double>(pairwise[k]);
            residual_[i * stride_ + j] = weight;
            residual_[j * stride_ + i] = weight;
        }
        // Whole rows fill vectors; sums and words updated edge by edge would wait for each store.
        for (Index i = 0; i < n_; ++i) {
            const double* row = &residual_[i * stride_];
            Word word = 0;
            for (Index j = 0; j < stride_; j += LANES) {
                const Vector capacities = solvers::load(row + j);
                store(&balance_[j], solvers::load(&balance_[j]) + capacities);
                word |= Word{greater(capacities, fill(0.0))} << j;
            }
            successors_[i] = word;
        }
    }

    // Pushes excess until none can reach a deficit, and returns the sink side of the cut.
    //
    // Each round computes layers[d], the nodes d arcs from a deficit, and moves excess from the
    // farthest layer down, along all shortest paths at once. A node with remaining excess then has
    // no arc to the next layer, and pushes create arcs only to a farther layer. So no distance
    // falls, that of such a node grows, and there are O(n^2) rounds (2 to 7 are typical). This only
    // requires that limits vanish exactly: no tolerance is involved.
    Word maximise() {
        Word sink_side = (Word{1} << n_) -
                         1;  // nodes cut off from every deficit stay so, as distances do not fall
        while (true) {
            const Signs signs = nodes_by_sign();
            const Index depth = find_layers(signs.deficit, sink_side);
            if ((signs.excess & sink_side) == 0) return sink_side;
            for (Index d = depth - 1; d > 0; --d)
                for (Word tails = layers_[d]; tails != 0; tails &= tails - 1) {
                    const int tail = std::countr_zero(tails);
                    if (balance_[tail] > 0.0)
                        layers_[d - 1] ^= push(tail, successors_[tail] & layers_[d - 1]);
                }
        }
    }

    // Returns sum_i max(balance_i, 0), an upper bound on 2 score(z).
    //
    // Weak duality: as residuals are >= 0, the invariant gives 2 score(z) <= sum_i max(balance_i,
    // 0) for all z, with equality for the cut. Balances are rounded to nearest, not upwards: the
    // error was measured to be below 1e-15 times the sum of the absolute coefficients.
    double excess() const {
        double total = 0.0;
        for (double balance : balance_) total += std::max(balance, 0.0);
        return total;
    }

private:
    Signs nodes_by_sign() const {
        Signs signs{0, 0};
        for (Index i = 0; i < stride_; i += LANES) {
            const Vector balances = solvers::load(&balance_[i]);
            signs.deficit |= Word{greater(fill(0.0), balances)} << i;
            signs.excess |= Word{greater(balances, fill(0.0))} << i;
        }
        return signs;
    }

    // Fills the layers from the deficits on, removes unreached nodes from `sink_side`, and returns
    // the number of layers.
    Index find_layers(Word layer, Word& sink_side) {
        Word reached = layer;
        Index depth = 0;
        while (layer != 0) {
            layers_[depth++] = layer;
            layer = predecessors(layer) & sink_side & ~reached;
            reached |= layer;
        }
        sink_side = reached;
        return depth;
    }

    // Returns the nodes with a residual arc to any node of `heads`.
    Word predecessors(Word heads) const {
        Word word = 0;
#if defined(__AVX512F__)
        const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(heads));
        for (Index i = 0; i < stride_; i += 8)
            word |= Word{_mm512_test_epi64_mask(_mm512_loadu_si512(&successors_[i]), wanted)} << i;
#else
        for (Index i = 0; i < n_; ++i)
            word |= static_cast<Word>((successors_[i] & heads) != 0) << i;
#endif
        return word;
    }

    // Moves excess from `tail` to `heads`, and returns the deficits that it filled.
    //
    // A head takes no more than its deficit. The body has no branch, because it is unpredictable
    // which of the three limits binds; the binding limit becomes exactly zero.
    Word push(int tail, Word heads) {
        double excess = balance_[tail];
        const Word tail_bit = Word{1} << tail;
        Word saturated = 0;
        Word filled = 0;
        while (heads != 0 && excess > 0.0) {
            const int head = std::countr_zero(heads);
            heads &= heads - 1;
            double capacity = residual_[tail * stride_ + head];
            double level = balance_[head];
            const double room = level < 0.0 ? -level : NO_LIMIT;
            const double amount = std::min(std::min(capacity, room), excess);
            excess -= amount;
            capacity -= amount;
            level += amount;
            residual_[tail * stride_ + head] = capacity;
            residual_[head * stride_ + tail] += amount;
            balance_[head] = level;
            successors_[head] |= tail_bit;
            saturated |= static_cast<Word>(capacity == 0.0) << head;
            filled |= static_cast<Word>(level == 0.0) << head;
        }
        balance_[tail] = excess;
        successors_[tail] ^= saturated;
        return filled;
    }

    Index n_;
    Index stride_;                  // n, rounded up to whole vectors; what is beyond n stays zero
    std::vector<double> residual_;  // [n, stride]
    std::vector<double> balance_;   // [stride]
    std::vector<Word> successors_;  // [stride]: the heads of a node's residual arcs
    std::vector<Word> layers_;      // [n]
};

}  // namespace

template <class Score>
void cut_in_one_word(Matrix<const std::uint8_t> ends, Matrix<const Score> unary,
                     Matrix<const Score> pairwise, Matrix<std::int8_t> z, std::span<double> bound) {
    const Index n = unary.columns;
    OneWordFlow flow(n);
    for (Index b = 0; b < unary.rows; ++b) {
        flow.load(ends, unary[b], pairwise[b]);
        const Word sink_side = flow.maximise();
        for (Index i = 0; i < n; ++i) z(b, i) = static_cast<std::int8_t>(1 - (sink_side >> i & 1));
        bound[b] = 0.5 * flow.excess();
    }
}

template void cut_in_one_word<float>(Matrix<const std::uint8_t>, Matrix<const float>,
                                     Matrix<const float>, Matrix<std::int8_t>, std::span<double>);
template void cut_in_one_word<double>(Matrix<const std::uint8_t>, Matrix<const double>,
                                      Matrix<const double>, Matrix<std::int8_t>, std::span<double>);

}  // namespace solvers::max_flow
