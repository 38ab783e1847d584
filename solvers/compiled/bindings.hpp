// Common code of every `bindings.cpp`: arrays of Python as arguments, and the registration of a
// folder's kernels.
//
// Arrays are never copied or converted: a wrong type, layout or number of dimensions raises
// TypeError. Only files named bindings.cpp know nanobind; kernels see views, plain values and a
// stop flag.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "solvers/compiled/stop.hpp"
#include "solvers/compiled/views.hpp"

namespace solvers {

namespace nb = nanobind;

// An array of Python in C order on the host; `const` if the kernel only reads it.
template <class T, int Dimensions>
using Array = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

// The stop flag `[1]` that `Deadline.flag` gives.
using StopFlag = Array<const std::uint8_t, 1>;

template <class T>
std::span<T> view(const Array<T, 1>& array) {
    return {array.data(), array.shape(0)};
}

template <class T>
Matrix<T> view(const Array<T, 2>& array) {
    return {array.data(), static_cast<Index>(array.shape(0)), static_cast<Index>(array.shape(1))};
}

template <class T>
Cube<T> view(const Array<T, 3>& array) {
    return {array.data(), static_cast<Index>(array.shape(0)), static_cast<Index>(array.shape(1)),
            static_cast<Index>(array.shape(2))};
}

// The entries of an array, as a vector that a kernel owns.
template <class AnyArray>
auto copied(const AnyArray& array) {
    using Entry = std::remove_const_t<typename AnyArray::Scalar>;
    return std::vector<Entry>(array.data(), array.data() + array.size());
}

// One instance as a batch of one.
template <class T>
Matrix<T> one_row(const Array<T, 1>& array) {
    return {array.data(), 1, static_cast<Index>(array.shape(0))};
}

// Kernels assume that every element is aligned, which nanobind does not check.
inline bool is_aligned(const double* data) {
    return reinterpret_cast<std::uintptr_t>(data) % alignof(double) == 0;
}

// Returns whether these are scores and a state of one instance of 1 to `most` variables.
inline bool fits_one_instance(std::size_t most, const Array<const double, 1>& unary,
                              const Array<std::int8_t, 1>& z) {
    const std::size_t n = unary.shape(0);
    return n >= 1 && n <= most && z.shape(0) == n && is_aligned(unary.data());
}

// Returns whether a matrix has a row and a column for each of n variables.
inline bool fits_one_matrix(std::size_t n, const Array<const double, 2>& matrix) {
    return matrix.shape(0) == n && matrix.shape(1) == n && is_aligned(matrix.data());
}

inline Stop stop_of(const StopFlag& flag) {
    if (flag.shape(0) != 1) throw nb::value_error("a stop flag has one entry");
    return Stop(flag.data());
}

// Raises ValueError. Kernels trust their views, so bindings check every extent and index that a
// kernel relies on.
inline void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

// Raises ValueError unless all of `indices` lie in 0 .. n - 1, in one pass without branches.
template <class Integer>
void require_indices(std::span<const Integer> indices, Index n, const char* message) {
    std::uint64_t largest = 0;  // a negative index is a large one without its sign
    for (Integer index : indices) largest = std::max(largest, static_cast<std::uint64_t>(index));
    require(indices.empty() || largest < static_cast<std::uint64_t>(n), message);
}

using Edges = Array<const Index, 2>;  // [e, 2]

// Raises ValueError unless `edges` are pairs of the variables 0 .. n - 1.
inline void require_edges(Index n, const Edges& edges) {
    require(n >= 0, "n is negative");
    require(edges.shape(1) == 2, "edges have two columns");
    require_indices(std::span<const Index>(edges.data(), edges.size()), n,
                    "an edge names a variable that does not exist");
}

// Arrays of numpy that own a kernel's results, `[entries]` and `[entries / columns, columns]`.
template <class T>
auto as_array(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned,
                      [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>(owned->data(), {owned->size()},
                                                                owner);
}

template <class T>
auto as_array(std::vector<T>&& values, std::size_t columns) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned,
                      [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
    return nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig>(
        owned->data(), {columns ? owned->size() / columns : 0, columns}, owner);
}

// The getter of a property: an array that copies a vector of a kernel's object.
template <class Object, class T>
auto copy_of(const std::vector<T>& (Object::*values)() const) {
    return [values](const Object& object) { return as_array(std::vector((object.*values)())); };
}

// Handles up to `nodes` nodes of a search, until the flag is set; returns how many.
template <class Search>
Index run_nodes(Search& search, Index nodes, StopFlag stop) {
    const Stop flag = stop_of(stop);
    nb::gil_scoped_release unlocked;
    return search.run(nodes, flag);
}

// Other Python threads run while a kernel does.
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

struct Method {
    const char* name;
    void (*bind)(nb::module_&);
};

// The methods of all files named bindings.cpp that are linked into this module.
inline std::vector<Method>& registered_methods() {
    static std::vector<Method> methods;
    return methods;
}

struct Registration {
    Registration(const char* name, void (*bind)(nb::module_&)) {
        registered_methods().push_back({name, bind});
    }
};

}  // namespace solvers

// BIND_KERNELS(max_flow, m) { m.def(...); } makes the submodule `max_flow` of the kernels.
#define BIND_KERNELS(name, m)                                                      \
    static void bind_##name(nanobind::module_& m);                                 \
    static const solvers::Registration registration_of_##name(#name, bind_##name); \
    static void bind_##name(nanobind::module_& m)
