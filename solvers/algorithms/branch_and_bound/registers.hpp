// Rows of float64 that end with zeros, so that whole registers cover them.
//
// Loops over them have no remainder, which would take as long as the rest at 24 to 100 variables.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "solvers/compiled/vectors.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers::branch_and_bound {

// Lengths of rows are multiples of this, and so are the registers of all levels.
inline constexpr Index PADDING = 8;

constexpr Index padded(Index n) {
    return (n + PADDING - 1) / PADDING * PADDING;
}

// Memory at whole cache lines.
template <class T>
struct LineAllocator {
    using value_type = T;
    static constexpr std::align_val_t LINE{64};

    LineAllocator() = default;
    template <class Other>
    explicit LineAllocator(const LineAllocator<Other>&) {}
    T* allocate(std::size_t count) {
        return static_cast<T*>(::operator new(count * sizeof(T), LINE));
    }
    void deallocate(T* memory, std::size_t) { ::operator delete(memory, LINE); }
    bool operator==(const LineAllocator&) const = default;
};

using Row = std::vector<double, LineAllocator<double>>;

// A matrix of m rows and columns; rows are `stride` apart and end with zeros.
template <class T>
struct PaddedMatrix {
    T* data;
    Index size;
    Index stride;

    T* operator[](Index row) const { return data + row * stride; }
    T& operator()(Index row, Index column) const { return data[row * stride + column]; }
    operator PaddedMatrix<const T>() const { return {data, size, stride}; }
};

inline Register load_register(const double* from) {
    Register lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

inline void store_register(double* to, Register lanes) {
    std::memcpy(to, &lanes, sizeof lanes);
}

inline Register spread(double value) {
    return Register{} + value;
}

#if defined(__AVX512F__)
// The forms without a mask cause warnings of GCC 12 about an operand that they do not use.
inline constexpr __mmask8 ALL_LANES = 0xFF;
#endif

inline Register larger(Register left, Register right) {
#if defined(__AVX512F__)
    return _mm512_maskz_max_pd(ALL_LANES, left, right);
#elif defined(__AVX2__)
    return _mm256_max_pd(left, right);
#elif defined(__SSE2__)
    return _mm_max_pd(left, right);
#else
    return left > right ? left : right;
#endif
}

inline Register smaller(Register left, Register right) {
#if defined(__AVX512F__)
    return _mm512_maskz_min_pd(ALL_LANES, left, right);
#elif defined(__AVX2__)
    return _mm256_min_pd(left, right);
#elif defined(__SSE2__)
    return _mm_min_pd(left, right);
#else
    return left < right ? left : right;
#endif
}

inline Register magnitude(Register lanes) {
    return larger(lanes, -lanes);
}

inline double sum(Register lanes) {
#if defined(__AVX512F__)
    lanes += shuffled<4, 5, 6, 7, 0, 1, 2, 3>(lanes);
    lanes += shuffled<2, 3, 0, 1, 6, 7, 4, 5>(lanes);
    return lanes[0] + lanes[1];
#else
    double total = lanes[0];
    for (int i = 1; i < REGISTER_LANES; ++i) total += lanes[i];
    return total;
#endif
}

// Bit i is set where lane i of the left register is at most that of the right one.
inline unsigned at_most(Register left, Register right) {
#if defined(__AVX512F__)
    return _mm512_cmp_pd_mask(left, right, _CMP_LE_OQ);
#elif defined(__AVX2__)
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(left, right, _CMP_LE_OQ)));
#elif defined(__SSE2__)
    return static_cast<unsigned>(_mm_movemask_pd(_mm_cmple_pd(left, right)));
#else
    unsigned bits = 0;
    for (int i = 0; i < REGISTER_LANES; ++i)
        bits |= static_cast<unsigned>(left[i] <= right[i]) << i;
    return bits;
#endif
}

// The dot product of padded rows. It keeps four sums, since each addition waits for the one before.
inline double dot(const double* a, const double* b, Index n) {
    constexpr Index step = 4 * REGISTER_LANES;
    Register total[4] = {};
    Index j = 0;
    for (; j + step <= n; j += step)
        for (Index s = 0; s < 4; ++s)
            total[s] += load_register(a + j + s * REGISTER_LANES) *
                        load_register(b + j + s * REGISTER_LANES);
    for (; j < n; j += REGISTER_LANES) total[0] += load_register(a + j) * load_register(b + j);
    return sum((total[0] + total[1]) + (total[2] + total[3]));
}

// target += factor * line, from `begin`, a multiple of PADDING, to n.
inline void add(double* target, double factor, const double* line, Index n, Index begin = 0) {
    const Register factors = spread(factor);
    for (Index j = begin; j < n; j += REGISTER_LANES)
        store_register(target + j, load_register(target + j) + factors * load_register(line + j));
}

inline void scale(double* target, double factor, Index n, Index begin = 0) {
    const Register factors = spread(factor);
    for (Index j = begin; j < n; j += REGISTER_LANES)
        store_register(target + j, factors * load_register(target + j));
}

}  // namespace solvers::branch_and_bound
