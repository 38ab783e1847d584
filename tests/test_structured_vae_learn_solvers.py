"""What estimators ask of solvers, and what they make of answers that are not proved."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.exceptions import ConvergenceWarning
from test_structured_vae_learn import D, K, chains, graphs, objective_of_ssvm, row_of, scores_of

from solvers import Capabilities, Maximiser
from solvers.labels import LabelSolver
from structured_vae.learn import ChainCRF, ChainSSVM, GraphCRF, GraphSSVM


class Independent(LabelSolver):
    """Ignores pairs, says so by its bound, and keeps the time limits and the batches that it was asked for."""

    name = "ignores_pairs"
    capabilities = Capabilities(exact=True, time_limit=True)

    def __init__(self):
        object.__setattr__(self, "asked", [])

    def _argmax(self, problem, deadline):
        self.asked.append((problem.batch, deadline.seconds))
        return Maximiser(problem.unary.argmax(axis=-1), np.asarray(problem.magnitude))


def test_a_bound_of_a_prediction_is_that_of_its_solver():
    x, y = graphs()
    model = GraphSSVM(solver=Independent(), max_iter=5, tol=0.5, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(x, y)
    found = model.solve(x)
    best = [
        scores_of(each, model._weights.nodes, model._weights.pairs, False)[1].max() for each in x
    ]
    assert (found.score < np.array(best) - 1e-6).any()
    assert (found.bound >= np.array(best) - 1e-9).all()


def test_the_objective_holds_where_a_solver_proves_nothing():
    x, y = graphs()
    model = fit_without_proofs(x, y)
    assert model.objective_ >= objective_of_ssvm(x, y, model._weights, False, 2.0) - 1e-9


@pytest.mark.slow
def test_the_gap_holds_where_a_solver_proves_nothing():
    x, y = graphs()
    model = fit_without_proofs(x, y)
    exact = GraphSSVM(C=2.0, tol=2e-2, max_iter=2000, random_state=0).fit(x, y)
    assert model.objective_ - model.gap_ <= exact.objective_


def fit_without_proofs(x, y):
    """Return a model after five passes with a solver that proves nothing."""
    model = GraphSSVM(C=2.0, solver=Independent(), max_iter=5, tol=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning):
        return model.fit(x, y)


def test_a_time_limit_is_for_each_instance_in_training_and_prediction():
    x, y = graphs()
    solver = Independent()
    model = GraphSSVM(
        solver=solver, time_limit=20.0, batch_size=2, max_iter=5, tol=0.5, random_state=0
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(x, y)
    model.solve([x[0]] * 3)
    assert {batch for batch, _ in solver.asked} == {1, 2, 3}
    for batch, limit in solver.asked:
        assert limit == pytest.approx(20.0 * batch, abs=1.0)


@pytest.mark.parametrize("max_iter", [1, 3, 7])
def test_a_training_that_ends_between_measurements_is_measured(max_iter):
    x, y = chains()
    with pytest.warns(ConvergenceWarning):
        model = ChainSSVM(max_iter=max_iter, tol=1e-12, random_state=0).fit(x, y)
    assert model.n_iter_ == max_iter
    assert model.gap_ > 0


def assert_same_fit(model, other):
    """Check that two models were fitted to the same sums."""
    assert model.objective_ == pytest.approx(other.objective_, abs=1e-9)
    np.testing.assert_allclose(model._weights.vector(), other._weights.vector(), atol=1e-5)


def test_chains_in_several_batches_have_the_sums_of_one(limits):
    whole = ChainCRF(tol=1e-12).fit(*chains())
    limits(tokens_together=4)
    assert_same_fit(ChainCRF(tol=1e-12).fit(*chains()), whole)


def test_graphs_in_several_batches_have_the_sums_of_one(limits):
    whole = GraphCRF(tol=1e-12).fit(*graphs())
    limits(graphs_together=1)
    assert_same_fit(GraphCRF(tol=1e-12).fit(*graphs()), whole)


def test_an_older_generator_of_numpy_decides_as_its_seed_says():
    x, y = chains()

    def fitted(seed):
        state = np.random.RandomState(seed)
        return ChainSSVM(random_state=state, tol=1e-1, max_iter=500).fit(x, y)._weights.vector()

    first = fitted(4)
    assert np.array_equal(first, fitted(4))
    assert not np.array_equal(first, fitted(5))


@pytest.mark.parametrize("weights", [[1.0, 2.0, 3.0, 4.0], [4.0, 0.5, 1.0, 0.0]])
def test_every_place_of_an_instance_has_its_weight(weights):
    x, y = chains()
    model = ChainCRF().fit(x, y)
    others, truth = chains(5)
    found = model.predict(others)
    right = sum(w * (own == each).sum() for w, own, each in zip(weights, found, truth, strict=True))
    places = sum(w * len(each) for w, each in zip(weights, truth, strict=True))
    assert 0 < right < places
    assert model.score(others, truth, sample_weight=weights) == pytest.approx(right / places)


def test_instances_of_as_many_edges_have_edges_of_their_own():
    random = np.random.default_rng(3)
    shapes = [[0, 1], [1, 2]], [[0, 2], [1, 2]], [[2, 1], [0, 1]]
    x = [(random.normal(size=(3, D)), edges, random.normal(size=(2, 2))) for edges in shapes]
    model = GraphCRF(C=10.0).fit(x, [random.integers(K, size=3) for _ in x])
    others = [
        (random.normal(size=(3, D)), edges, 5 * random.normal(size=(2, 2))) for edges in shapes
    ]
    for own, found, score in zip(
        others, model.predict(others), model.solve(others).score, strict=True
    ):
        states, scores = scores_of(own, model._weights.nodes, model._weights.pairs, False)
        assert score == pytest.approx(scores.max())
        assert scores[row_of(states, found)] == pytest.approx(scores.max())
