#include "solvers/labels/algorithms/dual_ascent/messages.hpp"

#include <algorithm>
#include <cstdlib>

#include "solvers/compiled/vectors.hpp"

namespace solvers::labels {
namespace {

// A message that would be larger is not sent.
constexpr Index FARTHEST = Index{1} << 57;

// The message to a removed value, which gains nothing.
constexpr Index GONE = Index{1} << 61;

// Number of values that vectors process in the time of a single value.
constexpr Index FEW = 3;

// Number of values that vectors process in the time of the maximum of a vector.
constexpr Index REDUCTION = 40;

// A register's worth of an array of whole numbers, which aliases the array as its elements do.
typedef Index Whole
    __attribute__((vector_size(REGISTER_LANES * sizeof(Index)), aligned(alignof(Index))));

// most[first + lane] = max over the values b of left: rows(b, first + lane) - taken[b].
//
// The lanes are values of one row, so that the maxima stay in a register, and no maximum is taken
// across a vector.
void most_of_block(Matrix<const Index> rows, std::span<const Value> left, const Index* taken,
                   Index first, Index* most) {
    RegisterIndices best = 2 * FORBIDDEN_FIELD - RegisterIndices{};
    for (Value b : left) {
        const RegisterIndices row = *reinterpret_cast<const Whole*>(&rows(b, first));
        const RegisterIndices won = row - taken[b];
        best = won > best ? won : best;
    }
    *reinterpret_cast<Whole*>(most + first) = best;
}

// Covers all columns, of which there is at least a register's worth, by blocks. The last block may
// overlap the one before.
void most_of_blocks(Matrix<const Index> rows, std::span<const Value> left, const Index* taken,
                    Index* most) {
    const Index last = rows.columns - REGISTER_LANES;
    for (Index first = 0; first < last; first += REGISTER_LANES)
        most_of_block(rows, left, taken, first, most);
    most_of_block(rows, left, taken, last, most);
}

}  // namespace

Index Messages::begin(Matrix<const Index> unary, std::span<const Index> sizes) {
    const Index n = unary.rows;
    std::ranges::fill(node_.done, std::uint8_t{0});
    std::fill_n(node_.message.data,
                node_.message.depth * node_.message.rows * node_.message.columns, GONE);
    Index total = 0;
    for (Index i = 0; i < n; ++i) {
        Index count = 0;
        Index best = FORBIDDEN_FIELD;
        for (Index a = 0; a < sizes[i]; ++a) {
            if (unary(i, a) <= IMPOSSIBLE) continue;
            node_.values(i, count++) = static_cast<Value>(a);
            best = std::max(best, unary(i, a));
        }
        node_.left[i] = count;
        for (Index a = 0; a < unary.columns; ++a) node_.field(i, a) = unary(i, a) - best;
        total += best;
    }
    for (Index i = 0; i < n; ++i)
        for (Index place = graph_.starts[i]; place < graph_.starts[i + 1]; ++place)
            if (graph_.side[place] == 0)
                total += first_messages(i, graph_.near[place], graph_.edge[place]);
    return total;
}

// Lowers the scores of an edge to at most zero; returns the score of its best pair, or 0 if all
// pairs are forbidden.
Index Messages::first_messages(Index i, Index j, Index e) {
    Index best = FORBIDDEN_FIELD;
    if (graph_.weighted())
        best = std::max(Index{0}, graph_.weights[e]);
    else
        for (Value a : node_.values_of(i))
            for (Value b : node_.values_of(j)) best = std::max(best, graph_.score(e, 0, a, b));
    if (best <= IMPOSSIBLE) best = 0;
    for (Value a : node_.values_of(i)) node_.message(e, 0, a) = best;
    for (Value b : node_.values_of(j)) node_.message(e, 1, b) = 0;
    return best;
}

Messages::Swept Messages::sweep(Direction direction, Index constant, Index cut, Stop stop) {
    const Index n = length(node_.left);
    for (Index step = 0; step < n; ++step) {
        const Index i = direction == Direction::forward ? step : n - 1 - step;
        if (node_.done[i]) continue;
        if (stop.requested()) break;
        constant = visit(i, direction, constant, cut);
        if (constant <= cut) return {constant, i};
    }
    return {constant, -1};
}

void Messages::filter(Index i, Index first, Index last, bool inside) {
    Index kept = 0;
    for (Index p = 0; p < node_.left[i]; ++p) {
        const Value a = node_.values(i, p);
        if ((first <= p && p < last) == inside)
            node_.values(i, kept++) = a;
        else
            forget(i, a);
    }
    node_.left[i] = kept;
}

void Messages::forget(Index i, Index a) {
    for (Index place = graph_.starts[i]; place < graph_.starts[i + 1]; ++place)
        node_.message(graph_.edge[place], graph_.side[place], a) = GONE;
}

// Takes, removes values and gives; returns the new constant.
Index Messages::visit(Index i, Direction direction, Index constant, Index cut) {
    const Edges edges = take(i, direction);
    constant = normalise(i, constant, cut);
    if (constant <= cut) return constant;
    if (node_.left[i] == 1)
        finish(i);
    else if (edges.ahead)
        give(i, direction, edges);
    return constant;
}

// Moves the largest field into the constant, and removes values that cannot lead above the cut.
Index Messages::normalise(Index i, Index constant, Index cut) {
    Index best = FORBIDDEN_FIELD;
    for (Value a : node_.values_of(i)) best = std::max(best, node_.field(i, a));
    constant = std::max(constant + best, FORBIDDEN_FIELD);
    if (constant <= cut) return constant;
    Index kept = 0;
    for (Index p = 0; p < node_.left[i]; ++p) {
        const Value a = node_.values(i, p);
        node_.field(i, a) -= best;
        if (constant + node_.field(i, a) > cut)
            node_.values(i, kept++) = a;
        else
            forget(i, a);
    }
    node_.left[i] = kept;
    return constant;
}

// Moves the remaining edge scores of a variable with one value to its neighbours.
void Messages::finish(Index i) {
    const Value a = node_.values(i, 0);
    for (Index place = graph_.starts[i]; place < graph_.starts[i + 1]; ++place) {
        const Index j = graph_.near[place];
        const Index e = graph_.edge[place];
        const Index side = graph_.side[place];
        if (node_.done[j]) continue;
        const Index mine = node_.message(e, side, a);
        for (Value b : node_.values_of(j)) {
            const Index rest = graph_.score(e, side, a, b) - mine - node_.message(e, 1 - side, b);
            node_.field(j, b) = std::max(FORBIDDEN_FIELD, node_.field(j, b) + rest);
        }
    }
    node_.done[i] = 1;
}

// Takes all from the edges; returns the numbers of edges ahead and behind.
Messages::Edges Messages::take(Index i, Direction direction) {
    Edges edges{0, 0};
    for (Index place = graph_.starts[i]; place < graph_.starts[i + 1]; ++place) {
        const Index j = graph_.near[place];
        const Index e = graph_.edge[place];
        const Index side = graph_.side[place];
        if (node_.done[j]) continue;
        const std::span<const Index> other = node_.message[e][1 - side];
        if (graph_.weighted())
            most_of_weight(i, graph_.weights[e], other);
        else
            most_of_pairs(i, j, e, side, other);
        take_most(i, node_.message[e][side]);
        ++(leads_on(i, j, direction) ? edges.ahead : edges.behind);
    }
    return edges;
}

// Gives a variable the maximum gain of an edge with each of its values.
void Messages::take_most(Index i, std::span<Index> message) {
    Index far = 0;
    for (Value a : node_.values_of(i))
        if (most_[a] > IMPOSSIBLE) far = std::max(far, Index{std::abs(most_[a])});
    if (far > FARTHEST) return;
    for (Value a : node_.values_of(i)) {
        if (most_[a] > IMPOSSIBLE) {
            node_.field(i, a) =
                std::max(FORBIDDEN_FIELD, node_.field(i, a) + most_[a] - message[a]);
            message[a] = most_[a];
        } else {
            node_.field(i, a) = FORBIDDEN_FIELD;
        }
    }
}

// Chooses the order in which the pairs of an edge are read; all orders give the same gains.
void Messages::most_of_pairs(Index i, Index j, Index e, Index side, std::span<const Index> other) {
    const Index k = length(other);
    const Index by_columns = node_.left[j] * k;
    const Index by_rows = node_.left[i] * (k + REDUCTION);
    const Index by_pairs = FEW * node_.left[i] * node_.left[j];
    if (by_pairs <= std::min(by_rows, by_columns) || k < REGISTER_LANES)
        most_of_few(i, j, graph_.table(e, side), other);
    else if (by_rows < by_columns)
        most_of_table(i, graph_.table(e, side), other);
    else
        most_of_blocks(graph_.table(e, 1 - side), node_.values_of(j), other.data(), most_.data());
}

void Messages::most_of_table(Index i, Matrix<const Index> table, std::span<const Index> other) {
    const Index* taken = other.data();
    const Index k = length(other);
    for (Value a : node_.values_of(i)) {
        const Index* row = &table(a, 0);
        Index best = 2 * FORBIDDEN_FIELD;
#pragma omp simd reduction(max : best)
        for (Index b = 0; b < k; ++b) best = std::max(best, row[b] - taken[b]);
        most_[a] = best;
    }
}

// As `most_of_table`, value by value of j.
void Messages::most_of_few(Index i, Index j, Matrix<const Index> table,
                           std::span<const Index> other) {
    const std::span<const Value> few = node_.values_of(j);
    for (Value a : node_.values_of(i)) {
        Index best = 2 * FORBIDDEN_FIELD;
        for (Value b : few) best = std::max(best, table(a, b) - other[b]);
        most_[a] = best;
    }
}

// As `most_of_table`, where equal values score `weight` and others nothing.
void Messages::most_of_weight(Index i, Index weight, std::span<const Index> other) {
    Index least = 2 * GONE;
    Index where = 0;
    for (Index b = 0; b < length(other); ++b)
        if (other[b] < least) {
            least = other[b];
            where = b;
        }
    Index second = 2 * GONE;
    for (Index b = 0; b < length(other); ++b)
        if (b != where) second = std::min(second, other[b]);
    for (Value a : node_.values_of(i))
        most_[a] = std::max(weight - other[a], a == where ? -second : -least);
}

// Gives a share to each edge ahead; rounded towards zero, so that nothing comes above it.
void Messages::give(Index i, Direction direction, const Edges& edges) {
    const Index parts = std::max(edges.ahead, edges.behind);
    for (Value a : node_.values_of(i)) {
        const Index share = node_.field(i, a) / parts;
        if (share == 0) continue;
        node_.field(i, a) -= edges.ahead * share;
        for (Index place = graph_.starts[i]; place < graph_.starts[i + 1]; ++place) {
            const Index j = graph_.near[place];
            if (!node_.done[j] && leads_on(i, j, direction))
                node_.message(graph_.edge[place], graph_.side[place], a) -= share;
        }
    }
}

}  // namespace solvers::labels
