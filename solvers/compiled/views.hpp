// Arrays as kernels see them: a pointer and its extents, in C order, never owned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace solvers {

using Index = std::int64_t;

// `[rows, columns]`.
template <class T>
struct Matrix {
    T* data;
    Index rows;
    Index columns;

    T& operator()(Index row, Index column) const { return data[row * columns + column]; }
    std::span<T> operator[](Index row) const {
        return {data + row * columns, static_cast<std::size_t>(columns)};
    }
    operator Matrix<const T>() const { return {data, rows, columns}; }
};

// `[depth, rows, columns]`.
template <class T>
struct Cube {
    T* data;
    Index depth;
    Index rows;
    Index columns;

    T& operator()(Index layer, Index row, Index column) const {
        return data[(layer * rows + row) * columns + column];
    }
    Matrix<T> operator[](Index layer) const {
        return {data + layer * rows * columns, rows, columns};
    }
    operator Cube<const T>() const { return {data, depth, rows, columns}; }
};

// Returns the length of a span as an index, so that comparisons with indices have one sign.
template <class T>
Index length(std::span<T> span) {
    return static_cast<Index>(span.size());
}

}  // namespace solvers
