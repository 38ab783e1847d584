#include "solvers/gibbs_distribution/sums.hpp"

namespace solvers::gibbs_distribution {
namespace {

// Adds the second half of a table to its first half; returns the sum of the second.
double fold(double* table, int bit) {
    double* lower = table;
    double* upper = table + (Index{1} << bit);
    const Index size = Index{1} << bit;
    Eight total(0.0);
    for (Index s = 0; s < size; s += EIGHT) {
        const Eight values(upper + s);
        total += values;
        (Eight(lower + s) + values).store(lower + s);
    }
    return total.total();
}

// Sums the entries that have a bit, for each bit; leaves the sum of all in `table[0]`.
void first_moments(double* table, int bits, double* moments) {
    for (int i = bits - 1; i >= EIGHT_BITS; --i) moments[i] = fold(table, i);
    for (int i = std::min(bits, EIGHT_BITS) - 1; i >= 0; --i) {
        double total = 0.0;
        for (int s = 0; s < 1 << i; ++s) {
            total += table[(1 << i) + s];
            table[s] += table[(1 << i) + s];
        }
        moments[i] = total;
    }
}

// Sums the entries that have two bits, on the diagonal those that have one; overwrites `table`.
void second_moments(double* table, int bits, Index start, Matrix<double> moments) {
    for (int t = bits - 1; t >= 0; --t) {
        double* upper = table + (Index{1} << t);
        if (t >= EIGHT_BITS)
            fold(table, t);
        else
            for (int s = 0; s < 1 << t; ++s) table[s] += upper[s];
        first_moments(upper, t, &moments(start + t, start));
        moments(start + t, start + t) = upper[0];
    }
}

}  // namespace

Sums::Sums(int depth)
    : depth_(depth), lines_(std::size_t{4} << depth), halves_(depth + 2), runs_(depth + 3) {}

void Sums::clear() {
    for (Line& half : halves_) std::ranges::fill(half.states, 0.0);
}

// Adds the sum of each odd run to that of its bit, and joins it with the even run before.
void Sums::join_runs(int level) {
    int row = depth_ + 1;
    for (int t = 0; t < level; ++t) {
        const int next = t + 1 == level ? level : 2 * depth_ + 3 - row;
        const double* __restrict odd = runs_[row].states;
        const double* __restrict even = runs_[t].states;
        double* __restrict half = halves_[t + 2].states;
        double* __restrict out = runs_[next].states;
        for (int s = 0; s < LINE; s += EIGHT) {
            const Eight added(odd + s);
            (Eight(half + s) + added).store(half + s);
            (added + Eight(even + s)).store(out + s);
        }
        row = next;
    }
}

void Sums::fill_moments(Matrix<double> moments) {
    const int line_numbers = depth_ + BLOCK_BITS - LINE_BITS;
    second_moments(runs_[depth_].states, LINE_BITS, 0, moments);
    second_moments(lines_.data(), line_numbers, LINE_BITS, moments);
    for (int t = 0; t < line_numbers; ++t)
        first_moments(halves_[t].states, LINE_BITS, &moments(LINE_BITS + t, 0));
}

}  // namespace solvers::gibbs_distribution
