#include "solvers/algorithms/elimination/peel.hpp"

#include <vector>

namespace solvers::elimination {
namespace {

constexpr Index GONE = -1;

// A vertex while its neighbours are removed. The one neighbour of a leaf is the exclusive or of all
// its remaining neighbours.
struct Vertex {
    Index degree = 0;
    Index crossed = 0;
};

// Removes `start` and then, as long as this makes leaves of them, vertices before it; later
// vertices get their own turn.
Index* take_off(Index start, std::span<Vertex> vertices, Index* order) {
    for (Index v = start; vertices[v].degree == 0 || vertices[v].degree == 1;) {
        *order++ = v;
        const bool leaf = vertices[v].degree == 1;
        vertices[v].degree = GONE;
        if (!leaf) break;
        const Index u = vertices[v].crossed;
        --vertices[u].degree;
        vertices[u].crossed ^= v;
        if (u > start) break;
        v = u;
    }
    return order;
}

}  // namespace

Peeled peel(Matrix<const Index> edges, std::span<Index> order, Matrix<Index> inner) {
    std::vector<Vertex> vertices(order.size());
    for (Index e = 0; e < edges.rows; ++e)
        for (int side = 0; side < 2; ++side) {
            Vertex& vertex = vertices[edges(e, side)];
            ++vertex.degree;
            vertex.crossed ^= edges(e, 1 - side);
        }
    Index* end = order.data();
    for (Index v = 0; v < length(order); ++v) end = take_off(v, vertices, end);
    Peeled peeled{end - order.data(), 0};
    if (peeled.vertices == length(order)) return peeled;
    std::vector<Index> place(order.size(), GONE);
    Index left = 0;
    for (Index v = 0; v < length(order); ++v) {
        if (vertices[v].degree <= 0) continue;
        *end++ = v;
        place[v] = left++;
    }
    for (Index e = 0; e < edges.rows; ++e) {
        const Index i = place[edges(e, 0)];
        const Index j = place[edges(e, 1)];
        if (i == GONE || j == GONE) continue;
        inner(peeled.edges, 0) = i;
        inner(peeled.edges, 1) = j;
        ++peeled.edges;
    }
    return peeled;
}

}  // namespace solvers::elimination
