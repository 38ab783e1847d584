"""Estimators of scikit-learn: objectives, gaps and predictions against enumeration, and scikit-learn's own checks."""

import importlib
import pickle
import sys
import warnings
from itertools import product

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import structured_vae
from structured_vae import ConfigError
from structured_vae.errors import DataError, MissingPackageError
from structured_vae.learn import ChainCRF, ChainSSVM, GraphCRF, GraphSSVM, estimator

LENGTHS = (3, 1, 4, 3)
K, D = 3, 2


def chains(seed=0, lengths=LENGTHS):
    random = np.random.default_rng(seed)
    x = [random.normal(size=(length, D)) for length in lengths]
    return x, [random.integers(K, size=length) for length in lengths]


def graphs(seed=0, pair_features=True):
    """A square, of which an edge is given from the higher place to the lower, a pair, and a lonely place."""
    random = np.random.default_rng(seed)
    shapes = (
        (4, [[0, 1], [2, 1], [2, 3], [3, 0]]),
        (2, [[1, 0]]),
        (1, []),
        (4, [[0, 1], [2, 1], [2, 3], [3, 0]]),
    )
    x = [
        (random.normal(size=(n, D)), edges, random.normal(size=(len(edges), 2)))[
            : 3 if pair_features else 2
        ]
        for n, edges in shapes
    ]
    return x, [random.integers(K, size=n) for n, _ in shapes]


def as_graphs(x):
    return [(each, [[i, i + 1] for i in range(len(each) - 1)]) for each in x]


def scores_of(instance, places, pairs, borders):
    """All labellings of one (features, edges, pair features), and their scores, term by term."""
    features, edges, of_pairs = (*instance, np.ones((len(instance[1]), 1)))[:3]
    n = len(features)
    states = np.array(list(product(range(K), repeat=n)))
    total = np.zeros(len(states))
    for i in range(n):
        own = features[i] @ places[:D]
        own = own + (places[D] * (i == 0) + places[D + 1] * (i == n - 1) if borders else places[D])
        total += own[states[:, i]]
    for (i, j), row in zip(edges, of_pairs, strict=True):
        total += np.einsum("p,pab->ab", row, pairs)[states[:, i], states[:, j]]
    return states, total


CASES = {
    "chains": (chains, True),
    "graphs": (graphs, False),
    "shared": (lambda seed: graphs(seed, False), False),
}


def case(name, seed=0):
    """Return instances whose scores are enumerated, their labels, and whether ends have weights."""
    make, borders = CASES[name]
    x, y = make(seed)
    if borders:
        x = as_graphs(x)
    return x, y, borders


def row_of(states, labels):
    return int(np.flatnonzero((states == labels).all(axis=1))[0])


def objective_of_crf(x, y, weights, borders, c):
    total = 0.5 * weights.vector() @ weights.vector()
    for each, labels in zip(x, y, strict=True):
        states, scores = scores_of(each, weights.nodes, weights.pairs, borders)
        top = scores.max()
        total += c * (top + np.log(np.exp(scores - top).sum()) - scores[row_of(states, labels)])
    return total


def objective_of_ssvm(x, y, weights, borders, c):
    total = 0.5 * weights.vector() @ weights.vector()
    for each, labels in zip(x, y, strict=True):
        states, scores = scores_of(each, weights.nodes, weights.pairs, borders)
        total += (
            c * ((states != labels).sum(axis=1) + scores - scores[row_of(states, labels)]).max()
        )
    return total


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("c", [0.7, 1.0])
def test_no_weights_are_better_than_those_of_the_likelihood(name, c):
    x, y, borders = case(name)
    make = GraphCRF
    if borders:
        make = ChainCRF
    model = make(C=c, tol=1e-14).fit(CASES[name][0](0)[0], y)
    weights = model._weights
    best = objective_of_crf(x, y, weights, borders, c)
    assert model.objective_ == pytest.approx(best, abs=1e-9)
    random = np.random.default_rng(0)
    for _ in range(20):
        other = weights.vector() + 1e-3 * random.normal(size=len(weights.vector()))
        assert objective_of_crf(x, y, weights.like(other), borders, c) > best


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("batch_size", [1, 3])
def test_the_duality_gap_falls_below_tol_and_holds(name, batch_size):
    x, y, borders = case(name)
    make = ChainSSVM if borders else GraphSSVM
    model = make(C=0.8, tol=2e-2, max_iter=2000, batch_size=batch_size, random_state=0)
    model.fit(CASES[name][0](0)[0], y)
    best = objective_of_ssvm(x, y, model._weights, borders, 0.8)
    assert model.objective_ == pytest.approx(best, abs=1e-9)
    assert 0 <= model.gap_ <= 2e-2 * best
    random = np.random.default_rng(0)
    vector = model._weights.vector()
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(20):
            other = model._weights.like(vector + size * random.normal(size=len(vector)))
            assert objective_of_ssvm(x, y, other, borders, 0.8) >= best - model.gap_


@pytest.mark.slow
def test_the_gap_is_no_smaller_than_what_more_passes_gain():
    x, y = chains(3)
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        early = ChainSSVM(C=2.0, tol=1e-9, max_iter=5, random_state=0).fit(x, y)
    late = ChainSSVM(C=2.0, tol=2e-2, max_iter=2000, random_state=0).fit(x, y)
    assert early.n_iter_ == 5
    assert early.objective_ - early.gap_ <= late.objective_ <= early.objective_ + 1e-9


@pytest.mark.parametrize("name", CASES)
def test_predictions_and_probabilities_are_those_of_enumeration(name):
    make, borders = CASES[name]
    x, y = make(0)
    model = (ChainCRF() if borders else GraphCRF()).fit(x, y)
    others, other_y = make(5)
    found, solution, p = model.predict(others), model.solve(others), model.predict_proba(others)
    for b, each in enumerate(as_graphs(others) if borders else others):
        states, scores = scores_of(each, model._weights.nodes, model._weights.pairs, borders)
        assert scores[row_of(states, found[b])] == pytest.approx(scores.max(), abs=1e-9)
        assert solution.score[b] == pytest.approx(scores.max(), abs=1e-9)
        weights = np.exp(scores - scores.max())
        marginals = np.eye(K)[states].transpose(1, 2, 0) @ (weights / weights.sum())
        assert p[b] == pytest.approx(marginals, abs=1e-9)
    assert solution.optimal.all()
    right = np.concatenate(found) == np.concatenate(other_y)
    assert model.score(others, other_y) == right.mean()
    ones = np.repeat([1.0, 0, 0, 0], [len(each) for each in found])
    assert model.score(others, other_y, sample_weight=[1.0, 0, 0, 0]) == np.average(
        right, weights=ones
    )


def test_attributes_give_the_scores():
    x, y = chains()
    model = ChainCRF().fit(x, y)
    scores = x[2] @ model.coef_.T
    scores[0] += model.start_
    scores[-1] += model.end_
    labels = np.array([0, 2, 1, 1])
    total = scores[np.arange(4), labels].sum() + model.transitions_[labels[:-1], labels[1:]].sum()
    states, wanted = scores_of(as_graphs(x)[2], model._weights.nodes, model._weights.pairs, True)
    assert total == pytest.approx(wanted[row_of(states, labels)], abs=1e-12)
    of_graphs = GraphCRF().fit(*graphs())
    assert of_graphs.pair_coef_.shape == (2, K, K)
    assert of_graphs.coef_.shape == (K, D)
    assert of_graphs.intercept_.shape == (K,)


SLOW_ONES = [
    pytest.param(made, marks=pytest.mark.slow) for made in (GraphCRF, ChainSSVM, GraphSSVM)
]


WITHIN_TOL = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the weights of margins are within tol"
    for kind in ("dense", "sparse")
}


@pytest.mark.parametrize("make", [ChainCRF, *SLOW_ONES])
def test_the_checks_of_scikit_learn_pass(make):
    expected = {}
    if make in (ChainSSVM, GraphSSVM):
        expected = WITHIN_TOL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, and those that it asks for
        found = check_estimator(make(), on_fail=None, expected_failed_checks=expected)
    assert len(found) > 40
    assert [
        each["check_name"] for each in found if each["status"] not in ("passed", "skipped", "xfail")
    ] == []


@pytest.mark.parametrize("make", [ChainSSVM, GraphSSVM])
def test_the_seed_alone_decides(make):
    x, y = chains() if make is ChainSSVM else graphs()

    def fitted(state):
        return make(random_state=state, tol=1e-1, max_iter=500).fit(x, y)._weights.vector()

    first = fitted(1)
    assert np.array_equal(first, fitted(1))
    assert np.array_equal(fitted(np.random.default_rng(4)), fitted(np.random.default_rng(4)))
    assert not np.array_equal(first, fitted(2))


def test_parameters_are_copied_set_and_searched():
    x, y = chains(1, (2, 3, 1, 4, 2, 3))
    model = ChainCRF(C=3.0)
    assert clone(model).get_params() == {
        "C": 3.0,
        "tol": 1e-6,
        "max_iter": 1000,
        "class_weight": None,
        "scheme": None,
    }
    assert model.set_params(C=0.5).C == 0.5
    found = GridSearchCV(ChainCRF(), {"C": [0.1, 1.0]}, cv=2).fit(x, y)
    assert set(found.best_params_) == {"C"}
    assert len(found.predict(x)) == 6


def test_sparse_features_and_words_are_learned_from_alike():
    x, y = chains()
    names = np.array(["B", "I", "O"])
    dense, sparse = (
        ChainCRF().fit(x, y),
        ChainCRF().fit([csr_array(each) for each in x], [names[each] for each in y]),
    )
    assert sparse._weights.vector() == pytest.approx(dense._weights.vector(), abs=1e-4)
    assert sparse.classes_.tolist() == ["B", "I", "O"]
    for own, other in zip(
        dense.predict(x), sparse.predict([csr_array(each) for each in x]), strict=True
    ):
        assert names[own].tolist() == other.tolist()


def test_a_fitted_estimator_is_copied_by_its_state():
    x, y = chains()
    model = ChainCRF().fit(x, y)
    other = pickle.loads(pickle.dumps(model))  # noqa: S301  # our own
    assert all(
        np.array_equal(*both) for both in zip(model.predict(x), other.predict(x), strict=True)
    )


def test_what_cannot_be_learned_from_gets_an_error_of_ours():
    x, y = chains()
    graph, labels = graphs()
    for model, args, message in (
        (ChainCRF(), ([x[0], x[1][:, :1]], y[:2]), "must have 2 columns"),
        (ChainCRF(), ([x[0], x[1] * np.nan], y[:2]), r"X\[1\] must be finite"),
        (ChainCRF(), ([], []), "no instances"),
        (ChainCRF(), (x, y[:2]), "labels for 4 instances"),
        (ChainCRF(), (x, [y[0], y[1], y[2], y[2]]), r"y\[3\] must be \[3\]"),
        (ChainCRF(), (x, None), "requires y"),
        (ChainCRF(), ([x[0], x[1][:0]], y[:2]), "n at least 1"),
        (GraphCRF(), ([graph[0], graph[1][:2]], labels[:2]), r"X\[1\] must be \(features, edges"),
        (GraphCRF(), ([(graph[0][0], [[0, 4]])], labels[:1]), "nodes 0 to 3"),
        (GraphCRF(), ([(graph[0][0], [[0.0, 1.0]])], labels[:1]), "integers"),
        (GraphCRF(), ([(*graph[0][:2], graph[0][2][:1])], labels[:1]), "one row per edge"),
    ):
        with pytest.raises(DataError, match=message):
            model.fit(*args)
    for model, message in (
        (ChainCRF(C=0), "C must be a positive number"),
        (ChainCRF(tol="small"), "tol"),
        (ChainCRF(max_iter=0), "max_iter"),
        (ChainSSVM(batch_size=1.5), "batch_size"),
        (ChainSSVM(random_state="a"), "random_state"),
    ):
        with pytest.raises(ConfigError, match=message):
            model.fit(x, y)
    with pytest.raises(NotFittedError):
        ChainCRF().predict(x)
    with pytest.raises(DataError, match="must have 2 columns"):
        ChainCRF().fit(x, y).predict([each[:, :1] for each in x])
    with pytest.raises(DataError, match="must have pair features of 2"):
        GraphCRF().fit(graph, labels).predict([each[:2] for each in graph])


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(estimator, "_PRESENT", False)
    with pytest.raises(MissingPackageError, match=r"structured-vae\[learn\]"):
        ChainCRF().fit(*chains())


def test_without_scikit_learn_the_module_can_be_imported(monkeypatch):
    monkeypatch.setattr(structured_vae, "learn", structured_vae.learn)  # the import replaces it
    for name in list(sys.modules):
        if name.split(".")[0] == "sklearn":
            monkeypatch.setitem(sys.modules, name, None)
        if name.startswith("structured_vae.learn"):
            monkeypatch.delitem(sys.modules, name)
    learn = importlib.import_module("structured_vae.learn")
    assert learn.ChainCRF is not ChainCRF
    with pytest.raises(ImportError, match=r"pip install 'structured-vae\[learn\]'"):
        learn.ChainCRF().fit([[[1.0]]], [[0]])


def test_an_array_of_three_dimensions_is_chains_of_equal_length():
    features = np.random.default_rng(0).normal(size=(6, 4, 3))
    labels = (features[..., 0] > 0).astype(int)
    chains = ChainCRF(max_iter=20).fit(list(features), list(labels))
    model = ChainCRF(max_iter=20).fit(features, labels)
    for predicted, expected in zip(model.predict(features), chains.predict(features), strict=True):
        assert (predicted == expected).all()
    assert model.score(features, labels) == chains.score(list(features), list(labels))
    with pytest.raises(ValueError, match=r"X\[0\]"):
        GraphCRF().fit(features, labels)
