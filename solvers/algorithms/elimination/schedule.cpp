#include "solvers/algorithms/elimination/schedule.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include "solvers/compiled/graphs.hpp"
#include "solvers/compiled/vectors.hpp"

namespace solvers::elimination {
namespace {

constexpr Index MOST_ENTRIES = Index{1} << 57;  // far beyond any memory, and no sum overflows

// Returns the edges in terms of the places of their ends in the order.
std::vector<Index> placed(Matrix<const Index> edges, std::span<const Index> order) {
    std::vector<Index> place(order.size());
    for (Index p = 0; p < length(order); ++p) place[order[p]] = p;
    std::vector<Index> ends(2 * edges.rows);
    for (Index k = 0; k < 2 * edges.rows; ++k) ends[k] = place[edges.data[k]];
    return ends;
}

}  // namespace

Schedule::Schedule(Matrix<const Index> edges, std::span<const Index> order)
    : edge_count(edges.rows) {
    const std::vector<Index> ends = placed(edges, order);
    // Steps in an order with children before parents; then the messages between them, with their
    // places; then what each step reads.
    const Separators separators = separators_of(length(order), {ends.data(), edges.rows, 2});
    const std::vector<Index> sequence = children_first(separators);
    add_steps(separators, order, sequence);
    const std::vector<Index> messages = add_messages(separators, sequence);
    table_arena = allocate(messages, LANES, &Step::table_out);
    lane_arena = allocate(messages, 1, &Step::lane_out);
    add_reads(messages);
    name_edges(edges);
    has_offsets = !offsets.empty() || reads.empty();
}

void Schedule::add_steps(const Separators& separators, std::span<const Index> order,
                         std::span<const Index> sequence) {
    steps.resize(sequence.size());
    variables.reserve(separators.variables.size());
    for (Index t = 0; t < length(sequence); ++t) {
        Step& step = steps[t];
        step.variable = order[sequence[t]];
        step.bit_start = static_cast<Index>(variables.size());
        for (Index u : separators.of(sequence[t])) variables.push_back(order[u]);
        step.bit_end = static_cast<Index>(variables.size());
        if (step.bits() > MAX_BITS || entries > MOST_ENTRIES)
            throw std::length_error("an elimination order of too large tables");
        step.word_start = words;
        step.entry_start = entries;
        words += std::max<Index>(step.entries() / LANES, 1);
        entries += step.entries();
        width = std::max(width, step.bits());
    }
}

// Returns the steps whose messages are read, reader by reader.
std::vector<Index> Schedule::add_messages(const Separators& separators,
                                          std::span<const Index> sequence) {
    std::vector<Index> step_of(steps.size());
    for (Index t = 0; t < length(sequence); ++t) step_of[sequence[t]] = t;
    const auto reader_of = [&](Index t) {
        const Index parent = separators.parent[sequence[t]];
        return parent < 0 ? nullptr : &steps[step_of[parent]];
    };
    for (Index t = 0; t < length(sequence); ++t)
        if (Step* reader = reader_of(t)) ++reader->read_end;
    Index count = 0;
    for (Step& step : steps) {
        most_reads = std::max(most_reads, step.read_end);
        step.read_start = count;
        count += step.read_end;
        step.read_end = step.read_start;
    }
    std::vector<Index> messages(count);
    for (Index t = 0; t < length(sequence); ++t)
        if (Step* reader = reader_of(t)) messages[reader->read_end++] = t;
    return messages;
}

// Places the messages, each of at least `least` entries; their space is free again after they are
// read. Returns the space needed.
Index Schedule::allocate(std::span<const Index> messages, Index least, Index Step::* out) {
    Index space = 0;
    std::array<Index, MAX_BITS + 1> free;  // by the logarithm of the size, the latest first
    free.fill(-1);
    std::vector<Index> after(steps.size(), -1);
    const auto size_of = [&](const Step& step) { return std::max(step.entries(), least); };
    const auto kind_of = [&](const Step& step) {
        return std::countr_zero(static_cast<std::uint64_t>(size_of(step)));
    };
    for (Step& step : steps) {
        const int kind = kind_of(step);
        if (free[kind] >= 0) {
            step.*out = steps[free[kind]].*out;
            free[kind] = after[free[kind]];
        } else {
            step.*out = space;
            space += size_of(step);
        }
        for (Index c : messages.subspan(step.read_start, step.reads())) {
            const int read = kind_of(steps[c]);
            after[c] = free[read];
            free[read] = c;
        }
    }
    return space;
}

void Schedule::add_reads(std::span<const Index> messages) {
    reads.resize(messages.size());
    Index bits = 0;
    Index places = 0;
    for (const Step& reader : steps)
        for (Index r = reader.read_start; r < reader.read_end; ++r) {
            const Step& child = steps[messages[r]];
            reads[r] = {.table_in = child.table_out,
                        .lane_in = child.lane_out,
                        .entry_in = child.entry_start,
                        .own_stride = child.entries() / 2,  // the reader's variable is on top
                        .stride_start = bits,
                        .offset_start = places};
            bits += reader.bits();
            places = std::min(places + reader.entries(), MAX_OFFSETS + 1);
        }
    strides.assign(bits, 0);
    if (places <= MAX_OFFSETS) offsets.assign(places, 0);
    for (const Step& reader : steps)
        for (Index r = reader.read_start; r < reader.read_end; ++r)
            add_strides(steps[messages[r]], reader, reads[r]);
}

// Both separators have the same order, and that of the child has the reader's variable on top.
void Schedule::add_strides(const Step& child, const Step& reader, Read& read) {
    Index k = child.bit_start;
    Index* stride = strides.data() + read.stride_start;
    for (Index i = reader.bit_start; i < reader.bit_end; ++i, ++stride)
        if (variables[k] == variables[i]) *stride = Index{1} << (k++ - child.bit_start);
    if (offsets.empty()) {
        read.offset_start = 0;
        return;
    }
    Index* offset = offsets.data() + read.offset_start;
    for (Index i = 0; i < reader.bits(); ++i) {
        const Index size = Index{1} << i;
        const Index added = strides[read.stride_start + i];
        for (Index s = 0; s < size; ++s) offset[size + s] = offset[s] + added;
    }
}

void Schedule::name_edges(Matrix<const Index> pairs) {
    const NeighbourLists lists = neighbour_lists(variable_count(), pairs);
    edges.assign(variables.size(), -1);
    std::vector<Index> seen(steps.size(), -1);  // the latest step whose variable has this neighbour
    std::vector<Index> edge(steps.size());
    for (const Step& step : steps) {
        const Index v = step.variable;
        for (Index k = lists.starts[v]; k < lists.starts[v + 1]; ++k) {
            seen[lists.near[k]] = v;
            edge[lists.near[k]] = lists.which[k];
        }
        for (Index i = step.bit_start; i < step.bit_end; ++i)
            if (seen[variables[i]] == v) edges[i] = edge[variables[i]];
    }
}

}  // namespace solvers::elimination
