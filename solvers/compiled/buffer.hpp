// Memory that a kernel fills before it reads it, aligned for vectors.
#pragma once

#ifdef __linux__
#include <sys/mman.h>
#endif

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
    static constexpr std::align_val_t PAGE{std::size_t{1} << 21};  // a huge page
    static constexpr std::size_t LEAST_PAGED = std::size_t{1} << 22;

    struct Deleter {
        std::align_val_t alignment;
        void operator()(T* data) const { ::operator delete(data, alignment); }
    };
    using Owner = std::unique_ptr<T[], Deleter>;

    static Owner allocated(Index size) {
        if (size < 0 || size > std::numeric_limits<Index>::max() / static_cast<Index>(sizeof(T)))
            throw std::bad_array_new_length();
        const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
        const std::align_val_t alignment = bytes < LEAST_PAGED ? ALIGNMENT : PAGE;
        Owner owner(static_cast<T*>(::operator new(bytes, alignment)), Deleter{alignment});
        if (alignment == PAGE) advise_huge_pages(owner.get(), bytes);
        return owner;
    }

    // The first write to a page of 4 KiB takes longer than all its sums; huge pages are 512 times
    // fewer. Where the system has none, nothing happens.
    static void advise_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
        madvise(data, bytes, MADV_HUGEPAGE);
#endif
    }

    Owner data_;
};

}  // namespace solvers
