"""Shapes that do not fit and names that come twice are refused, never stretched or dropped."""

import numpy as np
import pytest
from scipy import sparse

from solvers import OptionError, ProblemError, solve
from solvers import labels as of_labels
from solvers.conversions import from_ising, from_max_cut, from_min_cut, from_qubo
from solvers.formats import ProblemFileError
from solvers.labels.formats import read_problem

UNARY = [1.0, 2.0, -3.0]
LABELS = [[1.0, 2.0], [0.0, 3.0], [0.0, 1.0]]
STRETCHED = [
    0,
    1,
    [0],
    [1],
    [[0], [1]],
    [0, 1],
    [0, 1, 0, 1],
    [[0, 1, 0], [0, 1, 0]],
    [],
    np.array(1),
    np.ones((3, 1), int),
]


@pytest.mark.parametrize("given", STRETCHED)
def test_fixed_values_are_one_for_each_variable(given):
    for options in ({}, {"k_best": 2}, {"solver": "exhaustive"}):
        with pytest.raises(OptionError, match="fix must be"):
            solve(UNARY, fix=given, **options)
        options.pop("solver", None)
        with pytest.raises(OptionError, match="fix must be"):
            of_labels.solve(LABELS, fix=given, **options)
    with pytest.raises(OptionError, match="fix must be"):
        solve(from_qubo(np.diag(UNARY)), fix=given)


@pytest.mark.parametrize("given", STRETCHED)
def test_a_start_is_one_value_for_each_variable(given):
    with pytest.raises(OptionError, match="start must be"):
        solve(UNARY, start=given)
    with pytest.raises(OptionError, match="start must be"):
        solve(UNARY, [[0, 1, 1], [0, 0, 1], [0, 0, 0]], solver="branch_and_bound", start=given)


def test_one_state_serves_a_whole_batch():
    batch = np.array([UNARY, [-1.0, -1.0, -1.0]])
    assert solve(batch, fix=[1, -1, -1]).z.tolist() == [[1, 1, 0], [1, 0, 0]]
    assert solve(batch, fix=[[1, -1, -1], [0, -1, -1]]).z.tolist() == [[1, 1, 0], [0, 0, 0]]
    assert solve(batch, start=[1, 0, 1]).optimal.all()
    assert solve([5.0], fix=[0]).z.tolist() == [0]
    for wrong in (0, [0], [[0], [1]], [[1, -1, -1]] * 3):
        with pytest.raises(OptionError, match="fix must be"):
            solve(batch, fix=wrong)


@pytest.mark.parametrize("weights", [2.0, [2.0], [[2.0, 1.0]], [2.0, 1.0, 1.0]])
def test_weights_are_one_for_each_edge(weights):
    edges = [[0, 1], [1, 2]]
    with pytest.raises(ProblemError):
        from_max_cut(3, edges, weights)
    with pytest.raises(ProblemError):
        from_min_cut(3, edges, weights, 0, 2)


@pytest.mark.parametrize("weights", [[2.0], [[2.0], [1.0]], [2.0, 1.0, 1.0]])
def test_scores_of_pairs_are_one_for_each_edge(weights):
    edges = [[0, 1], [1, 2]]
    with pytest.raises(ProblemError, match="pairwise must be"):
        solve(UNARY, weights, edges=edges)
    with pytest.raises(ProblemError, match="potts must be"):
        of_labels.solve(LABELS, potts=weights, edges=edges)
    with pytest.raises(ProblemError, match="potts must be"):
        of_labels.gibbs(LABELS, potts=weights, edges=edges)


def test_sizes_and_fields_are_one_for_each_variable():
    for sizes in (2, [2], [2, 2]):
        with pytest.raises(ProblemError, match="sizes must be"):
            of_labels.solve(LABELS, sizes=sizes)
    for field in (1.0, [[1.0, 2.0]]):
        with pytest.raises(ProblemError):
            from_ising(field, np.zeros((2, 2)))


def table(rows, columns, values):
    return pytest.importorskip("pandas").DataFrame(values, index=rows, columns=columns)


@pytest.mark.parametrize("columns", [["a", "b"], ["b", "a"]])
def test_a_table_of_pandas_keeps_its_names(columns):
    values = {("a", "a"): -9.0, ("a", "b"): 5.0, ("b", "a"): 5.0, ("b", "b"): 0.0}
    frame = table(["a", "b"], columns, [[values[i, j] for j in columns] for i in "ab"])
    answer = solve(from_qubo(frame))
    assert (answer.value, answer.assignment) == (-9.0, {"a": 1, "b": 0})
    assert dict(from_qubo(frame).places) == {
        name: i for i, name in enumerate(from_qubo(frame).names)
    }
    spins = solve(from_ising(frame.loc["a"], frame))
    best = min(
        -9 * a
        + 5 * b
        + sum(values[i, j] * {"a": a, "b": b}[i] * {"a": a, "b": b}[j] for i, j in values)
        for a in (-1, 1)
        for b in (-1, 1)
    )
    assert spins.value == best
    assert set(spins.assignment) == {"a", "b"}


def test_a_series_of_pairs_is_a_qubo():
    pandas = pytest.importorskip("pandas")
    pairs = pandas.Series(
        [-1.0, -2.0, 4.0], index=pandas.MultiIndex.from_tuples([("a", "a"), ("b", "b"), ("a", "b")])
    )
    assert solve(from_qubo(pairs)).assignment == {"a": 0, "b": 1}
    with pytest.raises(ProblemError, match="must map pairs"):
        from_qubo(pandas.Series([1.0, 2.0], index=["a", "b"]))


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (["a", "b"], ["a", "c"], "must have the same names; 'b'"),
        (["a", "a"], ["a", "a"], "two rows of the name 'a', at the places 0 and 1"),
        (["a", "b"], ["b", "b"], "two columns of the name 'b'"),
        (["a", "b"], [0, 1], "must have the same names"),
        ([0, 1], [1, 2], "must have the same names"),
        ([float("nan"), "b"], ["b", float("nan")], "same names|nan"),
    ],
)
def test_a_table_whose_names_do_not_match_is_refused(rows, columns, message):
    with pytest.raises(ProblemError, match=message):
        from_qubo(table(rows, columns, [[1.0, 2.0], [0.0, 3.0]]))


def test_a_pairwise_table_in_two_orders_is_refused():
    frame = table(["a", "b"], ["b", "a"], [[0.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ProblemError, match="in different orders"):
        solve([1.0, 2.0], frame)
    assert solve(
        [1.0, 2.0], table(["a", "b"], ["a", "b"], [[0.0, -5.0], [0.0, 0.0]])
    ).z.tolist() == [0, 1]


FACTORS = [((0,), [0, 1.0]), ((1,), [1.0, 0])]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"names": ["a", "a"]}, "two variables have the name 'a': numbers 0 and 1"),
        ({"names": [1, 1.0]}, "two variables have the name 1.0"),
        ({"values": [["x", "y"], ["z", "z"]]}, "two values of 1 have the name 'z'"),
        ({"names": "ab", "values": [["x", "y"], [True, 1]]}, "two values of 'b' have the name 1"),
        ({"names": [["a"], ["b"]]}, "cannot be a name"),
        ({"names": ["a"]}, "must be those of 2 variables"),
    ],
)
def test_two_labels_of_one_name_are_refused(words, message):
    with pytest.raises(ProblemError, match=message):
        of_labels.from_factors([2, 2], FACTORS, **words)


def test_two_values_of_one_name_in_a_file_are_refused(tmp_path):
    path = tmp_path / "x.cfn"
    path.write_text(
        '{"problem": {"mustbe": "<9"}, "variables": {"v": ["x", "x"]}, '
        '"functions": {"f": {"scope": ["v"], "costs": [1, 0]}}}'
    )
    with pytest.raises(
        ProblemFileError, match="two values of 'v' have the name 'x': numbers 0 and 1"
    ):
        read_problem(path)


def test_a_name_that_is_nan_is_refused():
    with pytest.raises(ProblemError, match="a label is nan"):
        from_qubo({(float("nan"), "a"): 1.0})


FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_matrices_of_every_format_are_their_dense_ones(layout, kind):
    dense = np.array([[1, -2, 0], [0, 0, 3], [0, -4, -1]])
    matrix = getattr(sparse, f"{layout}_{kind}")(dense)
    assert solve(from_qubo(matrix)).value == solve(from_qubo(dense)).value
    assert (
        solve(from_ising([0.5, 0.0, 1.0], matrix)).value
        == solve(from_ising([0.5, 0.0, 1.0], dense)).value
    )
    upper = np.triu(dense, 1)
    for pairs in (upper, upper + upper.T):
        solution = solve([1.0, 1.0, -2.0], getattr(sparse, f"{layout}_{kind}")(pairs))
        assert solution.score == solve([1.0, 1.0, -2.0], pairs.astype(float)).score


def test_sparse_entries_of_one_place_add_up_and_other_forms_are_refused():
    twice = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert solve(from_qubo(twice, sense="max")).value == 3.0
    assert solve([0.0, 0.0], twice).score == 3.0
    for matrix, message in (
        (sparse.eye_array(2), "non-zero diagonal"),
        (sparse.coo_array(([1.0], ([1], [0])), shape=(2, 2)), "upper triangular or symmetric"),
        (sparse.coo_array((2, 3)), "its shape is"),
    ):
        with pytest.raises(ProblemError, match=message):
            solve([0.0, 0.0], matrix)
    with pytest.raises(ProblemError, match="must be square"):
        from_qubo(sparse.coo_array((2, 3)))
