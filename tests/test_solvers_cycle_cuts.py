"""Cycle cuts: cycles that are cycles, bounds that are bounds in exact arithmetic, searches that end at a maximiser."""

import itertools
import os
import signal
import threading
import time
from fractions import Fraction
from functools import partial

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Deadline, Problem, instances, solver_class
from solvers.algorithms.cycle_cuts import gap
from solvers.algorithms.cycle_cuts import sweep as sweeps
from solvers.algorithms.cycle_cuts.branch import BranchAndCut
from solvers.algorithms.cycle_cuts.certificate import Certificate, Cycles
from solvers.algorithms.cycle_cuts.frontier import Steps, Weighed
from solvers.algorithms.cycle_cuts.max_cut import MaxCut
from solvers.algorithms.cycle_cuts.search import _sides
from solvers.algorithms.cycle_cuts.separation import Graph, shortest_cycles, tree_cycles
from solvers.algorithms.cycle_cuts.sides import FREE, propagate, rounded
from solvers.algorithms.cycle_cuts.sweep import NO_CUT, sweep, table_bits
from solvers.algorithms.elimination.frontier_order import frontier_order
from solvers.compiled._kernels import cycle_cuts as kernels
from solvers.testing import enumerate_scores

SEEDS = st.integers(0, 2**32 - 1)
few = examples(60)


def drawn_graph(n, random, density=0.5):
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    return edges[random.random(len(edges)) < density]


def drawn_problem(n, seed, density=0.5, field=True, largest=9):
    random = np.random.default_rng(seed)
    edges = drawn_graph(n, random, density)
    pairwise = 2 * random.integers(-largest, largest + 1, len(edges))
    unary = -np.bincount(edges.ravel(), np.repeat(pairwise // 2, 2), n)
    if field:
        unary = unary + random.integers(-largest, largest + 1, n)
    return Problem.from_arrays(unary.astype(float), pairwise.astype(float), edges=edges)


def spins(n, degree, seed, whole=True):
    """A random graph without a field, which roof duality leaves as it is."""
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = edges[random.choice(len(edges), n * degree // 2, replace=False)]
    weights = (
        2.0 * random.choice((-1, 1), len(edges)) if whole else random.standard_normal(len(edges))
    )
    unary = -np.bincount(edges.ravel(), np.repeat(weights / 2, 2), n)
    return Problem.from_arrays(unary[None], weights[None], edges=edges)


def maximum(problem):
    return enumerate_scores(
        instances.Instances(problem.unary, problem.pairwise, problem.edges)
    ).max()


def all_cuts(vertices, edges):
    """`[cuts, m]`: whether each cut has each edge."""
    side = np.arange(2 ** (vertices - 1))[:, None] >> np.arange(vertices) & 1
    return side[:, edges[:, 0]] != side[:, edges[:, 1]]


def odd_sets(size):
    masks = np.arange(2**size)[:, None] >> np.arange(size) & 1
    return masks[masks.sum(axis=1) % 2 == 1].astype(bool)


@few
@given(SEEDS, st.integers(1, 10), st.booleans())
def test_a_state_is_a_cut_of_twice_its_score(seed, n, field):
    problem = drawn_problem(n, seed, field=field)
    cut, random = MaxCut.of(problem), np.random.default_rng(seed)
    for z in random.integers(0, 2, (8, n)):
        side = np.append(z, 0)[: cut.vertices]
        assert cut.weight(z) % cut.step == 0
        assert Fraction(cut.weight(z)) * Fraction(cut.units.unit) * Fraction(2) ** (
            cut.units.exponent - 1
        ) == Fraction(float(problem.score(z)))
        turned = cut.state(1 - side)
        assert problem.score(turned) == problem.score(cut.state(side)) == problem.score(z)
        assert cut.rounded_down(cut.weight(z)) == cut.weight(z)


def test_without_a_field_there_is_no_vertex_more_and_cuts_are_even():
    ring = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    problem = Problem.from_arrays(np.zeros(4), np.zeros(4), edges=ring)
    assert len(MaxCut.of(problem).weights) == 0
    weights = np.array([2.0, -2.0, 2.0, 2.0])
    unary = -np.bincount(ring.ravel(), np.repeat(weights / 2, 2), 4)
    cut = MaxCut.of(Problem.from_arrays(unary, weights, edges=ring))
    assert (cut.vertices, cut.step) == (4, 2)
    unary[0] += 2
    cut = MaxCut.of(Problem.from_arrays(unary, weights, edges=ring))
    assert (cut.vertices, len(cut.weights)) == (5, 5)


def check_cycles(found, graph, x):
    for k, (first, last) in enumerate(
        zip(found.cycles.starts[:-1], found.cycles.starts[1:], strict=True)
    ):
        edges, odd = found.cycles.edges[first:last], found.cycles.odd[first:last]
        ends = graph.ends[edges]
        assert odd.sum() % 2 == 1
        assert len(set(edges.tolist())) == len(edges) > 2
        cycle = nx.Graph(ends.tolist())
        assert nx.is_connected(cycle)
        assert {degree for _, degree in cycle.degree} == {2}
        inner = [e for e in graph.ends.tolist() if set(e) <= set(cycle)]
        assert len(inner) == len(edges)  # no chord
        cost = np.where(odd, 1 - x[edges], x[edges]).sum()
        assert found.violation[k] == pytest.approx(1 - cost, abs=1e-12)
        assert found.violation[k] > 0
    assert len({tuple(sorted(zip(*both, strict=True))) for both in listed(found.cycles)}) == len(
        found.cycles
    )


def listed(cycles):
    for first, last in zip(cycles.starts[:-1], cycles.starts[1:], strict=True):
        yield cycles.edges[first:last].tolist(), cycles.odd[first:last].tolist()


@few
@given(
    SEEDS,
    st.integers(3, 8),
    st.sampled_from([0.3, 0.6, 1.0]),
    st.sampled_from(["any", "half", "whole"]),
)
def test_shortest_paths_find_a_violated_cycle_where_there_is_one(seed, n, density, kind):
    random = np.random.default_rng(seed)
    edges = drawn_graph(n, random, density)
    if not len(edges):
        return
    x = {
        "any": random.random(len(edges)),
        "half": random.integers(0, 3, len(edges)) / 2,
        "whole": random.integers(0, 2, len(edges)).astype(float),
    }[kind]
    graph = Graph.of(n, edges)
    exact, tree = shortest_cycles(graph, x, np.arange(n)), tree_cycles(graph, x)
    for found in (exact, tree):
        check_cycles(found, graph, x)
    number = {tuple(edge): e for e, edge in enumerate(edges.tolist())}
    cheapest = 1.0
    for cycle in nx.simple_cycles(nx.Graph(edges.tolist()), 7):
        pairs = zip(cycle, cycle[1:] + cycle[:1], strict=True)
        on = x[[number[min(pair), max(pair)] for pair in pairs]]
        cheapest = min(cheapest, np.where(odd_sets(len(on)), 1 - on, on).sum(axis=1).min())
    if cheapest < 1 - 1e-4:
        assert len(exact.cycles) > 0
    assert not (len(tree.cycles) and not len(exact.cycles))


@few
@given(SEEDS, st.integers(3, 9), st.sampled_from([1e-3, 1.0, 1e6, 1e17]))
def test_a_certificate_is_a_bound_in_exact_arithmetic(seed, n, scale):
    random = np.random.default_rng(seed)
    edges = drawn_graph(n, random, 0.7)
    if not len(edges):
        return
    weights = random.integers(-99, 100, len(edges))
    graph, cycles = Graph.of(n, edges), Cycles.none()
    for _ in range(3):
        x = random.random(len(edges))
        cycles = cycles.joined(shortest_cycles(graph, x, np.arange(n)).cycles)
    multipliers = scale * random.standard_normal(len(cycles))
    multipliers[random.random(len(cycles)) < 0.1] = np.nan
    cuts = all_cuts(n, edges)
    values = cuts @ weights
    fixed = np.where(random.random(len(edges)) < 0.2, cuts[random.integers(len(cuts))], FREE)
    low, high = np.where(fixed == FREE, 0, fixed), np.where(fixed == FREE, 1, fixed)
    agree = ((cuts >= low) & (cuts <= high)).all(axis=1)
    for certificate, kept in (
        (Certificate.of(weights, cycles, multipliers), np.full(len(cuts), True)),
        (Certificate.of(weights, cycles, multipliers, low, high), agree),
    ):
        total = Fraction(0)
        residual = [Fraction(int(w)) for w in weights]
        for y, (on, odd) in zip(
            certificate.multipliers.tolist(), listed(certificate.cycles), strict=True
        ):
            assert y > 0
            total += Fraction(y, certificate.scale) * (sum(odd) - 1)
            for e, inside in zip(on, odd, strict=True):
                residual[e] -= Fraction(y, certificate.scale) * (1 if inside else -1)
        assert residual == [Fraction(int(r), certificate.scale) for r in certificate.residual]
        bounds = (
            zip(residual, low, high, strict=True)
            if not kept.all()
            else ((r, 0, 1) for r in residual)
        )
        total += sum(max(r * int(a), r * int(b)) for r, a, b in bounds)
        assert total == Fraction(certificate.bound, certificate.scale) >= int(values[kept].max())
        assert certificate.value >= values[kept].max()
        best = int(values[kept].max()) - int(random.integers(0, 50))
        inside, outside = certificate.decided(best)
        better = cuts[kept & (values > best)]
        free = fixed == FREE if not kept.all() else np.full(len(edges), True)
        assert better[:, inside & free].all()
        assert not better[:, outside & free].any()


@few
@given(SEEDS, st.integers(2, 9))
def test_fixed_edges_fix_what_follows_and_no_more(seed, n):
    random = np.random.default_rng(seed)
    edges = drawn_graph(n, random, 0.6)
    fixed = random.choice((FREE, 0, 1), len(edges), p=(0.6, 0.2, 0.2)).astype(np.int8)
    cuts = all_cuts(n, edges)
    agree = cuts[((fixed == FREE) | (cuts == fixed)).all(axis=1)]
    known = fixed.copy()
    assert propagate(n, edges, known) == bool(len(agree))
    if len(agree):
        expected = np.where(agree.all(axis=0), 1, np.where(agree.any(axis=0), FREE, 0))
        np.testing.assert_array_equal(known, expected)


@few
@given(SEEDS, st.integers(1, 12), st.sampled_from([0.2, 0.5, 1.0]), st.booleans())
def test_a_search_ends_at_a_maximiser(seed, n, density, field):
    problem = drawn_problem(n, seed, density, field)
    found = solver_class("cycle_cuts")(threads=1).solve(problem)
    assert np.all(found.optimal)
    assert found.score == maximum(problem)


@pytest.mark.parametrize("seed", range(12))
def test_branching_alone_ends_at_a_maximiser(seed):
    problem = drawn_problem(11, seed, 1.0, field=False, largest=1)
    cut = MaxCut.of(problem)
    search = BranchAndCut(cut, np.zeros(cut.vertices, np.int8))
    bounds, best = [], 2 * maximum(problem) / (cut.units.unit * 2.0**cut.units.exponent)
    search.cut_root(Deadline.after(None))
    while not search.finished:
        bounds.append(search.bound)
        search.search(Deadline.after(None), 1)
    assert search.best == best
    assert bounds == sorted(bounds, reverse=True)
    assert min(bounds, default=best) >= best


@pytest.mark.slow
def test_what_the_root_leaves_open_is_searched():
    searches = []
    for seed in range(6):
        cut = MaxCut.of(spins(24, 20, seed))
        searches.append(BranchAndCut(cut, np.zeros(cut.vertices, np.int8)))
        searches[-1].cut_root(Deadline.after(None))
        searches[-1].search(Deadline.after(None))
    assert sum(search.nodes > 1 for search in searches) >= 3
    for seed, search in enumerate(searches):
        other = solver_class("branch_and_bound")().solve(spins(24, 20, seed))
        assert search.cut.score_bound(search.best) == other.score[0]


@pytest.mark.parametrize("scale", [1e-300, 1e-40, 0.1, 1e40, 1e300])
def test_huge_and_tiny_scores(scale):
    problem = drawn_problem(9, 5)
    scaled = Problem.from_arrays(
        problem.unary * scale, problem.pairwise * scale, edges=problem.edges
    )
    found = solver_class("cycle_cuts")(threads=1).solve(scaled)
    assert np.all(found.optimal)
    np.testing.assert_allclose(found.score, maximum(scaled), rtol=1e-12)


@pytest.mark.parametrize("noise", [1e-15, 1e-12, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_very_different_sizes_and_near_ties(noise, seed):
    problem, random = drawn_problem(8, seed, largest=1), np.random.default_rng(seed)
    pairwise = problem.pairwise * (1 + noise * random.standard_normal(problem.e))
    pairwise[0, :3] *= 1e9
    nearly = Problem.from_arrays(problem.unary, pairwise, edges=problem.edges)
    found = solver_class("cycle_cuts")(threads=1).solve(nearly)
    assert np.all(found.optimal)
    assert (maximum(nearly) - found.score <= nearly.rounding).all()


def test_components_zeros_and_bridges():
    ring = np.array([[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [5, 6], [7, 8]])
    weights = np.array([-2.0, -2, -2, -2, -2, -2, 2, 0])
    unary = -np.bincount(ring.ravel(), np.repeat(weights / 2, 2), 10)
    problem = Problem.from_arrays(unary, weights, edges=ring)
    found = solver_class("cycle_cuts")(threads=1).solve(problem)
    assert np.all(found.optimal)
    assert found.score == maximum(problem)


def test_a_given_start_is_kept_where_nothing_is_better():
    problem = drawn_problem(8, 3, field=False)
    best = solver_class("exhaustive")().solve(problem).z
    found = solver_class("cycle_cuts")(threads=1, start=best).solve(problem)
    assert found.score == maximum(problem)


def test_the_rounding_of_a_cut_is_that_cut():
    cut = MaxCut.of(spins(30, 4, 0))
    side = np.random.default_rng(0).integers(0, 2, cut.vertices)
    x = (side[cut.edges[:, 0]] != side[cut.edges[:, 1]]).astype(float)
    again = rounded(Graph.of(cut.vertices, cut.edges), x)
    np.testing.assert_array_equal(again[cut.edges[:, 0]] != again[cut.edges[:, 1]], x)


def test_a_grid_is_proved():
    problem = instances.spin_glass(12, 12, 3, np.random.default_rng(2)).problem()
    found, other = (solver_class(name)().solve(problem) for name in ("cycle_cuts", "elimination"))
    assert np.all(found.optimal)
    assert (np.abs(found.score - other.score) <= 2 * problem.rounding).all()


@pytest.mark.spread(1)
@pytest.mark.parametrize("seconds", [1e-3, 0.2, 1.0])
def test_a_time_limit_leaves_a_valid_bound(seconds):
    problem = spins(400, 6, 3)
    start = time.monotonic()
    found = solver_class("cycle_cuts")().solve(problem, seconds)
    assert time.monotonic() - start < 20
    assert not found.optimal.any()
    longer = solver_class("local_search")().solve(problem, 0.3)
    assert (found.bound >= longer.score).all()


@few
@given(SEEDS, st.integers(1, 12), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_a_paused_search_ends_at_a_maximiser(seed, n, density, field):
    problem = drawn_problem(n, seed, density, field)
    scores = enumerate_scores(problem)[0]
    states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    paused = solver_class("cycle_cuts")().paused()
    cut_off = paused.solve(problem, 1e-9)
    assert cut_off.score <= scores.max() <= cut_off.bound
    worst = paused.with_options(start=states[scores.argmin()]).solve(problem, 1e-9)
    assert worst.score <= scores.max() <= worst.bound
    best = paused.with_options(start=states[scores.argmax()]).solve(problem, 1e-9)
    assert best.score <= scores.max() <= best.bound
    ended = paused.solve(problem)
    assert ended.optimal
    assert ended.score == scores.max()


def test_a_paused_search_keeps_its_cycles():
    problem = instances.spin_glass(22, 22, 1, np.random.default_rng(2)).problem()
    cuts = solver_class("cycle_cuts")()
    trivial = problem.trivial_bound[0]
    paused = cuts.paused()
    seconds = 0.02
    first = paused.solve(problem, seconds)
    while first.bound[0] > 0.9 * trivial:
        seconds *= 1.5  # on a busy machine
        first = paused.solve(problem, seconds)
    # In no time, only a resumed search has such a bound.
    assert paused.solve(problem, 1e-9).bound <= first.bound
    assert cuts.paused().solve(problem, 1e-9).bound > first.bound
    ended = paused.solve(problem)
    assert ended.optimal
    whole = solver_class("elimination")().solve(problem)
    assert abs(ended.score - whole.score) <= 2 * problem.rounding


def test_an_interruption_from_the_keyboard_is_heard():
    signal_soon = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    # a shell's background jobs ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    begin = time.monotonic()
    try:
        signal_soon.start()
        with pytest.raises(KeyboardInterrupt):
            solver_class("cycle_cuts")(threads=1).solve(spins(600, 8, 1), 60)
    finally:
        signal_soon.cancel()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 30


def swept(n, seed, density, field):
    """A problem whose root is barely cut, so that its gap is left to the sweeps."""
    problem = drawn_problem(n, seed, density, field)
    cut = MaxCut.of(problem)
    search = BranchAndCut(cut, np.zeros(cut.vertices, np.int8))
    random = np.random.default_rng(seed)
    graph, cycles = search.graph, Cycles.none()
    for _ in range(3):
        cycles = cycles.joined(
            shortest_cycles(graph, random.random(len(cut.edges)), np.arange(cut.vertices)).cycles
        )
    search.certificate = Certificate.of(cut.weights, cycles, 5 * random.random(len(cycles)))
    return cut, search


@few
@given(SEEDS, st.integers(2, 10), st.sampled_from([0.3, 0.6, 1.0]), st.booleans())
def test_a_sweep_finds_the_heaviest_cut_or_that_there_is_none(seed, n, density, field):
    cut, search = swept(n, seed, density, field)
    if not len(cut.weights):
        return
    best = int((all_cuts(cut.vertices, cut.edges) @ cut.weights).max())
    hub = cut.n if cut.vertices > cut.n else -1
    certificate = search.certificate
    orders = (
        frontier_order(search.graph.starts, search.graph.near, hub),
        np.random.default_rng(seed).permutation(cut.vertices),
    )
    for order in orders:
        assert sorted(order) == list(range(cut.vertices))
        steps = Steps.of(Weighed.of(cut, certificate), order)
        for needed in (best + 1, best, best - 3, best - 1000):
            for traced in (False, True):
                found = sweep(
                    steps,
                    certificate.bound,
                    needed * certificate.scale,
                    Deadline.after(None),
                    traced,
                )
                assert found.complete
                assert found.best == (NO_CUT if needed > best else best * certificate.scale)
                if traced and needed <= best:
                    side = found.side
                    assert cut.weights[side[cut.edges[:, 0]] != side[cut.edges[:, 1]]].sum() == best


@few
@given(SEEDS, st.integers(2, 10), st.sampled_from([0.3, 0.6, 1.0]), st.booleans(), st.booleans())
def test_sweeps_close_the_gap(seed, n, density, field, narrow):
    cut, search = swept(n, seed, density, field)
    if not len(cut.weights):
        return
    search.lower(cut.rounded_down(search.certificate.value))
    if not narrow:  # the heaviest cut is then below the first levels
        search.side, search.best = np.zeros(cut.vertices, np.int8), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gap, "SMALL_BITS", 63 if narrow else 0)
        patch.setattr(sweeps, "DENSE_SHARE", 1 if narrow else 8)
        gap.close_gap(search, Deadline.after(None))
    assert search.finished
    assert search.best == search.bound == (all_cuts(cut.vertices, cut.edges) @ cut.weights).max()


@pytest.mark.parametrize("seed", range(2))
def test_tables_of_many_blocks_hold_what_keys_do(seed, limits):
    cut, search = swept(17, seed, 0.6, True)
    certificate, random = search.certificate, np.random.default_rng(seed)
    best = int((all_cuts(cut.vertices, cut.edges) @ cut.weights).max())
    limits(dense_share=12)
    for order in (random.permutation(cut.vertices), np.arange(cut.vertices)):
        steps = Steps.of(Weighed.of(cut, certificate), order)
        assert steps.bits > 11  # a table of several blocks
        for needed in (best + 1, best, best - 40):
            found = [
                sweep(
                    steps,
                    certificate.bound,
                    needed * certificate.scale,
                    Deadline.after(None),
                    traced,
                )
                for traced in (False, True)
            ]
            assert [each.tabled for each in found] == [needed < best or found[0].tabled, False]
            assert (
                found[0].best
                == found[1].best
                == (NO_CUT if needed > best else best * certificate.scale)
            )


def test_tables_are_as_large_as_time_and_memory_let_them(free_memory):
    assert table_bits(1000, Deadline.after(1e-3)) == sweeps.SMALL_BITS
    free_memory(10 << 30)
    assert (table_bits(1000, Deadline.after(None)), table_bits(100, Deadline.after(None))) == (
        28,
        29,
    )
    assert table_bits(1000, Deadline.after(1000.0)) == 27


def test_a_sweep_that_is_stopped_claims_nothing(monkeypatch):
    monkeypatch.setattr(sweeps, "table_bits", lambda count, deadline: 0)
    cut, search = swept(10, 1, 1.0, True)
    steps = Steps.of(Weighed.of(cut, search.certificate), np.arange(cut.vertices))
    for stop in ({"deadline": Deadline.after(-1.0)}, {"deadline": Deadline.after(None), "most": 3}):
        found = sweep(steps, search.certificate.bound, -(2**60), **stop)
        assert not found.complete
    before = search.bound
    gap.close_gap(search, Deadline.after(-1.0))
    assert (search.bound, search.finished) == (before, False)


@pytest.mark.parametrize("stopped", [False, True])
def test_a_step_that_has_to_end_changes_no_table(stopped):
    """A step over 2^30 entries takes seconds, so a sweep cannot wait for its end."""
    stop = np.full(1, stopped, np.uint8)
    none = np.zeros(0, np.int64)
    table = np.full(1 << 14, NO_CUT)
    table[0] = 5
    before = table.copy()
    count = kernels.extend_table(table, 0, 13, 0, none, none, none, 0, stop)
    assert (count, table[1 << 13]) == ((0, NO_CUT) if stopped else (2, 5))
    kernels.drop_slots(table, 1 << 13, 1 << 13, stop)
    np.testing.assert_array_equal(table, before)

    key = np.zeros((1, 2), np.uint64)
    kept = np.full(2, 2**64 - 1, np.uint64)
    states = kernels.extended(key, np.array([5]), True, 0, 0, none, none, none, kept, 0, 99, stop)
    assert len(states[0]) == (0 if stopped else 2)


def test_a_sweep_without_time_proves_nothing():
    """No state remains in either sweep. Only where the states were tried is that a proof."""
    cut, search = swept(10, 1, 1.0, True)
    steps = Steps.of(Weighed.of(cut, search.certificate), np.arange(cut.vertices))
    bound = search.certificate.bound
    for seconds, proved in ((None, True), (-1.0, False)):
        found = sweep(steps, bound, bound + 1, Deadline.after(seconds))
        assert (found.complete, found.best, found.states) == (proved, NO_CUT, 0)


@pytest.mark.parametrize("spins", [5, 9, 7])
def test_every_cut_is_a_multiple_of_the_step(spins):
    edges = np.stack(np.triu_indices(spins, 1), axis=-1)
    for weights in (np.ones(len(edges)), np.random.default_rng(0).choice([-3.0, 3.0], len(edges))):
        unary = sum(np.bincount(end, weights, spins) for end in edges.T)
        cut = MaxCut.of(Problem.from_arrays(unary, -2 * weights, edges=edges))
        heights = all_cuts(cut.vertices, cut.edges) @ cut.weights
        assert np.gcd.reduce(heights) % cut.step == 0
        assert cut.step > 1


def test_separation_and_orders_end_with_the_deadline():
    random = np.random.default_rng(0)
    edges = np.stack(np.triu_indices(20, 1), axis=-1)
    graph, x = Graph.of(20, edges), random.random(len(edges))
    for separate in (tree_cycles, partial(shortest_cycles, sources=np.arange(20))):
        assert len(separate(graph, x).cycles)
        assert not len(separate(graph, x, stop=np.ones(1, np.uint8)).cycles)
    assert sorted(frontier_order(graph.starts, graph.near, deadline=Deadline.after(-1.0))) == list(
        range(20)
    )


def test_a_frontier_without_room_is_left_alone():
    edges = np.stack(np.triu_indices(140, 1), axis=-1)
    problem = Problem.from_arrays(np.ones(140), np.ones(len(edges)), edges=edges)
    cut = MaxCut.of(problem)
    weighed = Weighed.of(cut, Certificate.of(cut.weights, Cycles.none(), np.empty(0)))
    assert Steps.of(weighed, np.arange(cut.vertices)) is None


@pytest.mark.parametrize("seed", [65, 202, 294])
def test_near_ties_end_with_a_proof_where_presolve_has_rounded_too(seed):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(11, 1), axis=1)
    unary, pairwise = (
        random.integers(-2, 3, size) + 1e-10 * random.standard_normal(size)
        for size in (11, len(edges))
    )
    problem = Problem.from_arrays(unary[None], pairwise[None], edges=edges)
    solution = solver_class("cycle_cuts")().solve(problem, 60.0)
    assert np.all(solution.optimal)
    assert solution.score[0] == pytest.approx(maximum(problem), rel=1e-14)


@pytest.mark.parametrize("noise", [1e-6, 1e-10, 1e-13])
def test_near_ties_of_many_ground_states_end_with_a_proof(noise):
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 12, periodic=True))
    edges, random = np.array(graph.edges), np.random.default_rng(3)
    weights = random.choice((-1.0, 1.0), len(edges)) + noise * random.standard_normal(len(edges))
    unary = -np.bincount(edges.ravel(), np.repeat(weights / 2, 2), 60)
    problem = Problem.from_arrays(unary[None], weights[None], edges=edges)
    solution = solver_class("cycle_cuts")().solve(problem, 60.0)
    assert np.all(solution.optimal)
    best = solver_class("elimination")().solve(problem).score
    assert solution.score[0] == pytest.approx(best[0], rel=1e-14)


def test_the_cut_of_a_start_is_that_start():
    problem = Problem.from_arrays([1.0, -2.0, 0.5], [3.0, -1.0], edges=[[0, 1], [1, 2]])
    cut = MaxCut.of(problem)
    assert cut.vertices == 4
    for state in itertools.product((0, 1), repeat=3):
        assert cut.state(_sides(cut, np.array(state, np.int8))).tolist() == list(state)
