// Elimination of one instance at a time, LANES entries of a table side by side.
//
// A table has at least LANES entries: one with fewer than LANE_BITS bits repeats itself. Its index
// has LANE_BITS low bits within a vector, up to MIDDLE_BITS middle bits whose shares of sums and
// places are tabled, and high bits that are counted.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "solvers/algorithms/elimination/max_sum.hpp"
#include "solvers/compiled/buffer.hpp"
#include "solvers/compiled/vectors.hpp"

namespace solvers::elimination {
namespace {

constexpr Index MIDDLE_BITS = 6;
constexpr Index MIDDLES = 1 << MIDDLE_BITS;

int lowest_bit(Index h) {
    return std::countr_zero(static_cast<std::uint64_t>(h));
}

// sums[s] = base + the terms of the set bits of s, for all s below 2^count.
template <class T>
void fill_sums(T* sums, T base, const T* terms, Index count) {
    sums[0] = base;
    for (Index i = 0; i < count; ++i) {
        const Index size = Index{1} << i;
        const T term = terms[i];
        T* __restrict upper = sums + size;
        for (Index s = 0; s < size; ++s) upper[s] = sums[s] + term;
    }
}

// How the bits of a table's index are shared out.
struct Bits {
    explicit Bits(Index count)
        : low(std::min<Index>(count, LANE_BITS)),
          middle(std::min<Index>(count - low, MIDDLE_BITS)),
          high(count - low - middle) {}

    Index low;
    Index middle;
    Index high;
};

// A message that is read, and the places of its entries.
//
// Invariant: with the high bits h of an entry and its middle bits m, lane s is at
// base[middles[m] + moved_together(s, present)], and its value 1 is `stride` further.
struct Places {
    const double* base;
    Index stride;
    Index present;  // low bits of the table that are bits of the message too
    Index middles[MIDDLES];
    Index advances[MAX_BITS];  // of `base`, as h is counted up, by the bit that is set

    void prepare(const Read& read, const Index* strides, const Bits& bits, const double* arena) {
        base = arena + read.table_in;
        stride = read.own_stride;
        present = 0;
        for (Index i = 0; i < bits.low; ++i) present |= Index{strides[i] != 0} << i;
        fill_sums(middles, Index{0}, strides + bits.low, bits.middle);
        // Counting from h to h + 1 clears the trailing ones and sets the next bit.
        const Index* high = strides + bits.low + bits.middle;
        Index total = 0;
        for (Index i = 0; i < bits.high; ++i) {
            advances[i] = high[i] - total;
            total += high[i];
        }
    }
};

// A run of vectors of a table: all that share their high bits. Code that fills it copies it first,
// so that the compiler knows that no store changes it.
struct Run {
    double* out;
    Mask* words;
    const double* fields;  // by middle bits
    Index size;
    double high;  // the sum over the high bits

    // Returns the part of vector m that is linear in the separator.
    Vector linear(const Vector& low_field, Index m) const {
        return low_field + fill(high + fields[m]);
    }
    void set(Index m, const Vector& gain, const Vector& rest) const {
        words[m] = greater(gain, rest);
        store(out + m * LANES, larger(gain, rest));
    }
};

void fill_run(const Run& source, const Vector& low_field, std::span<const Places> read) {
    const Run run = source;
    for (Index m = 0; m < run.size; ++m) {
        Vector rest = fill(0.0);
        Vector gain = run.linear(low_field, m);
        for (const Places& one : read) {
            const double* place = one.base + one.middles[m];
            rest = rest + load_spread(place, one.present);
            gain = gain + load_spread(place + one.stride, one.present);
        }
        run.set(m, gain, rest);
    }
}

// Does the same for one message, whose `present` is a constant of the compilation.
template <int Present>
void fill_chain_run(const Run& source, const Vector& low_field, const Places& read) {
    const Run run = source;
    const double* base = read.base;
    const Index stride = read.stride;
    for (Index m = 0; m < run.size; ++m) {
        const double* place = base + read.middles[m];
        const Vector gain = run.linear(low_field, m) + load_spread<Present>(place + stride);
        run.set(m, gain, load_spread<Present>(place));
    }
}

using FillChainRun = void (*)(const Run&, const Vector&, const Places&);
constexpr auto FILL_CHAIN_RUN = []<int... Present>(std::integer_sequence<int, Present...>) {
    return std::array<FillChainRun, LANES>{fill_chain_run<Present>...};
}(std::make_integer_sequence<int, LANES>());

// Returns the sums of a field and of the weights of the low bits that each lane's number has.
// Further bits do not count: the lanes repeat themselves.
Vector low_sums(double field, const double* weights, Index bits) {
    Vector sums = fill(field);
    if (bits > 0) sums = add_where_bit<0>(sums, weights[0]);
    if (bits > 1) sums = add_where_bit<1>(sums, weights[1]);
    if (bits > 2) sums = add_where_bit<2>(sums, weights[2]);
    if (bits > 3) sums = add_where_bit<3>(sums, weights[3]);
    return sums;
}

// Returns the factor by which the coefficients of an instance are multiplied.
template <class Score>
double scale_of(std::span<const Score> unary, std::span<const Score> pairwise) {
    Score peak = 0;
    for (std::span<const Score> coefficients : {unary, pairwise}) {
        const Score* values = coefficients.data();
        const Index count = length(coefficients);
#pragma omp simd reduction(max : peak)
        for (Index i = 0; i < count; ++i) {
            const Score size = values[i] < 0 ? -values[i] : values[i];
            peak = peak < size ? size : peak;
        }
    }
    return static_cast<double>(peak) > HUGE_PEAK ? HUGE_SCALE : 1.0;
}

class Tables {
public:
    explicit Tables(const Schedule& schedule)
        : schedule_(schedule),
          arena_(schedule.table_arena + LANES),  // a spread may read beyond its message
          words_(schedule.words),
          places_(schedule.most_reads) {}

    // Fills the message and the decisions of a step. `weights` are by bit of the separator.
    void fill_step(const Step& step, double field, const double* weights) {
        const Bits bits(step.bits());
        double fields[MIDDLES];
        double highs[MAX_BITS];  // the sums over the high bits of each h, by its lowest bit
        fill_sums(fields, 0.0, weights + bits.low, bits.middle);
        const std::span<Places> read(places_.data(), step.reads());
        for (Index c = 0; c < step.reads(); ++c) {
            const Read& one = schedule_.reads[step.read_start + c];
            read[c].prepare(one, schedule_.strides.data() + one.stride_start, bits, arena_.data());
        }
        const Vector low_field = low_sums(field, weights, bits.low);
        const double* high_weights = weights + bits.low + bits.middle;
        Run run{arena_.data() + step.table_out, words_.data() + step.word_start, fields,
                Index{1} << bits.middle, 0.0};
        for (Index h = 0; h < Index{1} << bits.high; ++h) {
            if (h) {  // counted up from its parent, the latest h with the bits above its lowest one
                const int bit = lowest_bit(h);
                const Index parent = h & (h - 1);
                run.high = high_weights[bit] + (parent ? highs[lowest_bit(parent)] : 0.0);
                highs[bit] = run.high;
                for (Places& one : read) one.base += one.advances[bit];
            }
            if (read.size() == 1)
                FILL_CHAIN_RUN[read[0].present](run, low_field, read[0]);
            else
                fill_run(run, low_field, read);
            run.out += run.size * LANES;
            run.words += run.size;
        }
    }

    double first_entry(const Step& step) const { return arena_[step.table_out]; }

    void backtrack(std::span<std::int8_t> z) const {
        for (auto step = schedule_.steps.rbegin(); step != schedule_.steps.rend(); ++step) {
            Index entry = 0;
            for (Index i = 0; i < step->bits(); ++i)
                entry |= Index{z[schedule_.variables[step->bit_start + i]]} << i;
            const Mask word = words_[step->word_start + (entry >> LANE_BITS)];
            z[step->variable] = static_cast<std::int8_t>(word >> (entry & (LANES - 1)) & 1);
        }
    }

private:
    const Schedule& schedule_;
    Buffer<double> arena_;   // the messages
    Buffer<Mask> words_;     // the decisions
    Buffer<Places> places_;  // scratch
};

// Returns the maximum of one instance; NaN once `stop` is set.
template <class Score>
double maximise(const Schedule& schedule, Tables& tables, Stop stop, std::span<const Score> unary,
                std::span<const Score> pairwise, std::span<std::int8_t> z) {
    const double scale = scale_of(unary, pairwise);
    double weights[MAX_BITS];
    double maximum = 0.0;
    for (const Step& step : schedule.steps) {
        if (stop.requested()) return std::numeric_limits<double>::quiet_NaN();
        for (Index i = 0; i < step.bits(); ++i) {
            const Index e = schedule.edges[step.bit_start + i];
            weights[i] = e >= 0 ? static_cast<double>(pairwise[e]) * scale : 0.0;
        }
        tables.fill_step(step, static_cast<double>(unary[step.variable]) * scale, weights);
        if (step.bits() == 0) maximum += tables.first_entry(step);
    }
    tables.backtrack(z);
    return maximum / scale;
}

}  // namespace

template <class Score>
void max_sum_tables(const Schedule& schedule, Stop stop, const Instances<Score>& instances,
                    const Maximisers& maximisers) {
    Tables tables(schedule);
    for (Index b = 0; b < maximisers.z.rows; ++b)
        maximisers.maxima[b] = maximise(schedule, tables, stop, instances.unary[b],
                                        instances.pairwise[b], maximisers.z[b]);
}

template void max_sum_tables(const Schedule&, Stop, const Instances<float>&, const Maximisers&);
template void max_sum_tables(const Schedule&, Stop, const Instances<double>&, const Maximisers&);

}  // namespace solvers::elimination
