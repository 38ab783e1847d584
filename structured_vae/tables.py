"""What the commands print."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from solvers import Solution, available_solvers
from solvers.conversions import Conversion


def solver_table() -> Table:
    """The backends: exact or not, what they take, what is missing."""
    table = Table(title="argmax solvers")
    for column in ("name", "exact", "takes", "most n", "treewidth", "runs on", "time limit", "installed"):
        table.add_column(column, no_wrap=column == "name")
    for info in available_solvers():
        can = info.capabilities
        if can is None:
            table.add_row(info.name, *["?"] * 6, f"plug-in of {info.origin}")
            continue
        takes = "unary" if not can.pairwise else "pairwise >= 0" if can.supermodular_only else "any"
        table.add_row(
            info.name,
            "yes" if can.exact else "no",
            takes,
            str(can.max_size or "-"),
            f"<= {can.max_treewidth}" if can.max_treewidth is not None else "-",
            "host, device" if can.on_device else "host",
            "yes" if can.time_limit else "no",
            "yes" if info.installed else f"no: {can.install}",
        )
    return table


def solution_table(conversion: Conversion, solution: Solution, file: str = "", shown: int = 10) -> Table:
    """The first few answers of a batch, with value and bound in the objective of the file's format."""
    place = f"{file}, " if file else ""
    table = Table(title=f"{place}solver {solution.solver}")
    for column in ("instance", "value", "optimal", "bound", "ones"):
        table.add_column(column, justify="right")
    z = solution.z.reshape(-1, solution.z.shape[-1])
    arrays = (conversion.value(solution.score), solution.optimal, conversion.value(solution.bound))
    rows = list(zip(*(array.reshape(-1) for array in arrays), z, strict=True))
    for number, (value, optimal, bound, state) in enumerate(rows[:shown]):
        ones = f"{int(state.sum())} of {len(state)}"
        table.add_row(str(number), f"{value:.10g}", "yes" if optimal else "no", f"{bound:.10g}", ones)
    if len(rows) > shown:
        table.caption = f"{len(rows) - shown} more"
    return table


def bound_table(parts: dict[str, float], valid: bool, title: str) -> Table:
    """The parts of a bound, and which sums are bounds."""
    table = Table(title=title)
    for column in ("", "nats", "what it is"):
        table.add_column(column)
    exactness = "exact" if valid else "its ceiling n log 2: pairwise potentials"
    surrogate = "the same" if valid else "pairwise potentials ignored, as the paper reports it"
    texts = {
        "reconstruction": "-log p(x | z), z sampled through the argmax",
        "kl": f"KL to the uniform prior, {exactness}",
        "kl_surrogate": f"KL of the unary potentials: {surrogate}",
        "bound": "reconstruction + kl, an upper bound on -log p(x)",
        "bound_surrogate": "reconstruction + kl_surrogate" + ("" if valid else ", not a bound"),
        "standard_error": "of bound, over the images",
        "images": "",
    }
    for name, text in texts.items():
        value = f"{parts[name]:.3f}" if name != "images" else str(int(parts[name]))
        table.add_row(name, value, text)
    return table


def file_table(files: list[Path], title: str) -> Table:
    """Files with their sizes."""
    table = Table(title=title)
    table.add_column("file", overflow="fold")
    table.add_column("kB", justify="right")
    for file in files:
        table.add_row(str(file), f"{file.stat().st_size / 1000:,.0f}")
    return table
