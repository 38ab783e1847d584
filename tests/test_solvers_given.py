"""What a caller gives beside a problem, and in other words, against enumeration."""

import itertools
import time

import networkx as nx
import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from solvers import (
    OptionError,
    Problem,
    ProblemError,
    SolveFailedError,
    available_solvers,
    instances,
    solve,
    solver_class,
)
from solvers.constraints import at_most, cardinality
from solvers.conversions import from_ising, from_networkx, from_qubo
from solvers.solution import Maximiser
from solvers.solver import ArgmaxSolver, Capabilities

torch = optional("torch")

few = examples(60)


def random_problem(random, n, batch=()):
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < 0.6]
    return random.normal(size=(*batch, n)), random.normal(size=(*batch, len(edges))), edges


def best_with(problem, values):
    """The highest score `[batch]` of the states that have the values `[batch, n]` that are not -1."""
    states = np.array(list(itertools.product((0, 1), repeat=problem.n)))
    scores = states @ problem.unary.T
    scores += (states[:, problem.edges[:, 0]] * states[:, problem.edges[:, 1]]) @ problem.pairwise.T
    agree = ((values[None] < 0) | (states[:, None] == values[None])).all(axis=2)
    return np.where(agree, scores, -np.inf).max(axis=0)


@few
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 9),
    st.sampled_from(["exhaustive", "branch_and_bound", "elimination", "auto"]),
)
def test_fixed_variables_keep_their_values_and_the_others_are_best(seed, n, solver):
    random = np.random.default_rng(seed)
    unary, pairwise, edges = random_problem(random, n, (3,))
    free = random.random(n) < 0.6
    values = np.where(free, -1, random.integers(0, 2, (3, n)))
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    solution = solve(unary, pairwise, edges=edges, solver=solver, fix=values)
    assert solution.z.shape == (3, n)
    assert (solution.z == values)[:, ~free].all()
    np.testing.assert_allclose(solution.score, best_with(problem, values), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(solution.score, problem.score(solution.z), rtol=1e-14)
    assert solution.optimal.all()
    assert (solution.bound >= best_with(problem, values) - 1e-14).all()
    assert solution.stats["given"] == (~free).sum()


def test_a_mapping_fixes_a_variable_in_all_instances_and_torch_stays_torch():
    one = instances.dense(6, 4, np.random.default_rng(0)).problem()
    arrays = torch.tensor(one.unary), torch.tensor(one.pairwise)
    solution = solve(*arrays, edges=one.edges, fix={0: 1, 5: 0})
    assert isinstance(solution.z, torch.Tensor)
    assert solution.z[:, 0].tolist() == [1] * 4
    assert solution.z[:, 5].tolist() == [0] * 4
    whole = solve(*arrays, edges=one.edges, fix=dict.fromkeys(range(6), 1))
    assert whole.solver == "fixed"
    assert whole.optimal.all()
    np.testing.assert_allclose(whole.score, one.unary.sum(1) + one.pairwise.sum(1))


@pytest.mark.parametrize(
    ("fix", "message"),
    {
        "no variable": ({7: 1}, "there are 0 to 2"),
        "a name": ({"a": 1}, "there are 0 to 2"),
        "no bit": ({0: 2}, "it has 0 to 1"),
        "a word": ({0: "on"}, "it has 0 to 1"),
        "another length": ([0, 1], "free variable"),
        "other numbers": ([0.5, 1, 0], "variable 0 the value 0.5; it has 0 to 1"),
        "text": ("101", "free variable"),
        "a truth value as a variable": ({True: 1}, "there are 0 to 2"),
    }.values(),
)
def test_what_cannot_be_fixed_is_refused(fix, message):
    with pytest.raises(OptionError, match=message):
        solve(np.ones((2, 3)), fix=fix)


class Zeros(ArgmaxSolver):
    """Zeros, and a bound that proves nothing."""

    name = "zeros"
    capabilities = Capabilities(exact=True, constraints=1 << 40)

    def _argmax(self, problem, deadline):
        return Maximiser(np.zeros((problem.batch, problem.n), np.int8), problem.positive_part)

    def _argmax_within(self, problem, rows, deadline):
        return self._argmax(problem, deadline)


def test_an_answer_is_never_worse_than_the_start():
    one = instances.dense(12, 5, np.random.default_rng(1)).problem()
    best = solve(one, solver="exhaustive")
    started = solve(one, solver=Zeros(), start=best.z)
    np.testing.assert_array_equal(started.score, best.score)
    np.testing.assert_array_equal(started.z, best.z)
    assert (started.bound >= best.score).all()
    assert not started.optimal.any()
    assert started.stats["start"] == "unused"
    assert "start" not in solve(one, solver=Zeros()).stats


@pytest.mark.parametrize(("start", "expected"), [([1, 0, 0], 3.0), ([1, 1, 0], 0.0)])
def test_a_start_replaces_an_answer_only_if_it_satisfies_the_constraints(start, expected):
    problem = Problem.from_arrays([3.0, 2.0, 1.0], [1.0], edges=[[0, 1]])
    solution = solve(problem, solver=Zeros(), constraints=[at_most(1)], start=start)
    assert solution.score == expected


class FindsNothing(ArgmaxSolver):
    """Finds no state until its time is up."""

    name = "finds_nothing"
    capabilities = Capabilities(exact=True, time_limit=True, constraints=1 << 40)

    def _argmax(self, problem, deadline):
        raise NotImplementedError

    def _argmax_within(self, problem, rows, deadline):
        while not deadline.passed:
            time.sleep(1e-3)
        unknown = np.full((problem.batch, problem.n), -1, np.int8)
        return Maximiser(unknown, problem.positive_part)


@pytest.mark.parametrize("fix", [None, {0: 1}])
def test_a_search_within_constraints_that_finds_nothing_in_time_returns_the_start(fix):
    problem = instances.dense(6, 2, np.random.default_rng(5)).problem()
    options = {"solver": FindsNothing(), "time_limit": 0.01, "fix": fix}
    start = [[1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]
    solution = solve(problem, constraints=[cardinality(1)], start=start, **options)
    assert solution.z.tolist() == start
    np.testing.assert_array_equal(solution.score, problem.score_flat(np.array(start)))
    assert (solution.bound >= solution.score).all()
    assert not solution.optimal.any()
    assert solution.stats["start"] == "unused"
    start[1] = [1, 1, 0, 0, 0, 0]  # breaks the constraint
    with pytest.raises(SolveFailedError, match="in its time"):
        solve(problem, constraints=[cardinality(1)], start=start, **options)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (2, 0)])
@pytest.mark.parametrize(
    "options",
    [{"fix": {7: 1}}, {"start": [1, 1]}, {"k_best": 2, "start": 0}],
    ids=["fix", "start", "k_best and start"],
)
def test_options_of_problems_without_instances_or_variables_are_checked(shape, options):
    with pytest.raises(OptionError, match=r"fix names|start must be|cannot be combined"):
        solve(np.zeros(shape), **options)


def test_every_backend_takes_a_start_and_says_whether_it_was_of_use():
    one = instances.grid(3, 4, 2, np.random.default_rng(2)).problem()
    start = np.random.default_rng(3).integers(0, 2, 12)
    for info in available_solvers():
        solver = solver_class(info.name)()
        if info.missing or solver.why_not(one):
            continue
        said = solve(one, solver=solver, start=start).stats["start"]
        assert said == ("used" if "start" in solver.options() else "unused")


def test_auto_passes_a_start_to_the_backends_of_the_parts():
    graph = nx.random_regular_graph(4, 90, seed=1)
    random = np.random.default_rng(0)
    for pair in graph.edges:
        graph.edges[pair]["weight"] = float(random.choice([-1, 1]))
    one = from_networkx(graph, kind="max_cut").problem
    found = solve(one, start=random.integers(0, 2, one.n))
    assert found.stats["start"] == "used"
    assert any(name.startswith("turns_") for name in found.stats)
    assert np.all(found.optimal)
    late = solve(one, start=found.z, time_limit=1e-6)
    np.testing.assert_array_equal(late.score, found.score)


def test_a_start_of_fixed_and_free_variables_is_that_of_the_free_ones():
    one = instances.dense(8, 2, np.random.default_rng(4)).problem()
    best = solve(one, solver="exhaustive", fix={2: 1})
    started = solve(one, solver=Zeros(), fix={2: 1}, start=best.z)
    np.testing.assert_array_equal(started.z, best.z)


@pytest.mark.parametrize("start", [[0, 1], [0, 1, 2], "010"])
def test_what_is_no_start_is_refused(start):
    with pytest.raises((OptionError, ProblemError), match="start"):
        solve(np.ones(3), start=start)


# --- other words --------------------------------------------------------------------------------


def test_spins_come_back_as_spins_with_the_energy_and_its_bound():
    fields, couplings = {"a": 0.5, "b": -1.0, "c": 0.0}, {("a", "b"): 1.0, ("b", "c"): -2.0}
    answer = solve(from_ising(fields, couplings))

    def energy(s):
        return sum(h * s[i] for i, h in fields.items()) + sum(
            w * s[i] * s[j] for (i, j), w in couplings.items()
        )

    all_spins = [dict(zip("abc", s, strict=True)) for s in itertools.product((-1, 1), repeat=3)]
    assert answer.optimal
    assert answer.value == pytest.approx(min(map(energy, all_spins)))
    assert answer.bound == pytest.approx(answer.value)
    assert energy(answer.assignment) == pytest.approx(answer.value)
    assert set(answer.assignment.values()) <= {-1, 1}


@few
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.booleans())
def test_the_sides_of_a_heaviest_cut(seed, n, weighted):
    graph = nx.gnp_random_graph(n, 0.6, seed=seed % 1000)
    graph.add_edge(0, 0, weight=100.0)
    random = np.random.default_rng(seed)
    for u, v in graph.edges:
        if weighted and u != v:
            graph[u][v]["weight"] = float(random.integers(-3, 4))
    answer = solve(from_networkx(graph, kind="max_cut"))
    plain = nx.Graph((u, v, d) for u, v, d in graph.edges(data=True) if u != v)
    cut = {frozenset(side) for side in answer.sides}
    assert set().union(*cut) == set(graph)
    low = answer.sides[0] & set(plain)
    assert answer.value == pytest.approx(
        nx.cut_size(plain, low, set(plain) - low, weight="weight") if len(plain) else 0
    )
    best = max(
        sum(d.get("weight", 1) for u, v, d in plain.edges(data=True) if z[u] != z[v])
        for z in itertools.product((0, 1), repeat=n)
    )
    assert answer.value == pytest.approx(best)
    assert answer.optimal


def test_names_fix_and_start_a_conversion():
    model = from_qubo({("a", "a"): -1.0, ("b", "b"): -1.0, ("a", "b"): 3.0})
    assert solve(model, fix={"a": 0}).assignment == {"a": 0, "b": 1}
    assert solve(model, start={"a": 1, "b": 0}).value == -1.0
    assert solve(model.problem, fix={0: 0}).z.tolist() == [0, 1]
    spins = from_ising({"a": 1.0}, {("a", "b"): 1.0})
    assert spins.states({"a": -1, "b": 1}) == {0: 0, 1: 1}
    for fix, message in (({"c": 0}, "no variable"), ({"a": 2}, "it is 0 or 1")):
        with pytest.raises(OptionError, match=message):
            solve(model, fix=fix)
    with pytest.raises(OptionError, match="needs all variables"):
        solve(model, start={"a": 1})


def test_a_problem_or_a_conversion_has_its_pairs():
    model = from_qubo({("a", "b"): 1.0})
    for source in (model, model.problem):
        with pytest.raises(ProblemError, match="has its pairs"):
            solve(source, [[0.0]])
    with pytest.raises(OptionError, match="'max_cut'"):
        from_networkx(nx.path_graph(2), kind="cut")


def test_a_single_instance_has_no_batch_dimension():
    assert solve(Problem.from_arrays([1.0, -1.0])).z.shape == (2,)
    assert solve(from_qubo({(0, 1): 1.0})).solution.z.shape == (2,)
