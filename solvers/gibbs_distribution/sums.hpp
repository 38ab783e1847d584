// Sums of a table over all states, over those with one bit, and over those with two, block by
// block.
//
// A table over 2^n states comes in blocks (blocks.hpp) of four lines, in order. Sums over the
// states that have a bit above a line's come by halves: a run of 2^t blocks with an odd number is
// added to the sum of its bit t before it joins the even run in front of it. That takes two vector
// additions per block, for all bits together. At the end, only sums of single lines remain.
#pragma once

#include <bit>

#include "solvers/gibbs_distribution/blocks.hpp"

namespace solvers::gibbs_distribution {

// Writes the sums of the four lines of a block.
template <class Source>
inline void sum_lines(const Source& source, double* totals) {
    Eights sums = source.at(0);
    for (int s = EIGHT; s < LINE; s += EIGHT) {
        const Eights next = source.at(s);
        for (int line = 0; line < 4; ++line) sums.lines[line] += next.lines[line];
    }
    for (int line = 0; line < 4; ++line) totals[line] = sums.lines[line].total();
}

// The sums of 2^depth blocks.
class Sums {
public:
    explicit Sums(int depth);

    // Clears the sums.
    void clear();

    // Adds block h, after those before it.
    template <class Source>
    void add(Index h, const Source& block) {
        // Of the runs that end with this block the longest is of 2^level.
        const int level = std::countr_one(static_cast<std::uint64_t>(h));
        add_lines(block, runs_[level ? depth_ + 1 : 0].states, &lines_[4 * h]);
        join_runs(level);
    }

    // `[2^(depth + 2)]`, of every line.
    std::span<const double> lines() const { return lines_; }

    // Sums over the states that have two bits, in the lower triangle, and on the diagonal over
    // those that have one; overwrites the sums.
    void fill_moments(Matrix<double> moments);

private:
    // Adds up the four lines of a block, and what has either of their two bits.
    template <class Source>
    void add_lines(const Source& block, double* __restrict out, double* __restrict totals) {
        double* __restrict first_half = halves_[0].states;
        double* __restrict second_half = halves_[1].states;
        Eight total[4] = {Eight(0.0), Eight(0.0), Eight(0.0), Eight(0.0)};
        for (int s = 0; s < LINE; s += EIGHT) {
            const Eights x = block.at(s);
            const Eight odd = x.lines[1] + x.lines[3];
            const Eight high = x.lines[2] + x.lines[3];
            (Eight(first_half + s) + odd).store(first_half + s);
            (Eight(second_half + s) + high).store(second_half + s);
            (x.lines[0] + x.lines[1] + high).store(out + s);
            for (int line = 0; line < 4; ++line) total[line] += x.lines[line];
        }
        for (int line = 0; line < 4; ++line) totals[line] = total[line].total();
    }
    void join_runs(int level);

    int depth_;
    std::vector<double> lines_;
    std::vector<Line> halves_;  // [depth + 2]: of the lines whose number has a bit
    std::vector<Line> runs_;    // [depth + 3]: of the latest even run of 2^t blocks, in the end of
                                // all in row `depth`; and two rows to work with
};

}  // namespace solvers::gibbs_distribution
