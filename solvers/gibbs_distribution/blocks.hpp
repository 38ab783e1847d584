// The states of a small pairwise problem in blocks, each block's scores or weights built by
// doubling.
//
// The low BLOCK_BITS bits of a state are its place in a block, the others the block's number h. As
// z_i is 0 or 1,
//
//     score(h, s) = base(h) + sum_{i in s} field_i(h) + score(0, s),
//
// so a block is one table that all share, the root, and BLOCK_BITS + 1 numbers of its own. The same
// with products in place of sums gives exp(score) of all states from the exponentials of the n + e
// coefficients. Any block can be built separately, and none inherits the rounding of another.
#pragma once

#include <vector>

#include "solvers/compiled/stop.hpp"
#include "solvers/gibbs_distribution/lanes.hpp"

namespace solvers::gibbs_distribution {

inline constexpr int LINE_BITS = 7;  // a line is 1 KiB: many sums of lines fit the L1 cache
inline constexpr int BLOCK_BITS = LINE_BITS + 2;  // a block is four lines
inline constexpr int LINE = 1 << LINE_BITS;
inline constexpr int BLOCK = 1 << BLOCK_BITS;
inline constexpr int EIGHT_BITS = 3;
inline constexpr int EIGHT = 1 << EIGHT_BITS;
using Eight = Lanes<EIGHT>;

inline int depth_of(int n) {
    return std::max(n - BLOCK_BITS, 0);
}

struct alignas(CACHE_LINE) Line {
    double states[LINE];
};

// States s, ..., s + 7 of each of the four lines of a block.
struct Eights {
    Eight lines[4];
};

struct alignas(CACHE_LINE) Block {
    double states[BLOCK];

    Eights at(int s) const {
        return {Eight(states + s), Eight(states + LINE + s), Eight(states + 2 * LINE + s),
                Eight(states + 3 * LINE + s)};
    }
    void set(int s, const Eights& values) {
        for (int line = 0; line < 4; ++line) values.lines[line].store(states + line * LINE + s);
    }
};

// The variables of an instance, and the row and column of each of its coefficients in the lower
// triangle.
struct Triangle {
    // Takes n unary scores, and pairwise scores of edges `[e, 2]`, pairs i < j.
    Triangle(int variables, Matrix<const Index> edges) : n(variables), places(n + edges.rows) {
        for (Index i = 0; i < n; ++i) places[i] = {i, i};
        for (Index e = 0; e < edges.rows; ++e) places[n + e] = {edges(e, 1), edges(e, 0)};
    }

    struct Place {
        Index row;
        Index column;
    };
    int n;
    std::vector<Place> places;  // [n + e]
};

enum class Join { sum, product };

// The pair scores between two parts of a state.
template <Join join, class Values>
inline Values joined(const Values& first, const Values& second) {
    if constexpr (join == Join::product)
        return first * second;
    else
        return first + second;
}

// Block that is built by eight states of a line at a time.
template <Join join>
struct Built {
    const Block& root;
    const Line& line;  // what the base and the fields of the bits of a line come to
    Eight first;       // the fields of the two bits above,
    Eight second;
    Eight both;  // and what they have together

    Eights at(int s) const {
        const Eight own(line.states + s);
        const Eights shared = root.at(s);
        return {joined<join>(own, shared.lines[0]),
                joined<join>(joined<join>(own, first), shared.lines[1]),
                joined<join>(joined<join>(own, second), shared.lines[2]),
                joined<join>(joined<join>(own, both), shared.lines[3])};
    }
};

// Calls use(s, eights) for all states of a block.
template <class Source, class Use>
inline void for_each_eights(const Source& source, Use use) {
    for (int s = 0; s < LINE; s += EIGHT) use(s, source.at(s));
}

// The 2^depth blocks of one instance after another.
class Blocks {
public:
    explicit Blocks(int n);

    // Prepares the blocks of scores, or of their exponentials; bits of a block beyond n get
    // `padding` as their unary score or weight.
    template <Join join>
    void load(std::span<const double> coefficients, const Triangle& triangle, double padding);

    // Block h, which is valid until the next one is built.
    template <Join join>
    Built<join> block(Index h);

    Index count() const { return static_cast<Index>(fields_.size()); }
    Index size() const { return size_; }  // of the lower triangle, n and BLOCK_BITS at least

    Block& root() { return root_; }
    // The part that every state of block h adds to the root.
    double& base(Index h) { return fields_[h].base; }

private:
    struct Fields {
        double of_bits[BLOCK_BITS];
        double base;
    };
    const double* row(int i) const { return &weights_[i * size_]; }
    template <Join join>
    void fill_root();
    template <Join join>
    void fill_fields();
    template <Join join>
    void fill_line(const Fields& own);

    Index size_;
    std::vector<double> weights_;    // [size, size]: the lower triangle
    std::vector<double> increment_;  // for use inside
    std::vector<Fields> fields_;     // [2^depth]
    Block root_;
    Line line_;
};

}  // namespace solvers::gibbs_distribution
