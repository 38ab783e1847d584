"""Tables of scores, as pandas, R and spreadsheets write them, and files that are no problem files."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from solvers import solve
from solvers.formats import ProblemFileError, read_problem
from solvers.labels import formats as label_formats

pandas = pytest.importorskip("pandas")


def read(tmp_path, text):
    path = tmp_path / "scores.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_problem(path)


def best_of(tmp_path, text):
    answer = solve(read(tmp_path, text))
    assert answer.optimal
    return answer.value, dict(answer.assignment)


def refusal_of(tmp_path, text):
    with pytest.raises(ProblemFileError) as caught:
        read(tmp_path, text)
    return str(caught.value)


def test_an_integer_beside_an_empty_cell_is_one_variable(tmp_path):
    table = pandas.DataFrame({"i": [7, 8], "j": [8, None], "score": [2.5, -1.0]})
    text = table.to_csv(index=False)
    assert "8.0" in text
    assert best_of(tmp_path, text) == (1.5, {"7": 1, "8": 1})


@pytest.mark.parametrize("name", ["3", "3.0", "3.", "+3", "3.00", " 3 ", '"3"', '" 3.0"'])
def test_every_form_of_an_integer_is_the_same_name(tmp_path, name):
    assert list(read(tmp_path, f"i,j,score\n{name},4,1\n3,,-5\n").names) == ["3", "4"]


@pytest.mark.parametrize(
    "name", ["007", "3.10", "3.1", "0x3", "1e3", "three", "3 0", "v3.0", "Na", "nano"]
)
def test_other_texts_stay_names_as_they_are(tmp_path, name):
    labels = read(tmp_path, f"i,j,score\n{name},3,1\n7,{name},2\n").names
    assert list(labels) == [name, "3", "7"]


@pytest.mark.parametrize(
    "name", ["9007199254740992.0", "1e+16", "1.2345e+19", "-9.1e+15", "123456789012345678901.0"]
)
def test_a_float_that_may_be_another_integer_is_refused(tmp_path, name):
    assert "2^53" in refusal_of(tmp_path, f"i,j,score\n9007199254740993,{name},1\n")


def test_long_integers_are_told_apart(tmp_path):
    names = ["9007199254740993", "9007199254740992", "9" * 200, "9" * 199]
    rows = "".join(f"{name},,1\n" for name in names)
    assert list(read(tmp_path, f"i,j,score\n{rows}").names) == names


@pytest.mark.parametrize("order", list(itertools.permutations(["i", "j", "score"])))
def test_columns_are_found_by_their_names(tmp_path, order):
    table = pandas.DataFrame({"i": ["a", "b"], "j": ["b", None], "score": [3.0, -1.0]})[list(order)]
    expected = (2.0, {"a": 1, "b": 1})
    assert best_of(tmp_path, table.to_csv(index=False)) == expected
    assert best_of(tmp_path, table.to_csv()) == expected  # with the column of row numbers
    assert (
        best_of(tmp_path, "\ufeff" + table.to_csv(index=False, lineterminator="\r\n")) == expected
    )
    assert best_of(tmp_path, table.to_csv(index=False, quoting=1)) == expected


@pytest.mark.parametrize(
    "mark", ["", "NA", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "  ", '""', " NA "]
)
def test_a_mark_of_an_empty_cell_is_an_empty_cell(tmp_path, mark):
    assert best_of(tmp_path, f"i,j,score\na,b,1\na,{mark},-3\nb,{mark},2\n") == (
        2.0,
        {"a": 0, "b": 1},
    )
    assert "every row needs a variable" in refusal_of(tmp_path, f"i,j,score\n{mark},b,1\n")


def test_blanks_around_names_do_not_count(tmp_path):
    assert list(read(tmp_path, "i,j,score\n ann,ben \t,1\nann , ben,1\n\u00a0ann,,1\n").names) == [
        "ann",
        "ben",
    ]


def test_a_quoted_name_may_have_a_comma(tmp_path):
    text = 'i,j,score\n"Doe, Jo","say ""x""",1.5\n'
    assert best_of(tmp_path, text) == (1.5, {"Doe, Jo": 1, 'say "x"': 1})


@pytest.mark.parametrize("score", ["1.5e0", "15E-1", "+1.5", ".15e+1", '"1.5"', " 1.5 "])
def test_scores_may_have_exponents(tmp_path, score):
    assert best_of(tmp_path, f"i,j,score\na,,{score}\n") == (1.5, {"a": 1})


REFUSED = {
    "no header": ("0,1,1.5\n1,2,2\n", "'i,j,score' above the rows"),
    "no header, floats alone": ("a,b,1.5\nb,c,2\n", "contains the number '1.5'"),
    "one name missing": (
        "i,j,weight\na,b,1\n",
        "no column 'score': the columns are 'i', 'j', 'weight'",
    ),
    "other names": ("from,to,scores\na,b,1\n", "no column 'i' and 'j' and 'score'"),
    "a name that is nearly right": ("i,j,scores\na,b,1\n", "rename 'scores' to 'score'"),
    "a column more": ("i,j,score,note\na,b,1,x\n", "the column 'note' is not i, j or score"),
    "a column twice": ("i,j,score,j\na,b,1,c\n", "the column 'j' comes 2 times"),
    "a decimal comma between semicolons": ("i;j;score\na;b;1,5\n", "must be a finite number"),
    "a cell too few": ("i,j,score\na,1\n", "the line has 2 cells, and the first line has 3"),
    "a cell too many": ("i,j,score\na,b,1,5\n", "has 4 cells"),
    "a score that is none": ("i,j,score\na,b,NaN\n", "the score must be a finite number"),
    "a decimal comma": ('i,j,score\na,b,"1,5"\n', "the score must be a finite number"),
    "no rows": ("i,j,score\n", "there are no rows"),
    "an empty file": ("", "the file is empty"),
    "quotes without an end": ('i,j,score\n"a,b,1\n', "not a row of a table"),
    "no UTF-8": (b"i,j,score\nM\xfcller,b,1\n", "save the file as UTF-8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_tables_are_refused_with_the_way_out(tmp_path, name):
    text, message = REFUSED[name]
    assert message in refusal_of(tmp_path, text)


def test_a_table_agrees_with_all_assignments(tmp_path):
    generator = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "i": generator.integers(0, 6, 20),
            "j": pandas.array(generator.integers(0, 6, 20), dtype="Float64"),
            "score": generator.normal(size=20),
        }
    )
    table.loc[generator.random(20) < 0.3, "j"] = None
    rows = [
        (int(i), int(i) if pandas.isna(j) else int(j), float(score))
        for i, j, score in table.itertuples(index=False)
    ]
    values = [
        sum(score for i, j, score in rows if z[i] and z[j])
        for z in itertools.product((0, 1), repeat=6)
    ]
    assert best_of(tmp_path, table.to_csv(index=False))[0] == pytest.approx(max(values))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["x.csv", "x.npz", "x.uai", "x.cfn", "x.wcsp", "x.csv.gz"])
@pytest.mark.parametrize("read", [read_problem, label_formats.read_problem])
def test_a_special_file_is_refused_at_once(tmp_path, read, name):
    pipe, device, folder = (tmp_path / part / name for part in ("pipe", "device", "folder"))
    for path in (pipe, device, folder):
        path.parent.mkdir()
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    folder.mkdir()
    for path in (pipe, device, folder, Path("/dev/zero")):
        with pytest.raises(ProblemFileError, match="not a regular file"):
            read(path)


def test_special_evidence_is_refused_at_once(tmp_path):
    (tmp_path / "x.uai").write_text("MARKOV 1 2 1 1 0 2 0.5 0.5")
    with pytest.raises(ProblemFileError, match="not a regular file"):
        label_formats.read_problem(tmp_path / "x.uai", evidence="/dev/zero")


@pytest.mark.parametrize("name", ["x.csv", "x.uai", "x.cfn", "x.wcsp"])
def test_a_file_beyond_the_limit_says_how_to_read_it(tmp_path, name):
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(2**29)
    read = read_problem if name == "x.csv" else label_formats.read_problem
    with pytest.raises(ProblemFileError, match="pass a larger max_bytes"):
        read(path)


def test_names_in_a_cost_function_network_keep_their_blanks(tmp_path):
    path = tmp_path / "x.cfn"
    path.write_text(
        '{"problem": {"mustbe": "<9"}, "variables": {"v  w": ["x  y", "x y"]},\n'
        '"functions": {"f": {"scope": ["v  w"], "costs": [1, 0]}}}'
    )
    conversion = label_formats.read_problem(path)
    assert (list(conversion.names), list(conversion.values[0])) == (["v  w"], ["x  y", "x y"])


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read"
)
def test_a_file_that_cannot_be_read_is_an_error_of_ours(tmp_path):
    link = tmp_path / "x.qubo"
    link.symlink_to("/proc/self/mem")
    with pytest.raises(ProblemFileError, match=r"cannot be read|not a regular file"):
        read_problem(link)


@pytest.mark.parametrize(
    "table",
    [
        "i,j,score\na,,1\na,b,2\nb,,-1\n",
        "score;j;i\n1;;a\n2;b;a\n-1;;b\n",
        "i\tj\tscore\na\t\t1\na\tb\t2\nb\t\t-1\n",
        ",i,j,score\n0,a,,1\n1,a,b,2\n2,b,,-1\n",
        '"","i","j","score"\n"1","a",NA,1\n"2","a","b",2\n"3","b",NA,-1\n',
    ],
)
def test_a_table_is_recognised_by_its_line_of_names(tmp_path, table):
    path = tmp_path / "no_suffix"
    path.write_text(table)
    assert solve(read_problem(path)).value == 2.0
