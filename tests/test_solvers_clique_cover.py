"""Cliques of pairs that exclude each other: bounds at every stop, and proofs of independent sets."""

import copy
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from auto_runs import names_of, runs_of
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import needs

from solvers import (
    Deadline,
    OptionError,
    Problem,
    UnsupportedProblemError,
    select_solver,
    solve,
    solver_class,
)
from solvers.algorithms.clique_cover import programs
from solvers.algorithms.clique_cover.branch_and_cut import CliqueBranchAndCut, CliqueProgram
from solvers.algorithms.clique_cover.programs import FREE
from solvers.algorithms.clique_cover.search import CliqueSearch
from solvers.algorithms.precision.fixed_point import FixedPoint
from solvers.algorithms.presolve.penalties import excluded_pairs, exclusions
from solvers.backends import clique_cover
from solvers.testing import enumerate_scores

SEEDS = st.integers(0, 2**32 - 1)
few = examples(60)


def independent_set(graph, weights=None, penalty=None):
    """Weights of nodes, and for each edge a penalty: above both ends' weights, or a function of them."""
    graph = nx.convert_node_labels_to_integers(graph)
    if weights is None:
        weights = np.ones(len(graph))
    edges = np.array(graph.edges, np.int64).reshape(-1, 2)
    first, second = weights[edges].T
    if penalty is None:
        penalties = first + second + 1
    else:
        penalties = penalty(first, second)
    return Problem.from_arrays(weights, -penalties, edges=edges)


def with_few_other_pairs(n, seed):
    """Whole scores: most pairs exclude each other, some barely, and a quarter only cost or gain."""
    random = np.random.default_rng(seed)
    most = random.choice([1, 5, 1000])
    unary = random.integers(-most // 4, most + 1, n)
    edges = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = edges[random.random(len(edges)) < random.uniform(0.1, 1.0)]
    first, second = unary[edges].T
    pairwise = -np.where(random.random(len(edges)) < 0.5, np.minimum(first, second), first + second)
    other = random.random(len(edges)) < random.choice([0.0, 0.25])
    pairwise[other] = random.integers(-most, most + 1, other.sum())
    return Problem.from_arrays(unary.astype(float), pairwise.astype(float), edges=edges)


def of_zeros(problem):
    """Return the problem in t = 1 - z: its pairs exclude each other at 0, as in a vertex cover."""
    unary = -problem.unary[0]
    for end in problem.edges.T:
        np.subtract.at(unary, end, problem.pairwise[0])
    return Problem.from_arrays(unary, problem.pairwise[0], edges=problem.edges)


def search_of(problem):
    """Return a search without presolve, which would leave little of small problems."""
    scores = FixedPoint.of(problem)
    zeros = np.zeros(problem.n, np.int8)
    return scores, CliqueSearch(scores, excluded_pairs(scores), zeros, Deadline.after(None))


def check_every_stop(problem):
    """Check state and bound of a search after each node, against enumeration."""
    best = enumerate_scores(problem)[0].max()
    scores, search = search_of(problem)
    while not search.finished:
        assert problem.score_flat(search.z[None])[0] <= best
        assert best <= scores.bound(np.array([search.bound]))[0]
        search.run(Deadline.after(None), nodes=1)
    assert problem.score_flat(search.z[None])[0] == best
    assert scores.bound(np.array([search.bound]))[0] == best


def proved_from_zeros(problem):
    """Return the best score, by a search that has to find it without a local search."""
    _, search = search_of(problem)
    search.run(Deadline.after(None))
    assert search.finished
    return problem.score_flat(search.z[None])[0]


@few
@given(SEEDS, st.integers(1, 12))
def test_the_bound_holds_wherever_the_search_stops(seed, n):
    check_every_stop(with_few_other_pairs(n, seed))


@pytest.mark.slow
def test_thousands_of_small_problems_have_no_false_certificate():
    for seed in range(10_000):
        check_every_stop(with_few_other_pairs(3 + seed % 9, seed))


@few
@given(SEEDS, st.integers(3, 10), st.sampled_from([1e-300, 1e-8, 0.1, 1.0, 1e17]))
def test_bounds_of_real_weights_hold_in_exact_arithmetic(seed, n, scale):
    random = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(n, 0.5, seed=seed)
    penalty = [np.minimum, np.maximum, np.add][seed % 3]
    problem = independent_set(graph, scale * random.random(n), penalty)
    unary, pairwise = (
        list(map(Fraction, scores[0])) for scores in (problem.unary, problem.pairwise)
    )

    def exact(state):
        ones = sum(score for score, z in zip(unary, state, strict=True) if z)
        pairs = zip(problem.edges.tolist(), pairwise, strict=True)
        return ones + sum(score for (i, j), score in pairs if state[i] and state[j])

    best = max(map(exact, product((0, 1), repeat=n)))
    scores, search = search_of(problem)
    while not search.finished:
        assert best <= Fraction(float(scores.bound(np.array([search.bound]))[0]))
        search.run(Deadline.after(None), nodes=1)
    assert best <= Fraction(float(scores.bound(np.array([search.bound]))[0]))
    assert best - exact(search.z) <= Fraction(float(problem.rounding[0]))


@pytest.mark.parametrize("seed", range(6))
def test_the_weight_is_that_of_a_heaviest_clique_of_the_complement(seed):
    graph = nx.gnp_random_graph(45, 0.2 + 0.1 * (seed % 3), seed=seed)
    weights = np.random.default_rng(seed).integers(1, 4 + 50 * (seed % 2), 45)
    complement = nx.complement(graph)
    nx.set_node_attributes(complement, dict(enumerate(weights.tolist())), "weight")
    _, heaviest = nx.max_weight_clique(complement)
    assert proved_from_zeros(independent_set(graph, weights.astype(float))) == heaviest


def codewords(bits, distance):
    """Words, joined where they differ in fewer bits than `distance`."""
    graph = nx.empty_graph(2**bits)
    pairs = combinations(graph, 2)
    graph.add_edges_from((a, b) for a, b in pairs if (a ^ b).bit_count() < distance)
    return graph


def kneser(n, k):
    """Subsets, joined where they have nothing in common."""
    subsets = [frozenset(chosen) for chosen in combinations(range(n), k)]
    graph = nx.empty_graph(len(subsets))
    pairs = combinations(graph, 2)
    graph.add_edges_from((a, b) for a, b in pairs if not subsets[a] & subsets[b])
    return graph


@pytest.mark.parametrize(
    ("graph", "size"),
    [
        (codewords(7, 4), 8),
        (codewords(8, 4), 16),
        (kneser(9, 3), 28),  # Erdos, Ko and Rado: all subsets with one member in common
        (nx.complement(nx.paley_graph(61).to_undirected()), 5),
    ],
    ids=["code of 7 bits", "code of 8 bits", "Kneser", "Paley"],
)
def test_known_independence_numbers_are_proved(graph, size):
    assert proved_from_zeros(independent_set(graph)) == size
    solution = solve(independent_set(graph), solver="clique_cover")
    assert solution.optimal
    assert solution.score == size


@pytest.mark.parametrize("penalty", [1.0, 1.0 - 2.0**-40])
def test_a_penalty_below_the_smaller_weight_excludes_nothing(penalty):
    # Three ones of a triangle score 3 - 3 * penalty: more than nothing, but never more than one 1.
    triangle = independent_set(nx.complete_graph(3), penalty=lambda first, _: penalty * first)
    cheap = independent_set(nx.complete_graph(3), penalty=lambda first, _: 0.5 * penalty * first)
    assert solve(triangle, solver="clique_cover").score == enumerate_scores(triangle).max()
    assert solve(cheap, solver="clique_cover").score == enumerate_scores(cheap).max()


@few
@given(SEEDS, st.integers(3, 9), st.integers(1, 4))
def test_pairs_that_exclude_each_other_at_zero_are_bounded_too(seed, n, nodes):
    problem = of_zeros(with_few_other_pairs(n, seed))
    best = enumerate_scores(problem)[0].max()
    stopped = solve(problem, solver=solver_class("clique_cover")(nodes=nodes))
    assert stopped.score <= best <= stopped.bound
    ended = solve(problem, solver="clique_cover")
    assert ended.optimal
    assert ended.score == best


def test_auto_proves_vertex_covers_by_cliques():
    random = np.random.default_rng(0)
    for graph in (nx.gnp_random_graph(120, 0.3, seed=1), nx.random_regular_graph(9, 100, seed=0)):
        problem = independent_set(graph, random.integers(1, 100, len(graph)).astype(float))
        cover = of_zeros(problem)
        assert "cliques of such pairs" in select_solver(cover).reason
        solution = solve(cover)
        assert solution.optimal
        assert solution.solver == "clique_cover"
        # The nodes outside a lightest cover are a heaviest independent set.
        both = cover.unary[0].sum() + cover.pairwise[0].sum()
        assert solve(problem).score == solution.score - both


def test_a_search_that_runs_out_of_time_has_a_state_and_a_bound():
    problem = independent_set(nx.gnp_random_graph(400, 0.05, seed=0))
    solution = solve(problem, solver="clique_cover", time_limit=0.3)
    assert not solution.optimal
    assert 60 < solution.score < solution.bound < 300
    assert set(solution.z.tolist()) == {0, 1}


def test_auto_proves_what_linear_programs_leave_open():
    random = np.random.default_rng(0)
    for graph in (nx.gnp_random_graph(120, 0.3, seed=1), nx.gnp_random_graph(150, 0.15, seed=2)):
        problem = independent_set(graph, random.integers(1, 100, len(graph)).astype(float))
        assert "cliques of such pairs" in select_solver(problem).reason
        solution = solve(problem)
        assert solution.optimal
        assert solution.solver == "clique_cover"


def test_a_third_party_begins_where_there_are_few_groups():
    needs("cp_sat", "highs")
    roads = nx.line_graph(nx.gnp_random_graph(60, 0.2, seed=1))
    problem = independent_set(roads, np.arange(1.0, len(roads) + 1))

    assert names_of(problem, None) == ["clique_cover", "cp_sat"]
    assert names_of(problem, 60.0) == [
        "clique_cover",
        "cp_sat",
        "clique_cover",
        "clique_cover",
        "cp_sat",
    ]


def test_triangle_free_graphs_of_high_degree_are_recognised_too():
    graph = nx.complete_bipartite_graph(40, 40)
    graph.remove_edges_from([(i, 40 + i) for i in range(40)])
    graph.add_edges_from((i, i + 1) for i in range(3))
    problem = independent_set(graph, np.arange(1.0, 81.0))
    assert next(runs_of(problem, None)).solver.name == "clique_cover"


def test_a_limit_on_nodes_ends_the_search():
    problem = independent_set(nx.gnp_random_graph(120, 0.1, seed=0))
    limited = solve(problem, solver=solver_class("clique_cover")(nodes=1))
    assert not limited.optimal
    ended = solve(problem, solver="clique_cover")
    assert ended.optimal
    assert limited.score <= ended.score <= limited.bound


def test_a_paused_search_goes_on_where_it_stopped():
    problem = independent_set(nx.gnp_random_graph(120, 0.1, seed=0))
    nodes = 200
    paused = solver_class("clique_cover")().paused().with_options(nodes=nodes)
    solutions = [solve(problem, solver=paused)]
    while not solutions[-1].optimal and len(solutions) < 100:
        solutions.append(solve(problem, solver=paused))
    assert solutions[-1].optimal
    assert len(solutions) > 2
    assert solutions[-1].score == solve(problem, solver="clique_cover").score
    # In one run, the search takes as many nodes.
    whole = solver_class("clique_cover")(nodes=nodes * len(solutions))
    assert solve(problem, solver=whole).optimal
    less = solver_class("clique_cover")(nodes=nodes * (len(solutions) - 1))
    assert not solve(problem, solver=less).optimal


@few
@given(SEEDS, st.integers(3, 12), st.booleans())
def test_a_paused_search_takes_states_that_others_found(seed, n, at_zero):
    problem = with_few_other_pairs(n, seed)
    if at_zero:
        problem = of_zeros(problem)
    scores = enumerate_scores(problem)[0]
    states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    best = scores.max()
    paused = solver_class("clique_cover")().paused().with_options(nodes=1)
    assert solve(problem, solver=paused).score <= best
    offered = solve(problem, solver=paused, start=states[scores.argmax()])
    assert offered.score == best <= offered.bound
    worse = solve(problem, solver=paused, start=states[scores.argmin()])
    assert worse.score == best
    ended = solve(problem, solver=paused.with_options(nodes=None))
    assert ended.optimal
    assert ended.score == best


@pytest.mark.parametrize("at_zero", [False, True])
@pytest.mark.parametrize("kind", ["paused", "by_programs"])
def test_a_paused_search_keeps_the_best_state_of_others(kind, at_zero, monkeypatch):
    if kind == "by_programs":
        needs("highs")
    problem = independent_set(nx.gnp_random_graph(120, 0.2, seed=0), np.arange(1.0, 121.0))
    if at_zero:
        problem = of_zeros(problem)
    best = solve(problem, solver="clique_cover")

    def worst(problem, start, deadline):
        if start is not None:
            return start
        return np.full(problem.n, at_zero, np.int8)

    monkeypatch.setattr(clique_cover, "first_state", worst)
    # Without any search, states only come from the start.
    for search in (CliqueSearch, CliqueBranchAndCut):
        monkeypatch.setattr(search, "run", lambda *arguments: None)
    backend = solver_class("clique_cover")()
    begun = getattr(backend, kind)()
    assert begun.with_options(start=best.z).solve(problem).score == best.score
    resumed = getattr(backend, kind)()
    assert resumed.solve(problem).score < best.score
    assert resumed.with_options(start=best.z).solve(problem).score == best.score


def test_the_estimated_time_of_a_paused_search_ends_at_nothing():
    problem = independent_set(nx.gnp_random_graph(120, 0.1, seed=0))
    paused = solver_class("clique_cover")().paused()
    assert paused.seconds_left == np.inf
    few_nodes = paused.with_options(nodes=500)
    while not solve(problem, solver=few_nodes).optimal and paused.seconds_left == np.inf:
        pass
    assert 0 < paused.seconds_left < 60
    assert solve(problem, solver=paused).optimal
    assert paused.seconds_left == 0


def programs_of(problem):
    """Return the search by linear programs without presolve, and the integer scores."""
    scores = FixedPoint.of(problem)
    zeros = np.zeros(problem.n, np.int8)
    found = exclusions(scores)
    return scores, CliqueBranchAndCut(scores, found.pairs, zeros, found.value)


@few
@given(SEEDS, st.integers(1, 12), st.booleans())
def test_bounds_of_linear_programs_hold_wherever_the_search_stops(seed, n, at_zero):
    needs("highs")
    problem = with_few_other_pairs(n, seed)
    if at_zero:
        problem = of_zeros(problem)
    best = enumerate_scores(problem)[0].max()
    _, search = programs_of(problem)
    assert best <= search.score_bound
    for _ in range(4**n):
        if search.finished:
            break
        search.run(Deadline.after(None), nodes=1)
        assert problem.score_flat(search.z[None])[0] <= best <= search.score_bound
    assert search.finished
    assert problem.score_flat(search.z[None])[0] == best == search.score_bound


@few
@given(SEEDS, st.integers(3, 10), st.sampled_from([1e-300, 1e-8, 0.1, 1.0, 1e17]))
def test_bounds_of_linear_programs_hold_up_to_the_rounding_of_scores(seed, n, scale):
    needs("highs")
    random = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(n, 0.5, seed=seed)
    problem = independent_set(graph, scale * random.random(n), np.add)
    weights = list(map(Fraction, problem.unary[0]))
    edges = problem.edges.tolist()
    best = max(
        sum(weight for weight, z in zip(weights, state, strict=True) if z)
        for state in product((0, 1), repeat=n)
        if not any(state[i] and state[j] for i, j in edges)
    )
    _, search = programs_of(problem)
    rounding = Fraction(float(problem.rounding[0]))
    while not search.finished:
        assert best <= Fraction(search.score_bound) + rounding
        search.run(Deadline.after(None), nodes=1)
    assert best <= Fraction(search.score_bound) + rounding


def test_linear_programs_prove_a_packing_in_several_runs():
    needs("highs")
    problem = packing_of_fours(150, 38)
    whole = solve(problem, solver="clique_cover")
    by_programs = solver_class("clique_cover")().by_programs()
    solutions = [solve(problem, solver=by_programs, time_limit=0.1)]
    while not solutions[-1].optimal and len(solutions) < 300:
        solutions.append(solve(problem, solver=by_programs, time_limit=0.1))
    assert solutions[-1].optimal
    assert solutions[-1].score == whole.score
    bounds = [solution.bound for solution in solutions]
    assert bounds == sorted(bounds, reverse=True)


def test_linear_programs_bound_a_packing_that_no_search_ends():
    needs("highs")
    problem = packing_of_fours(400, 100)
    by_programs = solver_class("clique_cover")().by_programs()
    cliques = solve(problem, solver="clique_cover", time_limit=1)
    assert not cliques.optimal
    solution = solve(problem, solver=by_programs, time_limit=0.5)
    runs = 1
    while solution.bound > 0.8 * cliques.bound and runs < 40:
        solution = solve(problem, solver=by_programs, time_limit=0.5)
        runs += 1
    assert solution.score <= solution.bound < 0.8 * cliques.bound
    assert cliques.score <= solution.bound


class Looks:
    """A deadline that passes after some looks at it."""

    left = 1.0

    def __init__(self, looks):
        self.looks = looks

    @property
    def passed(self):
        self.looks -= 1
        return self.looks < 0


def test_a_linear_program_that_the_deadline_cuts_off_gives_a_bound(monkeypatch):
    needs("highs")
    graph = nx.gnp_random_graph(150, 0.3, seed=0)
    gains = np.arange(1, 151) * 1000
    free = np.full(150, FREE, np.int8)
    program = CliqueProgram(gains, nx.to_numpy_array(graph) > 0)
    never = Deadline.after(None)
    assert program.solve(never)
    cut_off = []
    while program.add_cliques(never):
        assert program.bound(free) is None  # new rows have no multipliers yet
        seconds = 1e-3
        monkeypatch.setattr(programs, "SLICE", seconds)
        while not program.solve(Looks(1)):
            cut_off.append(program.bound(free))
            seconds *= 2
            monkeypatch.setattr(programs, "SLICE", seconds)
    optimum = program.bound(free)
    best = solve(independent_set(graph, gains.astype(float)), solver="clique_cover")
    assert cut_off
    assert best.score <= optimum <= min(cut_off)
    assert max(cut_off) <= gains.sum()


def packing_of_fours(sets, items):
    """Weighted sets of four items, of which no two may share an item."""
    random = np.random.default_rng(sets)
    graph = nx.empty_graph(sets)
    chosen = [set(random.choice(items, 4, replace=False)) for _ in range(sets)]
    graph.add_edges_from((a, b) for a, b in combinations(range(sets), 2) if chosen[a] & chosen[b])
    return independent_set(graph, random.integers(1, 101, sets).astype(float))


def test_a_third_party_does_not_interrupt_cliques_that_are_about_to_end():
    problem = packing_of_fours(200, 50)
    few_nodes = solve(problem, solver=next(runs_of(problem, None)).solver)
    assert not few_nodes.optimal
    solution = solve(problem, time_limit=60)
    assert solution.optimal
    assert solution.solver == "clique_cover"
    assert "turns_cp_sat" not in solution.stats


def test_the_limit_on_nodes_is_a_positive_whole_number():
    with pytest.raises(OptionError, match="nodes"):
        solver_class("clique_cover")(nodes=0)


def path(scores, penalty=-20.0):
    """Nodes on a path, no two neighbours of which may be chosen."""
    edges = [(i, i + 1) for i in range(len(scores) - 1)]
    return Problem.from_arrays([scores], [[penalty] * len(edges)], edges=edges)


@pytest.mark.parametrize("name", ["branch_and_bound", "clique_cover", "cycle_cuts"])
def test_a_resumed_search_takes_its_own_problem_alone(name):
    paused = solver_class(name)().paused()
    first = path([5.0, 1.0, 5.0, 1.0])
    assert paused.solve(first).score == 10
    assert paused.solve(path([5.0, 1.0, 5.0, 1.0])).score == 10
    with pytest.raises(UnsupportedProblemError, match="that of another problem"):
        paused.solve(path([5.0, 50.0, 5.0, 1.0]))
    two = Problem.from_arrays(np.ones((2, 3)), -np.ones((2, 2)), edges=[(0, 1), (1, 2)])
    with pytest.raises(UnsupportedProblemError, match="2 instances and it takes one"):
        solver_class(name)().paused().solve(two)
    copied = copy.deepcopy(paused)
    assert copied.solve(path([5.0, 50.0, 5.0, 1.0])).score == 51


def test_threads_share_a_resumed_search_one_at_a_time():
    random = np.random.default_rng(0)
    edges = np.stack(np.triu_indices(200, 1), axis=1)
    edges = edges[random.random(len(edges)) < 0.12]
    problem = Problem.from_arrays(
        random.integers(1, 9, (1, 200)).astype(float), np.full((1, len(edges)), -30.0), edges=edges
    )
    paused = solver_class("clique_cover")().paused()
    with ThreadPoolExecutor(3) as pool:
        solutions = list(pool.map(lambda _: paused.solve(problem, 0.1), range(6)))
    assert all(solution.bound >= solutions[-1].score for solution in solutions)


def test_a_root_that_the_deadline_cut_off_is_cut_later(monkeypatch):
    needs("highs")
    random = np.random.default_rng(1)
    edges = np.stack(np.triu_indices(60, 1), axis=1)
    edges = edges[random.random(len(edges)) < 0.3]
    problem = Problem.from_arrays(
        random.integers(1, 9, (1, 60)).astype(float), np.full((1, len(edges)), -30.0), edges=edges
    )
    _, whole = programs_of(problem)
    whole.run(Deadline.after(None), 0)
    _, search = programs_of(problem)

    def solve_late(program, deadline):
        while not deadline.passed:
            pass
        return False

    with monkeypatch.context() as patched:
        patched.setattr(CliqueProgram, "solve", solve_late)
        search.run(Deadline.after(0.5), 0)
    assert search.score_bound > whole.score_bound
    search.run(Deadline.after(None), 0)
    assert search.score_bound == whole.score_bound
