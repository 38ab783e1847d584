"""Families of random problems: what their names promise."""

import numpy as np
import pytest

from solvers.instances import dense, grid, spin_glass, supermodular

FAMILIES = {
    "supermodular": (lambda seed: supermodular(9, 4, seed), lambda seed: dense(9, 4, seed)),
    "grid": (lambda seed: grid(3, 4, 4, seed), lambda seed: spin_glass(3, 4, 4, seed)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_unary_scores_balance_pairwise_ones_that_are_not_negative(family):
    """All variables flipped, the pairs ask for as much: what decides are the normal scores that were drawn."""
    found, drawn = (make(np.random.default_rng(0)) for make in FAMILIES[family])
    np.testing.assert_array_equal(found.edges, drawn.edges)
    np.testing.assert_array_equal(found.pairwise, np.abs(drawn.pairwise))
    matrix = np.zeros((4, *2 * found.unary.shape[1:]))
    matrix[:, found.edges[:, 0], found.edges[:, 1]] = found.pairwise
    halves = (matrix.sum(axis=1) + matrix.sum(axis=2)) / 2
    np.testing.assert_allclose(found.unary + halves, drawn.unary, atol=1e-12)


def test_a_lattice_joins_neighbours_in_rows_and_columns():
    places = {(r, c): 3 * r + c for r in range(2) for c in range(3)}
    joined = {
        (places[a], places[b])
        for a in places
        for b in places
        if places[a] < places[b] and abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1
    }
    assert set(map(tuple, spin_glass(2, 3, 1, np.random.default_rng(0)).edges.tolist())) == joined
