// Log-partition function, marginals and samples of p(z) ~ exp(score(z)) at small treewidth, by
// sum-product.
//
// The schedule is that of the maximisers, with log-sum-exp in place of the maximum. The tables of
// all steps are kept, at 24 bytes per entry. In the backward pass, the probability of every
// separator state flows from a step to the steps that it read from. A sample has one state of each
// separator.
//
// Instances of a batch go side by side, in lanes: an entry of a table is a row with one number per
// instance. So the kernel finds an entry once for all instances, and the numbers fill vectors.
//
// References:
//     Koller, Friedman (2009), Probabilistic graphical models, chapters 9 and 10.
#pragma once

#include <vector>

#include "solvers/algorithms/elimination/schedule.hpp"
#include "solvers/compiled/stop.hpp"
#include "solvers/gibbs_distribution/lanes.hpp"

namespace solvers::gibbs_distribution {

inline constexpr int TOGETHER = 64;  // entries whose exponentials are taken at once: few enough for
                                     // the fastest memory

inline constexpr Index LOOK = 4096;  // entries between two checks of the stop flag

using elimination::MAX_BITS;
using elimination::Read;
using elimination::Schedule;
using elimination::Step;

// Places of the message entries that belong to an entry of a step, counted up from entry 0.
class Places {
public:
    explicit Places(const Schedule& schedule)
        : schedule_(schedule),
          count_(0),
          places_(schedule.most_reads),
          own_(schedule.most_reads),
          advances_(schedule.most_reads * MAX_BITS) {}

    void start(const Step& step);

    // Moves to the entry whose lowest bit is `bit`.
    void advance(Index bit) {
        const Index* advances = &advances_[bit * count_];
        for (Index r = 0; r < count_; ++r) places_[r] += advances[r];
    }

    // Calls use(without, with_v) with the entries of each message for the step's variable at 0 and
    // at 1.
    template <class Use>
    void for_each(Use use) const {
        for (Index r = 0; r < count_; ++r) use(places_[r], places_[r] + own_[r]);
    }

private:
    const Schedule& schedule_;
    Index count_;
    std::vector<Index> places_;    // [reads]
    std::vector<Index> own_;       // [reads], strides of the step's variable
    std::vector<Index> advances_;  // [bits, reads], how far the places move where counting on sets
                                   // a bit
};

// Scores of L instances side by side.
template <int L>
struct BesideScores {
    explicit BesideScores(const Schedule& schedule)
        : variable_count(schedule.variable_count()),
          edge_count(schedule.edge_count),
          of_variables(new_table<L>(variable_count)),
          of_pairs(new_table<L>(edge_count)) {}

    void clear();
    // Loads instances first .. last; unused lanes repeat the last one.
    void take(Matrix<const double> unary, Matrix<const double> pairwise, Index first, Index last);
    // Stores them.
    void give(Matrix<double> ones, Matrix<double> pairs, Index first, Index last) const;

    Index variable_count;
    Index edge_count;
    Table<L> of_variables;  // [n, L]
    Table<L> of_pairs;      // [e, L]
};

// The scores of pairs at the entries of a step, counted up from entry 0.
template <int L>
class PairSums {
public:
    PairSums() : sums_(new_table<L>(MAX_BITS)) {}

    // The scores at entry s > 0, whose lowest bit is `bit`, from the scores at the state without
    // it.
    Lanes<L> at(Index s, Index bit, Index edge, const Row<L>* pairs) {
        const Index rest = s & (s - 1);
        Lanes<L> sum = rest ? sums_[lowest(rest)].load() : Lanes<L>(0.0);
        if (edge >= 0) sum += pairs[edge].load();
        sums_[bit].store(sum);
        return sum;
    }

    static Index lowest(Index s) { return __builtin_ctzll(static_cast<unsigned long long>(s)); }

private:
    Table<L> sums_;  // [bits, L], by lowest bit of the separator's state
};

// Sum-product of L instances side by side, one group after another.
template <int L>
class SumProduct {
public:
    // Once `stop` is requested, passes end early, and their results are meaningless.
    SumProduct(const Schedule& schedule, Stop stop);

    bool stopped() const { return stop_.requested(); }

    // Eliminates every variable of instances first .. last.
    void sum_out(Matrix<const double> unary, Matrix<const double> pairwise, Index first,
                 Index last);

    double log_z(Index lane) const;

    // The probability that the variable of a step is 1, given a state of its separator.
    double share(const Step& step, Index state, Index lane) const {
        return shares_[step.entry_start + state].lanes[lane];
    }

    // Draws the variables of the steps before `end`, each given its separator, which steps behind
    // its own eliminate.
    void draw(Index end, Index lane, std::span<const double> uniforms,
              std::span<std::int8_t> z) const;

    // Clears all flows and marginals. Flows are `[entries, L]`, and allocated when first needed.
    void start_flows();
    // Runs the backward pass, with a probability of 1 from each root if `from_roots` is set.
    void spread(bool from_roots);

    const Schedule& schedule() const { return schedule_; }
    const Row<L>* shares() const { return shares_.get(); }
    Row<L>* flows() { return flows_.get(); }
    BesideScores<L>& scores() { return scores_; }
    BesideScores<L>& marginals() { return marginals_; }

private:
    void sum_out(const Step& step);
    void spread(const Step& step);

    const Schedule& schedule_;
    Stop stop_;
    BesideScores<L> scores_;
    BesideScores<L> marginals_;
    Table<L> messages_;  // [entries, L]
    Table<L> shares_;    // [entries, L]
    Table<L> flows_;     // [entries, L]
    Table<L> ones_;      // [TOGETHER, L], scores of entries with the step's variable at 1
    Table<L> zeros_;     // [TOGETHER, L], and at 0
    PairSums<L> sums_;
    Places places_;
};

extern template class SumProduct<1>;
extern template class SumProduct<8>;
extern template class SumProduct<16>;

// Scores `[batch, n]` and `[batch, e]`, in the order of the schedule's edges, finite.
struct Scores {
    Matrix<const double> unary;
    Matrix<const double> pairwise;
};

// The results of `sum_product`.
struct Marginals {
    std::span<double> log_z;  // [batch]
    Matrix<double> ones;      // [batch, n], P(z_i = 1)
    Matrix<double> pairs;     // [batch, e], P(z_i = z_j = 1)
    Cube<std::int8_t> z;      // [batch, samples, n]
};

// Args:
//     uniforms: `[batch, samples, n]` in [0, 1), one for each variable.
//     stop: ends the call early, with meaningless numbers.
template <int L>
void sum_product(const Schedule& schedule, const Scores& scores, Cube<const double> uniforms,
                 const Marginals& marginals, Stop stop);

}  // namespace solvers::gibbs_distribution
