"""Tables of scores as pandas, R and spreadsheets write them, and as they do when something is missing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Final

from solvers import solve
from solvers.formats import read_problem

from .draws import Draw
from .outcomes import OURS, claim

EMPTY: Final = ("", "", "NA", "NaN", "nan", "<NA>", "N/A", "NULL", "None")
Row = tuple[int, int | None, float]
"""Two variables, or one, and a score."""


def _rows(draw: Draw) -> list[Row]:
    ids = draw.of(((0, 1, 2, 3), (5, 10, 20), (0, 1)))
    rows: list[Row] = [
        (draw.of(ids), draw.of((*ids, None)), draw.whole(-3, 3) / 2) for _ in range(4)
    ]
    return rows[: draw.whole(1, 4)]


def _written(draw: Draw, rows: list[Row]) -> tuple[str, bool]:
    """Return the text of a table, and whether it has the names of its columns."""
    floats = any(j is None for _, j, _ in rows) and draw.chance(0.7)
    empty = draw.of(EMPTY)
    blank = draw.of(("", "", " "))

    def cells(number: int, row: Row) -> dict[str, str]:
        i, j, score = row
        second = empty if j is None else f"{j}.0" if floats else str(j)
        first = f"{i}.0" if draw.chance(0.1) else str(i)
        return {"": str(number), "i": blank + first + blank, "j": second, "score": f"{score}"}

    names = ["i", "j", "score"]
    if draw.chance(0.3):
        names = [names[place] for place in draw.random.permutation(3)]
    if draw.chance(0.2):
        names = ["", *names]
    named = draw.chance(0.85)
    table = [names] if named else []
    table += [[cells(number, row)[name] for name in names] for number, row in enumerate(rows)]
    quote = draw.of(("", "", '"'))
    end = draw.of(("\n", "\n", "\r\n"))
    lines = [",".join(f"{quote}{cell}{quote}" for cell in line) for line in table]
    return end.join(lines) + end, named


def _maximum(rows: list[Row]) -> float:
    """Return the highest total score of all values of the variables."""
    ids = sorted({v for i, j, _ in rows for v in (i, j) if v is not None})
    totals = []
    for values in product((0, 1), repeat=len(ids)):
        z = dict(zip(ids, values, strict=True))
        totals.append(sum(score * z[i] * (1 if j is None else z[j]) for i, j, score in rows))
    return max(totals)


def _table(draw: Draw, folder: Path) -> Callable[[], None]:
    rows = _rows(draw)
    text, named = _written(draw, rows)
    path = folder / "scores.csv"
    path.write_text(draw.of(("", "", "\ufeff")) + text, encoding="utf-8")
    names = {str(v) for i, j, _ in rows for v in (i, j) if v is not None}

    def call() -> None:
        try:
            conversion = read_problem(path)
        except OURS:
            claim(not named, f"a table is refused: {text!r}")
            raise
        claim(named, f"a table without names of columns is read: {text!r}")
        answer = solve(conversion)
        found = set(map(str, answer.assignment))
        claim(
            found == names,
            f"a table has other variables: {sorted(found)} instead of {sorted(names)}, in {text!r}",
        )
        wanted = _maximum(rows)
        claim(answer.optimal, "a small table is not solved to its end")
        claim(
            abs(answer.value - wanted) < 1e-9,
            f"a table has another maximum: {answer.value} instead of {wanted}, in {text!r}",
        )

    return call


TABLE_CALLS: Final = {"read_problem of tables": (5, _table)}
"""Weight and maker of each, by the name that the report gives it."""
