"""`prepare` and `solve`: one path, the same answers and errors, and nothing that one call leaves to the next."""

import pickle
from concurrent.futures import ThreadPoolExecutor

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
    UnknownSolverError,
    UnsupportedProblemError,
    prepare,
    solve,
    solver_class,
)

torch = optional("torch")

NAN, INF = float("nan"), float("inf")
EDGES = np.array([[0, 1], [2, 1], [0, 2]])
few = examples(40)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed):
    """Scores of a batch over a random graph, of one sign or both."""
    generator = np.random.default_rng(seed)
    n, batch = int(generator.integers(1, 9)), int(generator.integers(1, 4))
    pairs = np.stack(np.triu_indices(n, 1), axis=-1)
    edges = pairs[generator.random(len(pairs)) < generator.choice([0.3, 1.0])]
    edges = np.where(generator.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
    pairwise = generator.standard_normal((batch, len(edges)))
    pairwise = np.abs(pairwise) if generator.random() < 0.4 else pairwise
    return generator.standard_normal((batch, n)), pairwise, edges


def best(unary, pairwise, edges):
    """`[batch]`: the highest scores, over all states."""
    n = unary.shape[1]
    states = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    both = states[:, edges[:, 0]] & states[:, edges[:, 1]]
    return (unary @ states.T + pairwise @ both.T).max(axis=1)


def outcome(call):
    """The answer of a call, or the type and the words of its error."""
    try:
        found = call()
    except Exception as error:
        return type(error), str(error)
    return (
        found.z.tolist(),
        found.score.tolist(),
        found.optimal.tolist(),
        found.bound.tolist(),
        found.solver,
    )


@few
@given(SEEDS)
def test_both_forms_find_the_maximum(seed):
    unary, pairwise, edges = drawn(seed)
    prepared = prepare(edges, unary.shape[1])
    once = outcome(lambda: solve(unary, pairwise, edges=edges))
    assert outcome(lambda: prepared(unary, pairwise)) == once
    np.testing.assert_allclose(once[1], best(unary, pairwise, edges), rtol=1e-12, atol=1e-12)
    assert all(once[2])


SPOILED = {
    "a NaN": lambda u, w: (
        u * np.where(np.arange(u.size).reshape(u.shape) == u.size - 1, NAN, 1),
        w,
    ),
    "an infinity in pairs": lambda u, w: (u, w + INF),
    "sums that overflow": lambda u, w: (u * 0 + 1e308, w),
    "complex": lambda u, w: (u + 0j, w),
    "text": lambda u, w: (u.astype(str), w),
    "objects": lambda u, w: (np.array([[1.0, None, 2.0]] * 2, object), w),
    "a score too many": lambda u, w: (u, np.concatenate([w, w[:, :1]], axis=1)),
    "batches apart": lambda u, w: (np.tile(u[:1], (2, 1)), np.tile(w[:1], (3, 1))),
    "one pair's score for all": lambda u, w: (u, w[0, 0]),
    "two libraries": lambda u, w: (torch.from_numpy(u), w),
    "masked": lambda u, w: (np.ma.masked_array(u), w),
    "a NaN and a score too many": lambda u, w: (u * NAN, np.concatenate([w, w[:, :1]], axis=1)),
    "lists of unequal lengths": lambda u, w: ([[1.0], [1.0, 2.0]], w),
}


@pytest.mark.parametrize("name", SPOILED)
def test_both_forms_refuse_in_the_same_words(name):
    generator = np.random.default_rng(0)
    unary, pairwise = SPOILED[name](
        generator.standard_normal((2, 3)), generator.standard_normal((2, 3))
    )
    found = outcome(lambda: prepare(EDGES, 3)(unary, pairwise))
    assert found == outcome(lambda: solve(unary, pairwise, edges=EDGES))
    assert issubclass(found[0], ProblemError)


def test_what_is_not_finite_is_named_before_the_edges():
    with pytest.raises(ProblemError, match=r"unary\[1\] is nan"):
        solve([1.0, NAN], [1.0], edges=[[0, 7]])
    with pytest.raises(ProblemError, match=r"pairwise\[0, 1\] is nan"):
        solve([1.0, 1.0], [[0.0, NAN], [2.0, 0.0]])


@pytest.mark.parametrize("solver", ["max_flow", "exhaustive", "elimination", "auto"])
def test_named_solvers(solver):
    prepared = prepare(EDGES, 3, solver=solver)
    found = prepared([1.0, -2.0, 0.5], [3.0, 1.0, 0.5])
    assert (
        float(found.score)
        == best(np.array([[1.0, -2.0, 0.5]]), np.array([[3.0, 1.0, 0.5]]), EDGES)[0]
    )
    assert solver in ("auto", found.solver)


def test_a_refusal_names_who_would_take_the_problem():
    scores = [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]
    prepared = prepare(EDGES, 3, solver="max_flow")
    with pytest.raises(UnsupportedProblemError) as caught:
        prepared(*scores)
    assert "exhaustive" in caught.value.alternatives
    assert outcome(lambda: prepared(*scores)) == outcome(
        lambda: solve(*scores, edges=EDGES, solver="max_flow")
    )


@pytest.mark.parametrize("n", [-1, 2.0, None, "3", np.ones(2)])
def test_n_is_a_number_of_variables(n):
    with pytest.raises(ProblemError, match=r"n must be a whole number from 0 to 2\^31"):
        prepare([], n)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 3]], r"edges\[0\] is the pair \(0, 3\); variables are 0..2"),
        ([[1, 1]], r"edges\[0\] joins 1 to itself"),
        ([[0, 1], [1, 0]], r"edges\[0\] and edges\[1\] are the same pair"),
        ([[0.0, 1.0]], r"edges must be integers \[e, 2\]"),
    ],
)
def test_edges_are_refused_when_they_are_prepared_and_each_time(edges, message):
    for _ in range(2):
        with pytest.raises(ProblemError, match=message):
            prepare(edges, 3)
        with pytest.raises(ProblemError, match=message):
            solve(np.ones(3), np.ones(len(edges)), edges=edges)


def test_options_are_refused_when_they_are_prepared():
    with pytest.raises(UnknownSolverError, match="did you mean 'max_flow'"):
        prepare(EDGES, 3, solver="maxflow")
    with pytest.raises(OptionError, match="time_limit must be positive"):
        prepare(EDGES, 3, time_limit=0)


def test_scores_must_fit_what_was_prepared():
    prepared = prepare(EDGES, 3)
    with pytest.raises(ProblemError, match=r"unary must be \[\.\.\., 3\]"):
        prepared(np.ones(4), np.ones(3))
    with pytest.raises(ProblemError, match="pairwise must be"):
        prepared(np.ones(3))
    assert float(prepare([], 3)([1.0, -1.0, 2.0]).score) == 3.0


@few
@given(SEEDS, SEEDS)
def test_calls_leave_each_other_alone(seed, other):
    first, second = drawn(seed), drawn(other)
    alone = outcome(lambda: solve(*first[:2], edges=first[2].tolist()))
    prepared = prepare(first[2], first[0].shape[1])
    solve(*second[:2], edges=second[2])
    prepared(10 * first[0], -first[1])
    assert outcome(lambda: prepared(*first[:2])) == alone
    assert outcome(lambda: solve(*first[:2], edges=first[2])) == alone


def test_changes_of_the_callers_edges_count_from_then_on():
    edges = np.array([[0, 1], [1, 2]])
    scores = np.array([-1.0, -1.0, 3.0]), np.array([5.0, 0.5])
    prepared = prepare(edges, 3)
    before = float(prepared(*scores).score)
    edges[0] = [0, 2]
    assert float(prepared(*scores).score) == before == 6.5
    assert float(solve(*scores, edges=edges).score) == 7.0


def test_a_problem_that_is_written_to_harms_no_later_call():
    scores = np.array([-1.0, -1.0, 3.0]), np.array([5.0, 0.5])
    edges = [[0, 1], [1, 2]]
    problem = Problem.from_arrays(*scores, edges=edges)
    problem.edges[0] = [0, 2]
    assert float(solve(*scores, edges=edges).score) == 6.5
    assert Problem.from_arrays(*scores, edges=edges).edges.tolist() == edges


def test_answers_are_the_callers_to_write_to():
    prepared = prepare(EDGES, 3)
    scores = [1.0, -2.0, 0.5], [3.0, 1.0, 0.5]
    first = prepared(*scores)
    kept = first.z.copy()
    first.z[...] = 7
    assert (prepared(*scores).z == kept).all()


def test_tensors_give_tensors():
    found = prepare(EDGES, 3)(torch.ones(2, 3), torch.ones(3))
    assert isinstance(found.z, torch.Tensor)
    assert found.score.tolist() == [6.0, 6.0]


def test_threads_and_processes_share_it():
    prepared = prepare(EDGES, 3, solver=solver_class("max_flow")(threads=1))
    copy = pickle.loads(pickle.dumps(prepared))  # noqa: S301  # our own
    assert type(copy) is type(prepared)
    generator = np.random.default_rng(1)
    scores = [(generator.standard_normal(3), generator.random(3)) for _ in range(50)]
    expected = [float(prepared(*one).score) for one in scores]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda one: float(copy(*one).score), scores)) == expected


def test_a_solution_is_scored_to_the_last_bits():
    generator = np.random.default_rng(2)
    unary, pairwise = generator.standard_normal((4, 60)), generator.standard_normal((4, 59))
    pairwise *= 10.0 ** generator.integers(-9, 9, pairwise.shape)
    problem = Problem.from_arrays(
        unary, pairwise, edges=np.stack([np.arange(59), np.arange(1, 60)], axis=1)
    )
    found = solve(unary, pairwise, edges=problem.edges)
    exact = [
        sum(np.longdouble(c) for c in (*u[z == 1], *w[(z[:-1] & z[1:]) == 1]))
        for u, w, z in zip(unary, pairwise, found.z, strict=True)
    ]
    np.testing.assert_allclose(found.score, np.array(exact, float), rtol=1e-15)


def test_a_start_is_used_as_solve_uses_it():
    chain = prepare([[0, 1], [1, 2]], 3, solver="dual_ascent")
    scores = ([1.0, -3.0, 1.0], [1.0, 1.0])
    start = chain(*scores, start=[1, 0, 1])
    assert start.stats["start"] == "used"
    assert float(start.score) >= 2.0
    with pytest.raises(OptionError, match="variable 0 the value 2"):
        chain(*scores, start=[2, 0, 1])
