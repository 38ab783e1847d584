#include "solvers/gibbs_distribution/sum_product_completions.hpp"

namespace solvers::gibbs_distribution {
namespace {

// The step that eliminates each variable.
std::vector<Index> steps_of(const Schedule& schedule) {
    std::vector<Index> found(schedule.steps.size());
    for (Index t = 0; t < schedule.variable_count(); ++t) found[schedule.steps[t].variable] = t;
    return found;
}

// Adds the derivative of `change` times the share of a step, given its separator in z.
template <int L>
void inject(const Step& step, double change, Index lane, std::span<const std::int8_t> z,
            SumProduct<L>& instances) {
    const Schedule& schedule = instances.schedule();
    const Index state = schedule.state(step, z);
    const double share = instances.share(step, state, lane);
    const double weight = change * share * (1.0 - share);
    instances.marginals().of_variables[step.variable].lanes[lane] += weight;
    for (Index i = 0; i < step.bits(); ++i) {
        const Index edge = schedule.edges[step.bit_start + i];
        if ((state >> i & 1) && edge >= 0)
            instances.marginals().of_pairs[edge].lanes[lane] += weight;
    }
    for (Index r = step.read_start; r < step.read_end; ++r) {
        const Read& read = schedule.reads[r];
        Index place = read.entry_in;
        for (Index i = 0; i < step.bits(); ++i)
            if (state >> i & 1) place += schedule.strides[read.stride_start + i];
        instances.flows()[place].lanes[lane] -= weight;
        instances.flows()[place + read.own_stride].lanes[lane] += weight;
    }
}

}  // namespace

template <int L>
void complete(const Schedule& schedule, const Scores& scores, Cube<const double> uniforms,
              Cube<const Index> chosen, const Completed& completed, Stop stop) {
    const std::vector<Index> step_of = steps_of(schedule);
    SumProduct<L> instances(schedule, stop);
    for (Index first = 0; first < scores.unary.rows; first += L) {
        const Index last = std::min(first + L, scores.unary.rows);
        instances.sum_out(scores.unary, scores.pairwise, first, last);
        if (stop.requested()) return;
        for (Index b = first; b < last; ++b)
            for (Index k = 0; k < uniforms.rows; ++k) {
                const std::span<const double> u = uniforms[b][k];
                const std::span<std::int8_t> z = completed.z[b][k];
                instances.draw(schedule.variable_count(), b - first, u, z);
                const Matrix<std::int8_t> others = completed.completed[b * uniforms.rows + k];
                for (Index c = 0; c < chosen.columns; ++c) {
                    const Index v = chosen(b, k, c);
                    const Step& step = schedule.steps[step_of[v]];
                    completed.conditionals(b, k, c) =
                        instances.share(step, schedule.state(step, z), b - first);
                    std::ranges::copy(z, others[c].begin());
                    others(c, v) = static_cast<std::int8_t>(1 - z[v]);
                    instances.draw(step_of[v], b - first, u, others[c]);
                }
            }
    }
}

template <int L>
void derive(const Schedule& schedule, const Scores& scores, const Drawn& drawn, Matrix<double> ones,
            Matrix<double> pairs, Stop stop) {
    const std::vector<Index> step_of = steps_of(schedule);
    SumProduct<L> instances(schedule, stop);
    for (Index first = 0; first < scores.unary.rows; first += L) {
        const Index last = std::min(first + L, scores.unary.rows);
        instances.sum_out(scores.unary, scores.pairwise, first, last);
        if (stop.requested()) return;
        instances.start_flows();
        for (Index b = first; b < last; ++b)
            for (Index k = 0; k < drawn.chosen.rows; ++k)
                for (Index c = 0; c < drawn.chosen.columns; ++c)
                    inject(schedule.steps[step_of[drawn.chosen(b, k, c)]], drawn.changes(b, k, c),
                           b - first, drawn.z[b][k], instances);
        instances.spread(false);
        instances.marginals().give(ones, pairs, first, last);
    }
}

#define INSTANTIATE(L)                                                                    \
    template void complete<L>(const Schedule&, const Scores&, Cube<const double>,         \
                              Cube<const Index>, const Completed&, Stop);                 \
    template void derive<L>(const Schedule&, const Scores&, const Drawn&, Matrix<double>, \
                            Matrix<double>, Stop);
INSTANTIATE(1)
INSTANTIATE(8)
INSTANTIATE(16)
#undef INSTANTIATE

}  // namespace solvers::gibbs_distribution
