// L doubles side by side, kept in as many registers as the level of the processor needs; a single
// one is a double.
//
// A `Lanes` is loaded as a whole before anything is stored, so that arrays may overlap.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "solvers/compiled/vectors.hpp"

namespace solvers::gibbs_distribution {

inline constexpr int CACHE_LINE = 64;

template <int L>
struct Lanes {
    using Piece = std::conditional_t<L == 1, double, Register>;
    static constexpr int WIDTH = L == 1 ? 1 : REGISTER_LANES;
    static constexpr int PIECES = L / WIDTH;

    Piece pieces[PIECES];

    // The value in every lane.
    explicit Lanes(double value) {
        for (Piece& piece : pieces) piece = value - Piece{};
    }
    explicit Lanes(const double* from) {
        for (int p = 0; p < PIECES; ++p)
            std::memcpy(&pieces[p], from + p * WIDTH, sizeof pieces[p]);
    }
    void store(double* to) const {
        for (int p = 0; p < PIECES; ++p) std::memcpy(to + p * WIDTH, &pieces[p], sizeof pieces[p]);
    }

    Lanes& operator+=(const Lanes& other) {
        for (int p = 0; p < PIECES; ++p) pieces[p] += other.pieces[p];
        return *this;
    }
    Lanes& operator-=(const Lanes& other) {
        for (int p = 0; p < PIECES; ++p) pieces[p] -= other.pieces[p];
        return *this;
    }
    Lanes& operator*=(const Lanes& other) {
        for (int p = 0; p < PIECES; ++p) pieces[p] *= other.pieces[p];
        return *this;
    }
    friend Lanes operator+(Lanes left, const Lanes& right) { return left += right; }
    friend Lanes operator-(Lanes left, const Lanes& right) { return left -= right; }
    friend Lanes operator*(Lanes left, const Lanes& right) { return left *= right; }

    // The sum of all lanes, in an order that depends on the registers.
    double total() const {
        Piece sum = pieces[0];
        for (int p = 1; p < PIECES; ++p) sum += pieces[p];
        double values[WIDTH];
        std::memcpy(values, &sum, sizeof sum);
        for (int size = WIDTH / 2; size; size /= 2)
            for (int i = 0; i < size; ++i) values[i] += values[i + size];
        return values[0];
    }
};

// L doubles in memory, in as few cache lines as there can be.
template <int L>
struct alignas(std::min(L * 8, CACHE_LINE)) Row {
    double lanes[L];

    Lanes<L> load() const { return Lanes<L>(lanes); }
    void store(const Lanes<L>& values) { values.store(lanes); }
    void add(const Lanes<L>& values) { (load() + values).store(lanes); }
};

// `[rows, L]`, whose entries have no values at first.
template <int L>
using Table = std::unique_ptr<Row<L>[]>;

template <int L>
Table<L> new_table(Index rows) {
    return std::make_unique_for_overwrite<Row<L>[]>(static_cast<std::size_t>(rows));
}

}  // namespace solvers::gibbs_distribution
