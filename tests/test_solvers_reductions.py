"""Rules that take variables out, and articulation points, against enumeration: alone and together."""

import time
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import example, given
from hypothesis import strategies as st

from solvers import Deadline, Problem, instances, solve, solver_class
from solvers.algorithms.presolve import one_by_one as presolve
from solvers.algorithms.presolve.blocks import blocks_of
from solvers.algorithms.presolve.decomposition import decompose
from solvers.algorithms.presolve.one_by_one import one_by_one
from solvers.algorithms.presolve.rules import RULES, shrink
from solvers.algorithms.presolve.spin_graph import SpinGraph

SEEDS = st.integers(0, 2**32 - 1)
SCALES = {
    "ties": lambda random, shape: random.integers(-1, 2, shape).astype(float),
    "whole": lambda random, shape: random.integers(-9, 10, shape).astype(float),
    "decimal": lambda random, shape: random.integers(-9, 10, shape) * 0.1,
    "normal": lambda random, shape: random.normal(size=shape),
    "huge": lambda random, shape: random.normal(size=shape) * 1e300,
    "tiny": lambda random, shape: random.normal(size=shape) * 1e-308,
    "mixed": lambda random, shape: (
        random.normal(size=shape) * 10.0 ** random.integers(-9, 10, shape)
    ),
    "longest": lambda random, shape: random.integers(-(2**53), 2**53, shape).astype(float),
    "zero": lambda random, shape: np.zeros(shape),
}
GO_ON = np.zeros(1, np.uint8)
many = examples(60)


def all_states(n):
    return np.arange(2**n)[:, None] >> np.arange(n) & 1


def scores_of(unary, pairwise, edges, states):
    return states @ unary + (states[:, edges[:, 0]] * states[:, edges[:, 1]]) @ pairwise


def exact_score(unary, pairwise, edges, z):
    """As a fraction."""
    chosen = [u for u, on in zip(unary.tolist(), z.tolist(), strict=True) if on]
    chosen += [
        w for w, (i, j) in zip(pairwise.tolist(), edges.tolist(), strict=True) if z[i] and z[j]
    ]
    return sum(map(Fraction, chosen), Fraction(0))


def exact_maximum(unary, pairwise, edges):
    """As a fraction, among the states that float64 has near the maximum."""
    states = all_states(len(unary))
    scores = scores_of(unary, pairwise, edges, states)
    slack = 1e-14 * (np.abs(unary).sum() + np.abs(pairwise).sum())
    if slack < 1 and not (unary % 1).any() and not (pairwise % 1).any():
        return Fraction(scores.max())
    return max(
        exact_score(unary, pairwise, edges, z) for z in states[scores >= scores.max() - slack]
    )


def without_field(pairwise, edges, n):
    """The unary scores with which to flip all variables changes nothing."""
    unary = np.zeros(n)
    for side in (0, 1):
        np.subtract.at(unary, edges[:, side], pairwise / 2)
    return unary


def random_graph(random, n):
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    return edges[random.random(len(edges)) < random.choice([0.15, 0.3, 0.6, 1.0])]


def cliques(random, count, size):
    """Complete graphs hung up on one another at random nodes."""
    edges, n = [], 1
    for _ in range(count):
        nodes = [int(random.integers(n)), *range(n, n + size - 1)]
        edges += [(i, j) for k, i in enumerate(nodes) for j in nodes[k + 1 :]]
        n += size - 1
    return np.sort(random.permutation(n)[np.array(edges)], axis=1), n


def enumerated(problem, *_):
    """A backend: a maximiser of a single instance and a bound, which no rounding brings below the maximum."""
    instance = problem.unary[0], problem.pairwise[0], problem.edges
    states = all_states(problem.n)
    best = exact_maximum(*instance)
    bound = float(best)
    z = states[scores_of(*instance, states).argmax()].astype(np.int8)
    return z, bound if bound >= best else float(np.nextafter(bound, np.inf))


def solved(unary, pairwise, edges, rules=RULES, fixed=None):
    """The state and the bound that enumerated parts give, and the decomposition."""
    whole = decompose(
        unary, pairwise, edges, np.full(len(unary), -1) if fixed is None else fixed, rules
    )
    found = [enumerated(part.problem) for part in whole.parts]
    return whole.state([z for z, _ in found]), whole.bound([bound for _, bound in found]), whole


def test_rules_end_with_the_deadline_and_leave_a_problem_of_the_same_maximum():
    random = np.random.default_rng(0)
    edges = random_graph(random, 9)
    unary, pairwise = random.normal(size=9), random.normal(size=len(edges))
    late = decompose(unary, pairwise, edges, np.full(9, -1), deadline=Deadline.after(-1.0))
    assert not late.removed.any()
    assert len(late.parts) == 1
    assert decompose(unary, pairwise, edges, np.full(9, -1)).removed.any()
    found = [enumerated(part.problem) for part in late.parts]
    best = float(exact_maximum(unary, pairwise, edges))
    assert late.bound([bound for _, bound in found]) == pytest.approx(best, rel=1e-13)
    assert exact_score(unary, pairwise, edges, late.state([z for z, _ in found])) == pytest.approx(
        best, rel=1e-13
    )


def left(whole):
    return sum(part.problem.n for part in whole.parts)


@pytest.mark.spread(4)
@pytest.mark.parametrize("rules", [RULES, (), *((rule,) for rule in RULES)], ids="-".join)
@many
@example(309990, 4, "tiny", True)  # sums over its parts are above 2^53
@given(SEEDS, st.integers(1, 11), st.sampled_from(list(SCALES)), st.booleans())
def test_maximisers_of_the_parts_make_one_of_the_whole(rules, seed, n, scale, field):
    random = np.random.default_rng(seed)
    edges = random_graph(random, n)
    pairwise = SCALES[scale](random, len(edges))
    unary = SCALES[scale](random, n) if field else without_field(pairwise, edges, n)
    z, bound, _ = solved(unary, pairwise, edges, rules)
    rounding = Fraction(float(Problem.from_arrays(unary, pairwise, edges=edges).rounding[0]))
    best = exact_maximum(unary, pairwise, edges)
    assert z.dtype == np.int8
    assert best - rounding <= exact_score(unary, pairwise, edges, z) <= best
    assert best <= Fraction(bound) <= best + rounding
    if scale in ("ties", "whole", "zero"):
        assert exact_score(unary, pairwise, edges, z) == best == Fraction(bound)


@pytest.mark.spread(6)
@pytest.mark.parametrize("rule", ["pair", "twin", "degree_3", "dominated"])
@pytest.mark.parametrize("largest", [1, 3, 20])
def test_each_rule_keeps_the_maximum_of_many_small_graphs(rule, largest):
    random, removed = np.random.default_rng(largest), 0
    for _ in range(150):
        n = int(random.integers(3, 9))
        edges = random_graph(random, n)
        if rule == "twin":
            # bipartite, so that many have the same neighbours
            edges = edges[edges.sum(axis=1) % 2 == 1]
        pairwise = random.integers(-largest, largest + 1, len(edges)).astype(float)
        unary = without_field(pairwise, edges, n) + random.integers(-1, 2, n) * (
            random.random(n) < 0.3
        )
        unary *= 2  # whole numbers
        pairwise *= 2
        z, bound, whole = solved(unary, pairwise, edges, (rule,))
        removed += whole.removed.sum()
        assert (
            exact_score(unary, pairwise, edges, z) == bound == exact_maximum(unary, pairwise, edges)
        )
    assert removed > 20


@pytest.mark.parametrize("rule", ["pair", "twin", "dominated"])
def test_a_rule_takes_out_as_many_nodes_whichever_way_spins_point(rule):
    """To turn spins gives the weights of their edges the other sign, and nothing else changes."""
    random, allowed = np.random.default_rng(0), np.array([rule == name for name in RULES])
    for _ in range(1000):
        n = int(random.integers(4, 9))
        edges, turned = random_graph(random, n), random.choice([-1, 1], n)
        weight = 2 * random.integers(1, 4, len(edges)) * random.choice([-1, 1], len(edges))
        counts = [
            shrink(n, edges, signed, allowed, GO_ON)[0].counts.sum()
            for signed in (weight, weight * turned[edges].prod(axis=1))
        ]
        assert counts[0] == counts[1]


@many
@given(SEEDS, st.integers(2, 3), st.integers(2, 5), st.sampled_from(["ties", "whole", "normal"]))
def test_parts_that_meet_in_single_nodes_agree_there(seed, count, size, scale):
    random = np.random.default_rng(seed)
    edges, n = cliques(random, count, size)
    pairwise = SCALES[scale](random, len(edges))
    unary = without_field(pairwise, edges, n)
    for rules in ((), RULES):
        z, bound, _ = solved(unary, pairwise, edges, rules)
        best = exact_maximum(unary, pairwise, edges)
        rounding = float(Problem.from_arrays(unary, pairwise, edges=edges).rounding[0])
        assert abs(exact_score(unary, pairwise, edges, z) - best) <= rounding
        assert best <= Fraction(bound) <= best + Fraction(rounding)


@many
@given(SEEDS, st.integers(1, 9))
def test_fixed_variables_keep_their_values(seed, n):
    random = np.random.default_rng(seed)
    edges, fixed = random_graph(random, n), random.integers(-1, 2, n)
    unary, pairwise = SCALES["whole"](random, n), SCALES["whole"](random, len(edges))
    z, bound, _ = solved(unary, pairwise, edges, fixed=fixed)
    states = all_states(n)
    agree = ((fixed < 0) | (states == fixed)).all(axis=1)
    assert ((fixed < 0) | (z == fixed)).all()
    assert exact_score(unary, pairwise, edges, z) == bound
    assert bound == scores_of(unary, pairwise, edges, states[agree]).max()


@many
@given(SEEDS, st.integers(1, 9))
def test_a_spin_graph_has_the_scores_of_its_instance(seed, n):
    random = np.random.default_rng(seed)
    edges = random_graph(random, n)
    unary, pairwise = random.integers(-9, 10, n), random.integers(-9, 10, len(edges))
    graph, constant = SpinGraph.of_scores(unary, pairwise, edges)
    weights = np.bincount(graph.edges.ravel(), np.repeat(graph.weight, 2), graph.nodes)
    assert (weights % 2 == 0).all()
    spins = np.append(2 * all_states(n) - 1, np.ones((2**n, 1), int), axis=1)
    sums = (spins[:, graph.edges[:, 0]] * spins[:, graph.edges[:, 1]]) @ graph.weight
    np.testing.assert_array_equal(
        sums + constant, 4 * scores_of(unary, pairwise, edges, all_states(n)).astype(int)
    )
    reference = int(random.integers(n + 1))
    *scores, constant = graph.scores(reference)
    states = np.delete(spins == spins[:, [reference]], reference, axis=1).astype(int)
    np.testing.assert_array_equal(sums, 4 * scores_of(*scores, states).astype(int) - constant)


def spins_on(graph, random, scale="whole"):
    """Scores without a field on a networkx graph, none of them 0."""
    numbered = nx.convert_node_labels_to_integers(graph)
    edges = np.sort(np.array(numbered.edges), axis=1)
    pairwise = SCALES[scale](random, len(edges))
    pairwise[pairwise == 0] = 1.0
    return without_field(pairwise, edges, len(numbered)), pairwise, edges


def cactus(random, count):
    """Cycles, each hung up on a node of those before."""
    graph = nx.Graph()
    graph.add_node(0)
    for _ in range(count):
        n = len(graph)
        nx.add_cycle(graph, [int(random.integers(n)), *range(n, n + int(random.integers(2, 6)))])
    return graph


@pytest.mark.parametrize("scale", ["ties", "whole", "normal"])
@pytest.mark.parametrize("field", [False, True])
def test_trees_vanish(scale, field):
    for seed in range(20):
        random = np.random.default_rng(seed)
        unary, pairwise, edges = spins_on(nx.random_labeled_tree(200, seed=seed), random, scale)
        unary += SCALES[scale](random, 200) * field
        z, bound, whole = solved(unary, pairwise, edges)
        assert whole.parts == ()
        problem = Problem.from_arrays(unary, pairwise, edges=edges)
        best = float(solver_class("elimination")().solve(problem).score)
        assert 0 <= bound - best + problem.rounding[0] <= 2 * problem.rounding[0]
        assert float(problem.score(z)) == pytest.approx(best, rel=1e-13)


def test_cactus_graphs_vanish():
    for seed in range(20):
        random = np.random.default_rng(seed)
        unary, pairwise, edges = spins_on(cactus(random, 40), random)
        z, bound, whole = solved(unary, pairwise, edges)
        assert whole.parts == ()
        problem = Problem.from_arrays(unary, pairwise, edges=edges)
        assert problem.score(z) == bound == solver_class("elimination")().solve(problem).score


def test_planar_spin_glasses_vanish():
    """Grids of +1 and -1, of which all rules but pairs leave most."""
    random = np.random.default_rng(0)
    graph = nx.grid_2d_graph(9, 9)
    unary, pairwise, edges = spins_on(graph, random)
    pairwise = np.where(pairwise > 0, 2.0, -2.0)
    unary = without_field(pairwise, edges, 81)
    z, bound, whole = solved(unary, pairwise, edges)
    assert whole.parts == ()
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    assert problem.score(z) == bound == solver_class("elimination")().solve(problem).score


RULE_GRAPHS = {
    "isolated": nx.empty_graph(3),
    "degree_1": nx.star_graph(5),
    "degree_2": nx.cycle_graph(6),
    "degree_3": nx.petersen_graph(),
    "dominated": nx.complete_graph(6),
    "pair": nx.complete_graph(6),
    "twin": nx.complete_bipartite_graph(5, 5),
}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_takes_nodes_out(rule):
    graph, random = RULE_GRAPHS[rule], np.random.default_rng(1)
    edges = np.array(graph.edges, np.int64).reshape(-1, 2)
    pairwise = np.ones(len(edges)) if rule in ("pair", "twin") else random.normal(size=len(edges))
    if rule == "dominated":
        pairwise[0] = 50.0
    unary = without_field(pairwise, edges, len(graph))
    _, bound, whole = solved(unary, pairwise, edges, (rule,))
    assert dict(zip(RULES, whole.removed.tolist(), strict=True))[rule] > 0
    assert sum(whole.removed) == whole.removed[RULES.index(rule)]
    assert bound == pytest.approx(float(exact_maximum(unary, pairwise, edges)), rel=1e-14)


@pytest.mark.spread(10)
@pytest.mark.parametrize("seed", range(30))
def test_blocks_are_the_biconnected_components(seed):
    random = np.random.default_rng(seed)
    graph = nx.gnm_random_graph(30, int(random.integers(60)), seed=seed)
    edges = np.sort(np.array(graph.edges, np.int64).reshape(-1, 2), axis=1)
    number, count = blocks_of(30, edges)
    found = [sorted(edges[number == k].tolist()) for k in range(count)]
    expected = [sorted(map(sorted, block)) for block in nx.biconnected_component_edges(graph)]
    assert sorted(found) == sorted(expected)
    seen = set()
    for block in reversed(found):
        nodes = set(np.ravel(block).tolist())
        assert len(seen & nodes) <= 1
        seen |= nodes


def test_a_search_for_blocks_that_has_to_end_leaves_one():
    path = np.array(nx.path_graph(9).edges, np.int64)
    number, count = blocks_of(9, path, np.ones(1, np.uint8))
    assert (number.tolist(), count) == ([0] * 8, 1)


def test_cliques_are_searched_apart_within_their_shares_of_the_time():
    random = np.random.default_rng(3)
    parts = [nx.complete_graph(7), nx.complete_graph(10)]
    graph = nx.disjoint_union_all([*parts, nx.path_graph(3)])
    graph = nx.contracted_nodes(graph, 0, 7, self_loops=False)  # the cliques share a node
    unary, pairwise, edges = spins_on(graph, random)
    pairwise = -np.ones(len(edges))
    unary = without_field(pairwise, edges, len(unary))
    given_time = []

    def backend(problem, deadline, _):
        given_time.append((problem.n, deadline.left))
        return enumerated(problem)

    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    found = one_by_one(problem, Deadline.after(20.0), backend)
    assert [n for n, _ in given_time] == [6, 9]
    assert 6.5 < given_time[0][1] <= 0.9 * 8.0 < 16.0 < given_time[1][1] <= 0.9 * 20.0
    assert found.stats["parts"] == 2
    assert found.stats["searched"] == 15
    assert found.stats["removed_isolated"] + found.stats["removed_degree_1"] == 4
    best = solver_class("dual_ascent")().solve(problem)
    assert best.optimal
    assert problem.score(found.z[0]) == pytest.approx(best.score, rel=1e-14)
    assert found.bound[0] == pytest.approx(best.score, rel=1e-13)


def test_cuts_of_real_weights_come_apart_too():
    """The rounding of their unary scores looks like a field, which would join all nodes with one more."""
    graph = nx.disjoint_union(nx.complete_graph(7), nx.complete_graph(10))
    graph = nx.contracted_nodes(graph, 0, 7, self_loops=False)
    _, pairwise, edges = spins_on(graph, np.random.default_rng(0))
    pairwise = -1 - 0.01 * np.random.default_rng(0).random(len(edges))
    unary = without_field(pairwise, edges, 16)
    z, bound, whole = solved(unary, pairwise, edges)
    assert [part.problem.n for part in whole.parts] == [6, 9]
    rounding = Fraction(float(Problem.from_arrays(unary, pairwise, edges=edges).rounding[0]))
    best = exact_maximum(unary, pairwise, edges)
    assert best <= Fraction(bound) <= best + rounding
    assert best - rounding <= exact_score(unary, pairwise, edges, z)


def test_a_true_field_as_small_as_a_rounding_stays_in_the_bound():
    edges = np.stack((np.arange(5), np.arange(1, 6)), axis=1)
    pairwise = np.full(5, 2.0**49)
    # whole units, all but the last
    unary = np.append(without_field(pairwise, edges, 6) + 1, [2.0**51, 0.3])
    _, bound, _ = solved(unary, pairwise, edges)
    best = exact_score(unary, pairwise, edges, np.ones(8, int))
    rounding = Fraction(float(Problem.from_arrays(unary, pairwise, edges=edges).rounding[0]))
    assert best <= Fraction(bound) <= best + rounding


@many
@given(SEEDS, st.integers(3, 5))
def test_what_a_maximiser_says_of_the_parts_makes_a_maximiser(seed, size):
    random = np.random.default_rng(seed)
    edges, n = cliques(random, 2, size)
    pairwise = random.integers(-9, 10, len(edges)).astype(float)
    unary = without_field(pairwise, edges, n)
    scores = scores_of(unary, pairwise, edges, all_states(n))
    z = all_states(n)[random.choice(np.flatnonzero(scores == scores.max()))]
    for rules in ((), ("degree_2", "dominated")):  # under which the others need not change
        whole = decompose(unary, pairwise, edges, np.full(n, -1), rules)
        assert exact_score(unary, pairwise, edges, whole.state(whole.states(z))) == scores.max()


@pytest.mark.parametrize("claim", [np.inf, "highest"])
@pytest.mark.parametrize("seed", range(10))
def test_parts_that_are_not_finished_leave_a_bound_and_a_state(seed, claim):
    random = np.random.default_rng(seed)
    edges, n = cliques(random, 2, 6)
    pairwise = random.integers(-9, 10, len(edges)).astype(float)
    unary = without_field(pairwise, edges, n)

    def stops(problem, *_):
        return np.zeros(problem.n, np.int8), claim if claim == np.inf else float(
            problem.positive_part[0]
        )

    found = one_by_one(
        Problem.from_arrays(unary, pairwise, edges=edges), Deadline.after(1.0), stops
    )
    highest = scores_of(unary, pairwise, edges, all_states(n)).max()
    assert highest <= found.bound[0] <= np.maximum(unary, 0).sum() + np.maximum(pairwise, 0).sum()
    assert set(found.z[0].tolist()) <= {0, 1}


@pytest.mark.parametrize("seed", range(10))
def test_searches_start_from_a_given_state_and_do_not_lose_it(seed):
    random = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(12, 1), axis=1)
    pairwise = random.normal(size=len(edges))
    unary = without_field(pairwise, edges, 12)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    best, _ = enumerated(problem)
    found = one_by_one(
        problem, Deadline.after(None), lambda single, _, first: (first, np.inf), start=best[None]
    )
    assert problem.score(found.z[0]) == pytest.approx(problem.score(best), rel=1e-14)
    found = one_by_one(
        problem,
        Deadline.after(None),
        lambda single, _, first: (np.zeros_like(first), np.inf),
        start=best[None],
    )
    assert problem.score(found.z[0]) >= problem.score(best)


def test_a_search_that_finds_nothing_in_time_has_what_local_search_finds():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 16, periodic=True))
    edges, random = np.array(graph.edges), np.random.default_rng(3)
    pairwise = random.choice([-1.0, 1.0], len(edges))
    problem = Problem.from_arrays(without_field(pairwise, edges, 128), pairwise, edges=edges)
    waited = []

    def waits(part, deadline, _):
        waited.append(deadline.left)
        time.sleep(deadline.left)
        return np.zeros(part.n, np.int8), np.inf

    begin = time.monotonic()
    found = one_by_one(problem, Deadline.after(4.0), waits)
    assert time.monotonic() - begin < 8.0
    assert 3.0 < waited[0] <= 0.9 * 4.0
    assert problem.score(found.z[0]) == solver_class("elimination")().solve(problem).score


def test_what_is_proved_or_ends_at_once_is_not_searched_again(monkeypatch):
    monkeypatch.setattr(presolve, "improved", lambda *_: pytest.fail("it was"))
    problem = instances.dense(26, 1, np.random.default_rng(0)).problem()
    best = solver_class("branch_and_bound")().solve(problem, 60.0)
    assert best.optimal

    def proves(*_):
        time.sleep(0.3)
        return best.z[0], float(best.score[0])

    one_by_one(problem, Deadline.after(1e4), proves)
    one_by_one(problem, Deadline.after(1e4), lambda *_: (np.zeros(26, np.int8), np.inf))


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    "name",
    [
        "dual_ascent",
        "branch_and_bound",
        "mini_buckets",
        "cycle_cuts",
        "cplex",
        "cp_sat",
        "highs",
        "auto",
    ],
)
def test_no_search_ends_below_what_local_search_knows(monkeypatch, name):
    asked = []

    def improved(problem, z, deadline):
        assert 0.0 < deadline.left <= 0.1 * 1.5 + 0.01
        asked.append(z.shape == (problem.n,))
        return z

    monkeypatch.setattr(presolve, "improved", improved)
    graph = nx.random_regular_graph(6, 200, seed=1)
    unary, pairwise, edges = spins_on(graph, np.random.default_rng(0), "normal")
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    if name != "auto" and (missing := solver_class(name).missing_packages()):
        pytest.skip(f"needs {missing}")
    solution = solve(problem, solver=name, time_limit=1.5)
    assert not solution.optimal
    assert asked
    assert all(asked)


@pytest.mark.parametrize(
    "name", ["dual_ascent", "branch_and_bound", "mini_buckets", "cp_sat", "highs"]
)
def test_backends_prove_what_elimination_finds(name):
    random = np.random.default_rng(7)
    graph = nx.disjoint_union(
        nx.random_regular_graph(4, 20, seed=1), nx.random_regular_graph(5, 12, seed=2)
    )
    for scale in ("ties", "normal"):
        unary, pairwise, edges = spins_on(graph, random, scale)
        problem = Problem.from_arrays(unary, pairwise, edges=edges)
        solution = solver_class(name)().solve(problem)
        assert solution.optimal
        assert solution.score == pytest.approx(
            solver_class("elimination")().solve(problem).score, rel=1e-13
        )
        assert solution.stats["searched"] < 32


@many
@given(SEEDS, st.sampled_from(["normal", "mixed", "decimal", "huge"]))
def test_bounds_hold_where_roof_duality_has_fixed_variables_of_rounded_scores(seed, scale):
    random = np.random.default_rng(seed)
    edges = random_graph(random, 8)
    unary, pairwise = SCALES[scale](random, 8), SCALES[scale](random, len(edges))
    found = one_by_one(
        Problem.from_arrays(unary, pairwise, edges=edges), Deadline.after(None), enumerated
    )
    assert exact_maximum(unary, pairwise, edges) <= Fraction(found.bound[0])


def test_dense_problems_are_left_as_they_are():
    one = instances.dense(26, 1, np.random.default_rng(0)).problem()
    seen = []
    found = one_by_one(
        one,
        Deadline.after(None),
        lambda single, *_: (seen.append(single), (np.zeros(26, np.int8), 1e9))[1],
    )
    np.testing.assert_array_equal(seen[0].pairwise, one.pairwise)
    assert (found.stats["parts"], found.stats["searched"], found.stats["removed_pair"]) == (
        1,
        26,
        0,
    )
    assert found.bound[0] <= one.positive_part[0]  # whatever the backend says


def test_a_long_band_in_a_field_takes_no_time():
    """It comes undone from its ends; the node that all fields lead to must not be looked through at every step."""
    n = 150_000
    order = np.random.default_rng(0).permutation(n)
    band = np.concatenate([np.stack((order[:-k], order[k:]), axis=1) for k in (1, 2)])
    edges, pairwise = np.sort(band, axis=1), np.full(len(band), 2.0)
    unary = 1.0 - np.bincount(edges.ravel(), minlength=n)  # every field weighs as much as a pair
    decompose(unary[:3], pairwise[:1], np.array([[0, 1]]), np.full(3, -1))
    begin = time.process_time()
    whole = decompose(unary, pairwise, edges, np.full(n, -1))
    assert whole.parts == ()
    assert time.process_time() - begin < 5.0


def test_a_batch_equals_its_instances():
    random = np.random.default_rng(5)
    edges = np.array(nx.random_regular_graph(4, 16, seed=3).edges)
    edges = np.sort(edges, axis=1)
    pairwise = random.integers(-2, 3, (7, len(edges))).astype(float)
    unary = random.integers(-1, 2, (7, 16)).astype(float)
    whole = one_by_one(
        Problem.from_arrays(unary, pairwise, edges=edges),
        Deadline.after(None),
        enumerated,
        threads=2,
    )
    singles = [
        one_by_one(
            Problem.from_arrays(u[None], w[None], edges=edges), Deadline.after(None), enumerated
        )
        for u, w in zip(unary, pairwise, strict=True)
    ]
    assert whole.bound.tolist() == [one.bound[0] for one in singles]
    for key, value in whole.stats.items():
        if key != "fixed_share":
            assert value == sum(one.stats[key] for one in singles)


def test_what_roof_duality_fixes_wholly_is_not_decomposed(monkeypatch):
    monkeypatch.setattr(presolve, "decompose", None)
    problem = Problem.from_arrays([9.0, -9.0], [1.0], edges=[[0, 1]])
    assert one_by_one(problem, Deadline.after(None), enumerated).z.tolist() == [[1, 0]]


def test_auto_proves_real_scores_whose_parts_are_rounded_to_units():
    """Rounding makes the scores of parts look like whole units that float64 sums would lose."""
    generator = np.random.default_rng(0)
    n = 60
    edges = np.stack(np.triu_indices(n, 1), 1)
    edges = edges[np.sort(generator.choice(len(edges), 9 * n, replace=False))]
    unary = generator.normal(size=(20, n))
    pairwise = generator.normal(size=(20, len(edges)))
    solution = solve(unary, pairwise, edges=edges)
    assert solution.optimal.all()
    proof = solve(unary, pairwise, edges=edges, solver="branch_and_bound")
    np.testing.assert_allclose(solution.score, proof.score, rtol=1e-12)
