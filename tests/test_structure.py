"""The script that measures the structure of the code counts a tiny tree as by hand."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PROBLEM = '''"""A problem."""

import numpy as np
from outside import Marker


class Problem:
    """Bits."""

    def solve(self, limit, *rest, start=None, **options):
        """Solve it.

        The docstring is no part of its length.
        """
        first, second = 1, 2  # a comment
        found = first if limit else second
        for each in rest:
            if each and start or options:
                return [part for part in rest if part]
        else:
            assert found
        return None


def accepts(value):
    match value:
        case Problem():
            return True
        case _:
            return isinstance(value, (np.ndarray, Problem)) or isinstance(value, Marker)


def write(problem):  # noqa: D103
    first, second = problem
    return first, second
'''
PROBLEM += f"\n\n{'LONG' * 25} = 1\n"

LABEL_PROBLEM = '''"""A problem over labels."""


class LabelProblem:
    """Labels."""


def write_labels(problem):
    return Gibbs(problem), other.Gibbs
'''

FILES = {
    "solvers/__init__.py": "import lazy_loader\n\n__all__ = lazy_loader.attach_stub(__name__)\n",
    "solvers/__init__.pyi": '__all__ = ["Problem", "write"]\n',
    "solvers/problems/problem.py": PROBLEM,
    "solvers/search.cpp": "int main() {\n}\n",
    "solvers/labels/__init__.py": '__all__ = ["LabelProblem"]\n',
    "solvers/labels/problem.py": LABEL_PROBLEM,
    "models/__init__.py": "",
    "structured_vae/__init__.py": "__all__ = ['Gibbs']\n",
    "structured_vae/gibbs.py": "class Gibbs:\n    pass\n\n\nALONE = Gibbs()\n",
}


@pytest.fixture
def structure(from_checkout):
    return from_checkout("scripts.structure")


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_counts_of_a_tiny_tree_are_those_made_by_hand(structure, tree):
    counts = structure.measure(tree)
    assert counts["total"] == {
        "files": 7,
        "lines": sum(
            text.count("\n") for name, text in FILES.items() if Path(name).suffix == ".py"
        ),
        "C++ files": 1,
        "C++ lines": 2,
        "public names": 4,
        "public names, structured_vae": 1,
        "public names, models": 0,
        "public names, solvers": 2,
        "public names, solvers.labels": 1,
        "isinstance tests on own classes": 2,  # a case and a call; `Marker` comes from outside
        "Gibbs( outside its file": 1,
        "twins, functions and classes": 2,  # Problem and LabelProblem, write and write_labels
        "twins, files": 1,
        "twins, lines of files of bits": PROBLEM.count("\n"),
        "twins, lines of files of labels": LABEL_PROBLEM.count("\n"),
        "functions": 4,
        "function length, median": 4.5,  # of 9, 6, 3 and 2
        "function length, 90th percentile": 9,
        "function length, maximum": 9,
        # 1, the ternary, the loop and its else, `if`, `and`, `or`, the comprehension and its
        # condition, and the assertion
        "cyclomatic complexity, median": 2.0,
        "cyclomatic complexity, 90th percentile": 10,
        "cyclomatic complexity, maximum": 10,
        "parameters, median": 1.0,
        "parameters, 90th percentile": 4,
        "parameters, maximum": 4,
        "parallel assignments": 1,
        "ternaries": 1,
        "lines over 100 columns": 1,
        "comments per 100 lines": round(100 / counts["total"]["lines"], 2),
        "assignments to vague names": 3,
    }
    assert [counts[package]["files"] for package in structure.PACKAGES] == [4, 1, 2]
    assert counts["models"]["functions"] == 0


def git(folder, *arguments):
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    subprocess.run(command, check=True)


def test_two_revisions_stand_side_by_side_in_the_table_and_in_the_record(structure, tree, capsys):
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "First")
    (tree / "structured_vae" / "more.py").write_text("value = 1 if print else 2\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "Second")
    (tree / "structured_vae" / "more.py").unlink()  # the checkout is not what is measured
    output = tree / "record.json"
    options = ["--repository", str(tree), "--output", str(output)]
    structure.main(["--revision", "HEAD~1", "HEAD", *options])
    before, after = json.loads(output.read_text())["measured"]
    assert (before["name"], after["name"]) == ("HEAD~1", "HEAD")
    assert before["revision"] != after["revision"]
    assert before["counts"]["total"]["ternaries"] == 1
    assert after["counts"]["total"]["ternaries"] == 2
    (row,) = (line for line in capsys.readouterr().out.splitlines() if "ternaries" in line)
    assert [cell.strip() for cell in row.split("│")[2:-1]] == [
        *("1", "2"),
        *("1", "1"),
        *("0", "0"),
        *("0", "1"),
    ]


def test_without_a_revision_the_checkout_is_measured(structure, tree, capsys):
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "First")
    (tree / "models" / "untracked.py").write_text("found = 1\n")
    output = tree / "record.json"
    structure.main(["--repository", str(tree), "--output", str(output)])
    (measured,) = json.loads(output.read_text())["measured"]
    assert measured["name"] == "checkout"
    assert measured["counts"]["models"]["assignments to vague names"] == 1
