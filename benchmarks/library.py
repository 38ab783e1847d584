"""Instances with known optima: which are found, which are proved, and in what time.

    STRUCTURED_VAE_DATA=... python benchmarks/library.py --output results/library.json

Reads the folder `problems` of the data root: QUBO of the Biq Mac and OR libraries, max-cut of rudy,
the G-set and the Ising library, Markov networks of the UAI competitions, and maximum flows. One
thread. With `--only` the rows of an existing output are updated.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import on_cores
from benchmarks.known_optima import COLLECTIONS, Collection, Row, rows_of, solve_instance
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

COLUMNS = (
    "collection",
    "solver",
    "instances",
    "best known reached",
    "proved",
    "seconds in all",
    "largest gap",
)


def summary(collection: Collection, answers: list[Row]) -> tuple[str, ...]:
    """A row of the table."""
    reached, proved, seconds = (
        sum(answer[key] for answer in answers) for key in ("reached", "proved", "seconds")
    )
    gap = max(answer["gap"] for answer in answers)
    return (
        *(collection.name, collection.solver, str(len(answers)), str(reached), str(proved)),
        *(f"{seconds:.1f}", f"{gap:.2g}"),
    )


def report(name: str, answer: Row) -> str:
    """A line on an instance that was missed."""
    return f"{name}: {answer['name']}, n = {answer['n']}: {answer['value']:.10g} of {answer['best_known']:.10g}"


def updated(old: Row, new: Row) -> Row:
    """The old record with the rows of the new one in place of those of the same names, or behind the others.

    The commit of the new record holds for its rows alone and is written into them.
    """
    collections = {
        name: {row["name"]: row for row in rows} for name, rows in old["collections"].items()
    }
    for name, rows in new["collections"].items():
        collections.setdefault(name, {}).update(
            (row["name"], row | {"commit": new["commit"]}) for row in rows
        )
    return old | {"collections": {name: list(rows.values()) for name, rows in collections.items()}}


def main(arguments: list[str] | None = None) -> None:
    """Prints a summary and what was missed, and writes a row an instance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=os.environ.get("STRUCTURED_VAE_DATA"))
    parser.add_argument(
        "--only",
        default="",
        help="a regular expression on names of collections and instances; other rows of the output are kept",
    )
    parser.add_argument("--output", type=Path, default=Path("results/library.json"))
    options = parser.parse_args(arguments)
    if options.root is None:
        parser.error("name the data root: --root DIR or STRUCTURED_VAE_DATA=DIR")
    problems, console = Path(options.root) / "problems", Console(width=110)
    table = Table(*COLUMNS)
    answers: dict[str, list[Row]] = {}
    with on_cores(1):
        for collection in COLLECTIONS:
            rows = rows_of(collection, problems)
            rows = [
                row for row in rows if re.search(options.only, f"{collection.name} {row['name']}")
            ]
            if rows:
                found = [solve_instance(collection, problems, row) for row in rows]
                answers[collection.name] = found
                table.add_row(*summary(collection, found))
    console.print(table)
    for name, found in answers.items():
        for answer in found:
            if not answer["reached"]:
                console.print(report(name, answer), highlight=False)
    record = environment() | {"collections": answers}
    if options.only and options.output.exists():
        record = updated(json.loads(options.output.read_text(encoding="utf-8")), record)
    with whole_file(options.output) as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
