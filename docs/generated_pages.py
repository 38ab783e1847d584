"""Pages made of the registry and of records in every build, so that none of their numbers is copied by hand.

As a script it prints the table of backends: `python docs/generated_pages.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from solvers import SolverInfo, available_solvers
from structured_vae.reproduction.experiments import Experiment, experiment_names
from structured_vae.reproduction.report import records_of, write_report

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"


def write(app) -> None:
    """Writes `generated/backends.md`, and a page in `reproduction/` for each experiment that has records."""
    for folder in ("generated", "reproduction"):
        (HERE / folder).mkdir(exist_ok=True)
    (HERE / "generated" / "backends.md").write_text(backends(), encoding="utf-8")
    for experiment in map(Experiment.named, experiment_names()):
        if records_of(experiment, RESULTS):
            write_report(experiment, RESULTS, HERE / "reproduction")


def backends() -> str:
    """The capabilities of the built-in solvers, as a table in Markdown."""
    heading = (
        "backend",
        "answer",
        "pairwise scores",
        "largest n",
        "treewidth",
        "runs on",
        "stops at a time limit",
    )
    rows = [_row(info) for info in available_solvers() if info.capabilities is not None]
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _row(info: SolverInfo) -> Sequence[str]:
    can = info.capabilities
    signs = (
        "none" if not can.pairwise else ">= 0, if need be after bit flips" if can.supermodular_only else "any"
    )
    return (
        f"`{info.name}`",
        "exact" if can.exact else "no proof",
        signs,
        str(can.max_size or "any"),
        "any" if can.max_treewidth is None else f"at most {can.max_treewidth}",
        "host, device" if can.on_device else "host",
        "yes" if can.time_limit else "no need" if can.exact else "no",
    )


if __name__ == "__main__":
    print(backends(), end="")
