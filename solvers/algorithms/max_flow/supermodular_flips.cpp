#include "solvers/algorithms/max_flow/supermodular_flips.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace solvers::max_flow {
namespace {

// Union-find over the variables, each with its colour relative to its parent.
class Colouring {
public:
    explicit Colouring(Index n) : parent_(n), colour_(n) {}

    // Joins the ends of every nonzero edge; returns false at the first edge whose sign does not
    // fit.
    template <class Score>
    bool join(Matrix<const Index> edges, std::span<const Score> pairwise) {
        for (Index i = 0; i < static_cast<Index>(parent_.size()); ++i) parent_[i] = i;
        std::ranges::fill(colour_, std::int8_t{0});
        for (Index k = 0; k < length(pairwise); ++k) {
            if (pairwise[k] == Score{0}) continue;
            const int unlike = pairwise[k] < Score{0};
            const auto [root, shade] = find(edges(k, 0));
            const auto [other_root, other_shade] = find(edges(k, 1));
            if (root == other_root) {
                if ((shade ^ other_shade) != unlike) return false;
            } else {
                const Index high = std::max(root, other_root);
                parent_[high] = std::min(root, other_root);
                colour_[high] = static_cast<std::int8_t>(shade ^ other_shade ^ unlike);
            }
        }
        return true;
    }

    // Returns the root of i and the colour of i relative to it; halves the path on the way.
    std::pair<Index, int> find(Index i) {
        int shade = 0;
        while (parent_[i] != i) {
            const Index above = parent_[i];
            // A root is its own parent, with colour 0, so this changes nothing just below a root.
            colour_[i] = static_cast<std::int8_t>(colour_[i] ^ colour_[above]);
            parent_[i] = parent_[above];
            shade ^= colour_[i];
            i = parent_[i];
        }
        return {i, shade};
    }

private:
    std::vector<Index> parent_;
    std::vector<std::int8_t> colour_;
};

}  // namespace

template <class Score>
void fill_flips(Matrix<const Index> edges, Matrix<const Score> pairwise, Matrix<std::int8_t> flips,
                std::span<bool> exist) {
    Colouring colouring(flips.columns);
    for (Index b = 0; b < flips.rows; ++b) {
        exist[b] = colouring.join(edges, pairwise[b]);
        if (!exist[b]) continue;
        for (Index i = 0; i < flips.columns; ++i)
            flips(b, i) = static_cast<std::int8_t>(colouring.find(i).second);
    }
}

template void fill_flips<float>(Matrix<const Index>, Matrix<const float>, Matrix<std::int8_t>,
                                std::span<bool>);
template void fill_flips<double>(Matrix<const Index>, Matrix<const double>, Matrix<std::int8_t>,
                                 std::span<bool>);

}  // namespace solvers::max_flow
