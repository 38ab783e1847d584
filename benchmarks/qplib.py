"""The binary problems of QPLIB: what is proved within a limit of CPU time, beside the published seconds of others.

    STRUCTURED_VAE_DATA=... python benchmarks/qplib.py --seconds 3600 --output results/qplib.json

Each instance is solved in a process of its own with one thread, and its row is written when it
ends, so that the same command goes on where it was stopped; rows of a shorter limit that are not
proved are made again. `--solver` takes a backend's name instead of auto, and `--peers REGEX` gives
the instances to those of `peers.py` that are installed, too, each with `--peer-seconds`. With
`--anew` a row of another commit than the checked-out one is measured again, of ours and of the
named peers, the quickest first; so the whole table gets one commit, and the same command resumes.
Seconds are of this machine's CPU, published ones of another's (the page of the public benchmark
says not which): they say who proves what, not who is faster.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.linear_programs import LicenceError
from benchmarks.peers import PEERS
from solvers.formats import read_problem
from solvers.solving.selection import resolve
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

SHIFT = 10.0
"""Seconds that the geometric mean is shifted by, as on the benchmark's own page."""

PUBLISHED_LIMIT = 3600.0

Row = dict[str, Any]


def solve_instance(path: Path, solver: str, seconds: float) -> Row:
    """What becomes of an instance; the score is that of the state, re-computed."""
    conversion = read_problem(path)
    wall, begin = time.monotonic(), time.process_time()
    chosen = resolve(solver, conversion.problem)
    if "threads" in chosen.options():
        chosen = chosen.with_options(threads=1)
    solution = chosen.solve(conversion.problem, seconds)
    spent = time.process_time() - begin
    score = float(conversion.problem.score(solution.z))
    return {
        "seconds": spent,
        "wall": time.monotonic() - wall,
        "limit": seconds,
        "solver": solution.solver,
        "value": conversion.value(score),
        "bound": conversion.value(float(solution.bound)),
        "proved": bool(solution.optimal),
    }


def ask_peer(path: Path, peer: str, seconds: float) -> Row:
    """What another solver makes of an instance; a refusal of its licence is kept in its words."""
    conversion = read_problem(path)
    begin = time.process_time()
    try:
        answer = PEERS[peer].solve(conversion.problem, seconds, 1)
    except LicenceError as error:
        return {"limit": seconds, "refused": str(error).splitlines()[0], "proved": False}
    return {
        "seconds": time.process_time() - begin,
        "limit": seconds,
        "value": conversion.value(float(conversion.problem.score(answer.z))),
        "bound": conversion.value(answer.bound) if np.isfinite(answer.bound) else None,
        "proved": answer.proved,
    }


def in_a_process(
    work: Callable[[Path, str, float], Row], path: Path, solver: str, seconds: float
) -> Row:
    """What becomes of the work in a fresh process, so that a crash or its memory costs one row."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return dict(pool.apply(work, (path, solver, seconds)))


def shifted_mean(seconds: list[float]) -> float:
    """The shifted geometric mean, with the limit for what was not solved."""
    return math.exp(sum(math.log(each + SHIFT) for each in seconds) / len(seconds)) - SHIFT


def summary(rows: dict[str, Row]) -> list[tuple[str, str, str]]:
    """Solver, how many it proved, shifted geometric mean at the published limit: ours, then the published."""
    ours = [row["seconds"] if row["proved"] else PUBLISHED_LIMIT for row in rows.values()]
    times = {"ours": ours}
    for peer in sorted({peer for row in rows.values() for peer in row["published"]}):
        times[f"{peer} (published)"] = [
            row["published"].get(peer, PUBLISHED_LIMIT) for row in rows.values()
        ]
    return [
        (
            name,
            f"{sum(each < PUBLISHED_LIMIT for each in of)} of {len(of)}",
            f"{shifted_mean(of):.1f}",
        )
        for name, of in times.items()
    ]


def commits_of(rows: dict[str, Row]) -> dict[str, list[str]]:
    """The names of our rows by the commit that made them, the oldest rows of the file first."""
    found: dict[str, list[str]] = {}
    for name, row in rows.items():
        found.setdefault(row["commit"], []).append(name)
    return found


def proved_by_ours_alone(rows: dict[str, Row]) -> list[str]:
    """The names of the instances that ours prove and none of the published solvers does."""
    return [
        name
        for name, row in rows.items()
        if row["proved"] and min(row["published"].values()) >= PUBLISHED_LIMIT
    ]


def much_slower(rows: dict[str, Row], factor: float = 10.0) -> list[str]:
    """The names of the instances that take ours more than `factor` times as long as the best published solver."""
    return [
        name
        for name, row in rows.items()
        if row["proved"] and row["seconds"] > factor * min(row["published"].values())
    ]


def main(arguments: list[str] | None = None) -> None:
    """Solves what is missing, writing each row as it ends, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=os.environ.get("STRUCTURED_VAE_DATA"))
    parser.add_argument("--seconds", type=float, default=PUBLISHED_LIMIT, help="for an instance")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--only", default="", help="a regular expression on names of instances")
    parser.add_argument(
        "--peers", default="", help="a regular expression on names of peers; empty for none"
    )
    parser.add_argument(
        "--peer-seconds", type=float, default=120.0, help="of CPU time, for an instance"
    )
    parser.add_argument(
        "--anew", action="store_true", help="measure again what is of another commit"
    )
    parser.add_argument("--output", type=Path, default=Path("results/qplib.json"))
    options = parser.parse_args(arguments)
    if options.root is None:
        parser.error("name the data root: --root DIR or STRUCTURED_VAE_DATA=DIR")
    commit = environment()["commit"] if options.anew else None
    if options.anew and (commit is None or commit.endswith("-dirty")):
        parser.error("--anew needs a checkout without changes: commit or stash them first")
    folder, console = Path(options.root) / "problems" / "qplib", Console(width=110)
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    index = index.get("instances", index)
    names = [
        name
        for name in sorted(index, key=lambda name: index[name]["n"])
        if re.search(options.only, name)
    ]
    record = (
        json.loads(options.output.read_text(encoding="utf-8"))
        if options.output.exists()
        else {"rows": {}}
    )
    rows = record["rows"]
    if options.anew:
        names.sort(key=lambda name: rows.get(name, {}).get("seconds", 0.0))
    for name in names:
        path, known = folder / index[name]["file"], rows.get(name, {})
        if _is_open(known, options.seconds, commit):
            found = in_a_process(solve_instance, path, options.solver, options.seconds)
            about = {key: index[name][key] for key in ("n", "mean_degree", "best_known")}
            beside = {
                "published": index[name]["published_seconds"],
                "peers": known.get("peers", {}),
            }
            rows[name] = found | about | beside | environment()
            _write(record, options.output)
            console.print(f"{name}, {found['solver']}: {_said(found)}")
        asked = rows[name].setdefault("peers", {})
        for peer in filter(lambda peer: options.peers and re.search(options.peers, peer), PEERS):
            if PEERS[peer].installed and _is_open(
                asked.get(peer, {}), options.peer_seconds, commit
            ):
                found = in_a_process(ask_peer, path, peer, options.peer_seconds)
                asked[peer] = found | environment()
                _write(record, options.output)
                console.print(f"{name}, {peer}: {_said(found)}")
    table = Table("solver", "proved", "shifted geometric mean, s")
    for row in summary(rows):
        table.add_row(*row)
    console.print(table)


def _is_open(row: Row, seconds: float, commit: str | None) -> bool:
    """Whether so many seconds may tell more than what is known, or the row is of another commit than the wanted one."""
    if row and commit is not None and row["commit"] != commit:
        return True
    return not row or (not row["proved"] and row["limit"] < seconds)


def _said(row: Row) -> str:
    if "refused" in row:
        return str(row["refused"])
    return (
        f"{row['value']:.10g}, "
        + ("proved" if row["proved"] else f"bound {row['bound']}")
        + f", {row['seconds']:.2f} s"
    )


def _write(record: dict[str, Any], output: Path) -> None:
    with whole_file(output) as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
