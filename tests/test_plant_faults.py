"""The table of planted faults stays true to the sources and the tests that it names."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def table(from_checkout):
    return from_checkout("scripts.fault_table")


@pytest.fixture
def fault(table):
    """Makes a fault of a Python file."""
    return lambda old, new, tests=(): table.Fault("solvers/problems/problem.py", old, new, tests)


def test_every_fault_can_be_planted_and_its_tests_exist(table):
    stale = []
    checked = set()
    for fault in table.read_faults():
        path = ROOT / fault.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        try:
            assert table.with_fault(text, fault) != text
            if fault.tests not in checked:
                table.check_tests(fault)
            checked.add(fault.tests)
        except table.StaleFaultError as error:
            stale.append(f"{fault.file}: {fault.old}: {error}")
    assert stale == []


def test_a_text_is_found_however_its_lines_are_wrapped(table, fault):
    wrapped = "    total = add(\n        first,\n        second,\n    )\n"
    planted = table.with_fault(f"if True:\n{wrapped}", fault("add(first, second)", "first"))
    assert planted == "if True:\n    total = first\n"


def test_two_words_are_not_found_as_one(table, fault):
    with pytest.raises(table.StaleFaultError, match="0 times"):
        table.with_fault("notx = 1\n", fault("not x", "x"))


@pytest.mark.parametrize(("text", "count"), [("a = c\n", 0), ("a = b\nc = b\n", 2)])
def test_a_text_must_occur_exactly_once(table, fault, text, count):
    with pytest.raises(table.StaleFaultError, match=f"{count} times"):
        table.with_fault(text, fault("= b", "= d"))


def test_a_fault_that_no_interpreter_reads_is_stale(table, fault):
    with pytest.raises(table.StaleFaultError, match="not Python with the fault: line 2"):
        table.with_fault("if True:\n    a = b\n", fault("a = b", ""))


@pytest.mark.parametrize(
    "test", ["tests/test_gone.py", "tests/test_plant_faults.py::test_gone[first]"]
)
def test_a_test_that_does_not_exist_makes_a_fault_stale(table, fault, test):
    with pytest.raises(table.StaleFaultError, match="test_gone"):
        table.check_tests(fault("a", "b", (test,)))


def test_a_file_that_the_table_names_twice_is_refused(table, tmp_path):
    path = tmp_path / "faults.yaml"
    path.write_text(2 * "a.py:\n  tests: [b.py]\n  faults: [{old: a, new: b}]\n")
    with pytest.raises(table.StaleFaultError, match=r"a\.py occurs 2 times"):
        table.read_faults(path)
