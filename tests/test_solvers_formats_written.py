"""Problems that are written to files, against what is read from them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from optional import needs

from solvers import OptionError, ProblemError, solve
from solvers.constraints import at_least, cardinality, linear
from solvers.conversions import from_ising, from_max_cut, from_min_cut, from_qubo
from solvers.formats import WRITABLE, read_problem, write_problem
from solvers.labels import formats as label_formats
from solvers.labels import from_factors

seeds = st.integers(0, 2**32 - 1)


def drawn(seed, whole=False):
    """A QUBO of up to four variables with a constant, minimised or maximised."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 5))
    numbers = random.integers(-9, 9, (n, n)) if whole else random.normal(size=(n, n))
    numbers = np.where(random.random((n, n)) < 0.7, numbers, 0.0)
    sense = "minimise" if random.random() < 0.5 else "maximise"
    return from_qubo(np.triu(numbers), float(random.integers(-3, 3)), sense)


def check_values(conversion, other, relation):
    """Both objectives have the relation that was said, at all states."""
    n = conversion.problem.n
    for z in itertools.product((0, 1), repeat=n):
        state = [*z, *[0] * (other.problem.n - n)]  # the vertex that stands for zero
        assert relation.value(other.objective(state)) == pytest.approx(
            conversion.objective(z), abs=1e-9
        )


@pytest.mark.parametrize("format", WRITABLE)
@examples(8)
@given(seed=seeds)
def test_what_is_written_is_read_again(tmp_path_factory, format, seed):
    if format == "lp":
        needs("highs")
    conversion = drawn(seed)
    path = tmp_path_factory.mktemp("written") / "file"
    relation = write_problem(conversion, path, format)
    check_values(conversion, read_problem(path, format), relation)


@pytest.mark.parametrize("format", label_formats.WRITABLE)
@examples(8)
@given(seed=seeds)
def test_bits_are_written_as_labels(tmp_path_factory, format, seed):
    conversion = drawn(seed, whole=format == "wcsp")
    path = tmp_path_factory.mktemp("written") / "file"
    relation = label_formats.write_problem(conversion, path, format)
    check_values(conversion, label_formats.read_problem(path, format), relation)


@pytest.mark.parametrize("format", label_formats.WRITABLE)
@examples(8)
@given(seed=seeds)
def test_labels_are_written_with_what_is_forbidden(tmp_path_factory, format, seed):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 4, 3).tolist()
    sense = "maximise" if random.random() < 0.5 else "minimise"
    forbidden = -np.inf if sense == "maximise" else np.inf
    factors = []
    for scope in ((0,), (2, 0), (0, 1, 2)):
        table = random.integers(-5, 5, [sizes[v] for v in scope]).astype(float)
        barred = random.random(table.shape) < 0.2
        barred.flat[0] = False
        factors.append((scope, np.where(barred, forbidden, table)))
    conversion = from_factors(sizes, factors, sense=sense, constant=2.5)
    path = tmp_path_factory.mktemp("written") / "file"
    relation = label_formats.write_problem(conversion, path, format)
    other = label_formats.read_problem(path, format)
    for x in itertools.product(*map(range, sizes)):
        expected = conversion.objective(x)
        assert relation.value(other.objective(x)) == pytest.approx(expected, abs=1e-9)


def test_constraints_are_written_to_a_program(tmp_path):
    needs("highs")
    model = from_ising({"a": 1.0, "b": -2.0, "c": 0.5}, {("a", "b"): 1.5})
    rules = (cardinality(2), at_least(1, [0, 2]), linear({0: 0.5, 1: -1.25}, "<=", -0.5))
    bounded = replace(model, constraints=rules)
    path = tmp_path / "a.lp"
    relation = write_problem(bounded, path)
    read = read_problem(path)
    assert relation.value(solve(read).value) == pytest.approx(solve(bounded).value)
    assert len(read.constraints) == 3
    with pytest.raises(ProblemError, match="3 constraints, which a file of the format 'qubo'"):
        write_problem(bounded, path, "qubo")


def test_a_cut_keeps_its_vertices(tmp_path):
    graph = from_max_cut(3, [[0, 1], [1, 2]], [2.0, 3.0])
    relation = write_problem(graph, tmp_path / "a.mc")
    assert (tmp_path / "a.mc").read_text() == "3 2\n1 2 2\n2 3 3\n"
    assert (relation.sign, relation.constant) == (1, 0.0)


def test_the_bound_of_a_cfn_file_is_beyond_large_costs(tmp_path):
    path = tmp_path / "large.cfn"
    model = from_factors([3], [((0,), np.array([-1e15, 5.0, 1e22]))], sense="minimise")
    label_formats.write_problem(model, path)
    read = label_formats.read_problem(path)
    assert [read.objective([value]) for value in range(3)] == [-1e15, 5.0, 1e22]


def test_a_uai_file_forbids_no_tuple_by_rounding(tmp_path):
    path = tmp_path / "wide.uai"
    with pytest.raises(ProblemError, match=r"two entries of a factor differ by 800.*'cfn'"):
        label_formats.write_problem(from_factors([2], [((0,), np.array([0.0, 800.0]))]), path)
    label_formats.write_problem(from_factors([2], [((0,), np.array([0.0, 700.0]))]), path)
    read = label_formats.read_problem(path)
    assert read.objective([1]) - read.objective([0]) == pytest.approx(700.0)


@pytest.mark.parametrize("format", WRITABLE)
def test_no_variables_are_read_again_or_refused(tmp_path, format):
    path = tmp_path / "empty"
    empty = from_qubo({})
    if format in ("npz", "coo"):
        write_problem(empty, path, format)
        assert read_problem(path, format).problem.n == 0
        return
    with pytest.raises(ProblemError, match="has no variables"):
        write_problem(empty, path, format)
    assert not path.exists()


@pytest.mark.parametrize("names", [(1, "1"), ("a", " a"), (None, "a"), ("a\nb", "c"), (1e17, "a")])
def test_names_that_a_table_would_mix_up_are_refused(tmp_path, names):
    path = tmp_path / "a.csv"
    path.write_text("kept")
    model = from_qubo({(names[0], names[0]): 1.0, (names[1], names[1]): 2.0})
    with pytest.raises(ProblemError, match="distinct texts in one line"):
        write_problem(model, path)
    assert path.read_text() == "kept"


def test_a_program_keeps_large_and_small_numbers(tmp_path):
    needs("highs")
    path = tmp_path / "a.lp"
    model = from_qubo({("a", "a"): 1e25, ("b", "b"): -1e-12, ("a", "b"): 1e-10})
    large = replace(model, constraints=(linear([1e16, 1e-10], "<=", 1e21),))
    write_problem(large, path)
    read = read_problem(path)
    assert [read.objective(z) for z in ((1, 0), (0, 1))] == [1e25, -1e-12]
    assert read.problem.pairwise.tolist() == [[-1e-10]]
    assert dict(read.constraints[0].coefficients) == {0: 1e16, 1: 1e-10}
    assert read.constraints[0].right == 1e21
    kept = path.read_text()
    with pytest.raises(ProblemError, match="take the coefficient 1e-13 for 0"):
        write_problem(from_qubo({("a", "b"): 1e-13}), path)
    assert path.read_text() == kept


def test_a_program_needs_a_coefficient_for_each_variable(tmp_path):
    model = from_qubo({("a", "b"): 1.0})
    short = replace(model, constraints=(linear([1.0], "<=", 1),))
    with pytest.raises(OptionError, match="has length 1, and the problem has 2 variables"):
        write_problem(short, tmp_path / "a.lp")


def test_an_or_library_file_is_known_by_its_name(tmp_path):
    path = tmp_path / "a.orlib"
    write_problem(from_qubo({("a", "a"): -3.0}), path)
    assert solve(read_problem(path)).value == 3.0


def test_what_cannot_be_written_is_named(tmp_path):
    graph = from_max_cut(3, [[0, 1], [1, 2]], [2.0, 0.5])
    with pytest.raises(OptionError, match="does not say which format to write"):
        write_problem(graph, tmp_path / "a.txt")
    with pytest.raises(OptionError, match="did you mean 'maxcut'"):
        write_problem(graph, tmp_path / "a", "maxcuts")
    with pytest.raises(ProblemError, match="whole costs alone"):
        label_formats.write_problem(graph, tmp_path / "a.wcsp")
    capped = from_min_cut(3, [[0, 1], [1, 2]], [1.0, np.inf], 0, 2)
    with pytest.raises(ProblemError, match="capacities so large"):
        write_problem(capped, tmp_path / "a.qubo")
    assert not list(tmp_path.iterdir())
