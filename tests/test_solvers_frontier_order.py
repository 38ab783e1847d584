"""Orders that sweep over a graph, where min-fill takes it apart from all sides."""

from itertools import pairwise

import numpy as np
import pytest
from auto_runs import names_of, runs_of
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Deadline, Problem, solve, solver_class
from solvers.algorithms.elimination.frontier_order import frontier_order
from solvers.algorithms.elimination.order import elimination_order, min_fill_order
from solvers.algorithms.elimination.plan import elimination_plan
from solvers.compiled.graphs import neighbour_lists


def line_arrangement(lines, random):
    """`[e, 2]`: the crossings of lines in the plane, in a random order, joined along every line."""
    slope, height = random.standard_normal((2, lines))
    first, second = np.triu_indices(lines, 1)
    where = (height[second] - height[first]) / (slope[first] - slope[second])
    number, edges = random.permutation(len(first)), []
    for line in range(lines):
        on = np.flatnonzero((first == line) | (second == line))
        along = number[on[np.argsort(where[on])]]
        edges += list(pairwise(along))
    return np.sort(np.array(edges, np.int64), axis=1)


def frontier_of(edges, order):
    """The most vertices that are taken and have a neighbour which is not."""
    place = np.argsort(order)[edges]
    last = np.zeros(len(order), int)
    np.maximum.at(last, place.min(axis=1), place.max(axis=1))
    return max(int((last[: k + 1] > k).sum()) for k in range(len(order)))


def order_of(n, edges, **options):
    starts, near, _ = neighbour_lists(n, edges)
    return frontier_order(starts, near, **options)


@pytest.mark.parametrize("lines", [16, 24])
def test_crossings_of_lines_are_swept_line_by_line(lines):
    edges = line_arrangement(lines, np.random.default_rng(lines))
    n = lines * (lines - 1) // 2
    order = order_of(n, edges)
    assert sorted(order) == list(range(n))
    assert frontier_of(edges, order) <= 3 * lines // 4
    plan = elimination_plan(n, edges, elimination_order(n, edges))
    assert plan.width <= 3 * lines // 4
    assert plan.entries <= elimination_plan(n, edges, min_fill_order(n, edges)).entries


def test_the_order_of_a_cylinder_goes_ring_by_ring():
    around, along = 8, 20
    number = np.arange(around * along).reshape(along, around)
    rings = [np.stack((number[:-1].ravel(), np.roll(number, k, 1)[1:].ravel()), -1) for k in (0, 1)]
    edges = np.random.default_rng(0).permutation(around * along)[np.concatenate(rings)]
    assert frontier_of(edges, order_of(around * along, edges)) <= around + 1


def test_tables_of_cells_without_one_variable_are_no_larger():
    """Two halves of four variables make a cell; frontiers exceed the tables of such cells."""
    side = 4
    cell, half, place = np.indices((side * side, 2, 4)).reshape(3, -1)
    row, column = np.divmod(cell, side)
    i, j = np.triu_indices(len(cell), 1)
    inside = (cell[i] == cell[j]) & (half[i] != half[j])
    down = (half[i] == 0) & (column[i] == column[j]) & (row[j] - row[i] == 1)
    right = (half[i] == 1) & (row[i] == row[j]) & (column[j] - column[i] == 1)
    linked = (half[i] == half[j]) & (place[i] == place[j]) & (down | right)
    edges = np.stack((i, j), axis=1)[inside | linked]
    n = len(cell)
    whole = elimination_plan(n, edges)
    for clamped in (12, 72):
        others = edges[(edges != clamped).all(axis=1)]
        others -= others > clamped
        assert elimination_plan(n - 1, others).entries <= whole.entries


@examples(60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 30),
    st.sampled_from([0.05, 0.1, 0.3, 0.8]),
    st.booleans(),
)
def test_orders_are_orders_and_give_up_at_the_sum_they_name(seed, n, density, with_hub):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = edges[random.random(len(edges)) < density]
    order = order_of(n, edges, hub=n - 1 if with_hub else -1)
    assert sorted(order) == list(range(n))
    if with_hub:
        assert order[0] == n - 1
        return
    place = np.argsort(order)[edges]
    last = np.zeros(n, int)
    np.maximum.at(last, place.min(axis=1), place.max(axis=1))
    total = sum(2.0 ** int((last[: k + 1] > k).sum()) for k in range(n))
    assert order_of(n, edges, most=total) is None
    within = order_of(n, edges, most=total + 1)
    assert within is None or (within == order).all()  # None if only later starts meet the limit


def test_a_deadline_leaves_the_first_order():
    edges = np.stack(np.triu_indices(20, 1), axis=-1)
    assert sorted(order_of(20, edges, deadline=Deadline.after(-1.0))) == list(range(20))


def spins(lines, seed):
    """Couplings of spins at the crossings, without a field."""
    random = np.random.default_rng(seed)
    edges = line_arrangement(lines, random)
    n, coupling = lines * (lines - 1) // 2, random.standard_normal(len(edges))
    field = sum(np.bincount(end, coupling, n) for end in edges.T)
    return Problem.from_arrays(2 * field, -4 * coupling, edges=edges)


def test_spins_on_crossings_of_lines_are_proved_by_tables():
    problem = spins(28, 7)
    tables = solver_class("elimination")().solve(problem)
    assert tables.stats["width"] <= 21
    for solver in ("auto", "cycle_cuts"):
        solution = solve(problem, solver=solver)
        assert solution.optimal
        assert abs(solution.score - tables.score) <= 1e-9 * abs(tables.score)


def test_couplings_alone_get_tables_where_odd_cycles_had_their_time():
    problem = spins(34, 7)
    entries = solver_class("elimination").entries(problem)
    first, second = runs_of(problem, 60.0)
    assert (first.solver.name, second.solver.name, second.seconds) == (
        "cycle_cuts",
        "elimination",
        np.inf,
    )
    tables = 1.5e-9 * entries  # seconds
    assert first.seconds == tables
    assert names_of(problem, 1.9 * tables) == ["cycle_cuts"]
    larger = spins(40, 7)
    fits = not solver_class("elimination")().why_not(larger)  # 16 GiB of tables
    expected = ["cycle_cuts", "elimination", "cycle_cuts"] if fits else ["cycle_cuts"]
    assert names_of(larger, None) == expected
