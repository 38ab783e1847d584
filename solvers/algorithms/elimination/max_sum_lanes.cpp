// Elimination of LANES instances side by side: the lanes of a vector are instances, and entry s of
// a table is vector s of it.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "solvers/algorithms/elimination/max_sum.hpp"
#include "solvers/compiled/buffer.hpp"
#include "solvers/compiled/transpose.hpp"
#include "solvers/compiled/vectors.hpp"

namespace solvers::elimination {
namespace {

// Up to so many bits all lanes fold a decision table faster than each looks up its own entry.
constexpr Index FOLDED_BITS = 5;
// The linear part of a table is tabled by these bits of the separator, and by the others.
constexpr Index LOW_BITS = 4;

double* at(const Buffer<double>& vectors, Index place) {
    return vectors.data() + place * LANES;
}

// The part of a step's score that is linear in its separator: entry s is low[s % low_size] +
// high[s / low_size].
struct Linear {
    const double* low;
    const double* high;
    Index low_size;
    Index high_size;
};

// A message that is read: entry s for value 0 of the variable is at(offsets[s]), that for value 1
// `stride` further.
struct Message {
    const double* base;
    const Index* offsets;
    Index stride;

    const double* at(Index s) const { return base + offsets[s] * LANES; }
};

// Where the message and the decisions of a step go.
struct Table {
    double* out;
    Mask* decisions;

    void set(Index s, const Vector& gain, const Vector& rest) const {
        decisions[s] = greater(gain, rest);
        store(out + s * LANES, larger(gain, rest));
    }
};

class Lanes {
public:
    explicit Lanes(const Schedule& schedule)
        : schedule_(schedule),
          fields_(schedule.variable_count() * LANES),
          weights_(schedule.edge_count * LANES),
          arena_(schedule.lane_arena * LANES),
          low_(LANES << LOW_BITS),
          high_(Index{LANES} << std::max<Index>(schedule.width - LOW_BITS, 0)),
          decisions_(schedule.entries),
          states_(schedule.variable_count()) {}

    // Loads the instances from `first` on; unused lanes repeat the last one.
    template <class Score>
    void load_instances(const Instances<Score>& instances, Index first) {
        transpose(instances.unary, first, fields_.data());
        transpose(instances.pairwise, first, weights_.data());
        scale();
    }

    void maximise() {
        forward();
        backtrack();
    }

    // Writes the maximiser and the score of the instance in a lane.
    double write(Index lane, std::int8_t* __restrict z) const {
        const Mask* __restrict states = states_.data();
        const Index n = schedule_.variable_count();
        for (Index i = 0; i < n; ++i) z[i] = static_cast<std::int8_t>(states[i] >> lane & 1);
        return maxima_[lane] / scales_[lane];
    }

private:
    void scale() {
        Vector peak = fill(0.0);
        for (const auto& [values, count] : coefficients())
            for (Index i = 0; i < count; ++i)
                peak = larger(peak, absolute(load(values + i * LANES)));
        const Mask huge = greater(peak, fill(HUGE_PEAK));
        for (Index lane = 0; lane < LANES; ++lane)
            scales_[lane] = huge >> lane & 1 ? HUGE_SCALE : 1.0;
        if (!huge) return;
        for (const auto& [values, count] : coefficients())
            for (Index i = 0; i < count * LANES; ++i) values[i] *= scales_[i % LANES];
    }

    std::array<std::pair<double*, Index>, 2> coefficients() const {
        return {{{fields_.data(), schedule_.variable_count()},
                 {weights_.data(), schedule_.edge_count}}};
    }

    void forward() {
        const Step* step = schedule_.steps.data();
        const Step* const end = step + schedule_.steps.size();
        Vector total = fill(0.0);
        while (step != end) {
            if (is_link(*step)) {
                link(*step);
            } else {
                fill_step(*step);
                if (step->bits() == 0) total = total + load(at(arena_, step->lane_out));
            }
            ++step;
        }
        store(maxima_, total);
    }

    Vector field_of(const Step& step) const { return load(at(fields_, step.variable)); }

    Vector weight_of(Index bit) const {
        const Index edge = schedule_.edges[bit];
        return edge >= 0 ? load(at(weights_, edge)) : fill(0.0);
    }

    Message message(Index r) const {
        const Read& read = schedule_.reads[r];
        return {at(arena_, read.lane_in), schedule_.offsets.data() + read.offset_start,
                read.own_stride * LANES};
    }

    Table table_of(const Step& step) const {
        return {at(arena_, step.lane_out), decisions_.data() + step.entry_start};
    }

    // A step in the middle of a chain, which needs no tables of sums.
    bool is_link(const Step& step) const {
        return step.bits() == 1 && step.reads() == 1 && schedule_.edges[step.bit_start] >= 0;
    }

    void link(const Step& step) const {
        const Message read = message(step.read_start);
        const Table table = table_of(step);
        Vector base = field_of(step);
        const Vector weight = weight_of(step.bit_start);
        for (Index s = 0; s < 2; ++s) {
            const double* place = read.at(s);
            table.set(s, base + load(place + read.stride), load(place));
            base = base + weight;
        }
    }

    void fill_step(const Step& step) const {
        const Index middle = std::min(step.bit_end, step.bit_start + LOW_BITS);
        const Index low_size = fill_sums(low_.data(), field_of(step), step.bit_start, middle);
        const Index high_size = fill_sums(high_.data(), fill(0.0), middle, step.bit_end);
        const Linear linear{low_.data(), high_.data(), low_size, high_size};
        const Table table = table_of(step);
        const Index r = step.read_start;
        if (step.reads() == 0)
            fill_table(linear, table, [](Index, Vector&, Vector&) {});
        else if (step.reads() == 1)
            fill_table(linear, table, [read = message(r)](Index s, Vector& gain, Vector& rest) {
                const double* place = read.at(s);
                rest = load(place);
                gain = gain + load(place + read.stride);
            });
        else
            fill_table(linear, table, [&](Index s, Vector& gain, Vector& rest) {
                for (Index c = r; c < step.read_end; ++c) {
                    const Message read = message(c);
                    const double* place = read.at(s);
                    rest = rest + load(place);
                    gain = gain + load(place + read.stride);
                }
            });
    }

    // Writes the sums of the weights of the separator bits first .. last over all their states,
    // plus `base`; returns the number of these states.
    Index fill_sums(double* sums, const Vector& base, Index first, Index last) const {
        store(sums, base);
        Index size = 1;
        for (Index bit = first; bit < last; ++bit) {
            const Vector weight = weight_of(bit);
            for (Index s = 0; s < size; ++s)
                store(sums + (size + s) * LANES, load(sums + s * LANES) + weight);
            size *= 2;
        }
        return size;
    }

    // Computes message and decisions of a step, with h the high and j the low bits of an entry.
    // `add_messages(s, gain, rest)` adds the messages that it reads to the scores of the variable's
    // values 1 and 0.
    template <class AddMessages>
    static void fill_table(const Linear& linear, const Table& table,
                           const AddMessages& add_messages) {
        for (Index h = 0; h < linear.high_size; ++h) {
            const Vector field = load(linear.high + h * LANES);
            for (Index j = 0; j < linear.low_size; ++j) {
                const Index s = h * linear.low_size + j;
                Vector gain = field + load(linear.low + j * LANES);
                Vector rest = fill(0.0);
                add_messages(s, gain, rest);
                table.set(s, gain, rest);
            }
        }
    }

    // Sets bit `lane` of states_[v] to the value of v, the last variable first; decisions are
    // overwritten.
    void backtrack() {
        for (auto step = schedule_.steps.rbegin(); step != schedule_.steps.rend(); ++step) {
            if (step->bits() > FOLDED_BITS)
                states_[step->variable] = gathered(*step);
            else
                states_[step->variable] = folded(*step);
        }
    }

    // Halves the table by the last bit again and again, until each lane's decision is in entry 0.
    Mask folded(const Step& step) const {
        Mask* lower = decisions_.data() + step.entry_start;
        for (Index i = step.bits() - 1; i >= 0; --i) {
            const Mask on = states_[schedule_.variables[step.bit_start + i]];
            const Index half = Index{1} << i;
            const Mask* __restrict upper = lower + half;
            for (Index s = 0; s < half; ++s)
                lower[s] = static_cast<Mask>(lower[s] ^ ((lower[s] ^ upper[s]) & on));
        }
        return lower[0];
    }

    // Reads each lane's decision from its own entry.
    Mask gathered(const Step& step) const {
        unsigned chosen = 0;
        for (int lane = 0; lane < LANES; ++lane) {
            Index entry = step.entry_start;
            for (Index i = 0; i < step.bits(); ++i)
                entry += Index{states_[schedule_.variables[step.bit_start + i]] >> lane & 1} << i;
            chosen |= (unsigned{decisions_[entry]} >> lane & 1) << lane;
        }
        return static_cast<Mask>(chosen);
    }

    const Schedule& schedule_;
    Buffer<double> fields_;   // [n, LANES]
    Buffer<double> weights_;  // [e, LANES]
    Buffer<double> arena_;    // [lane_arena, LANES]: the messages
    Buffer<double> low_;      // scratch: the sums over the low bits of a step
    Buffer<double> high_;     // scratch: over the others
    Buffer<Mask> decisions_;  // [entries]
    Buffer<Mask> states_;     // [n]
    alignas(64) double scales_[LANES];
    alignas(64) double maxima_[LANES];
};

}  // namespace

template <class Score>
void max_sum_lanes(const Schedule& schedule, Stop stop, const Instances<Score>& instances,
                   const Maximisers& maximisers) {
    const Index batch = maximisers.z.rows;
    Lanes lanes(schedule);
    for (Index start = 0; start < batch; start += LANES) {
        if (stop.requested()) {
            std::ranges::fill(maximisers.maxima.subspan(start),
                              std::numeric_limits<double>::quiet_NaN());
            return;
        }
        lanes.load_instances(instances, start);
        lanes.maximise();
        for (Index b = start; b < std::min(start + LANES, batch); ++b)
            maximisers.maxima[b] = lanes.write(b - start, maximisers.z[b].data());
    }
}

template void max_sum_lanes(const Schedule&, Stop, const Instances<float>&, const Maximisers&);
template void max_sum_lanes(const Schedule&, Stop, const Instances<double>&, const Maximisers&);

}  // namespace solvers::elimination
