"""Plants faults one at a time, each in a copy of the tree, and says which of them the tests notice.

Run from the repository root: `python scripts/plant_faults.py --report FILE.json`. The faults, and
the tests that should notice each, are in `scripts/faults.yaml`. Every outcome is written at once,
and a second call goes on where the first one stopped.

An outcome is one of
- killed: a test fails, `by` says which; at the end all these tests are run without a fault, and
  have to pass;
- survived: all pass, with `--wider` also the fast tests of all files of its package: where one of
  those kills it, it belongs in the table;
- equivalent: all pass, and the table says why no test can tell;
- stale: the text does not occur exactly once any more, the file is not Python with the fault, or a
  test does not exist; `by` says which;
- unclear: pytest ended, `by` says how, and no test has failed: perhaps a package is missing. The
  next call tries again.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from fault_table import ROOT, Fault, StaleFaultError, check_tests, read_faults, with_fault

LIBRARIES = (
    "torch",
    "lightning.pytorch",
    "networkx",
    "matplotlib.figure",
    "scipy.special",
    "jsonargparse",
)
PACKAGES = ("solvers", "models", "structured_vae")
KERNELS = Path("solvers", "compiled", "_kernels")
CPP = (".cpp", ".hpp")
"""Faults in these files need kernels compiled anew."""
NO_SUCH_TEST = (4, 5)
"""What pytest returns where a test that is named does not exist."""
WITH_SLOW_ONES = ("-m", "not gpu")
"""The tests that a fault names may be slow."""


class Report:
    """Outcomes in a JSON file, which is written anew after each."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []

    def outcome(self, fault: Fault) -> str | None:
        """What became of a fault with these tests; None if that is not known."""
        return next(
            (row["outcome"] for row in self.rows if fault.row().items() <= row.items()), None
        )

    def add(self, fault: Fault, **found: Any) -> None:
        """Puts an outcome in the place of an older one of the same fault."""
        key = (fault.file, fault.old, fault.new)
        self.rows = [row for row in self.rows if (row["file"], row["old"], row["new"]) != key]
        self.rows.append({**fault.row(), **found})
        self.path.write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of all that git does not ignore, with the compiled kernels."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607  # the git of the developer
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split("\0")
    places = ("tests", *PACKAGES)
    compiled = (
        str(file.relative_to(ROOT))
        for place in places
        for file in (ROOT / place).rglob("__pycache__/*")
    )
    kernels = (str(file.relative_to(ROOT)) for file in (ROOT / KERNELS).glob("*.so"))
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        for name in (*filter(None, listed), *compiled, *kernels):
            if (ROOT / name).is_file():  # not one that was deleted and is still in the index
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(
                    ROOT / name, Path(folder) / name
                )  # with its time, by which Python knows what it has compiled
        yield Path(folder)


class Trees:
    """Copies of the tree to plant faults in: a new copy each, but one copy for all C++ faults.

    That one keeps its build folder. So the first C++ fault compiles all kernels, which takes
    minutes, and the others compile only the files that include a changed one.
    """

    def __init__(self, stack: ExitStack):
        """Make no copy yet; the stack removes the copy for C++ faults at its end."""
        self._stack = stack
        self._for_kernels: Path | None = None

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[Path]:
        """Give a copy with a fault in it.

        Raises:
            StaleFaultError: it cannot be planted, a test does not exist, or the kernels do not
                compile.
        """
        if fault.file.endswith(CPP):
            if self._for_kernels is None:
                self._for_kernels = self._stack.enter_context(copied_tree())
            with self._planted_kernel(fault, self._for_kernels) as tree:
                yield tree
        else:
            with copied_tree() as tree:
                plant(fault, tree)
                yield tree

    @contextmanager
    def _planted_kernel(self, fault: Fault, tree: Path) -> Iterator[Path]:
        """Give the copy for C++ faults, and put the right text back at the end."""
        shutil.rmtree(tree / ".pytest_cache", ignore_errors=True)  # what failed before
        right = plant(fault, tree)
        try:
            if not _compiled(tree):
                raise StaleFaultError("the kernels do not compile with the fault")
            yield tree
        finally:
            (tree / fault.file).write_text(right, encoding="utf-8")


def plant(fault: Fault, tree: Path) -> str:
    """Plant a fault in a copy, and return what its file contained before.

    Raises:
        StaleFaultError: it cannot be planted, or a test does not exist.
    """
    check_tests(fault, tree)
    path = tree / fault.file
    if not path.is_file():
        raise StaleFaultError(f"{fault.file} does not exist")
    right = path.read_text(encoding="utf-8")
    path.write_text(with_fault(right, fault), encoding="utf-8")
    return right


def _compiled(tree: Path) -> bool:
    """Compile what has changed in the kernels of a copy; False where it does not compile."""
    build = tree / "build" / "planted"
    configure = ["cmake", "-S", str(tree), "-B", str(build), "-G", "Ninja", "-DIN_PLACE=ON"]
    configure += ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    for command in (configure, ["cmake", "--build", str(build)]):
        if subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603  # our own build
            return False
    return True


def run_tests(tree: Path, tests: Sequence[str], limit: float | None, *options: str) -> int | None:
    """What pytest returns in a copy; None if it takes longer than `limit` seconds.

    In a fork of this process, which has loaded what takes long to load, and nothing of ours.
    """
    arguments = ["-q", "--tb=no", *options, *tests]
    process = multiprocessing.get_context("fork").Process(target=_forked, args=(tree, arguments))
    process.start()
    try:
        process.join(limit)
        return process.exitcode
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)  # with whatever the tests have started


def _forked(tree: Path, arguments: list[str]) -> None:
    os.setpgrp()  # no session of its own: Linux shares cores between these whatever `nice` says
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree)
    sys.path.insert(0, str(tree))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.exit(pytest.main(arguments))


def failed_tests(tree: Path) -> list[str]:
    """Which tests have failed in a copy, as pytest remembers."""
    path = tree / ".pytest_cache" / "v" / "cache" / "lastfailed"
    return list(json.loads(path.read_text())) if path.exists() else []


def wider_tests(fault: Fault) -> list[str]:
    """All files of tests of a fault's package that are not tried before as a whole."""
    package = fault.file.partition("/")[0]
    files = (f"tests/{path.name}" for path in sorted((ROOT / "tests").glob(f"test_{package}_*.py")))
    return [file for file in files if file not in fault.tests]


def try_fault(fault: Fault, trees: Trees, limit: float, wider: bool) -> dict[str, Any]:
    """Return the outcome of a fault, what killed it, and the seconds that the tests took."""
    try:
        with trees.planted(fault) as tree:
            return _outcome(fault, tree, limit, wider)
    except StaleFaultError as error:
        return {"outcome": "stale", "by": [str(error)], "seconds": 0.0}


def _outcome(fault: Fault, tree: Path, limit: float, wider: bool) -> dict[str, Any]:
    """Run the tests of a fault in a copy that has it."""
    start = time.monotonic()
    returned = run_tests(tree, fault.tests, limit, "-x", *WITH_SLOW_ONES)
    if returned == 0 and wider and not fault.equivalent:
        returned = run_tests(tree, wider_tests(fault), limit, "-x")
    seconds = round(time.monotonic() - start, 1)
    by = failed_tests(tree)
    if returned == 0:
        outcome = "equivalent" if fault.equivalent else "survived"
        by = []
    elif returned in NO_SUCH_TEST:
        outcome = "stale"
        by = ["pytest does not find a test"]
    elif not by and returned is not None and returned > 0:
        outcome = "unclear"
        by = [f"status {returned}"]
    else:
        outcome = "killed"
        ended = "out of time" if returned is None else f"status {returned}"
        by = by or [ended]
    return {"outcome": outcome, "by": by, "seconds": seconds}


def false_kills(report: Report) -> list[str]:
    """The tests that killed a fault and fail without one, too."""
    tests = sorted({test for row in report.rows for test in row["by"] if "::" in test})
    if not tests:
        return []
    with copied_tree() as tree:
        run_tests(tree, tests, None, *WITH_SLOW_ONES)
        return failed_tests(tree)


def main() -> int:
    """Tries all faults that are left; 1 where one survived, could not be planted, or is unclear."""
    arguments = _parser().parse_args()
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # which leaves no tests running and no copy behind
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()  # pytest collects garbage several times; what is loaded here is none
    report = Report(arguments.report)
    faults = [f for f in read_faults() if re.search(arguments.only, f"{f.file}: {f.old}")]
    with ExitStack() as stack:
        trees = Trees(stack)
        for number, fault in enumerate(faults, 1):
            if report.outcome(fault) not in (None, "unclear", *arguments.again):
                continue
            report.add(fault, **try_fault(fault, trees, arguments.limit, arguments.wider))
            print(
                f"{number}/{len(faults)} {report.outcome(fault)}: "
                f"{fault.file}: {fault.old} -> {fault.new}",
                flush=True,
            )
    counts = Counter(report.outcome(fault) for fault in faults)
    wrong = false_kills(report)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    print("\n".join(f"fails without a fault: {test}" for test in wrong), end="")
    return int(bool(wrong or counts["survived"] or counts["stale"] or counts["unclear"]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--report", type=Path, required=True, help="JSON file of the outcomes, read and written"
    )
    parser.add_argument(
        "--only", default="", help="regular expression that 'file: old text' must contain"
    )
    parser.add_argument(
        "--again", nargs="*", default=(), help="outcomes to try again, such as survived"
    )
    parser.add_argument(
        "--wider", action="store_true", help="try survivors with all tests of their package"
    )
    parser.add_argument(
        "--limit", type=float, default=1800.0, help="seconds for the tests of a fault"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
