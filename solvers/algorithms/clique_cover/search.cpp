#include "solvers/algorithms/clique_cover/search.hpp"

#include <algorithm>
#include <limits>

namespace solvers::clique_cover {
namespace {

constexpr Index NO_LIMIT = std::numeric_limits<Index>::max();

NeighbourLists lists_of_excluded(const Scores& scores) {
    std::vector<Index> pairs;
    for (Index e = 0; e < scores.edges.rows; ++e)
        if (scores.excludes[e] != 0)
            pairs.insert(pairs.end(), {scores.edges(e, 0), scores.edges(e, 1)});
    const Index count = length(std::span(pairs)) / 2;
    return neighbour_lists(length(scores.unary), {pairs.data(), count, 2});
}

// Returns the variables in their order for the search: the one that excludes most of those that are
// not yet placed comes last.
std::vector<Index> search_order(const Scores& scores) {
    const NeighbourLists lists = lists_of_excluded(scores);
    const Index n = length(scores.unary);
    std::vector<Index> degree(n);
    for (Index v = 0; v < n; ++v) degree[v] = lists.starts[v + 1] - lists.starts[v];
    std::vector<Index> order(n);
    for (Index place = n - 1; place >= 0; --place) {
        const Index last = std::ranges::max_element(degree) - degree.begin();
        order[place] = last;
        degree[last] = -1;
        for (Index k = lists.starts[last]; k < lists.starts[last + 1]; ++k)
            if (degree[lists.near[k]] >= 0) --degree[lists.near[k]];
    }
    return order;
}

}  // namespace

CliqueSearch::CliqueSearch(const Scores& scores, std::span<const std::int8_t> state, Index score,
                           Stop stop)
    : n_(length(scores.unary)),
      original_(search_order(scores)),
      conflicts_(n_, n_),
      cover_(conflicts_, n_),
      score_(score),
      state_(state.begin(), state.end()),
      worth_(n_),
      most_(n_),
      least_(n_),
      free_(1, n_),
      field_(n_) {
    std::vector<Index> place(n_);
    for (Index k = 0; k < n_; ++k) place[original_[k]] = k;
    std::vector<Index> others;
    for (Index e = 0; e < scores.edges.rows; ++e) {
        const Index i = place[scores.edges(e, 0)];
        const Index j = place[scores.edges(e, 1)];
        if (scores.excludes[e] != 0) {
            insert(conflicts_[i], j);
            insert(conflicts_[j], i);
        } else if (scores.pairwise[e] != 0) {
            others.insert(others.end(), {i, j});
            weights_.push_back(scores.pairwise[e]);
        }
    }
    pairs_ = neighbour_lists(n_, {others.data(), length(std::span(weights_)), 2});
    for (Index k = 0; k < n_; ++k) {
        field_[k] = scores.unary[original_[k]];
        insert(free_[0], k);
    }
    nodes_.push_back({0, 0, 0, 0});
    expand(stop);
    root_branches_ = nodes_[0].end;
}

Index CliqueSearch::bound() const {
    Index largest = score_;
    for (const Node& node : nodes_)
        if (node.end > node.begin) largest = std::max(largest, branches_[node.end - 1].bound);
    return std::max(score_, std::min(largest, root_bound_));
}

double CliqueSearch::searched() const {
    // The last open branch of the root is under way.
    if (finished() || root_branches_ == 0) return 1.0;
    const Index open = nodes_[0].end + (depth() > 0 ? 1 : 0);
    return 1.0 - static_cast<double>(open) / static_cast<double>(root_branches_);
}

void CliqueSearch::offer(std::span<const std::int8_t> state, Index score) {
    if (score <= score_) return;
    score_ = score;
    state_.assign(state.begin(), state.end());
}

// Invariant: a set that beats `score_` is among those of the remaining branches of the nodes.
Index CliqueSearch::run(Index nodes, Stop stop) {
    Index handled = 0;
    while (!finished() && handled < nodes && !stop.requested()) {
        const Node& node = nodes_.back();
        // Bounds rise along the branches: if the last one does not beat the score, none does.
        if (node.end == node.begin || branches_[node.end - 1].bound <= score_) {
            close();
            continue;
        }
        open(branches_[node.end - 1].variable);
        expand(stop);
        ++handled;
    }
    return handled;
}

// Returns the scores of the variables beside the chosen ones of the last node.
std::span<Index> CliqueSearch::fields() {
    const Index row = has_pairs() ? depth() : 0;
    return {field_.data() + row * n_, static_cast<std::size_t>(n_)};
}

// Adds a node for the last branch of the last node, which then lacks its variable.
void CliqueSearch::open(Index variable) {
    const Index parent = depth();
    --nodes_[parent].end;
    erase(free_[parent], variable);
    free_.resize(parent + 2);
    std::ranges::copy(free_[parent], free_[parent + 1].begin());
    if (has_pairs()) {
        field_.resize((parent + 2) * n_);
        std::copy_n(field_.begin() + parent * n_, n_, field_.begin() + (parent + 1) * n_);
    }
    const Index branches = length(std::span(branches_));
    nodes_.push_back({nodes_[parent].score, length(std::span(chosen_)), branches, branches});
    choose(variable);
}

void CliqueSearch::close() {
    branches_.resize(nodes_.back().begin);
    chosen_.resize(nodes_.back().chosen);
    nodes_.pop_back();
}

// Makes a variable of the last node 1, and what it excludes 0.
void CliqueSearch::choose(Index variable) {
    const std::span<Index> field = fields();
    const std::span<Word> free = free_[depth()];
    const std::span<const Word> row = conflicts_[variable];
    chosen_.push_back(variable);
    nodes_.back().score += field[variable];
    for (Index place = 0; place < length(free); ++place) free[place] &= ~row[place];
    erase(free, variable);
    for (Index k = pairs_.starts[variable]; k < pairs_.starts[variable + 1]; ++k)
        field[pairs_.near[k]] += weights_[pairs_.which[k]];
}

// Finds the branches of the last node.
void CliqueSearch::expand(Stop stop) {
    drop_worthless();
    // A chosen variable changes what others add through pairs, so one of these is chosen at a time.
    while (choose_dominant() && has_pairs()) value_pairs();
    if (nodes_.back().score > score_) take_chosen();
    cover(stop);
}

// Removes free variables that add nothing, and writes what the others add at most.
void CliqueSearch::drop_worthless() {
    if (has_pairs()) {
        value_pairs();
        return;
    }
    const std::span<Word> free = free_[depth()];
    for_each(free, [&](Index v) {
        worth_[v] = field_[v];
        most_[v] = field_[v];
        least_[v] = field_[v];
        if (worth_[v] <= 0) erase(free, v);
    });
}

// Does the same where pairs change scores: a pair that raises them counts half at both ends.
//
// A variable is removed only if it adds nothing even with all of these pairs.
void CliqueSearch::value_pairs() {
    const std::span<Index> field = fields();
    const std::span<Word> free = free_[depth()];
    for_each(free, [&](Index v) {
        worth_[v] = field[v];
        most_[v] = field[v];
        least_[v] = field[v];
        for (Index k = pairs_.starts[v]; k < pairs_.starts[v + 1]; ++k) {
            const Index weight = weights_[pairs_.which[k]];
            if (!contains(free, pairs_.near[k])) continue;
            if (weight <= 0) {
                least_[v] += weight;
                continue;
            }
            most_[v] += weight;
            // Both halves together are the weight.
            worth_[v] += v < pairs_.near[k] ? weight - weight / 2 : weight / 2;
        }
        if (most_[v] <= 0) erase(free, v);
    });
}

// Chooses variables that some best set of the last node has, one after the other; with pairs, only
// the first. Returns whether there was any.
bool CliqueSearch::choose_dominant() {
    const std::span<Word> free = free_[depth()];
    bool any = false;
    for (bool found = true; found;) {
        found = false;
        for_each(free, [&](Index v) {
            if ((any && has_pairs()) || !contains(free, v) || !dominates(v)) return;
            choose(v);
            found = true;
            any = true;
        });
        if (has_pairs()) break;
    }
    return any;
}

// Returns whether a variable adds at least as much as all that it excludes.
//
// Then it may take their place in a best set: least_ is the least that a variable adds, beside any
// free variables, and most_ the most.
bool CliqueSearch::dominates(Index variable) const {
    const std::span<const Word> free = free_[depth()];
    const std::span<const Word> row = conflicts_[variable];
    Index left = least_[variable];
    for (Index place = 0; place < length(free); ++place)
        for (Word word = free[place] & row[place]; word != 0 && left >= 0; word &= word - 1)
            left -= most_[place * WORD_BITS + std::countr_zero(word)];
    return left >= 0;
}

// Keeps the chosen variables of the last node as the best state.
void CliqueSearch::take_chosen() {
    score_ = nodes_.back().score;
    std::ranges::fill(state_, std::int8_t{0});
    for (const Index v : chosen_) state_[original_[v]] = 1;
}

// Branches on what cliques do not cover within the difference to the best score.
void CliqueSearch::cover(Stop stop) {
    Node& node = nodes_.back();
    const std::span<const Word> free = free_[depth()];
    // Without a budget, the cliques of the root bound the whole search from its beginning.
    if (depth() == 0) {
        cover_.run(free, worth_, NO_LIMIT, stop);
        root_bound_ = node.score + cover_.total();
        for_each(free, [&](Index v) { root_bound_ += cover_.rest(v); });
    }
    cover_.run(free, worth_, score_ - node.score, stop);
    Index bound = node.score + cover_.total();
    for_each(free, [&](Index v) {
        if (cover_.rest(v) == 0) return;
        bound += cover_.rest(v);
        branches_.push_back({v, bound});
        ++node.end;
    });
}

}  // namespace solvers::clique_cover
