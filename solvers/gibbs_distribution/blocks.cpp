#include "solvers/gibbs_distribution/blocks.hpp"

#include <cmath>

namespace solvers::gibbs_distribution {
namespace {

template <Join join>
constexpr double NOTHING = join == Join::product ? 1.0 : 0.0;

// Writes the numbers of the states with bit i, from those of the bits below: upper[s] from lower[s]
// and other[s].
template <Join join, class Other>
inline void fill_upper(double* table, int i, Other other) {
    const Index size = Index{1} << i;
    if (size < EIGHT) {
        for (Index s = 0; s < size; ++s)
            table[size + s] = joined<join>(table[s], other.template at<double>(s));
        return;
    }
    for (Index s = 0; s < size; s += EIGHT)
        joined<join>(Eight(table + s), other.template at<Eight>(s)).store(table + size + s);
}

struct Constant {
    double value;
    template <class Values>
    Values at(Index) const {
        return Values(value);
    }
};

struct Entries {
    const double* values;
    template <class Values>
    Values at(Index s) const {
        if constexpr (std::is_same_v<Values, double>)
            return values[s];
        else
            return Values(values + s);
    }
};

// The number that a variable with this constant and row adds to each state of `bits` others.
template <Join join>
void fill_linear(double* table, int bits, double constant, const double* row) {
    table[0] = constant;
    for (int i = 0; i < bits; ++i) fill_upper<join>(table, i, Constant{row[i]});
}

}  // namespace

Blocks::Blocks(int n)
    : size_(BLOCK_BITS + depth_of(n)),
      weights_(size_ * size_),
      increment_(std::max(Index{BLOCK}, Index{1} << depth_of(n))),
      fields_(std::size_t{1} << depth_of(n)) {}

template <Join join>
void Blocks::load(std::span<const double> coefficients, const Triangle& triangle, double padding) {
    std::ranges::fill(weights_, NOTHING<join>);
    for (Index i = triangle.n; i < BLOCK_BITS; ++i) weights_[i * size_ + i] = padding;
    for (Index c = 0; c < length(coefficients); ++c)
        weights_[triangle.places[c].row * size_ + triangle.places[c].column] =
            join == Join::product ? std::exp(coefficients[c]) : coefficients[c];
    fill_root<join>();
    fill_fields<join>();
}

// Block 0.
template <Join join>
void Blocks::fill_root() {
    double* increment = increment_.data();
    root_.states[0] = NOTHING<join>;
    for (int i = 0; i < BLOCK_BITS; ++i) {
        fill_linear<join>(increment, i, row(i)[i], row(i));
        fill_upper<join>(root_.states, i, Entries{increment});
    }
}

// The fields and the base of each block.
template <Join join>
void Blocks::fill_fields() {
    std::ranges::fill(fields_[0].of_bits, NOTHING<join>);
    fields_[0].base = NOTHING<join>;
    const int depth = static_cast<int>(size_) - BLOCK_BITS;
    for (int t = 0; t < depth; ++t) {
        const double* weights = row(BLOCK_BITS + t);
        const Index size = Index{1} << t;
        fill_linear<join>(increment_.data(), t, weights[BLOCK_BITS + t], weights + BLOCK_BITS);
        for (Index h = 0; h < size; ++h) {
            const Fields& lower = fields_[h];
            Fields& upper = fields_[size + h];
            joined<join>(Eight(lower.of_bits), Eight(weights)).store(upper.of_bits);
            upper.of_bits[EIGHT] = joined<join>(lower.of_bits[EIGHT], weights[EIGHT]);
            upper.base = joined<join>(lower.base, increment_[h]);
        }
    }
}

// What the base and the fields of the bits of a line come to in each of its states.
template <Join join>
void Blocks::fill_line(const Fields& own) {
    line_.states[0] = own.base;
    for (int i = 0; i < LINE_BITS; ++i) fill_upper<join>(line_.states, i, Constant{own.of_bits[i]});
}

template <Join join>
Built<join> Blocks::block(Index h) {
    const Fields& own = fields_[h];
    fill_line<join>(own);
    const double first = own.of_bits[LINE_BITS];
    const double second = own.of_bits[LINE_BITS + 1];
    return {root_, line_, Eight(first), Eight(second), Eight(joined<join>(first, second))};
}

template void Blocks::load<Join::sum>(std::span<const double>, const Triangle&, double);
template void Blocks::load<Join::product>(std::span<const double>, const Triangle&, double);
template Built<Join::sum> Blocks::block<Join::sum>(Index);
template Built<Join::product> Blocks::block<Join::product>(Index);

}  // namespace solvers::gibbs_distribution
