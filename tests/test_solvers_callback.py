"""`solve(callback=)`: what a callback hears, how often, in which thread, and what its word does."""

import sys
import threading
import time

import numpy as np
import pytest
from optional import optional

from solvers import (
    Deadline,
    OptionError,
    Problem,
    Progress,
    instances,
    prepare,
    solve,
    solver_class,
)
from solvers.algorithms.presolve.ranked import ranked
from solvers.constraints import cardinality
from solvers.conversions import from_ising, from_networkx
from solvers.limits import deadline, interrupts, progress
from solvers.limits.progress import Known, Listener, Part, watched_by

torch = optional("torch")

LIMIT = 30.0
"""Seconds that no search here should need, once it is told to end."""


def dense(n, seed=0, batch=1):
    return instances.dense(n, batch, np.random.default_rng(seed)).problem()


def spins(n, degree, batch=1, seed=0):
    """Random graphs without a field, of which roof duality fixes nothing."""
    generator = np.random.default_rng(seed)
    ends = np.sort(generator.integers(0, n, (degree * n // 2, 2)), axis=1)
    edges = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
    weights = generator.standard_normal((batch, len(edges)))
    unary = np.zeros((batch, n))
    for end in edges.T:
        np.add.at(unary.T, end, -weights.T / 2)
    return Problem.from_arrays(unary, weights, edges=edges)


LONG = {
    "branch_and_bound": lambda: dense(200),
    "dual_ascent": lambda: spins(150, 8),
    "mini_buckets": lambda: spins(150, 8),
    "cycle_cuts": lambda: spins(200, 10),
    "local_search": lambda: spins(150, 8),
    "cp_sat": lambda: dense(60),
    "highs": lambda: dense(60),
    "cplex": lambda: dense(70),
    "auto": lambda: spins(250, 10),
}
"""Problems that take long, by solver."""


class Heard:
    """A callback that keeps what it hears, and ends the search after some calls, once states or more are known."""

    def __init__(self, calls=3, until=lambda known: np.asarray(known.score) > -np.inf):
        self.calls, self.until, self.said, self.times, self.threads = calls, until, [], [], set()

    def __call__(self, known):
        assert isinstance(known, Progress)
        self.said.append(known)
        self.times.append(time.monotonic())
        self.last = deadline.now()
        self.threads.add(threading.current_thread())
        return len(self.said) >= self.calls and bool(np.all(self.until(known)))


def installed(name):
    if name != "auto" and (missing := solver_class(name).missing_packages()):
        pytest.skip(f"needs {missing}")
    return name


def check_heard(heard, problem, solution):
    """That all claims are true, and that nothing gets worse."""
    scores, bounds = (
        np.array([np.asarray(getattr(each, name)) for each in heard.said])
        for name in ("score", "bound")
    )
    assert (np.diff(scores, axis=0) >= 0).all()
    assert (np.diff(bounds, axis=0) <= 0).all()
    assert (bounds >= scores).all()
    for each in heard.said:
        assert np.abs(problem.score(each.z) - each.score).max() <= problem.rounding.max()
    assert (solution.score >= scores[-1] - problem.rounding).all()
    assert (solution.score <= bounds[-1] + problem.rounding).all()
    assert (solution.bound >= solution.score).all()


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", sorted(LONG))
def test_a_search_is_heard_and_stopped(name):
    problem, heard = LONG[installed(name)](), Heard()
    before = set(threading.enumerate())
    solution = solve(problem, solver=name, time_limit=LIMIT, callback=heard)
    assert len(heard.said) == heard.calls
    assert min(np.diff(heard.times)) >= progress.INTERVAL
    assert heard.threads == {threading.current_thread()}
    # on a clock that stands still while packages are loaded
    assert deadline.now() - heard.last < LIMIT / 2
    assert 0 < heard.said[0].seconds <= heard.said[-1].seconds
    assert not solution.optimal.any()
    assert "callback" not in solution.stats
    check_heard(heard, problem, solution)
    for thread in (
        set(threading.enumerate()) - before
    ):  # a library that does not stop in its grace is left alone
        thread.join(60)
    assert set(threading.enumerate()) <= before


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    "name",
    ["branch_and_bound", "dual_ascent", "mini_buckets", "cycle_cuts", "local_search", "auto"],
)
def test_searches_say_more_than_what_is_known_before(name):
    problem = LONG[name]()
    heard = Heard(until=lambda known: (known.score > 0) & (known.bound < problem.positive_part))
    solve(problem, solver=name, time_limit=LIMIT, callback=heard)
    assert heard.until(heard.said[-1]).all()


def test_a_batch_is_heard_of_as_a_whole():
    problem, heard = spins(150, 8, batch=3), Heard(10)
    shaped = Problem.from_arrays(
        torch.from_numpy(problem.unary).reshape(3, 1, -1),
        torch.from_numpy(problem.pairwise).reshape(3, 1, -1),
        edges=problem.edges,
    )
    solution = solve(shaped, solver="local_search", time_limit=4.0, callback=heard)
    for each in heard.said:
        assert each.z.shape == (3, 1, 150)
        assert each.score.shape == each.bound.shape == (3, 1)
        assert isinstance(each.z, torch.Tensor)
        assert torch.allclose(shaped.score(each.z), each.score)
    assert (solution.score >= heard.said[-1].score - 1e-9).all()  # summed in another order
    assert (heard.said[-1].score > 0).all()


def test_the_best_so_far_is_at_least_the_start():
    problem = dense(200)
    start = solve(problem, solver="local_search", time_limit=0.5).z
    heard = Heard(1)
    solve(problem, start=start, time_limit=LIMIT, callback=heard)
    assert heard.said[0].score >= problem.score(start) - problem.rounding


def test_what_a_callback_raises_comes_out_when_all_threads_have_ended():
    problem, before, count = dense(200), set(threading.enumerate()), interrupts.interrupts()

    def fail(known):
        raise LookupError("of the callback")

    with pytest.raises(LookupError, match="of the callback"):
        solve(problem, time_limit=LIMIT, callback=fail)
    assert set(threading.enumerate()) <= before
    assert interrupts.interrupts() == count  # other searches of the process go on
    assert progress.watch() is None
    assert solve(dense(10)).optimal.all()


def test_a_callback_may_solve():
    problem, inner = dense(200), dense(12, seed=1)
    expected, found = solve(inner).score, []

    def call(known):
        found.append(solve(inner, solver="branch_and_bound").score)
        return len(found) == 2

    heard = solve(problem, time_limit=LIMIT, callback=call)
    assert [score.tolist() for score in found] == [expected.tolist()] * 2
    assert not heard.optimal.any()


def test_solvers_that_do_not_search_say_that_they_do_not_call():
    def never(known):
        raise AssertionError

    assert solve([1.0, 2.0], callback=never).stats["callback"] == "unused"
    problem = dense(10)
    assert solve(problem, k_best=3, callback=never).stats["callback"] == "unused"
    assert (
        solve(problem, constraints=[cardinality(3)], callback=never).stats["callback"] == "unused"
    )
    single = solve([1.0, 2.0], solver="independent", k_best=2, callback=never)
    assert single.stats["callback"] == "unused"
    assert "callback" not in solve(problem).stats


@pytest.mark.parametrize("callback", [1, "print", [print]])
def test_a_callback_is_a_function(callback):
    with pytest.raises(OptionError, match="callback"):
        solve([1.0], callback=callback)
    with pytest.raises(OptionError, match="callback"):
        solve(from_ising({"a": 1.0}, {}), callback=callback)


def test_fixed_variables_have_their_values_in_what_is_heard():
    problem, heard = dense(200), Heard(3)
    solution = solve(problem, fix={0: 1, 7: 1, 9: 0}, time_limit=LIMIT, callback=heard)
    for each in heard.said:
        assert each.z[..., [0, 7, 9]].tolist() == [[1, 1, 0]]
    check_heard(heard, problem, solution)
    assert (heard.said[-1].bound < problem.positive_part).all()


@pytest.mark.parametrize("name", ["cp_sat", "highs", "cplex"])
def test_within_constraints(name):
    problem, heard = dense(60), Heard()
    solution = solve(
        problem,
        solver=installed(name),
        constraints=[cardinality(30)],
        time_limit=LIMIT,
        callback=heard,
    )
    for each in heard.said:
        if each.score > -np.inf:
            assert each.z.sum() == 30
            assert problem.score(each.z) == pytest.approx(each.score)
        else:
            assert (each.z == -1).all()
        assert (each.bound >= each.score).all()
    assert solution.z.sum() == 30
    # none where it is fast
    best = max([float(np.max(each.score)) for each in heard.said], default=-np.inf)
    assert solution.score >= best - 1e-9  # summed in another order


def test_of_several_states_the_best_is_heard_of():
    problem, heard = dense(200), Heard(3)
    solution = solve(problem, k_best=3, time_limit=LIMIT, callback=heard)
    assert len(heard.said) == 3
    assert solution.z.shape == (1, 3, 200)
    assert (heard.said[-1].score <= solution.score[:, 0]).all()
    assert len({tuple(state) for state in solution.z[0].tolist()}) == 3


def test_a_conversion_is_heard_of_in_its_own_words():
    networkx = pytest.importorskip("networkx")
    graph = networkx.gnm_random_graph(200, 4000, seed=0)
    conversion = from_networkx(graph, kind="max_cut")
    heard = Heard(4)
    answer = solve(conversion, time_limit=LIMIT, callback=heard)
    last = heard.said[-1]
    assert isinstance(last.score, float)
    assert set(last.z) == set(graph)
    cut = sum(last.z[i] != last.z[j] for i, j in graph.edges)
    assert cut == pytest.approx(last.score)
    assert last.score <= answer.value <= last.bound


def test_prepared_calls():
    problem, heard = spins(150, 8), Heard(2)
    solution = prepare(problem.edges, problem.n, time_limit=LIMIT)(
        problem.unary, problem.pairwise, callback=heard
    )
    assert len(heard.said) == 2
    check_heard(heard, problem, solution)


def test_the_best_of_what_is_told_is_kept():
    calls = []
    values = np.array([[0, 0], [0, 0]], np.int8), np.array([0.0, 0.0]), np.array([9.0, 9.0])
    listener = Listener(
        None, lambda *known: calls.append(known), lambda z, part: z.sum(axis=1) * 1.0, values
    )
    listener.take(Known(np.array([[1, 1]], np.int8), np.array([5.0]), slice(1, 2)))
    listener.take(Known(np.array([[1, 0]], np.int8), np.array([7.0]), slice(1, 2)))
    part = Part(listener, None, lambda known: known._replace(rows=slice(0, 1)))
    part.take(Known(np.array([[0, 1]], np.int8)))
    part.take(Known(None, np.array([0.5])))
    listener._next_call = 0.0
    listener.poll()
    z, score, bound = calls[0]
    assert z.tolist() == [[0, 1], [1, 1]]
    assert score.tolist() == [1.0, 2.0]
    assert bound.tolist() == [1.0, 5.0]  # never below what is there


def test_what_is_known_of_an_instance_is_said_of_it_alone():
    problem, calls = Problem.from_arrays([[1.0, 1.0], [3.0, 3.0]]), []
    first = np.zeros((2, 2), np.int8), np.zeros(2), np.full(2, 9.0)
    listener = Listener(
        problem,
        lambda *known: calls.append(known),
        lambda z, part: problem.instances(part).score_flat(z),
        first,
    )

    def rank(single, deadline, count):
        bound = float(single.unary.sum()) + 1.0
        deadline.watch.take(Known.of(np.ones(2, np.int8), bound))
        return np.ones((count, 2), np.int8), bound

    with watched_by(listener):
        ranked(problem, 1, Deadline.after(None), rank, 1)
    listener._next_call = 0.0
    listener.poll()
    z, score, bound = calls[0]
    assert z.tolist() == [[1, 1], [1, 1]]
    assert score.tolist() == [2.0, 6.0]
    assert bound.tolist() == [3.0, 7.0]


def test_bounds_are_told_in_the_words_of_the_original():
    """Energies are minimised, so a bound is below them."""
    random = np.random.default_rng(0)
    fields = dict(enumerate(random.normal(size=150)))
    pairs = {tuple(pair): random.normal() for pair in spins(150, 8).edges.tolist()}
    conversion, heard = from_ising(fields, pairs, offset=1e4), Heard(4)
    answer = solve(conversion, time_limit=LIMIT, callback=heard)
    least = 1e4 - 3.0 * sum(map(abs, [*fields.values(), *pairs.values()]))
    for told in heard.said:
        energy = 1e4 + sum(field * told.z[i] for i, field in fields.items())
        energy += sum(score * told.z[i] * told.z[j] for (i, j), score in pairs.items())
        assert told.score == pytest.approx(energy)
        assert least - 1e-6 <= told.bound <= answer.value + 1e-6 <= told.score + 2e-6


@pytest.mark.parametrize("leading", [(), (2, 3)])
def test_what_is_heard_has_the_dimensions_of_the_caller(leading):
    unary = np.random.default_rng(0).normal(size=(*leading, 60))
    edges, heard = spins(60, 8).edges, Heard(1)
    pairwise = np.ones((*leading, len(edges)))
    solve(unary, pairwise, edges=edges, solver="local_search", time_limit=LIMIT, callback=heard)
    assert heard.said[0].z.shape == (*leading, 60)
    assert np.shape(heard.said[0].score) == np.shape(heard.said[0].bound) == leading


def test_a_callback_that_leaves_interrupts_nobody_else():
    problem, before = dense(60), interrupts.interrupts()
    with pytest.raises(SystemExit, match="enough"):
        solve(
            problem,
            solver="local_search",
            time_limit=5,
            callback=lambda progress: sys.exit("enough"),
        )
    assert interrupts.interrupts() == before
