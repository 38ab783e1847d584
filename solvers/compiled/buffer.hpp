// Memory that a kernel fills before it reads it, aligned for vectors.
#pragma once

#include <limits>
#include <memory>
#include <new>

#include "solvers/compiled/views.hpp"

namespace solvers {

// `size` values that are not initialised, on a boundary of 64 bytes: a vector that crosses one is
// loaded and stored in two parts. T is trivial.
template <class T>
class Buffer {
public:
    explicit Buffer(Index size) : data_(allocated(size)) {}

    T* data() const { return data_.get(); }
    T& operator[](Index i) const { return data_.get()[i]; }

private:
    static constexpr std::align_val_t ALIGNMENT{64};

    struct Deleter {
        void operator()(T* data) const { ::operator delete(data, ALIGNMENT); }
    };

    static T* allocated(Index size) {
        if (size < 0 || size > std::numeric_limits<Index>::max() / static_cast<Index>(sizeof(T)))
            throw std::bad_array_new_length();
        return static_cast<T*>(
            ::operator new(static_cast<std::size_t>(size) * sizeof(T), ALIGNMENT));
    }

    std::unique_ptr<T[], Deleter> data_;
};

}  // namespace solvers
