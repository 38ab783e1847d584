"""Searches over labels, against enumeration."""

import itertools
import threading
import time
from functools import partial

import networkx as nx
import numpy as np
import pytest
import torch
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import Deadline, InfeasibleError, OptionError, select_solver, solver_class
from solvers.labels import (
    LabelProblem,
    from_factors,
    messages_first,
    solve,
)
from solvers.labels.algorithms.dual_ascent.graph import graph_of, score_of
from solvers.labels.algorithms.dual_ascent.search import LabelSearch
from solvers.labels.algorithms.fusion import fused_until
from solvers.labels.algorithms.tabu import tabu_until
from solvers.labels.algorithms.whole_scores import WholeScores

some = examples(80)
seeds = st.integers(0, 2**32 - 1)
HEURISTICS = ["expansion_moves"]
EXACT = ["dual_ascent"]


def scale_free(n, seed):
    """Equal values of neighbours gain or cost, where few variables have most of the neighbours."""
    random = np.random.default_rng(seed)
    edges = np.array(nx.barabasi_albert_graph(n, 3, seed=seed).edges)
    unary = 0.3 * random.standard_normal((n, 3))
    return LabelProblem.from_arrays(unary, potts=random.standard_normal(len(edges)), edges=edges)


@pytest.mark.parametrize("seed", [0, 4, 6])
def test_a_search_branches_on_variables_with_many_neighbours(seed):
    # Without regard to neighbours, so many visits do not prove it.
    solver = solver_class("dual_ascent", "labels")(visits=1 << 20)
    assert solve(scale_free(90, seed), solver=solver).optimal


def drawn(seed):
    """A random problem of two instances: tables of every kind, sizes, forbidden values and pairs."""
    random = np.random.default_rng(seed)
    n, k = random.integers(1, 7), random.integers(1, 5)
    sizes = random.integers(1, k + 1, n) if random.random() < 0.5 else np.full(n, k)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    edges = edges[random.random(len(edges)) < random.random()]
    kind, forbidden = random.integers(5), random.choice([0.0, 0.0, 0.1, 0.3])
    scale = 10.0 ** random.integers(-9, 10)
    unary, pairwise = (
        scale * (random.normal(size=shape) if kind < 2 else random.integers(-3, 4, shape) * 1.0)
        for shape in ((2, n, k), (2, len(edges), k, k))
    )
    unary = np.where(random.random(unary.shape) < forbidden / 3, -np.inf, unary)
    unary[..., 0] = scale
    if kind == 4:
        weights = scale * random.integers(-3, 4, (2, len(edges)))
        return LabelProblem.from_arrays(unary, potts=weights, edges=edges, sizes=sizes)
    if kind == 3:
        return LabelProblem.from_arrays(
            unary, scale * random.integers(-2, 3, (k, k)), edges=edges, sizes=sizes
        )
    pairwise = np.where(random.random(pairwise.shape) < forbidden, -np.inf, pairwise)
    return LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes)


def maxima(problem):
    """`[batch]`, by the definition."""
    assignments = np.array(list(itertools.product(*map(range, problem.sizes))))
    total = problem.unary[:, np.arange(problem.n), assignments].sum(axis=-1)
    for edge, (i, j) in enumerate(problem.edges):
        total = total + problem.pairwise(edge)[:, assignments[:, i], assignments[:, j]]
    return total.max(axis=-1)


@pytest.mark.parametrize("solver", EXACT)
@some
@given(seed=seeds)
def test_the_best_labels_are_those_of_enumeration(solver, seed):
    problem = drawn(seed)
    expected = maxima(problem)
    if (expected == -np.inf).any():
        with pytest.raises(InfeasibleError):
            solve(problem, solver=solver)
        return
    found = solve(problem, solver=solver)
    assert np.all(found.optimal)
    assert (np.abs(found.score - expected) <= 4 * problem.rounding).all()
    assert (found.bound >= expected - problem.rounding).all()


@some
@given(seed=seeds, visits=st.integers(1, 200))
def test_a_search_that_is_cut_short_has_a_bound_and_goes_on_to_the_end(seed, visits):
    problem = drawn(seed).instances(slice(0, 1))
    (expected,) = maxima(problem)
    search = LabelSearch(WholeScores.of(problem))
    for _ in range(1000):
        search.run(Deadline.after(None), visits)
        assert search.bound >= expected - problem.rounding[0]
        if search.finished:
            break
    assert (
        search.bound == -np.inf
        if expected == -np.inf
        else search.bound <= expected + problem.rounding[0]
    )


def test_whole_scores_round_less_than_is_allowed():
    for seed in range(200):
        problem = drawn(seed)
        for instance in range(2):
            one = problem.instances(slice(instance, instance + 1))
            scores = WholeScores.of(one)
            assert scores.error <= one.rounding[0] / 4
            if scores.error == 0.0:
                whole = scores.unary[scores.unary > -(1 << 60)]
                assert (whole % scores.step == 0).all()


def potts_grid(rows, columns, k, seed):
    random = np.random.default_rng(seed)
    place = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1)
    down = np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1)
    unary = random.normal(size=(rows * columns, k))
    return LabelProblem.from_arrays(unary, potts=0.5, edges=np.concatenate([across, down]))


def test_potts_is_what_its_tables_are():
    problem = potts_grid(5, 5, 4, 0)
    tables = LabelProblem.from_arrays(
        problem.unary[0], problem.all_pairwise()[0], edges=problem.edges
    )
    assert len(WholeScores.of(tables).tables.weights) == problem.e
    shifted = LabelProblem.from_arrays(
        problem.unary[0], problem.all_pairwise()[0] + 1.0, edges=problem.edges
    )
    assert not len(WholeScores.of(shifted).tables.weights)
    scores = [float(solve(one, solver="dual_ascent").score) for one in (problem, tables, shifted)]
    np.testing.assert_allclose(scores, [scores[0], scores[0], scores[0] + problem.e])
    np.testing.assert_allclose(scores[0], solve(problem, solver="elimination").score)


@pytest.mark.parametrize("solver", [*EXACT, *HEURISTICS])
def test_deadlines_are_kept(solver):
    problem = potts_grid(100, 100, 10, 1)
    solve(problem, solver=solver, time_limit=0.01)  # compiled
    begin = time.process_time()
    found = solve(problem, solver=solver, time_limit=0.3)
    assert time.process_time() - begin < 5
    assert found.bound >= found.score
    gap = float(found.bound - found.score) / float(found.bound)
    assert gap < 0.2


def test_work_can_be_limited():
    problem = potts_grid(12, 12, 6, 2)
    found = solve(problem, solver=solver_class("dual_ascent", "labels")(visits=1))
    assert found.bound >= found.score
    with pytest.raises(OptionError, match="visits"):
        solver_class("dual_ascent", "labels")(visits=0)
    with pytest.raises(OptionError, match="threads"):
        solver_class("dual_ascent", "labels")(threads=0)


def test_bounds_of_scores_that_are_exact_are_exact():
    for scores in ([[0.0, -1.0], [0.0, -3.0]], [[5.0, 4.0], [0.25, 0.0]]):
        found = solve(scores, potts=0.0, edges=[[0, 1]], solver="dual_ascent")
        assert found.bound == found.score == sum(row[0] for row in scores)
        assert found.optimal


def complete(n, k, seed, batch=1):
    """All pairs with tables of their own: more entries than elimination fills at once."""
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    random = np.random.default_rng(seed)
    unary, tables = random.normal(size=(batch, n, k)), random.normal(size=(batch, len(edges), k, k))
    return LabelProblem.from_arrays(unary, tables, edges=edges)


def test_what_a_search_leaves_goes_to_the_tables(limits):
    problem = complete(7, 3, 0, batch=6)
    limits(entries_per_visit=1 << 40)
    for at_once, names in ((1, "elimination"), (1 << 20, "dual_ascent")):
        limits(label_visits_per_call=at_once)
        found = solve(problem, solver=messages_first.MessagesFirst())
        assert np.all(found.optimal)
        assert names in found.solver
        np.testing.assert_allclose(found.score, maxima(problem))


@pytest.mark.parametrize("leading", [(), (1,), (1, 1)])
@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy])
@pytest.mark.parametrize("time_limit", [0.2, 60])
def test_tables_that_would_not_be_full_in_time_are_not_begun(leading, make, time_limit):
    given = complete(9, 7, 1)
    unary, tables = make(given.unary.reshape(*leading, 9, 7)), make(given.all_pairwise())
    problem = LabelProblem.from_arrays(unary, tables[0], edges=given.edges)
    assert "search first" in select_solver(problem).reason
    found = solve(problem, time_limit=time_limit)
    assert type(found.labels) is type(unary)
    assert found.labels.shape == (*leading, 9)
    assert bool(torch.as_tensor(found.bound >= found.score).all())
    if time_limit < 1:
        assert found.solver == "dual_ascent"
    else:
        assert bool(torch.as_tensor(found.optimal).all())


@pytest.mark.slow
def test_a_search_starts_from_what_cuts_find():
    problem = potts_grid(100, 100, 10, 1)
    cut = solve(problem, solver="expansion_moves", time_limit=2)
    searched = solve(problem, solver="dual_ascent", time_limit=2)
    assert np.all(searched.score >= cut.score - abs(cut.score) / 1000)
    assert "messages" in select_solver(problem).reason


def all_of(problem):
    """`[batch, assignments]` scores of all assignments, by the definition, in falling order."""
    assignments = np.array(list(itertools.product(*map(range, problem.sizes))))
    total = problem.unary[:, np.arange(problem.n), assignments].sum(axis=-1)
    for edge, (i, j) in enumerate(problem.edges):
        total = total + problem.pairwise(edge)[:, assignments[:, i], assignments[:, j]]
    return -np.sort(-total, axis=-1)


@some
@given(
    seed=seeds,
    count=st.integers(1, 12),
    solver=st.sampled_from(["auto", "elimination", "dual_ascent"]),
)
def test_the_best_assignments_come_in_order(seed, count, solver):
    problem = drawn(seed)
    scores = all_of(problem)
    allowed = (scores > -np.inf).sum(axis=1)
    if not allowed.all():
        with pytest.raises(InfeasibleError):
            solve(problem, k_best=count, solver=solver)
        return
    found = solve(problem, k_best=count, solver=solver)
    assert found.labels.shape == (2, count, problem.n)
    assert np.all(found.optimal)
    for instance, many in enumerate(np.minimum(allowed, count).tolist()):
        best, labels = found.score[instance], found.labels[instance]
        slack = float(4 * problem.rounding.max())
        np.testing.assert_allclose(best[:many], scores[instance, :many], atol=slack)
        assert (np.diff(best[:many]) <= 0).all()
        assert len({tuple(each) for each in labels[:many]}) == many
        one = problem.instances(slice(instance, instance + 1))
        again = [float(one.score_flat(each[None])[0]) for each in labels[:many]]
        np.testing.assert_allclose(again, best[:many])
        assert (best[many:] == -np.inf).all()
        assert (found.bound[instance, many:] == -np.inf).all()
        assert (labels[many:] == -1).all()


@pytest.mark.parametrize("pairs", ["tables", "one table", "potts"])
def test_the_best_assignments_of_a_forest_are_those_of_enumeration(pairs):
    random = np.random.default_rng(len(pairs))
    # Two trees, with edges in both directions, and variables without edges.
    edges = [[1, 0], [1, 2], [3, 1], [5, 4]]
    unary = random.integers(-2, 3, (2, 7, 3)).astype(float)
    unary[:, 4, 1] = -np.inf
    tables = random.normal(size=(4, 3, 3))
    tables[0, 0, 2] = -np.inf
    scores = {
        "tables": {"pairwise": tables},
        "one table": {"pairwise": tables[1]},
        "potts": {"potts": [0.5, -1.0, 2.0, 1.0]},
    }[pairs]
    sizes = [3, 3, 2, 3, 3, 2, 1]
    problem = LabelProblem.from_arrays(unary, **scores, edges=edges, sizes=sizes)
    solution = solve(problem, k_best=40, solver="elimination")
    expected = all_of(problem)[:, :40]
    np.testing.assert_allclose(solution.score, expected, atol=1e-12)
    np.testing.assert_allclose(problem.score(solution.labels[:, 7]), expected[:, 7], atol=1e-12)
    assert solution.optimal.all()


def test_the_best_assignments_of_a_long_chain_take_little_time():
    random = np.random.default_rng(0)
    edges = np.stack([np.arange(399), np.arange(1, 400)], axis=1)
    tables = random.random((399, 30, 30))
    begin = time.process_time()
    solution = solve(random.random((400, 30)), tables, edges=edges, k_best=4)
    assert time.process_time() - begin < 2.0  # a search for each variable took 7.5 seconds
    assert solution.optimal.all()


def test_the_best_assignments_of_many_chains_are_ranked_together():
    random = np.random.default_rng(0)
    edges = np.stack([np.arange(29), np.arange(1, 30)], axis=1)
    problem = LabelProblem.from_arrays(random.random((500, 30, 5)), potts=0.5, edges=edges)
    begin = time.process_time()
    solution = solve(problem, k_best=3)
    assert time.process_time() - begin < 1.0  # one by one, they took 2 seconds
    assert solution.optimal.all()
    alone = solve(problem.instances(slice(400, 401)), k_best=3, solver="bits")
    np.testing.assert_allclose(solution.score[400], alone.score[0], atol=1e-12)


def test_the_best_assignments_have_names_and_go_with_fixed_values():
    vote = from_factors([2, 3], [((0, 1), np.arange(6.0).reshape(2, 3))], names=["coat", "shoe"])
    first, second = solve(vote, k_best=2)
    assert (first.value, second.value) == (5.0, 4.0)
    assert second.assignment == {"coat": 1, "shoe": 1}
    kept = solve(vote, k_best=3, fix={"coat": 0})
    assert [answer.value for answer in kept] == [2.0, 1.0, 0.0]
    assert len(solve(vote, k_best=4, fix={"coat": 0})) == 3
    assert len(solve(vote, k_best=7)) == 6
    for count in (0, -1, 1.5):
        with pytest.raises(OptionError, match="k_best"):
            solve(vote, k_best=count)
    torch_found = solve(torch.zeros(3, 2, 2), k_best=2)
    assert tuple(torch_found.labels.shape) == (3, 2, 2)


def test_the_best_assignments_within_a_limit_say_what_is_proved():
    problem = potts_grid(30, 30, 8, 3)
    solve(problem, k_best=2, time_limit=0.1)  # compiled and loaded
    begin = time.process_time()
    found = solve(problem, k_best=3, time_limit=0.1)
    assert time.process_time() - begin < 3.0  # a region for each of 900 variables took 13 seconds
    assert bool(torch.as_tensor(found.bound >= found.score).all())
    assert not np.all(found.optimal)


@some
@given(seed=seeds)
def test_a_walk_ends_with_labels_no_worse_than_those_it_began_with_and_leaves_forbidden_ones(seed):
    problem = drawn(seed).instances(slice(0, 1))
    (expected,) = maxima(problem)
    begun_with = np.random.default_rng(seed).integers(0, problem.sizes)
    labels = tabu_until(WholeScores.of(problem), begun_with, Deadline.after(None))
    assert ((labels >= 0) & (labels < problem.sizes)).all()
    before, after = problem.score_flat(np.stack([begun_with, labels]))
    assert expected == -np.inf or after >= before - problem.rounding[0]
    assert problem.n == 1 or after >= expected - problem.rounding[0]


def test_a_walk_gets_labels_out_of_where_cuts_leave_them():
    random = np.random.default_rng(0)
    plain = potts_grid(12, 12, 8, 0)
    pairwise = random.normal(size=(plain.e, 8, 8))
    scores = WholeScores.of(LabelProblem.from_arrays(plain.unary[0], pairwise, edges=plain.edges))
    search = LabelSearch(scores)
    search.run(Deadline.after(None), 1)
    cut = fused_until(scores, search.labels, Deadline.after(None))
    walked = tabu_until(scores, cut, Deadline.after(None))
    score = partial(score_of, scores, graph_of(scores))
    assert score(walked) > score(cut)
    np.testing.assert_array_equal(tabu_until(scores, cut, Deadline.after(None)), walked)
    stopped = tabu_until(scores, cut, Deadline.after(0.0))
    assert score(stopped) >= score(cut)


class Heard:
    """A callback that keeps what it hears, and ends the search after some calls, once labels are known."""

    def __init__(self, calls=2):
        self.calls, self.said, self.threads = calls, [], set()

    def __call__(self, known):
        self.said.append(known)
        self.threads.add(threading.current_thread())
        return len(self.said) >= self.calls and bool(np.all(np.asarray(known.score) > -np.inf))


def check_heard(heard, problem, found):
    """That all claims are true, and that nothing gets worse."""
    scores, bounds = (
        np.array([np.asarray(getattr(each, name)) for each in heard.said])
        for name in ("score", "bound")
    )
    assert (scores[1:] >= scores[:-1]).all()
    assert (bounds[1:] <= bounds[:-1]).all()
    assert (bounds >= scores).all()
    for each in heard.said:
        if (each.z >= 0).all():
            np.testing.assert_allclose(problem.score(each.z), each.score)
    assert (found.score >= scores[-1] - problem.rounding).all()
    assert (found.score <= bounds[-1] + problem.rounding).all()
    assert heard.threads == {threading.current_thread()}


def frustrated(n=40, k=6, batch=2):
    """Dense tables, with which no search here ends in seconds."""
    random = np.random.default_rng(5)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    unary, pairwise = (
        random.normal(size=(batch, n, k)),
        random.normal(size=(batch, len(edges), k, k)),
    )
    return LabelProblem.from_arrays(unary, pairwise, edges=edges)


@pytest.mark.spread(1)
@pytest.mark.parametrize("solver", ["auto", "dual_ascent", "toulbar2", "cp_sat"])
def test_a_callback_hears_of_labels_and_ends_the_search(solver):
    if solver == "toulbar2" and (missing := solver_class(solver, "labels").missing_packages()):
        pytest.skip(f"needs {missing}")
    problem, heard = frustrated(batch=1 if solver in ("cp_sat", "toulbar2") else 2), Heard()
    found = solve(problem, solver=solver, time_limit=8, callback=heard)
    assert len(heard.said) >= heard.calls
    assert not found.optimal.any()
    assert "callback" not in found.stats
    check_heard(heard, problem, found)


def test_the_bound_of_the_root_is_heard_while_it_falls():
    problem, heard = potts_grid(150, 150, 12, 4), Heard(calls=4)
    found = solve(problem, solver="dual_ascent", time_limit=60, callback=heard)
    check_heard(heard, problem, found)
    assert heard.said[-1].bound < heard.said[0].bound
    assert heard.said[-1].bound < problem.magnitude[0]


def test_callbacks_of_several_assignments_of_names_and_of_those_who_are_not_asked():
    problem, heard = frustrated(batch=2), Heard()
    found = solve(problem, k_best=2, callback=heard, time_limit=3, solver="dual_ascent")
    assert found.labels.shape == (2, 2, 40)
    for each in heard.said:
        assert each.z.shape == (2, 40)
    vote = from_factors([2, 3], [((0, 1), np.arange(6.0).reshape(2, 3))], names=["coat", "shoe"])
    assert solve(vote, callback=heard).value == 5.0
    assert solve([[0.0, 1.0]], callback=heard).stats["callback"] == "unused"
    with pytest.raises(OptionError, match="callback"):
        solve(vote, callback=3)

    def fails(known):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(problem, callback=fails, solver="dual_ascent", time_limit=60)
