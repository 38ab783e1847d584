#include "solvers/algorithms/cycle_cuts/separation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace solvers::cycle_cuts {
namespace {

// Least violation that counts; the tolerance of the linear program is 1e-7.
constexpr double VIOLATED = 1e-5;
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// A hash of 63 bits (splitmix64).
Index scrambled(Index number) {
    std::uint64_t h = static_cast<std::uint64_t>(number) + 0x9E3779B97F4A7C15u;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
    return static_cast<Index>((h ^ (h >> 31)) >> 1);
}

// A closed walk, edge by edge.
struct Walk {
    std::vector<Index> edge;
    std::vector<char> side;   // whether the edge is in F
    std::vector<Index> node;  // the vertex before the edge

    Index size() const { return static_cast<Index>(edge.size()); }
    void clear() {
        edge.clear();
        side.clear();
    }
    void push_back(Index e, bool in_f) {
        edge.push_back(e);
        side.push_back(in_f);
    }
    void resize(Index size) {
        edge.resize(size);
        side.resize(size);
        node.resize(size);
    }
    // Sets the vertex before each edge of a walk from v.
    void visit(const Graph& graph, Index v) {
        node.resize(edge.size());
        for (Index k = 0; k < size(); ++k) {
            node[k] = v;
            v = graph.other_end(edge[k], v);
        }
    }
    void move(Index from, Index to) {
        edge[to] = edge[from];
        side[to] = side[from];
        node[to] = node[from];
    }
};

// Makes cycles of closed walks and writes them.
class Writer {
public:
    Writer(const Graph& graph, std::span<const double> x)
        : graph_(graph), x_(x), place_(graph.vertices(), -1) {}

    // Writes a simple cycle without chords.
    void write(Walk& walk) {
        cut_at_chords(walk);
        double total = 0.0;
        Index code = 0;
        for (Index k = 0; k < walk.size(); ++k) {
            const Index e = walk.edge[k];
            cycles_.edges.push_back(e);
            cycles_.odd.push_back(walk.side[k]);
            total += cost(e, walk.side[k]);
            code ^= scrambled(2 * e + walk.side[k]);
        }
        cycles_.cost.push_back(total);
        cycles_.mark.push_back(code);
        cycles_.starts.push_back(static_cast<Index>(cycles_.edges.size()));
    }

    // Reduces a closed walk with odd F to a simple cycle with odd F, or to an empty one if there is
    // none.
    void make_simple(Walk& walk) {
        const Index size = walk.size();
        Index kept = 0;
        for (Index k = 0; k <= size; ++k) {
            const Index v = k < size ? walk.node[k] : walk.node[0];
            if (place_[v] >= 0) {
                const Index first = place_[v];
                bool odd = false;
                for (Index l = first; l < kept; ++l) odd ^= walk.side[l];
                if (odd) {
                    forget(walk, 0, kept);
                    for (Index l = first; l < kept; ++l) walk.move(l, l - first);
                    walk.resize(kept - first);
                    return;
                }
                forget(walk, first + 1, kept);
                kept = first;
            }
            if (k < size) {
                walk.move(k, kept);
                place_[v] = kept++;
            }
        }
        forget(walk, 0, kept);
        walk.resize(0);
    }

    Cycles result() { return std::move(cycles_); }

private:
    struct Chord {
        double cost = 2.0;
        Index first = 0;  // its ends, as places in the walk
        Index last = 0;
        Index edge = -1;
        bool inside = true;  // whether the cheaper cycle is that of the edges between its ends
        bool side = false;   // whether the chord is in F there
    };

    double cost(Index e, bool in_f) const { return in_f ? 1.0 - x_[e] : x_[e]; }

    void forget(const Walk& walk, Index from, Index to) {
        for (Index k = from; k < to; ++k) place_[walk.node[k]] = -1;
    }

    // Cuts a violated cycle at the chord that leaves the cheapest cycle, until it has no such
    // chord.
    void cut_at_chords(Walk& walk) {
        while (walk.size() > 3) {
            const Chord chord = cheapest_chord(walk);
            if (chord.edge < 0) return;
            if (chord.inside)
                keep_inside(walk, chord);
            else
                keep_outside(walk, chord);
        }
    }

    // A chord from place k to place l makes two cycles; F is odd on one side and has to be even on
    // the other.
    Chord cheapest_chord(const Walk& walk) {
        const Index size = walk.size();
        before_.assign(size + 1, 0.0);
        parity_.assign(size + 1, false);
        for (Index k = 0; k < size; ++k) {
            place_[walk.node[k]] = k;
            before_[k + 1] = before_[k] + cost(walk.edge[k], walk.side[k]);
            parity_[k + 1] = parity_[k] ^ walk.side[k];
        }
        Chord cheapest;
        for (Index k = 0; k < size; ++k)
            for (Index t = graph_.starts[walk.node[k]]; t < graph_.starts[walk.node[k] + 1]; ++t) {
                const Index l = place_[graph_.near[t]];
                if (l <= k + 1 || (k == 0 && l == size - 1)) continue;
                const Index e = graph_.edge[t];
                const double arc = before_[l] - before_[k];
                const bool odd = parity_[l] ^ parity_[k];
                const double here = arc + (odd ? x_[e] : 1.0 - x_[e]);
                const double there = before_[size] - arc + (odd ? 1.0 - x_[e] : x_[e]);
                if (std::min(here, there) >= cheapest.cost) continue;
                const bool inside = here <= there;
                cheapest = {std::min(here, there), k, l, e, inside, inside ? !odd : odd};
            }
        forget(walk, 0, size);
        return cheapest;
    }

    void keep_inside(Walk& walk, const Chord& chord) const {
        const Index kept = chord.last - chord.first;
        for (Index k = 0; k < kept; ++k) walk.move(chord.first + k, k);
        walk.edge[kept] = chord.edge;
        walk.side[kept] = chord.side;
        walk.node[kept] = graph_.other_end(chord.edge, walk.node[0]);
        walk.resize(kept + 1);
    }

    static void keep_outside(Walk& walk, const Chord& chord) {
        const Index size = walk.size();
        walk.edge[chord.first] = chord.edge;
        walk.side[chord.first] = chord.side;
        for (Index k = chord.last; k < size; ++k) walk.move(k, chord.first + 1 + k - chord.last);
        walk.resize(chord.first + 1 + size - chord.last);
    }

    const Graph& graph_;
    std::span<const double> x_;
    std::vector<Index> place_;    // [n]: of each vertex in the walk, -1 between calls
    std::vector<double> before_;  // scratch: costs of the edges before each place
    std::vector<char> parity_;    // scratch: whether F is odd before each place
    Cycles cycles_;
};

// Returns the cycle of a forest that edge e closes: from the lower end of e up to where both paths
// meet, and back.
void close_cycle(const Graph& graph, const Forest& forest, Index e, Walk& walk,
                 std::vector<Index>& up) {
    Index a = graph.ends(e, 0);
    Index b = graph.ends(e, 1);
    walk.clear();
    up.clear();
    walk.push_back(e, false);
    while (a != b) {
        if (forest.depth[a] > forest.depth[b]) {
            up.push_back(forest.link[a]);
            a = forest.parent[a];
        } else {
            walk.push_back(forest.link[b], false);
            b = forest.parent[b];
        }
    }
    for (auto edge = up.rbegin(); edge != up.rend(); ++edge) walk.push_back(*edge, false);
}

// Puts the edges of x > 1/2 into F, and moves the edge nearest to 1/2 if those are even; returns
// the cost.
double choose_sides(std::span<const double> x, Walk& walk) {
    double total = 0.0;
    bool odd = false;
    Index nearest = 0;
    for (Index k = 0; k < walk.size(); ++k) {
        const double value = x[walk.edge[k]];
        walk.side[k] = value > 0.5;
        total += std::min(value, 1.0 - value);
        odd ^= walk.side[k];
        if (std::abs(value - 0.5) < std::abs(x[walk.edge[nearest]] - 0.5)) nearest = k;
    }
    if (odd) return total;
    walk.side[nearest] = !walk.side[nearest];
    return total + std::abs(2.0 * x[walk.edge[nearest]] - 1.0);
}

// A binary heap. Equal keys leave it in an order that is the same on every platform: with the heap
// of the standard library, whose order differs between libraries, so would the cuts. A tie rule
// there makes the search 40% slower.
class Heap {
public:
    bool empty() const { return entries_.empty(); }
    void clear() { entries_.clear(); }

    void push(double key, Index node) {
        entries_.push_back({key, node});
        std::size_t i = entries_.size() - 1;
        while (i > 0 && entries_[(i - 1) / 2].key > key) {
            entries_[i] = entries_[(i - 1) / 2];
            i = (i - 1) / 2;
        }
        entries_[i] = {key, node};
    }

    struct Entry {
        double key;
        Index node;
    };

    Entry pop() {
        const Entry top = entries_.front();
        const Entry last = entries_.back();
        entries_.pop_back();
        const std::size_t size = entries_.size();
        std::size_t i = 0;
        while (2 * i + 1 < size) {
            std::size_t child = 2 * i + 1;
            if (child + 1 < size && entries_[child + 1].key < entries_[child].key) ++child;
            if (entries_[child].key >= last.key) break;
            entries_[i] = entries_[child];
            i = child;
        }
        if (size > 0) entries_[i] = last;
        return top;
    }

private:
    std::vector<Entry> entries_;
};

// Paths in two copies of the graph, vertices v and v + n; an arc is 2 k + cross, for the entry k of
// the neighbours and whether it crosses to the other copy.
//
// A path to the other copy costs as much as the way back, so both halves are found from one side:
// no label beyond half the cheapest path is needed.
class Doubled {
public:
    Doubled(const Graph& graph, std::span<const double> x)
        : graph_(graph),
          x_(x),
          n_(graph.vertices()),
          distance_(2 * n_, INFINITE),
          link_(2 * n_, -1),
          settled_(2 * n_) {}

    // Searches for a cheapest path from a source to its copy; returns false if none is violated.
    // Call `forget` afterwards.
    bool search(Index source) {
        cheapest_ = 1.0 - VIOLATED;
        meet_ = -1;
        touch(source, 0.0);
        heap_.clear();
        heap_.push(0.0, source);
        while (!heap_.empty()) {
            const Heap::Entry entry = heap_.pop();
            if (settled_[entry.node]) continue;
            if (2.0 * entry.key >= cheapest_) break;
            settled_[entry.node] = true;
            relax(entry.node, entry.key);
        }
        return meet_ >= 0;
    }

    // The closed walk source - meet - bridge - source.
    void write_walk(Index source, Walk& walk) const {
        walk.clear();
        back_to(source, meet_, walk);
        std::ranges::reverse(walk.edge);
        std::ranges::reverse(walk.side);
        walk.push_back(graph_.edge[bridge_ >> 1], bridge_ & 1);
        const Index copy = copy_of(meet_);
        const Index far = graph_.near[bridge_ >> 1] + (bridge_ & 1 ? n_ - copy : copy);
        back_to(source, mirror(far), walk);
        walk.visit(graph_, source);
    }

    void forget() {
        for (Index v : touched_) {
            distance_[v] = INFINITE;
            link_[v] = -1;
            settled_[v] = false;
        }
        touched_.clear();
    }

private:
    Index copy_of(Index v) const { return v >= n_ ? n_ : 0; }
    Index mirror(Index v) const { return v >= n_ ? v - n_ : v + n_; }

    void touch(Index v, double distance) {
        if (distance_[v] == INFINITE) touched_.push_back(v);
        distance_[v] = distance;
    }

    void relax(Index v, double distance) {
        const Index copy = copy_of(v);
        const Index u = v - copy;
        for (Index k = graph_.starts[u]; k < graph_.starts[u + 1]; ++k)
            for (Index cross = 0; cross < 2; ++cross) {
                const double value = x_[graph_.edge[k]];
                const Index w = graph_.near[k] + (cross ? n_ - copy : copy);
                const double reach = distance + std::max(0.0, cross ? 1.0 - value : value);
                if (reach >= cheapest_) continue;
                if (reach + distance_[mirror(w)] < cheapest_) {
                    cheapest_ = reach + distance_[mirror(w)];
                    meet_ = v;
                    bridge_ = 2 * k + cross;
                }
                if (reach < distance_[w]) {
                    touch(w, reach);
                    link_[w] = 2 * k + cross;
                    heap_.push(reach, w);
                }
            }
    }

    // Writes the edges from v back to the source.
    void back_to(Index source, Index v, Walk& walk) const {
        while (v != source) {
            const Index arc = link_[v];
            const Index e = graph_.edge[arc >> 1];
            const Index copy = copy_of(v);
            walk.push_back(e, arc & 1);
            v = graph_.other_end(e, v - copy) + (arc & 1 ? n_ - copy : copy);
        }
    }

    const Graph& graph_;
    std::span<const double> x_;
    Index n_;
    std::vector<double> distance_;  // [2 n]
    std::vector<Index> link_;       // [2 n]: the arc by which each was reached
    std::vector<char> settled_;     // [2 n]
    std::vector<Index> touched_;
    Heap heap_;
    double cheapest_ = 0.0;
    Index meet_ = -1;
    Index bridge_ = -1;
};

}  // namespace

Cycles fundamental_cycles(const Graph& graph, std::span<const double> x, const Forest& forest,
                          Stop stop) {
    Writer writer(graph, x);
    Walk walk;
    std::vector<Index> up;
    for (Index e = 0; e < graph.edges() && !stop.requested(); ++e) {
        const Index a = graph.ends(e, 0);
        if (forest.link[a] == e || forest.link[graph.ends(e, 1)] == e) continue;
        close_cycle(graph, forest, e, walk, up);
        if (choose_sides(x, walk) > 1.0 - VIOLATED) continue;
        walk.visit(graph, a);
        writer.write(walk);
    }
    return writer.result();
}

Cycles cheapest_cycles(const Graph& graph, std::span<const double> x,
                       std::span<const Index> sources, Stop stop) {
    Writer writer(graph, x);
    Doubled doubled(graph, x);
    Walk walk;
    for (Index source : sources) {
        if (stop.requested()) break;
        if (doubled.search(source)) {
            doubled.write_walk(source, walk);
            writer.make_simple(walk);
            if (walk.size() > 2) writer.write(walk);
        }
        doubled.forget();
    }
    return writer.result();
}

}  // namespace solvers::cycle_cuts
