#include "solvers/gibbs_distribution/sum_product.hpp"

#include "solvers/gibbs_distribution/exponentials.hpp"

namespace solvers::gibbs_distribution {

void Places::start(const Step& step) {
    count_ = step.reads();
    for (Index r = 0; r < count_; ++r) {
        const Read& read = schedule_.reads[step.read_start + r];
        places_[r] = read.entry_in;
        own_[r] = read.own_stride;
        Index total = 0;
        for (Index i = 0; i < step.bits(); ++i) {
            const Index stride = schedule_.strides[read.stride_start + i];
            advances_[i * count_ + r] = stride - total;
            total += stride;
        }
    }
}

namespace {

template <int L>
void side_by_side(Matrix<const double> values, Index first, Index last, std::span<Row<L>> beside) {
    const double* sources[L];
    for (int lane = 0; lane < L; ++lane)
        sources[lane] = values[std::min(first + lane, last - 1)].data();
    for (Index i = 0; i < length(beside); ++i)
        for (int lane = 0; lane < L; ++lane) beside[i].lanes[lane] = sources[lane][i];
}

template <int L>
void one_by_one(const Row<L>* beside, Index first, Index last, Matrix<double> values) {
    for (Index b = first; b < last; ++b)
        for (Index i = 0; i < values.columns; ++i) values(b, i) = beside[i].lanes[b - first];
}

template <int L>
std::span<Row<L>> rows_of(const Table<L>& table, Index count) {
    return {table.get(), static_cast<std::size_t>(count)};
}

template <int L>
void fill_rows(std::span<Row<L>> rows, double value) {
    for (Row<L>& row : rows) row.store(Lanes<L>(value));
}

}  // namespace

template <int L>
void BesideScores<L>::clear() {
    fill_rows(rows_of(of_variables, variable_count), 0.0);
    fill_rows(rows_of(of_pairs, edge_count), 0.0);
}

template <int L>
void BesideScores<L>::take(Matrix<const double> unary, Matrix<const double> pairwise, Index first,
                           Index last) {
    side_by_side(unary, first, last, rows_of(of_variables, variable_count));
    side_by_side(pairwise, first, last, rows_of(of_pairs, edge_count));
}

template <int L>
void BesideScores<L>::give(Matrix<double> ones, Matrix<double> pairs, Index first,
                           Index last) const {
    one_by_one(of_variables.get(), first, last, ones);
    one_by_one(of_pairs.get(), first, last, pairs);
}

template <int L>
SumProduct<L>::SumProduct(const Schedule& schedule, Stop stop)
    : schedule_(schedule),
      stop_(stop),
      scores_(schedule),
      marginals_(schedule),
      messages_(new_table<L>(schedule.entries)),
      shares_(new_table<L>(schedule.entries)),
      ones_(new_table<L>(TOGETHER)),
      zeros_(new_table<L>(TOGETHER)),
      places_(schedule) {}

template <int L>
void SumProduct<L>::sum_out(Matrix<const double> unary, Matrix<const double> pairwise, Index first,
                            Index last) {
    scores_.take(unary, pairwise, first, last);
    for (const Step& step : schedule_.steps) {
        if (stopped()) return;
        sum_out(step);
    }
}

// Fills the message of a step, and the probability that its variable is 1 for each entry: of the
// scores with the variable at 1 and at 0,
//
//     message = log(exp(one) + exp(zero)),  share = exp(one) / (exp(one) + exp(zero)).
template <int L>
void SumProduct<L>::sum_out(const Step& step) {
    const Row<L>* messages = messages_.get();
    const Lanes<L> own = scores_.of_variables[step.variable].load();
    places_.start(step);
    for (Index start = 0; start < step.entries(); start += TOGETHER) {
        if (start % LOOK == 0 && stopped()) return;
        const Index end = std::min(start + TOGETHER, step.entries());
        for (Index s = start; s < end; ++s) {
            Lanes<L> zero(0.0);
            Lanes<L> one = own;
            if (s) {
                const Index bit = PairSums<L>::lowest(s);
                const Index edge = schedule_.edges[step.bit_start + bit];
                one += sums_.at(s, bit, edge, scores_.of_pairs.get());
                places_.advance(bit);
            }
            places_.for_each([&](Index without, Index with_v) {
                zero += messages[without].load();
                one += messages[with_v].load();
            });
            ones_[s - start].store(one);
            zeros_[s - start].store(zero);
        }
        const auto count = static_cast<std::size_t>((end - start) * L);
        const Index entry = step.entry_start + start;
        sum_exponentials({ones_[0].lanes, count}, {zeros_[0].lanes, count}, messages_[entry].lanes,
                         shares_[entry].lanes);
    }
}

template <int L>
double SumProduct<L>::log_z(Index lane) const {
    double total = 0.0;
    for (const Step& step : schedule_.steps)
        if (step.bits() == 0) total += messages_[step.entry_start].lanes[lane];
    return total;
}

template <int L>
void SumProduct<L>::draw(Index end, Index lane, std::span<const double> uniforms,
                         std::span<std::int8_t> z) const {
    for (Index t = end - 1; t >= 0; --t) {
        const Step& step = schedule_.steps[t];
        const double one = share(step, schedule_.state(step, z), lane);
        z[step.variable] = uniforms[step.variable] < one;
    }
}

template <int L>
void SumProduct<L>::start_flows() {
    if (!flows_) flows_ = new_table<L>(schedule_.entries);
    fill_rows(rows_of(flows_, schedule_.entries), 0.0);
    marginals_.clear();
}

template <int L>
void SumProduct<L>::spread(bool from_roots) {
    for (Index t = schedule_.variable_count() - 1; t >= 0; --t) {
        if (stopped()) return;
        const Step& step = schedule_.steps[t];
        if (from_roots && step.bits() == 0) flows_[step.entry_start].store(Lanes<L>(1.0));
        spread(step);
    }
}

// Adds the marginals of a step, and passes the probabilities of its entries to the steps it read
// from.
template <int L>
void SumProduct<L>::spread(const Step& step) {
    Row<L>* flows = flows_.get();
    const Index* edges = schedule_.edges.data() + step.bit_start;
    const Index coupled = schedule_.coupled(step);
    Lanes<L> own = marginals_.of_variables[step.variable].load();
    places_.start(step);
    for (Index s = 0; s < step.entries(); ++s) {
        if (s % LOOK == 0 && stopped()) return;
        if (s) places_.advance(PairSums<L>::lowest(s));
        const Lanes<L> flow = flows[step.entry_start + s].load();
        const Lanes<L> share = shares_[step.entry_start + s].load();
        const Lanes<L> one = flow * share;
        const Lanes<L> zero = flow * (Lanes<L>(1.0) - share);
        own += one;
        for (Index bits = s & coupled; bits; bits &= bits - 1)
            marginals_.of_pairs[edges[PairSums<L>::lowest(bits)]].add(one);
        places_.for_each([&](Index without, Index with_v) {
            flows[without].add(zero);
            flows[with_v].add(one);
        });
    }
    marginals_.of_variables[step.variable].store(own);
}

template class SumProduct<1>;
template class SumProduct<8>;
template class SumProduct<16>;
template struct BesideScores<1>;
template struct BesideScores<8>;
template struct BesideScores<16>;

template <int L>
void sum_product(const Schedule& schedule, const Scores& scores, Cube<const double> uniforms,
                 const Marginals& marginals, Stop stop) {
    SumProduct<L> instances(schedule, stop);
    for (Index first = 0; first < scores.unary.rows; first += L) {
        const Index last = std::min(first + L, scores.unary.rows);
        instances.sum_out(scores.unary, scores.pairwise, first, last);
        if (stop.requested()) return;
        for (Index b = first; b < last; ++b) {
            marginals.log_z[b] = instances.log_z(b - first);
            for (Index k = 0; k < uniforms.rows; ++k)
                instances.draw(schedule.variable_count(), b - first, uniforms[b][k],
                               marginals.z[b][k]);
        }
        instances.start_flows();
        instances.spread(true);
        instances.marginals().give(marginals.ones, marginals.pairs, first, last);
    }
}

template void sum_product<1>(const Schedule&, const Scores&, Cube<const double>, const Marginals&,
                             Stop);
template void sum_product<8>(const Schedule&, const Scores&, Cube<const double>, const Marginals&,
                             Stop);
template void sum_product<16>(const Schedule&, const Scores&, Cube<const double>, const Marginals&,
                              Stop);

}  // namespace solvers::gibbs_distribution
