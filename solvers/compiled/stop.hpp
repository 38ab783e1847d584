// A flag that another thread sets when a kernel has to end: at a time limit, or at Ctrl-C.
#pragma once

#include <atomic>
#include <cstdint>

namespace solvers {

class Stop {
public:
    // `flag` belongs to the caller (`Deadline.flag` makes it) and outlives the kernel.
    explicit Stop(const std::uint8_t* flag) : flag_(const_cast<std::uint8_t*>(flag)) {}

    // Returns whether to end now. Ask at least every few milliseconds.
    bool requested() const {
        return std::atomic_ref<std::uint8_t>(*flag_).load(std::memory_order_relaxed) != 0;
    }

private:
    std::uint8_t* flag_;
};

}  // namespace solvers
