#include "solvers/algorithms/clique_cover/cover.hpp"

#include <algorithm>
#include <limits>

namespace solvers::clique_cover {
namespace {

// The sets of a cover, as rows.
constexpr Index OPEN = 0;       // variables with a rest
constexpr Index NEXT = 1;       // what may join the clique that grows
constexpr Index COVERED = 2;    // members of cliques
constexpr Index REMAINING = 3;  // members that the literals do not exclude
constexpr Index SETS = 4;

}  // namespace

Cover::Cover(const BitRows& conflicts, Index n)
    : conflicts_(conflicts), rest_(n), newest_(n), reason_(n), sets_(SETS, n) {}

// Cliques take what they can of the budget; contradictions between them lower the rests further.
void Cover::run(std::span<const Word> free, std::span<const Index> worth, Index budget, Stop stop) {
    total_ = 0;
    weights_.clear();
    starts_.assign(1, 0);
    members_.clear();
    owners_.clear();
    older_.clear();
    std::ranges::fill(sets_[OPEN], Word{0});
    std::ranges::fill(sets_[COVERED], Word{0});
    for_each(free, [&](Index v) {
        newest_[v] = -1;
        rest_[v] = std::max<Index>(worth[v], 0);
        if (rest_[v] > 0) insert(sets_[OPEN], v);
    });
    while (total_ < budget && !stop.requested()) {
        const Index smallest = grow();
        if (clique_.empty()) return;
        add(std::min(smallest, budget - total_));
    }
    for_each(sets_[OPEN], [&](Index v) {
        if (!stop.requested()) absorb(v);
    });
}

// Fills `clique_` with a maximal clique of open variables; returns their smallest rest.
Index Cover::grow() {
    clique_.clear();
    std::ranges::copy(sets_[OPEN], sets_[NEXT].begin());
    const std::span<Word> next = sets_[NEXT];
    Index smallest = std::numeric_limits<Index>::max();
    // Invariant: `next` are the open variables behind the members that exclude all of them.
    for (Index place = 0; place < length(next); ++place)
        while (next[place] != 0) {
            const Index v = place * WORD_BITS + std::countr_zero(next[place]);
            clique_.push_back(v);
            smallest = std::min(smallest, rest_[v]);
            const std::span<const Word> row = conflicts_[v];
            for (Index later = place; later < length(next); ++later) next[later] &= row[later];
        }
    return smallest;
}

// Adds the clique that has grown, with a weight.
void Cover::add(Index weight) {
    const Index number = count();
    for (const Index v : clique_) {
        rest_[v] -= weight;
        if (rest_[v] == 0) erase(sets_[OPEN], v);
        insert(sets_[COVERED], v);
        older_.push_back(newest_[v]);
        newest_[v] = length(std::span(members_));
        members_.push_back(v);
        owners_.push_back(number);
    }
    starts_.push_back(length(std::span(members_)));
    weights_.push_back(weight);
    total_ += weight;
}

// Lowers the rest of v as far as v contradicts cliques.
//
// If no set has v and a member of each of k cliques, then v and these cliques, each with a weight
// d, add at most k d together instead of (k + 1) d. So the total covers d of v, and no other
// contradiction may use this part of the weights.
void Cover::absorb(Index v) {
    while (rest_[v] > 0 && contradicts(v)) {
        Index part = rest_[v];
        for (const Index clique : blamed_) part = std::min(part, weights_[clique]);
        for (const Index clique : blamed_) weights_[clique] -= part;
        rest_[v] -= part;
    }
}

// Returns whether unit propagation shows that no set has v and a member of each clique; then
// `blamed_` are the cliques that this takes.
//
// Invariant: left_[c] members of a clique c of positive weight remain, and a removed variable u is
// excluded by the literal reason_[u].
bool Cover::contradicts(Index v) {
    std::ranges::copy(sets_[COVERED], sets_[REMAINING].begin());
    left_.resize(count());
    singles_.clear();
    for (Index clique = 0; clique < count(); ++clique) {
        left_[clique] = starts_[clique + 1] - starts_[clique];
        if (left_[clique] == 1 && weights_[clique] > 0) singles_.push_back(clique);
    }
    literals_.assign(1, {v, -1});
    Index literal = 0;
    Index single = 0;
    while (true) {
        if (literal < length(std::span(literals_))) {
            if (remove_excluded(literal++)) return true;
        } else if (single < length(std::span(singles_))) {
            take_single(singles_[single++]);
        } else {
            return false;
        }
    }
}

// Removes what a literal excludes; returns whether that leaves a clique without a member.
bool Cover::remove_excluded(Index literal) {
    const std::span<Word> remaining = sets_[REMAINING];
    const std::span<const Word> row = conflicts_[literals_[literal].variable];
    for (Index place = 0; place < length(remaining); ++place)
        for (Word removed = remaining[place] & row[place]; removed != 0; removed &= removed - 1)
            if (remove(place * WORD_BITS + std::countr_zero(removed), literal)) return true;
    return false;
}

// Removes a variable that a literal excludes; returns whether a clique has no other member.
bool Cover::remove(Index v, Index literal) {
    erase(sets_[REMAINING], v);
    reason_[v] = literal;
    for (Index entry = newest_[v]; entry >= 0; entry = older_[entry]) {
        const Index clique = owners_[entry];
        if (weights_[clique] == 0) continue;
        --left_[clique];
        if (left_[clique] == 1) singles_.push_back(clique);
        if (left_[clique] > 0) continue;
        blame(clique);
        return true;
    }
    return false;
}

// Makes the remaining member of a clique a literal.
void Cover::take_single(Index clique) {
    for (Index entry = starts_[clique]; entry < starts_[clique + 1]; ++entry)
        if (contains(sets_[REMAINING], members_[entry]))
            literals_.push_back({members_[entry], clique});
}

// Fills `blamed_` with a clique without members, and the cliques of the literals that exclude them.
void Cover::blame(Index clique) {
    is_blamed_.assign(count(), 0);
    blamed_.assign(1, clique);
    is_blamed_[clique] = 1;
    for (Index next = 0; next < length(std::span(blamed_)); ++next)
        for (Index entry = starts_[blamed_[next]]; entry < starts_[blamed_[next] + 1]; ++entry) {
            if (contains(sets_[REMAINING], members_[entry])) continue;
            const Index source = literals_[reason_[members_[entry]]].clique;
            if (source < 0 || is_blamed_[source] != 0) continue;
            is_blamed_[source] = 1;
            blamed_.push_back(source);
        }
}

}  // namespace solvers::clique_cover
