"""Answers as short tables, and as tables of pandas."""

import pickle
import re

import numpy as np
import pytest
from optional import optional

from solvers import Problem, SolverUnavailableError, solve, solve_labels
from solvers.conversions import from_ising, from_qubo
from solvers.labels import LabelProblem

pandas = optional("pandas")
torch = optional("torch")

MODEL = from_qubo({("a", "a"): -1.0, ("b", "b"): 2.5}, offset=0.5)


def test_a_solution_prints_its_state_score_bound_and_certificate():
    lines = repr(solve([1.0, -2.0])).splitlines()
    assert re.fullmatch(r"Solution, n = 2, [\d.e-]+ s", lines[0])
    assert lines[1].split() == ["state", "score", "bound", "gap", "certificate", "solver"]
    assert lines[2].split() == ["10", "1", "1", "0", "optimal", "independent"]


def test_a_batch_prints_its_first_instances_and_counts_the_others():
    lines = repr(solve(np.ones((3, 5, 2)))).splitlines()
    assert lines[0].startswith("Solution, n = 2, 3 x 5 instances or states, ")
    assert lines[2].split() == ["0", "0", "11", "2", "2", "0", "optimal", "independent"]
    assert len(lines) == 13
    assert lines[-1].strip() == "... and 5 more"


def test_what_is_not_proved_prints_its_gap():
    problem = Problem.from_arrays(
        [-1.0, -1.0, -1.0], [2.0, 2.0, -3.0], edges=[[0, 1], [1, 2], [0, 2]]
    )
    solution = solve(problem, solver="local_search")
    assert "not proved" in repr(solution)
    gap = float(solution.bound) - float(solution.score)
    assert f"{gap:.10g}" in repr(solution).splitlines()[2].split()


def test_a_problem_prints_its_sizes_and_not_its_arrays():
    problem = Problem.from_arrays(np.zeros((4, 3)), [1.0, 2.0], edges=[[0, 1], [1, 2]])
    assert repr(problem) == "Problem(batch=4, n=3, e=2)"
    assert repr(LabelProblem.from_arrays(np.zeros((3, 5)))) == "LabelProblem(batch=1, n=3, e=0)"


@pytest.mark.parametrize("n", [0, 1, 39, 40, 41, 3000])
def test_rows_stay_short_whatever_the_number_of_variables(n):
    assert max(map(len, repr(solve(np.ones(n))).splitlines())) < 110
    answer = solve(from_ising(np.ones(n), {}))
    assert max(map(len, repr(answer).splitlines())) < 120


def test_missing_states_labels_and_tensors_print():
    assert "none" in repr(solve([1.0], k_best=3))
    assert repr(solve_labels([[0.0, 1.0, 3.0], [2.0, 0.0, 0.0]])).splitlines()[2].split()[0] == "20"
    wide = np.eye(12)[[11, 3]]
    assert "11 3" in repr(solve(LabelProblem.from_arrays(wide)))
    of_a_tensor = repr(solve(torch.tensor([1.0, -2.0]))).splitlines()
    assert of_a_tensor[1:] == repr(solve([1.0, -2.0])).splitlines()[1:]
    assert "0 instances" in repr(solve(np.zeros((0, 2))))


def test_an_answer_prints_its_assignment_and_value():
    answer = solve(MODEL)
    lines = repr(answer).splitlines()
    assert lines[2].split()[:3] == ["a=1", "b=0", "-0.5"]
    several = solve(MODEL, k_best=2)
    assert isinstance(several, tuple)
    assert re.fullmatch(r"2 answers, [\d.e-]+ s", repr(several).splitlines()[0])
    assert [line.split()[2] for line in repr(several).splitlines()[2:]] == ["-0.5", "0.5"]
    assert pickle.loads(pickle.dumps(several))[1].value == 0.5  # noqa: S301


def test_an_attribute_of_one_answer_is_looked_for_in_a_tuple_of_them():
    several = solve(MODEL, k_best=2)
    for name in ("assignment", "value", "gap", "sides"):
        with pytest.raises(
            AttributeError, match=rf"tuple of answers: take answers\[0\].{name}, or"
        ):
            getattr(several, name)
    with pytest.raises(AttributeError, match=r"'Answers' object has no attribute 'other'$"):
        several.other  # noqa: B018


def test_a_long_assignment_is_cut_between_two_variables():
    names = ["ann", "ben", "cem", "dora", "eve", "finn", "gus", "hana", "ida", "jon", "kim"]
    answer = solve(from_qubo({(name, name): -1.0 for name in names}))
    row = repr(answer).splitlines()[2]
    expected = " ".join(f"{name}=1" for name in names[:9])
    assert row.split("  ")[1] == f"{expected} ..."


def test_notebooks_get_the_same_cells():
    model = from_qubo({("<b>", "<b>"): -1.0})
    for shown in (solve([1.0, -2.0]), solve(model), solve(model, k_best=2)):
        page = shown._repr_html_()
        cells = re.findall(r"<td>(.*?)</td>", page)
        assert "<b>" not in page
        text = " ".join(cells).replace("&lt;", "<").replace("&gt;", ">")
        assert text.split() == " ".join(repr(shown).splitlines()[2:]).split()


def test_a_batch_as_a_table_of_pandas():
    batch = solve([[1.0, -2.0], [3.0, 4.0]])
    table = batch.to_pandas()
    facts = ["score", "bound", "gap", "optimal", "solver", "seconds"]
    assert list(table.columns) == [*facts, "z 0", "z 1"]
    assert table["seconds"].tolist() == [batch.seconds, batch.seconds]
    assert table["score"].tolist() == [1.0, 7.0]
    assert table[["z 0", "z 1"]].to_numpy().tolist() == batch.z.tolist()
    ranked = solve(np.zeros((2, 1)), k_best=2).to_pandas()
    assert ranked.index.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len(solve([1.0]).to_pandas()) == 1


def test_answers_as_tables_of_pandas_keep_the_names():
    model = from_qubo({("value", "value"): -1.0, (("x", 1), ("x", 1)): -2.0})
    table = solve(model, k_best=4).to_pandas()
    assert table["value"].tolist() == [-3.0, -2.0, -1.0, 0.0]
    assert table["variable value"].tolist() == [1, 0, 1, 0]
    assert table[[("x", 1)]].to_numpy().ravel().tolist() == [1, 1, 0, 0]
    assert solve(model).to_pandas()["optimal"].tolist() == [True]


def test_without_pandas_the_message_says_what_to_install(hide_packages):
    hide_packages()
    with pytest.raises(SolverUnavailableError, match="pip install pandas"):
        solve([1.0]).to_pandas()
