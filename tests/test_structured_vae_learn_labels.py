"""Estimators with lists of lists, dictionaries, partial labels, weights, schemes and several answers."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from optional import optional
from sklearn.model_selection import GridSearchCV, cross_val_score

from structured_vae import ConfigError
from structured_vae.errors import DataError
from structured_vae.learn import ChainCRF, ChainSSVM, GraphCRF, GraphSSVM

pandas = optional("pandas")

TAGS = ["O", "B", "I"]


def chains(count=12, seed=0, d=4):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 5, count)
    x = [random.normal(size=(length, d)) for length in lengths]
    return x, [random.choice(["a", "b", "c"], length).tolist() for length in lengths]


def edges_of(features):
    return [[i, i + 1] for i in range(len(features) - 1)]


def scores_of(model, features):
    """All labels of one chain, and their scores."""
    labels = np.array(list(product(range(len(model.classes_)), repeat=len(features))))
    scores = features @ model.coef_.T
    total = scores[np.arange(len(features)), labels].sum(axis=1)
    total += model.start_[labels[:, 0]] + model.end_[labels[:, -1]]
    return labels, total + model.transitions_[labels[:, :-1], labels[:, 1:]].sum(axis=1)


def log_p_of_sets(model, features, sets):
    labels, scores = scores_of(model, features)
    names = model.classes_[labels]
    allowed = [all(not s or n in s for n, s in zip(row, sets, strict=True)) for row in names]
    top = scores.max()
    return np.log(np.exp(scores - top)[allowed].sum() / np.exp(scores - top).sum())


def objective(model, x, y, weights):
    parts = (model.coef_, model.start_, model.end_, model.transitions_)
    penalty = 0.5 * sum((part**2).sum() for part in parts)
    sets = [[s if isinstance(s, set) else {s} for s in labels] for labels in y]
    log_p = [log_p_of_sets(model, *pair) for pair in zip(x, sets, strict=True)]
    return penalty - model.C * np.dot(weights, log_p)


def test_lists_of_lists_are_cross_validated_and_searched():
    x, y = chains()
    scores = cross_val_score(ChainCRF(max_iter=5, tol=1.0), x, y, cv=3)
    assert scores.shape == (3,)
    search = GridSearchCV(ChainCRF(max_iter=5, tol=1.0), {"C": [0.1, 1.0]}, cv=2).fit(x, y)
    assert search.best_params_["C"] in (0.1, 1.0)
    numbers = [[TAGS.index("O") + len(label) for label in labels] for labels in y]
    assert cross_val_score(ChainCRF(max_iter=5, tol=1.0), x, numbers, cv=2).shape == (2,)


def test_dictionaries_are_features():
    words = [["the", "cat"], ["a", "dog", "the"], ["cat"]]
    x = [[{"word": word, "length": len(word)} for word in sentence] for sentence in words]
    y = [["D", "N"], ["D", "N", "D"], ["N"]]
    model = ChainCRF(C=10.0).fit(x, y)
    assert [labels.tolist() for labels in model.predict(x)] == y
    assert model.feature_names_.tolist() == [
        "length",
        *(f"word={word}" for word in ("a", "cat", "dog", "the")),
    ]
    assert len(model.predict([[{"word": "new", "other": 1.0}]])[0]) == 1
    graphs = [(features, edges_of(features)) for features in x]
    assert [row.tolist() for row in GraphCRF(C=10.0).fit(graphs, y).predict(graphs)] == y
    with pytest.raises(DataError, match="dictionaries in all instances"):
        model.predict([np.ones((1, 5))])
    with pytest.raises(DataError, match="from names to numbers, texts"):
        ChainCRF().fit([[{"word": object()}]], [["D"]])


def test_labels_that_are_none_get_an_error_of_ours():
    x, y = chains()
    y[1] = [None] * len(y[1])
    for make in (ChainCRF, ChainSSVM):
        with pytest.raises(DataError, match="None as the label of node"):
            make().fit(x, y)
    with pytest.raises(DataError, match="one sortable type"):
        ChainCRF().fit([np.ones((2, 1))], [[{1}, {"a"}]])
    with pytest.raises(DataError, match="only empty sets"):
        ChainCRF().fit([np.ones((1, 1))], [[set()]])


def test_sets_of_labels_and_weights_are_learned_from_by_likelihood():
    x, y = chains()
    y[0] = [{"a", "b"} for _ in y[0]]
    y[3] = [set() for _ in y[3]]
    y[5] = [{y[5][0]}, *y[5][1:]]
    weights = np.random.default_rng(1).random(len(x))
    model = ChainCRF(tol=1e-12).fit(x, y, sample_weight=weights)
    assert model.objective_ == pytest.approx(objective(model, x, y, weights), abs=1e-8)
    graphs = [(features, edges_of(features)) for features in x]
    graph_model = GraphCRF(tol=1e-12).fit(graphs, y, sample_weight=weights)
    assert np.isfinite(graph_model.objective_)
    for place in ((0, 0), (2, 3)):
        for step in (1e-3, -1e-3):
            model.coef_[place] += step
            assert objective(model, x, y, weights) > model.objective_ - 1e-9
            model.coef_[place] -= step
    with pytest.raises(DataError, match="one label for each node"):
        ChainSSVM().fit(x, y)


def test_class_weights_of_chains_are_means():
    x, y = chains()
    weight = {"a": 3.0, "c": 0.0}
    model = ChainCRF(class_weight=weight, tol=1e-12).fit(x, y)
    means = [np.mean([weight.get(label, 1.0) for label in labels]) for labels in y]
    assert model.objective_ == pytest.approx(objective(model, x, y, means), abs=1e-8)
    counts = {label: sum(labels.count(label) for labels in y) for label in "abc"}
    balanced = {label: sum(counts.values()) / 3 / counts[label] for label in "abc"}
    first = ChainCRF(class_weight="balanced").fit(x, y)
    assert first.objective_ == ChainCRF(class_weight=balanced).fit(x, y).objective_


@pytest.mark.parametrize("name", ["chains", "graphs"])
def test_weights_of_margins(name):
    x, y = chains(6)
    weights = np.array([1.0, 0.0, 2.0, 0.5, 1.0, 1.0])
    cost = {"a": 2.0, "b": 1.0, "c": 0.5}
    make = ChainSSVM
    given = x
    if name == "graphs":
        make = GraphSSVM
        given = [(features, edges_of(features)) for features in x]
    model = make(class_weight=cost, tol=5e-2, max_iter=500, random_state=0)
    model.fit(given, y, sample_weight=weights)
    parts = [model.coef_]
    if name == "chains":
        parts += [model.start_, model.end_, model.transitions_]
    else:
        parts += [model.intercept_, model.pair_coef_]
        model.start_ = model.end_ = 0 * model.intercept_
        model.transitions_ = model.pair_coef_[0]
    total = 0.5 * sum((part**2).sum() for part in parts)
    for features, labels, weight in zip(x, y, weights, strict=True):
        states, scores = scores_of(model, features)
        if name == "graphs":
            scores = scores + model.intercept_[states].sum(axis=1)
        names = model.classes_[states]
        costs = np.array([cost[label] for label in labels])
        loss = ((names != labels) * costs).sum(axis=1)
        truth = scores[(names == labels).all(axis=1)][0]
        total += weight * (loss + scores - truth).max()
    assert model.objective_ == pytest.approx(total, abs=1e-8)
    assert model.gap_ <= 5e-2 * total


def test_the_best_labels_in_order_and_fixed_labels():
    x, y = chains()
    model = ChainCRF().fit(x, y)
    solution = model.solve(x, k_best=4)
    assert solution.labels.shape == (4, sum(map(len, x)))
    offsets = np.concatenate([[0], np.cumsum([len(features) for features in x])])
    for i, features in enumerate(x):
        labels, scores = scores_of(model, features)
        order = np.argsort(-scores)[:4]
        rows = solution.labels[: len(order), offsets[i] : offsets[i + 1]]
        np.testing.assert_array_equal(rows, labels[order])
        assert solution.score[: len(order), i] == pytest.approx(scores[order])
        assert (solution.labels[len(order) :, offsets[i]] == -1).all()
    fix = [{0: "b"} for _ in x]
    fixed = model.solve(x, fix=fix)
    assert (model.classes_[fixed.labels[offsets[:-1]]] == "b").all()
    for wrong, message in (
        ([{}], "a list of"),
        ([{9: "b"}, *fix[1:]], r"fix\[0\] has 9"),
        ([{0: "z"}, *fix[1:]], "'z'"),
        ([{0: {"a", "z"}}, *fix[1:]], "0: {"),
        ([{0: ["a"]}, *fix[1:]], r"0: \['a'\]"),
        ([3, *fix[1:]], r"fix\[0\] must be"),
    ):
        with pytest.raises(DataError, match=message):
            model.solve(x, fix=wrong)
    with pytest.raises(ConfigError, match="k_best must be a whole number"):
        model.solve(x, k_best=0)


@pytest.mark.parametrize("make", [ChainCRF, ChainSSVM])
def test_nodes_may_be_restricted_to_a_set_of_labels(make):
    x, y = chains()
    model = make(tol=0.5).fit(x, y)
    fix = [{0: {"a", "c"}, len(features) - 1: {"b", "c"}} for features in x]
    fix[1] = {0: set()}
    solution = model.solve(x, fix=fix)
    for i, features in enumerate(x):
        labels, scores = scores_of(model, features)
        names = model.classes_[labels]
        allowed = np.ones(len(names), bool)
        for node, possible in fix[i].items():
            if possible:
                allowed &= np.isin(names[:, node], list(possible))
        assert solution.score[i] == pytest.approx(scores[allowed].max())


def test_balanced_weights_count_the_labels_of_a_set_evenly():
    x = [np.ones((4, 1)), np.ones((2, 1))]
    y = [["a", {"a", "b"}, set(), "b"], ["b", "c"]]
    counts = {"a": 1 + 1 / 2 + 1 / 3, "b": 2 + 1 / 2 + 1 / 3, "c": 1 + 1 / 3}
    balanced = {label: 6 / 3 / count for label, count in counts.items()}
    expected = ChainCRF(class_weight=balanced).fit(x, y).objective_
    assert ChainCRF(class_weight="balanced").fit(x, y).objective_ == pytest.approx(expected)


def test_sets_of_labels_that_a_scheme_forbids_get_an_error_of_ours():
    x = [np.eye(3), np.eye(3)]
    known = ["B-A", "I-A", "O"]
    ChainCRF(scheme="BIO").fit(x, [known, ["O", set(), {"I-A"}]])
    for labels in (["O", {"I-A"}, set()], [{"I-A"}, set(), set()], [set(), "O", {"I-A"}]):
        y = [known, labels]
        with pytest.raises(DataError, match=r"y\[1\] breaks the rules of the scheme"):
            ChainCRF(scheme="BIO").fit(x, y)


@pytest.mark.parametrize("make", [ChainCRF, ChainSSVM])
def test_any_label_of_a_set_is_correct_and_unknown_nodes_do_not_count(make):
    x = [np.eye(3), np.eye(3)[:2]]
    model = make(C=10.0, tol=1e-2, max_iter=5000).fit(x, [["a", "b", "a"], ["a", "b"]])
    assert [labels.tolist() for labels in model.predict(x)] == [["a", "b", "a"], ["a", "b"]]
    y = [["a", {"a", "b"}, set()], [{"b", "c"}, "b"]]
    assert model.score(x, y) == pytest.approx(3 / 4)
    assert model.score(x, y, sample_weight=[1.0, 3.0]) == pytest.approx((2 + 3) / (2 + 6))
    with pytest.raises(DataError, match="None as the label of node 1"):
        model.score(x, [["a", None, "a"], ["a", "b"]])
    with pytest.raises(DataError, match="only empty sets"):
        model.score(x[:1], [[set()] * 3])
    with pytest.raises(DataError, match=r"sample_weight.shape == \(3,\)"):
        model.score(x, y, sample_weight=[1.0, 2.0, 3.0])


WITHOUT_NODES = {
    "lists of numbers": ([[], [[1.0, 2.0], [2.0, 1.0]]], [[], ["a", "b"]]),
    "dictionaries": ([[{"w": 1}, {"w": 2}], []], [["a", "b"], []]),
    "graphs": ([([], []), ([[1.0]], [])], [[], ["a"]]),
}


@pytest.mark.parametrize("name", WITHOUT_NODES)
def test_instances_without_nodes_get_an_error_of_ours(name):
    x, y = WITHOUT_NODES[name]
    make = GraphCRF if name == "graphs" else ChainCRF
    with pytest.raises(DataError, match=r"X\[[01]\] has no nodes"):
        make().fit(x, y)


def test_features_of_other_forms_get_an_error_of_ours():
    for x in ([[["w=a", "c"], ["w=b"]]], [[[1.0, 2.0], [2.0]]]):
        with pytest.raises(DataError, match=r"X\[0\] must be features .* list of dictionaries"):
            ChainCRF().fit(x, [["a", "b"]])


@pytest.mark.parametrize("make", [ChainCRF, ChainSSVM])
def test_a_scheme_is_never_broken(make):
    random = np.random.default_rng(0)
    y = [["O", "B", "I"], ["B", "I", "I", "O"], ["O"], ["B", "B"]]
    x = [random.normal(size=(len(labels), 2)) for labels in y]
    model = make(scheme="BIO", tol=1e-1).fit(x, y)
    others = [random.normal(size=(6, 2)) for _ in range(20)]
    for labels in model.predict(others):
        before = ["O", *labels[:-1].tolist()]
        assert not any(b == "O" and a == "I" for b, a in zip(before, labels, strict=True))
    if make is ChainCRF:
        p = model.predict_proba(others)
        assert max(rows[0, model.classes_.tolist().index("I")] for rows in p) == 0
    with pytest.raises(DataError, match=r"y\[0\] breaks the rules"):
        make(scheme="BIO").fit(x, [["O", "I", "I"], *y[1:]])


@pytest.mark.parametrize("weight", [[1.0], [-1.0] * 12, ["a"] * 12, [np.nan] * 12])
def test_wrong_sample_weights_get_an_error_of_ours(weight):
    x, y = chains()
    with pytest.raises(DataError, match="sample_weight"):
        ChainCRF().fit(x, y, sample_weight=weight)


@pytest.mark.parametrize("weight", ["even", {"z": 1.0}, {"a": -1.0}, [1.0, 2.0]])
def test_wrong_class_weights_get_an_error_of_ours(weight):
    x, y = chains()
    with pytest.raises(ConfigError, match="class_weight"):
        ChainCRF(class_weight=weight).fit(x, y)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan")])
@pytest.mark.parametrize("others", ["text", "number"])
def test_a_missing_label_is_refused_and_never_becomes_a_class(missing, others):
    x, y = chains()
    if others == "number":
        y = [[float(ord(label)) for label in labels] for labels in y]
    y[1] = [missing, *y[1][1:]]
    with pytest.raises(DataError, match=r"y has (None|nan|np\.float64\(nan\)) as the label"):
        ChainCRF().fit(x, y)
    with pytest.raises(DataError, match="as the label"):
        ChainCRF().fit(x, [np.array(labels, object) for labels in y])


def test_a_missing_label_of_a_pandas_series_is_refused():
    x, y = chains()
    series = [pandas.Series(labels) for labels in y]
    series[0].iloc[0] = pandas.NA
    with pytest.raises(DataError, match="as the label"):
        ChainCRF().fit(x, series)


@pytest.mark.parametrize("make", [ChainCRF, GraphCRF])
def test_tables_whose_columns_have_another_order_are_refused(make):
    x, y = chains()
    tables = [pandas.DataFrame(features, columns=list("pqrs")) for features in x]
    turned = [table[["s", "p", "q", "r"]] for table in tables]
    if make is GraphCRF:
        tables = [(table, edges_of(table)) for table in tables]
        turned = [(table, edges_of(table)) for table in turned]
    model = make().fit(tables, y)
    assert model.feature_names_in_.tolist() == list("pqrs")
    assert len(model.predict(tables)) == len(x)
    for call in (model.predict, model.predict_proba, model.solve):
        with pytest.raises(DataError, match="same order"):
            call(turned)
    with pytest.raises(DataError, match=r"X\[1\] must have the columns"):
        make().fit([tables[0], *turned[1:]], y)


def test_training_without_tables_forgets_the_names_of_columns():
    x, y = chains()
    tables = [pandas.DataFrame(features, columns=list("pqrs")) for features in x]
    model = ChainCRF().fit(tables, y).fit(x, y)
    assert not hasattr(model, "feature_names_in_")
    assert len(model.predict([table[list("spqr")] for table in tables])) == len(x)
