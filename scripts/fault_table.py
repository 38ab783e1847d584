"""The table of planted faults: `faults.yaml`, read, and checked against the sources and the tests."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "scripts" / "faults.yaml"
WORD = re.compile(r"\w+")
TOKEN = re.compile(r"\w+|[^\w\s]")
CLOSING = ")]}"


class StaleFaultError(ValueError):
    """A fault cannot be planted, or a test that it names does not exist."""


@dataclass(frozen=True)
class Fault:
    """A text of a file, the wrong text that replaces it, and the tests that should fail.

    Attributes:
        file: path from the root.
        old: text that occurs in the file exactly once. Its white space does not matter.
        new: text that is planted.
        tests: files, or single tests of large files, as pytest takes them.
        equivalent: why no test can fail; empty where one should.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    equivalent: str = ""

    def row(self) -> dict[str, Any]:
        """Return what a report says about the fault beside its outcome, in values of JSON."""
        return {**asdict(self), "tests": list(self.tests)}


class _UniqueKeys(yaml.CSafeLoader):
    """YAML in which no mapping has a key twice; YAML itself keeps the last one without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise StaleFaultError(f"{name} occurs {names.count(name)} times; merge its entries")
        return super().construct_mapping(node, deep)


def read_faults(table: Path = TABLE) -> list[Fault]:
    """Return the faults of a table; a fault without tests has the tests of its file."""
    text = table.read_text(encoding="utf-8")
    content = yaml.load(text, Loader=_UniqueKeys)  # noqa: S506  # a CSafeLoader
    return [
        Fault(file, **{**row, "tests": tuple(row.get("tests", about["tests"]))})
        for file, about in content.items()
        for row in about["faults"]
    ]


def with_fault(text: str, fault: Fault) -> str:
    """Return the text of a file with a fault in it.

    Raises:
        StaleFaultError: the old text does not occur exactly once, or the new text is not Python
            where the file is.
    """
    places = list(_pattern(fault.old).finditer(text))
    if len(places) != 1:
        raise StaleFaultError(f"the text occurs {len(places)} times")
    place = places[0]
    changed = text[: place.start()] + fault.new.strip() + text[place.end() :]
    if fault.file.endswith(".py"):
        _check_python(changed)
    return changed


def check_tests(fault: Fault, root: Path = ROOT) -> None:
    """Check that every test of a fault exists.

    Raises:
        StaleFaultError: a file of tests, or a function in it, does not exist.
    """
    for test in fault.tests:
        file, _, name = test.partition("::")
        if not (root / file).is_file():
            raise StaleFaultError(f"{file} does not exist")
        source = (root / file).read_text(encoding="utf-8")
        function = name.partition("[")[0]
        if function and f"\ndef {function}(" not in source:
            raise StaleFaultError(f"{file} has no {function}")


def _pattern(old: str) -> re.Pattern[str]:
    """Return what matches a text however its lines are wrapped.

    Two words stay apart; everywhere else white space may come and go. The formatter also adds a
    comma before a bracket that it moves to a line of its own.
    """
    tokens = TOKEN.findall(old)
    parts = []
    for before, token in zip(["", *tokens], tokens, strict=False):
        if WORD.fullmatch(before) and WORD.fullmatch(token):
            parts.append(r"\s+")
        elif token in CLOSING and before != ",":
            parts.append(r"(?:,\s*\n)?\s*")
        else:
            parts.append(r"\s*")
        parts.append(re.escape(token))
    return re.compile("".join(parts[1:]))


def _check_python(text: str) -> None:
    try:
        compile(text, "<planted>", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise StaleFaultError(f"not Python with the fault: line {error.lineno}") from error
