"""Measure how the code is built: its size, its API, its functions and its density, revision by revision.

    python scripts/structure.py
    python scripts/structure.py --revision c4d2cb0 HEAD --output results/structure.json

The first call measures this checkout as it is, the second one compares two revisions of git. The
script parses files and imports none of them, so it also measures revisions that cannot run here.

What the rows mean, where the name alone does not say it:

- Lines and files are those of Python; C++ has its own rows.
- Public names are those in `__all__` of each face, in `__init__.pyi` where there is one.
- An own class is a class that one of the packages defines. Class patterns of `match` count as
  isinstance tests.
- Twins are one idea that is written once for bits and once for labels. Two definitions, or two
  files, of one package are twins if their names are equal without the words of `BITS` and `LABELS`
  and one of them is of labels: its name, file or folder has a word of `LABELS`.
- The length of a function is its lines without the docstring. Overloads are left out.
- Cyclomatic complexity is one plus the decisions of a function: branches, loops, handlers,
  comprehensions and their conditions, `and` and `or`, ternaries, lambdas, assertions and cases.
- Parameters include those with a default, `*args` and `**kwargs`, but neither `self` nor `cls`.
- A parallel assignment has a tuple on both sides.
- Comments of linters and type checkers do not count.
- An assignment to a vague name binds one of `VAGUE`, in loops and comprehensions too.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import math
import platform
import re
import subprocess
import tarfile
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("solvers", "models", "structured_vae")
FACES: Final = ("structured_vae", "models", "solvers", "solvers.labels")
LONGEST_LINE: Final = 100
BITS: Final = frozenset({"bit", "bits", "binary"})
LABELS: Final = frozenset({"label", "labels", "category", "categories", "categorical"})
VAGUE: Final = frozenset({"each", "found", "given", "known", "own", "part"})
PRAGMA: Final = re.compile(r"#\s*(noqa|type:|pragma:|fmt:|ruff:|isort:|mypy:|pyright:)")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Counts: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Source:
    """A file of Python.

    Attributes:
        path: relative to the root of the tree, the package first.
        text: what it holds.
        tree: the same, parsed.
    """

    path: Path
    text: str
    tree: ast.Module

    @classmethod
    def read(cls, root: Path, file: Path) -> Source:
        """Parse a file below `root`."""
        text = file.read_text(encoding="utf-8")
        return cls(file.relative_to(root), text, ast.parse(text))

    @property
    def package(self) -> str:
        """The package that the file belongs to."""
        return self.path.parts[0]

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[Any]:
        """All nodes of these kinds."""
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))


def measure(root: Path) -> dict[str, Counts]:
    """Count what the module's docstring lists, for each package below `root` and in total."""
    sources = [
        Source.read(root, file)
        for package in PACKAGES
        for file in sorted((root / package).rglob("*.py"))
    ]
    classes = {node.name for source in sources for node in source.nodes(ast.ClassDef)}
    names = {face: _public_names(root, face) for face in FACES}

    def counts(packages: Sequence[str]) -> Counts:
        chosen = [source for source in sources if source.package in packages]
        compiled = [file for package in packages for file in (root / package).rglob("*.[ch]pp")]
        faces = [face for face in FACES if face.partition(".")[0] in packages]
        return {
            **_size(chosen),
            "C++ files": len(compiled),
            "C++ lines": sum(len(file.read_text().splitlines()) for file in compiled),
            "public names": sum(names[face] for face in faces),
            **{f"public names, {face}": names[face] for face in faces},
            "isinstance tests on own classes": _isinstance_tests(chosen, classes),
            "Gibbs( outside its file": _gibbs_calls(chosen),
            **_twins(chosen),
            **_functions(chosen),
            **_density(chosen),
        }

    return {"total": counts(PACKAGES)} | {package: counts([package]) for package in PACKAGES}


def _size(sources: Sequence[Source]) -> Counts:
    return {"files": len(sources), "lines": sum(_line_count(source) for source in sources)}


def _line_count(source: Source) -> int:
    return len(source.text.splitlines())


def _public_names(root: Path, face: str) -> int:
    """How many names the `__all__` of a package lists."""
    folder = root.joinpath(*face.split("."))
    for name in ("__init__.pyi", "__init__.py"):
        if not (folder / name).exists():
            continue
        for node in ast.parse((folder / name).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return len(ast.literal_eval(node.value))
    return 0


def _isinstance_tests(sources: Sequence[Source], classes: set[str]) -> int:
    """How often code asks whether an object is of a class that the packages define."""
    total = 0
    for source in sources:
        foreign = set(_foreign_names(source))
        tested = [
            *(call.args[1] for call in _calls(source, "isinstance") if len(call.args) == 2),
            *(pattern.cls for pattern in source.nodes(ast.MatchClass)),
        ]
        total += sum(bool((_names_in(test) & classes) - foreign) for test in tested)
    return total


def _foreign_names(source: Source) -> Iterator[str]:
    """Names that a file imports from outside the packages."""
    for node in source.nodes(ast.ImportFrom):
        package = (node.module or "").partition(".")[0]
        if not node.level and package not in PACKAGES:
            yield from (alias.asname or alias.name for alias in node.names)


def _names_in(expression: ast.AST) -> set[str]:
    """The last name of each class in an expression such as `(Problem, np.ndarray)`."""
    names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(expression) if isinstance(node, ast.Attribute)}


def _calls(source: Source, name: str) -> Iterator[ast.Call]:
    for call in source.nodes(ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id == name:
            yield call


def _gibbs_calls(sources: Sequence[Source]) -> int:
    """How often code builds a `Gibbs` outside the file that defines the class."""
    users = (
        source
        for source in sources
        if "Gibbs" not in {node.name for node in source.nodes(ast.ClassDef)}
    )
    return sum(1 for source in users for _ in _calls(source, "Gibbs"))


def _twins(sources: Sequence[Source]) -> Counts:
    """Count the ideas that are written once for bits and once for labels, and their lines."""
    files, definitions = _Pairs(), _Pairs()
    for source in sources:
        if source.path.stem != "__init__":
            files.add(source, source.path.stem)
        for node in source.tree.body:
            if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
                definitions.add(source, node.name)
    of_bits = {source.path: source for bits, _ in files.twins() for source in bits}
    of_labels = {source.path: source for _, labels in files.twins() for source in labels}
    return {
        "twins, functions and classes": len(definitions.twins()),
        "twins, files": len(files.twins()),
        "twins, lines of files of bits": sum(map(_line_count, of_bits.values())),
        "twins, lines of files of labels": sum(map(_line_count, of_labels.values())),
    }


class _Pairs:
    """Names of definitions or files, those of bits beside those of labels."""

    def __init__(self) -> None:
        self._sides: dict[tuple[str, ...], tuple[list[Source], list[Source]]]
        self._sides = defaultdict(lambda: ([], []))

    def add(self, source: Source, name: str) -> None:
        """Put a name of a file beside the names that say the same."""
        words = _words(name)
        around = {word for place in source.path.with_suffix("").parts for word in _words(place)}
        idea = [word for word in words if word not in BITS | LABELS]
        if idea:
            is_of_labels = not LABELS.isdisjoint([*words, *around])
            self._sides[source.package, *idea][is_of_labels].append(source)

    def twins(self) -> list[tuple[list[Source], list[Source]]]:
        """The files of bits and those of labels, for each idea that has both."""
        return [sides for sides in self._sides.values() if all(sides)]


def _words(name: str) -> list[str]:
    """The words of a name in either spelling, in lower case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def _functions(sources: Sequence[Source]) -> Counts:
    functions = [
        node
        for source in sources
        for node in source.nodes(ast.FunctionDef, ast.AsyncFunctionDef)
        if "overload" not in {ast.unparse(decorator) for decorator in node.decorator_list}
    ]
    measures: dict[str, Callable[[Any], int]] = {
        "function length": _length,
        "cyclomatic complexity": _complexity,
        "parameters": _parameters,
    }
    counts: Counts = {"functions": len(functions)}
    for name, of_function in measures.items():
        values = sorted(map(of_function, functions)) or [0]
        counts[f"{name}, median"] = median(values)
        counts[f"{name}, 90th percentile"] = values[math.ceil(0.9 * len(values)) - 1]
        counts[f"{name}, maximum"] = values[-1]
    return counts


def _length(function: Function) -> int:
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def _complexity(function: Function) -> int:
    return 1 + sum(_decisions(node) for statement in function.body for node in ast.walk(statement))


def _decisions(node: ast.AST) -> int:
    """How many ways a node adds to those through a function."""
    match node:
        case ast.If() | ast.IfExp() | ast.Lambda() | ast.Assert() | ast.ExceptHandler():
            return 1
        case ast.For() | ast.AsyncFor() | ast.While():
            return 1 + bool(node.orelse)
        case ast.Try():
            return int(bool(node.orelse))
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case ast.Match():
            return sum(ast.unparse(case.pattern) != "_" for case in node.cases)
    return 0


def _parameters(function: Function) -> int:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    total = len(named) + (arguments.vararg is not None) + (arguments.kwarg is not None)
    return total - (bool(named) and named[0].arg in ("self", "cls"))


def _density(sources: Sequence[Source]) -> Counts:
    lines = sum(map(_line_count, sources))
    comments = sum(1 for source in sources for _ in _comments(source.text))
    return {
        "parallel assignments": _total(sources, ast.Assign, _is_parallel),
        "ternaries": _total(sources, ast.IfExp, lambda node: True),
        f"lines over {LONGEST_LINE} columns": sum(
            len(line) > LONGEST_LINE for source in sources for line in source.text.splitlines()
        ),
        "comments per 100 lines": round(100 * comments / max(lines, 1), 2),
        "assignments to vague names": _total(sources, ast.Name, _is_vague),
    }


def _total(sources: Iterable[Source], kind: type[ast.AST], counted: Callable[[Any], bool]) -> int:
    return sum(counted(node) for source in sources for node in source.nodes(kind))


def _is_parallel(node: ast.Assign) -> bool:
    return isinstance(node.value, ast.Tuple) and any(
        isinstance(target, ast.Tuple) for target in node.targets
    )


def _is_vague(node: ast.Name) -> bool:
    return node.id in VAGUE and isinstance(node.ctx, ast.Store)


def _comments(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not PRAGMA.match(token.string):
            yield token.string


def measure_revision(revision: str | None, repository: Path = ROOT) -> dict[str, Any]:
    """Measure a revision of a repository, or its checkout as it is where there is none."""
    if revision is None:
        commit = _git(repository, "describe", "--always", "--dirty", "--abbrev=40").decode()
        return {"name": "checkout", "revision": commit.strip(), "counts": measure(repository)}
    commit = _git(repository, "rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
    archive = _git(repository, "archive", commit, *PACKAGES)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            # Python 3.11.0 to 3.11.3 have no filters, and the files are those of git alone.
            options: Any = {}
            if hasattr(tarfile, "data_filter"):
                options = {"filter": "data"}
            files.extractall(folder, **options)  # noqa: S202  # what git wrote
        return {"name": revision, "revision": commit, "counts": measure(Path(folder))}


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603  # fixed commands


def table(measured: Sequence[dict[str, Any]]) -> Table:
    """A row for each count; a column for the total and each package, revision beside revision."""
    places = ["total", *PACKAGES]
    rows = dict.fromkeys(name for record in measured for name in record["counts"]["total"])
    columns = [(place, record) for place in places for record in measured]
    headings = [f"{place}\n{record['name']}" for place, record in columns]
    shown = Table("", title="Structure of the code")
    for heading in headings:
        shown.add_column(heading, justify="right")
    for name in rows:
        values = (record["counts"][place].get(name) for place, record in columns)
        shown.add_row(name, *("" if value is None else f"{value:g}" for value in values))
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and write the record where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--revision", nargs="+", default=[None], help="the checkout by default")
    parser.add_argument("--repository", type=Path, default=ROOT)
    parser.add_argument("--output", type=Path, help="a file of JSON")
    chosen = parser.parse_args(arguments)
    measured = [measure_revision(revision, chosen.repository) for revision in chosen.revision]
    Console(width=160).print(table(measured))
    if chosen.output:
        record = {"python": platform.python_version(), "measured": measured}
        chosen.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
