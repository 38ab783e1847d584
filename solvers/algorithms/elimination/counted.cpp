#include "solvers/algorithms/elimination/counted.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "solvers/compiled/graphs.hpp"

namespace solvers::elimination {
namespace {

constexpr double IMPOSSIBLE = -std::numeric_limits<double>::infinity();

// Counts between two looks at the stop flag: at most some milliseconds.
constexpr Index LOOK = 256;

using Scores = std::span<double>;
using Choices = std::span<std::int32_t>;

// The tables of one instance.
//
// Invariant: a variable's row of a value has the best score of the subtrees merged so far, for each
// count of theirs; `filled` is the largest such count.
class Counting {
public:
    Counting(const Forest& forest, const CountTables& layout, Stop stop)
        : forest_(forest),
          layout_(layout),
          stop_(stop),
          table_(std::make_unique_for_overwrite<double[]>(layout.starts.back())),
          splits_(std::make_unique_for_overwrite<std::int32_t[]>(layout.splits.back())),
          filled_(forest.size()),
          left_(forest.size()),
          roots_(layout.most + 1),
          message_(layout.most + 1),
          kept_(layout.most + 1) {}

    // Fills all tables, children first. Returns false if it had to end before.
    bool fill(std::span<const std::int8_t> values, std::span<const double> unary,
              std::span<const double> pairwise) {
        begin(values, unary);
        for (Index v : forest_.order) {
            if (stop_.requested()) return false;
            const Index p = forest_.parent[v];
            if (p < 0) {
                send(v, 0.0);
                merge(v, 0, roots_, last_);
                last_ = layout_.merged[v];
                continue;
            }
            for (int value = 0; value < 2; ++value) {
                send(v, value ? pairwise[forest_.edge[v]] : 0.0);
                merge(v, value, row(p, value), filled_[p]);
            }
            filled_[p] = layout_.merged[v];
        }
        return !stop_.requested();
    }

    // Returns the best total count in a range; -1 if none is possible.
    Index best_count(const CountRange& range) const {
        Index best = -1;
        for (Index count = std::max<Index>(range.low, 0); count <= std::min(range.high, last_);
             ++count)
            if (roots_[count] > IMPOSSIBLE && (best < 0 || roots_[count] > roots_[best]))
                best = count;
        return best;
    }

    // Writes the state of a total `count`, from the roots down.
    void trace(Index count, std::span<const double> pairwise, std::span<std::int8_t> z) {
        Index all_left = count;
        for (auto it = forest_.order.rbegin(); it != forest_.order.rend(); ++it) {
            const Index v = *it;
            const Index p = forest_.parent[v];
            const int value = p < 0 ? 0 : z[p];
            // The remaining count of the parent, without the children that have theirs already.
            Index& before = p < 0 ? all_left : left_[p];
            const Index here = choices(v, value)[before];
            before -= here;
            left_[v] = here;
            const double weight = value ? pairwise[forest_.edge[v]] : 0.0;
            z[v] = row(v, 1)[here] + weight > row(v, 0)[here];
        }
    }

private:
    Scores row(Index v, int value) {
        const Index size = layout_.sizes[v] + 1;
        return Scores(table_.get() + layout_.starts[v] + value * size,
                      static_cast<std::size_t>(size));
    }

    // Returns the count of v, given the count of the parent and of those merged before v.
    Choices choices(Index v, int value) {
        const Index size = layout_.merged[v] + 1;
        return Choices(splits_.get() + layout_.splits[v] + value * size,
                       static_cast<std::size_t>(size));
    }

    void begin(std::span<const std::int8_t> values, std::span<const double> unary) {
        std::ranges::fill(filled_, Index{0});
        for (Index v = 0; v < forest_.size() && !stop_.requested(); ++v) {
            std::ranges::fill(row(v, 0), IMPOSSIBLE);
            std::ranges::fill(row(v, 1), IMPOSSIBLE);
            const Index in_group = layout_.group[v];
            if (values[v] != 1) row(v, 0)[0] = 0.0;
            if (values[v] != 0 && in_group <= layout_.sizes[v]) {
                row(v, 1)[in_group] = unary[v];
                filled_[v] = in_group;
            }
        }
        std::ranges::fill(roots_, IMPOSSIBLE);
        roots_[0] = 0.0;
        last_ = 0;
    }

    // Returns the message of v, by its count, to a value of its parent that adds `weight` to its 1.
    void send(Index v, double weight) {
        const Scores zero = row(v, 0);
        const Scores one = row(v, 1);
        for (Index count = 0; count < length(zero); ++count)
            message_[count] = std::max(zero[count], one[count] + weight);
    }

    // Adds the message of v to the entries of its parent, with counts up to `before`, by the best
    // split of each count. Ends early where it has to: the tables are of no use then.
    void merge(Index v, int value, Scores entries, Index before) {
        std::copy_n(entries.begin(), before + 1, kept_.begin());
        const Choices choice = choices(v, value);
        for (Index count = 0; count < length(choice); ++count) {
            if (count % LOOK == 0 && stop_.requested()) return;
            double best = IMPOSSIBLE;
            Index chosen = 0;
            const Index most = std::min(count, layout_.sizes[v]);
            for (Index here = std::max<Index>(0, count - before); here <= most; ++here) {
                const double score = kept_[count - here] + message_[here];
                if (score > best) {
                    best = score;
                    chosen = here;
                }
            }
            entries[count] = best;
            choice[count] = static_cast<std::int32_t>(chosen);
        }
    }

    const Forest& forest_;
    const CountTables& layout_;
    Stop stop_;
    // Gigabytes take half a second to clear, so each row is filled where it is first needed. Rows
    // are filled once, by and by, for which huge pages would be slower.
    std::unique_ptr<double[]> table_;
    std::unique_ptr<std::int32_t[]> splits_;
    std::vector<Index> filled_;
    std::vector<Index> left_;
    std::vector<double> roots_;  // by the count of all trees that are merged
    std::vector<double> message_;
    std::vector<double> kept_;
    Index last_ = 0;  // the largest count in `roots_`
};

}  // namespace

// Walks from each root; meeting a visited vertex again means a cycle.
std::optional<Forest> forest_of(Index n, Matrix<const Index> edges) {
    const NeighbourLists lists = neighbour_lists(n, edges);
    Forest forest{std::vector<Index>(n), std::vector<Index>(n, -1), std::vector<Index>(n, -1),
                  edges.rows};
    std::vector<bool> seen(n, false);
    std::vector<Index> stack;
    Index place = n;
    for (Index root = 0; root < n; ++root) {
        if (seen[root]) continue;
        seen[root] = true;
        stack.push_back(root);
        while (!stack.empty()) {
            const Index v = stack.back();
            stack.pop_back();
            forest.order[--place] = v;
            for (Index k = lists.starts[v]; k < lists.starts[v + 1]; ++k) {
                const Index u = lists.near[k];
                if (lists.which[k] == forest.edge[v]) continue;
                if (seen[u]) return std::nullopt;
                seen[u] = true;
                forest.parent[u] = v;
                forest.edge[u] = lists.which[k];
                stack.push_back(u);
            }
        }
    }
    return forest;
}

CountTables::CountTables(const Forest& forest, std::span<const std::int8_t> members, Index limit)
    : most(limit),
      group(members.begin(), members.end()),
      sizes(group),
      starts(1),
      splits(1),
      merged(group.size()),
      work(0) {
    Index roots = 0;
    for (Index v : forest.order) {
        Index& parent = forest.parent[v] < 0 ? roots : sizes[forest.parent[v]];
        sizes[v] = std::min(sizes[v], most);
        work += 2 * (parent + 1) * (sizes[v] + 1);
        parent = std::min(parent + sizes[v], most);
        merged[v] = parent;
    }
    for (Index size : sizes) starts.push_back(starts.back() + 2 * (size + 1));
    for (Index size : merged) splits.push_back(splits.back() + 2 * (size + 1));
}

void counted_max_sum(const Forest& forest, const CountTables& tables, const CountRange& range,
                     std::span<const std::int8_t> values, Stop stop, Matrix<const double> unary,
                     Matrix<const double> pairwise, Matrix<std::int8_t> z,
                     std::span<bool> complete) {
    Counting counting(forest, tables, stop);
    for (Index b = 0; b < z.rows; ++b) {
        complete[b] = counting.fill(values, unary[b], pairwise[b]);
        if (!complete[b]) continue;
        const Index count = counting.best_count(range);
        if (count >= 0) counting.trace(count, pairwise[b], z[b]);
    }
}

}  // namespace solvers::elimination
