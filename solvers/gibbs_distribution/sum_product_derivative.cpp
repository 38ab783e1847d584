#include "solvers/gibbs_distribution/sum_product_derivative.hpp"

namespace solvers::gibbs_distribution {
namespace {

// Rates of change of L instances side by side.
template <int L>
class Rates {
public:
    explicit Rates(SumProduct<L>& instances)
        : instances_(instances),
          schedule_(instances.schedule()),
          messages_(new_table<L>(schedule_.entries)),
          shares_(new_table<L>(schedule_.entries)),
          flows_(new_table<L>(schedule_.entries)),
          places_(schedule_) {}

    // Rates of all marginals along a direction, which is passed in place of the scores.
    void run() {
        for (const Step& step : schedule_.steps) {
            if (instances_.stopped()) return;
            change(step);
        }
        for (Index entry = 0; entry < schedule_.entries; ++entry)
            flows_[entry].store(Lanes<L>(0.0));
        instances_.start_flows();
        for (Index t = schedule_.variable_count() - 1; t >= 0; --t) {
            if (instances_.stopped()) return;
            const Step& step = schedule_.steps[t];
            if (step.bits() == 0) instances_.flows()[step.entry_start].store(Lanes<L>(1.0));
            spread(step);
        }
    }

private:
    // Rates of the message of a step and of the shares of its variable.
    //
    // The rate of a message is the mean of the direction's score below it, given the separator.
    void change(const Step& step) {
        const Row<L>* shares = instances_.shares() + step.entry_start;
        const Lanes<L> own = instances_.scores().of_variables[step.variable].load();
        places_.start(step);
        for (Index s = 0; s < step.entries(); ++s) {
            if (s % LOOK == 0 && instances_.stopped()) return;
            Lanes<L> zero(0.0);
            Lanes<L> difference = own;
            if (s) {
                const Index bit = PairSums<L>::lowest(s);
                const Index edge = schedule_.edges[step.bit_start + bit];
                difference += sums_.at(s, bit, edge, instances_.scores().of_pairs.get());
                places_.advance(bit);
            }
            places_.for_each([&](Index without, Index with_v) {
                const Lanes<L> below = messages_[without].load();
                zero += below;
                difference += messages_[with_v].load() - below;
            });
            const Lanes<L> share = shares[s].load();
            messages_[step.entry_start + s].store(zero + share * difference);
            shares_[step.entry_start + s].store(share * (Lanes<L>(1.0) - share) * difference);
        }
    }

    // Adds the rates of the marginals of a step and passes flows and their rates to what it read.
    //
    // With flow f of a separator's state and share p of its variable, the two states above have
    // f p and f (1 - p). Their rates are (f p)' = f' p + f p' and (f (1 - p))' = f' - (f p)'.
    //
    // Loop: over the states s of the separator, in the order in which `places_` advances by the
    // lowest bit. Invariant: the flows of this step and their rates are complete, since all steps
    // that read its message came before, backwards; those of its children lack steps to come.
    void spread(const Step& step) {
        Row<L>* flows = instances_.flows();
        Row<L>* rates = flows_.get();
        Row<L>* of_pairs = instances_.marginals().of_pairs.get();
        const Index* edges = schedule_.edges.data() + step.bit_start;
        const Index coupled = schedule_.coupled(step);
        Lanes<L> own = instances_.marginals().of_variables[step.variable].load();
        places_.start(step);
        for (Index s = 0; s < step.entries(); ++s) {
            if (s % LOOK == 0 && instances_.stopped()) return;
            if (s) places_.advance(PairSums<L>::lowest(s));
            const Index entry = step.entry_start + s;
            const Lanes<L> flow = flows[entry].load();
            const Lanes<L> share = instances_.shares()[entry].load();
            const Lanes<L> one = flow * share;
            const Lanes<L> zero = flow * (Lanes<L>(1.0) - share);
            const Lanes<L> rate = rates[entry].load();
            const Lanes<L> one_rate = rate * share + flow * shares_[entry].load();
            const Lanes<L> zero_rate = rate - one_rate;
            own += one_rate;
            // P(z_v = z_u = 1) sums the flows of states with z_u = 1, for each pair with a score.
            for (Index bits = s & coupled; bits; bits &= bits - 1)
                of_pairs[edges[PairSums<L>::lowest(bits)]].add(one_rate);
            // Each message that was read gets the flow of both states of v.
            places_.for_each([&](Index without, Index with_v) {
                flows[without].add(zero);
                rates[without].add(zero_rate);
                flows[with_v].add(one);
                rates[with_v].add(one_rate);
            });
        }
        instances_.marginals().of_variables[step.variable].store(own);
    }

    SumProduct<L>& instances_;
    const Schedule& schedule_;
    Table<L> messages_;  // [entries, L] each
    Table<L> shares_;
    Table<L> flows_;
    PairSums<L> sums_;
    Places places_;
};

}  // namespace

template <int L>
void covary(const Schedule& schedule, const Scores& scores, const Scores& direction,
            Matrix<double> ones, Matrix<double> pairs, Stop stop) {
    SumProduct<L> instances(schedule, stop);
    Rates<L> rates(instances);
    for (Index first = 0; first < scores.unary.rows; first += L) {
        const Index last = std::min(first + L, scores.unary.rows);
        instances.sum_out(scores.unary, scores.pairwise, first, last);
        instances.scores().take(direction.unary, direction.pairwise, first, last);
        rates.run();
        if (stop.requested()) return;
        instances.marginals().give(ones, pairs, first, last);
    }
}

#define INSTANTIATE(L)                                                                     \
    template void covary<L>(const Schedule&, const Scores&, const Scores&, Matrix<double>, \
                            Matrix<double>, Stop);
INSTANTIATE(1)
INSTANTIATE(8)
INSTANTIATE(16)
#undef INSTANTIATE

}  // namespace solvers::gibbs_distribution
