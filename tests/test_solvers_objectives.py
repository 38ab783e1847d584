"""Values and bounds of conversions, in the original's own terms and digits."""

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from solvers import OptionError, Problem, ProblemError, solve
from solvers.conversions import (
    Conversion,
    from_ising,
    from_max_cut,
    from_min_cut,
    from_networkx,
    from_qubo,
)
from solvers.formats import read_problem
from solvers.labels import from_factors
from solvers.labels import solve as solve_labels

INFINITE = math.inf


def cuts(n, arcs, capacities, source, sink):
    """{the source's side: the exact capacity}."""
    found = {}
    for bits in itertools.product((0, 1), repeat=n):
        if bits[source] == 1 and bits[sink] == 0:
            crossing = [c for (u, v), c in zip(arcs, capacities, strict=True) if bits[u] > bits[v]]
            found[bits] = INFINITE if INFINITE in crossing else sum(map(Fraction, crossing))
    return found


def random_network(seed):
    """Capacities of all sizes, parallel arcs, loops, arcs into the source, and nodes without arcs."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 7))
    arcs = generator.integers(0, n, (int(generator.integers(0, 14)), 2)).tolist()
    sizes = [0.0, 0.1, 0.3, 1.0, 7.0, 371223564.0, 1e9, 1e15, 9.9e17, 1e18, 1e20, INFINITE]
    capacities = generator.choice(sizes, len(arcs)).tolist()
    source, sink = generator.permutation(n)[:2].tolist()
    return n, arcs, capacities, source, sink


@pytest.mark.spread(50)
@pytest.mark.parametrize("seed", range(200))
def test_a_minimum_cut_is_exact_whatever_the_sizes_of_capacities(seed):
    n, arcs, capacities, source, sink = random_network(seed)
    every = cuts(n, arcs, capacities, source, sink)
    least = min(every.values())
    if least == INFINITE:
        with pytest.raises(ProblemError, match="every cut is infinite"):
            from_min_cut(n, arcs, capacities, source, sink)
        return
    answer = solve(from_min_cut(n, arcs, capacities, source, sink))
    z = tuple(answer.assignment[node] for node in range(n))
    finite = [capacity for capacity in capacities if 0 < capacity < INFINITE]
    # Rounding beside larger capacities could hide a unit of the smallest one: then no certificate
    # is given.
    assert answer.optimal or sum(finite) > 2.0**47 * min(finite)
    assert answer.value == float(every[z]) == float(least)
    assert answer.bound == pytest.approx(answer.value, rel=1e-9)
    assert answer.solution.z.tolist() == list(z)
    assert source in answer.sides[1]
    assert sink in answer.sides[0]


@pytest.mark.spread(14)
@pytest.mark.parametrize("seed", range(0, 200, 5))
def test_a_minimum_cut_agrees_with_networkx(seed):
    n, arcs, capacities, source, sink = random_network(seed)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    for (u, v), capacity in zip(arcs, capacities, strict=True):
        graph.add_edge(
            u, v, capacity=graph.get_edge_data(u, v, {"capacity": 0.0})["capacity"] + capacity
        )
    try:
        value = nx.minimum_cut_value(graph, source, sink)
    except nx.NetworkXUnbounded:
        return
    assert solve(from_min_cut(n, arcs, capacities, source, sink)).value == pytest.approx(
        value, abs=1e-7, rel=1e-9
    )


@pytest.mark.parametrize("large", [1e9, 1e12, 1e15, 9.9e17, 1e20, 1e300, INFINITE])
def test_a_large_capacity_does_not_cost_small_ones_their_digits(large):
    answer = solve(from_min_cut(3, [[0, 1], [1, 2], [0, 2]], [large, 0.1, 0.2], 0, 2))
    assert (answer.value, answer.optimal) == (0.1 + 0.2, True)
    assert answer.sides == ({2}, {0, 1})
    assert answer.bound == pytest.approx(0.3, rel=1e-12)


def test_the_sides_of_source_and_sink_are_theirs():
    network = from_min_cut(4, [[0, 1], [1, 2]], [5.0, 3.0], 0, 2)
    assert network.assignment([0, 0, 1, 1]) == {0: 1, 1: 0, 2: 0, 3: 1}
    assert network.objective([0, 1, 1, 0]) == 3.0
    best, *others = solve(network, k_best=4)
    assert [best.value, *(answer.value for answer in others)] == [3.0, 3.0, 5.0, 5.0]
    assert all((answer.assignment[0], answer.assignment[2]) == (1, 0) for answer in (best, *others))
    assert len({tuple(answer.assignment.values()) for answer in (best, *others)}) == 4
    with pytest.raises(OptionError, match="0 is 1 and cannot be 0"):
        solve(network, fix={0: 0})
    with pytest.raises(OptionError, match="fix gives 2 the value 1; it is 0"):
        solve(network, fix=[-1, -1, 1, -1])
    assert solve(network, fix={1: 0}).value == 5.0
    assert solve(network, fix=[1, 0, -1, -1]).value == 5.0


def test_two_nodes_have_one_cut():
    answer = solve(from_min_cut(2, [[0, 1], [1, 0]], [2.5, 9.0], 0, 1))
    assert (answer.value, answer.optimal, answer.assignment) == (2.5, True, {0: 1, 1: 0})


@pytest.mark.parametrize("wrong", [-1.0, -INFINITE, math.nan])
def test_a_capacity_that_is_none_is_refused(wrong):
    with pytest.raises(ProblemError):
        from_min_cut(3, [[0, 1], [1, 2]], [1.0, wrong], 0, 2)


def test_weights_other_than_capacities_stay_finite():
    with pytest.raises(ProblemError, match="must be finite"):
        from_max_cut(2, [[0, 1]], [INFINITE])


def test_the_command_line_has_the_source_on_its_own_side(tmp_path):
    path = tmp_path / "net.dimacs"
    path.write_text("p max 4 3\nn 1 s\nn 3 t\na 1 2 1000000000000000\na 2 3 5\na 2 4 1\n")
    answer = solve(read_problem(path))
    assert (answer.value, answer.assignment[1], answer.assignment[3]) == (5.0, 1, 0)


def large_and_small():
    """Conversions whose best value is small beside their constants, with that value."""
    chain = nx.Graph([("a", "b", {"w": 1e16}), ("b", "c", {"w": -1e16})])
    nx.set_node_attributes(chain, {"a": 0.1, "b": 0.0, "c": 0.0}, "u")
    yield from_ising({"a": 1e16, "b": 0.1}, {("a", "a"): 1e16, ("b", "b"): 0.5}), 0.4
    yield from_ising({"a": 1e16, "b": 0.1}, {("a", "a"): -1e16}, "maximise"), 0.1
    yield (
        from_qubo({("a", "a"): -1e16, ("a", "b"): 1e16, ("b", "b"): -1e16 - 4, ("c", "c"): -0.5}),
        -1e16 - 4.5,
    )
    yield from_networkx(chain, "u", "w"), 1e16 + 0.1
    yield from_max_cut(3, [[0, 1], [1, 2], [0, 2]], [1e16, -1e16, 0.25]), 1e16 + 0.25


@pytest.mark.parametrize("case", range(5))
def test_a_value_is_the_originals_own_sum_rounded_once(case):
    conversion, value = list(large_and_small())[case]
    answer = solve(conversion, solver="exhaustive")
    best = answer.bound if conversion.sign == 1 else -answer.bound
    assert answer.value == value
    assert best >= (value if conversion.sign == 1 else -value)


def exact_ising(h, coupling, spins):
    linear = sum(Fraction(field) * spins[i] for i, field in enumerate(h))
    return linear + sum(
        Fraction(weight) * spins[i] * spins[j] for (i, j), weight in coupling.items()
    )


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_in_exact_arithmetic_where_sizes_differ(seed):
    generator = np.random.default_rng(seed)
    h = (generator.normal(size=4) * 10.0 ** generator.integers(-3, 17, 4)).tolist()
    pairs = list(itertools.combinations_with_replacement(range(4), 2))
    weights = generator.normal(size=10) * 10.0 ** generator.integers(-3, 17, 10)
    coupling = dict(zip(pairs, weights.tolist(), strict=True))
    answer = solve(from_ising(dict(enumerate(h)), coupling))
    values = {s: exact_ising(h, coupling, s) for s in itertools.product((-1, 1), repeat=4)}
    spins = tuple(answer.assignment[i] for i in range(4))
    least = min(values.values())
    assert answer.value == float(values[spins])
    assert Fraction(answer.bound) <= least + abs(least) * Fraction(1, 10**9)


def test_a_model_with_a_large_offset_keeps_its_digits():
    dimod = pytest.importorskip("dimod")
    from solvers.conversions import from_dimod

    model = dimod.BinaryQuadraticModel({"a": 1e16, "b": -0.5}, {("a", "b"): 0.25}, -1e16, "SPIN")
    model.add_linear("a", 0.0)
    answer = solve(from_dimod(model))
    assert answer.value == math.fsum([-1e16, -1e16, -0.5, -0.25])
    binary = dimod.BinaryQuadraticModel({"a": -1e16, "b": -0.75}, {}, 1e16, "BINARY")
    assert solve(from_dimod(binary)).value == -0.75


def test_labels_keep_the_digits_of_their_factors():
    factors = [
        ((), 1e16),
        ((0,), [-1e16, 3.0]),
        ((0, 1), [[0.1, 0.7], [1e16, 1e16]]),
        ((0, 1), [[0.0, 0.5], [0, 0]]),
    ]
    answer = solve_labels(from_factors([2, 2], factors, sense="minimise"))
    assert (answer.value, answer.assignment) == (0.1, {0: 0, 1: 0})
    assert answer.bound <= 0.1
    triple = [
        ((), 1e16),
        ((0, 1, 2), np.where(np.arange(8).reshape(2, 2, 2) == 5, -1e16 + 2, -1e16)),
    ]
    assert solve_labels(from_factors([2, 2, 2], triple)).value == 2.0


def test_a_network_of_logarithms_keeps_its_value(tmp_path):
    path = tmp_path / "x.uai"
    path.write_text("MARKOV 2 2 2 2 1 0 2 0 1 2 0.25 0.75 4 1e-300 1e-300 1e-300 1e-290")
    answer = solve(read_problem(path))
    assert answer.value == math.fsum([math.log(0.75), math.log(1e-290)])


def test_a_conversion_without_terms_of_its_own_sums_its_constant_last():
    problem = Problem.from_arrays([1e16, 0.25])
    conversion = Conversion(problem, 1, -1e16, ["a", "b"])
    answer = solve(conversion)
    assert answer.value == 0.25 <= answer.bound
    answer = solve(Conversion(Problem.from_arrays([1e10, 0.25]), 1, -1e10, ["a", "b"]))
    assert (answer.value, answer.bound) == (0.25, 0.25)


def test_capacities_whose_sum_overflows_raise_no_warning_of_numpy():
    arcs = [(0, 1), (2, 0), (0, 1), (0, 1), (1, 0)]
    conversion = from_min_cut(3, arcs, [1e308, 1e308, 3.0, 5.0, 1e15], 2, 1)
    assert solve(conversion).value == 1e308


def test_units_lost_by_summing_parallel_edges_are_not_certified():
    """A hundred parallel edges of weight 1 vanish beside one of 1e16: no state is proved best."""
    parallel = [1e16] + [1.0] * 100
    conversion = from_max_cut(
        3, [(0, 1)] * len(parallel) + [(0, 2), (1, 2)], [*parallel, 1e16 + 50, 3e16]
    )
    answer = solve(conversion)
    best = math.fsum([*parallel, 3e16])
    assert answer.bound >= best
    assert answer.optimal == (answer.value == best)


@pytest.mark.parametrize("large", [1e15, 4e16, 1e18])
def test_integers_too_large_for_exact_sums_are_certified_only_where_they_are_best(large):
    generator = np.random.default_rng(int(large) % 1000)
    for _ in range(20):
        pairs = [tuple(generator.choice(4, 2, replace=False).tolist()) for _ in range(40)]
        weights = generator.integers(1, 50, 40).astype(float)
        weights[generator.choice(40, 3)] = large
        answer = solve(from_max_cut(4, pairs, weights))
        cuts = [
            sum(int(w) for (i, j), w in zip(pairs, weights, strict=True) if s[i] != s[j])
            for s in itertools.product((0, 1), repeat=4)
        ]
        if answer.optimal:
            assert answer.value == float(max(cuts))
        assert answer.bound >= max(cuts)
