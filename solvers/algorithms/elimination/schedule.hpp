// The schedule of an elimination; plan.py explains its steps.
#pragma once

#include <vector>

#include "solvers/algorithms/elimination/forest.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::elimination {

inline constexpr int MAX_BITS = 57;                   // of a separator
inline constexpr Index MAX_OFFSETS = Index{1} << 17;  // of all messages, that are worth storing

// A step that eliminates one variable. Its separator are the bits bit_start .. bit_end, and the
// messages that it reads are the reads read_start .. read_end.
struct Step {
    Index variable;
    Index bit_start;
    Index bit_end;
    Index read_start;
    Index read_end;
    Index table_out;    // for max_sum_tables: where its message goes,
    Index word_start;   // and the decision words of earlier steps
    Index lane_out;     // for max_sum_lanes: where its message goes,
    Index entry_start;  // and the entries of earlier steps

    Index bits() const { return bit_end - bit_start; }
    Index entries() const { return Index{1} << bits(); }  // NOLINT(*-core.BitwiseShift): bits >= 0
    Index reads() const { return read_end - read_start; }
};

// A message that a step reads.
struct Read {
    Index table_in;      // where it is for max_sum_tables,
    Index lane_in;       // for max_sum_lanes,
    Index entry_in;      // and where all messages are kept
    Index own_stride;    // in the message, of the variable of the step that reads it
    Index stride_start;  // of its strides,
    Index offset_start;  // and of its offsets
};

class Schedule {
public:
    // Builds the schedule of the order `[n]`, a permutation; edges `[e, 2]` are distinct pairs.
    //
    // Throws std::length_error if a separator has more than MAX_BITS variables, or tables have more
    // entries than any memory.
    Schedule(Matrix<const Index> edges, std::span<const Index> order);

    std::vector<Step> steps;       // [n]
    std::vector<Index> variables;  // [bits], of each separator bit
    std::vector<Index> edges;      // [bits], the edge between that and the step's variable, or -1
    std::vector<Read> reads;       // [messages]
    // In the message, of each separator bit of the step that reads it; 0 if the message lacks the
    // bit.
    std::vector<Index> strides;
    // In the message, of each entry of the step that reads it; empty where these are too many.
    std::vector<Index> offsets;

    Index edge_count = 0;
    Index width = 0;           // variables of the largest separator
    Index entries = 0;         // of all tables
    Index words = 0;           // of decisions, one for up to LANES entries of a table
    Index table_arena = 0;     // entries that live at the same time, in tables of at least LANES
    Index lane_arena = 0;      // entries that live at the same time
    Index most_reads = 0;      // messages that a step reads at most
    bool has_offsets = false;  // whether `offsets` are there, which max_sum_lanes needs

    Index variable_count() const { return static_cast<Index>(steps.size()); }

    // Returns the place of z among the states of a step's separator.
    Index state(const Step& step, std::span<const std::int8_t> z) const {
        Index state = 0;
        for (Index i = 0; i < step.bits(); ++i)
            state |= Index{z[variables[step.bit_start + i]]} << i;
        return state;
    }

    // Returns the bits of a step's separator that have a pair with its variable.
    Index coupled(const Step& step) const {
        Index bits = 0;
        for (Index i = 0; i < step.bits(); ++i) bits |= Index{edges[step.bit_start + i] >= 0} << i;
        return bits;
    }

private:
    void add_steps(const Separators& separators, std::span<const Index> order,
                   std::span<const Index> sequence);
    std::vector<Index> add_messages(const Separators& separators, std::span<const Index> sequence);
    Index allocate(std::span<const Index> messages, Index least, Index Step::* out);
    void add_reads(std::span<const Index> messages);
    void add_strides(const Step& child, const Step& reader, Read& read);
    void name_edges(Matrix<const Index> pairs);
};

}  // namespace solvers::elimination
