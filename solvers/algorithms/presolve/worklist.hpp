// A queue of distinct nodes that wait to be looked at, first in, first out.
#pragma once

#include <numeric>
#include <vector>

#include "solvers/compiled/views.hpp"

namespace solvers::presolve {

class Worklist {
public:
    enum class Start { empty, all };

    Worklist(Index nodes, Start start)
        : ring_(nodes),
          waiting_(nodes, start == Start::all),
          count_(start == Start::all ? nodes : 0) {
        std::iota(ring_.begin(), ring_.end(), Index{0});
    }

    bool empty() const { return count_ == 0; }

    // Puts v last, unless it waits already.
    void push(Index v) {
        if (waiting_[v]) return;
        Index place = begin_ + count_;
        if (place >= static_cast<Index>(ring_.size())) place -= static_cast<Index>(ring_.size());
        ring_[place] = v;
        ++count_;
        waiting_[v] = true;
    }

    // Takes the first node out of a nonempty list.
    Index pop() {
        const Index v = ring_[begin_];
        if (++begin_ == static_cast<Index>(ring_.size())) begin_ = 0;
        --count_;
        waiting_[v] = false;
        return v;
    }

private:
    std::vector<Index> ring_;    // [nodes]
    std::vector<char> waiting_;  // [nodes]
    Index begin_ = 0;
    Index count_;
};

}  // namespace solvers::presolve
