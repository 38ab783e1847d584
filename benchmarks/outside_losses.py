"""Where `auto` loses to another solver on an outside instance, and who says what is false."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LATE = 1.25
"""Times the limit: what is proved later was not to be had within it."""

TOLERATED, LEAST = 2.0, 0.1
"""A factor of seconds that is no loss, and seconds below which times are equal."""

RELATIVE, OURS = 1e-5, 1e-9
"""Of values and bounds: others round them and know them within tolerances; ours must be exact."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Loss:
    """One way in which `auto` is behind the best of the others on an instance.

    Attributes:
        instance: its name.
        kind: "no proof", "value", "time" or "bound".
        peer: who is best in this.
        ours: the figure of `auto`, with unit.
        theirs: the figure of the peer.
    """

    instance: str
    kind: str
    peer: str
    ours: str
    theirs: str


def unit(row: Row, relative: float = RELATIVE) -> float:
    """How far two values of an instance may be apart and count as equal."""
    values = [
        abs(answer["value"]) for answer in answered(row).values() if answer["value"] is not None
    ]
    return relative * max([1.0, *values])


def answered(row: Row) -> dict[str, Row]:
    """The answers of those that took the problem and came to an end."""
    return {name: answer for name, answer in row["answers"].items() if "value" in answer}


def proves(row: Row, name: str) -> bool:
    """Whether a solver proved its value within the limit, about."""
    answer = row["answers"].get(name, {})
    return bool(answer.get("proved")) and answer["seconds"] <= LATE * row["limit"]


def best_peer(row: Row) -> str | None:
    """The peer with the quickest proof, else with the highest value, else with the least bound."""

    def order(name: str) -> tuple[float, ...]:
        answer = answered(row)[name]
        value = -float("inf") if answer["value"] is None else answer["value"]
        bound = float("inf") if answer["bound"] is None else answer["bound"]
        if proves(row, name):
            return (0.0, answer["seconds"])
        return (1.0, -value, bound)

    others = [name for name in answered(row) if name != "auto"]
    return min(others, key=order) if others else None


def losses(name: str, row: Row) -> Iterator[Loss]:
    """Each kind of loss on an instance at most once, beside the best peer of that kind."""
    ours = row["answers"]["auto"]
    others = {peer: answer for peer, answer in answered(row).items() if peer != "auto"}
    if "value" not in ours:
        yield Loss(name, "no answer", best_peer(row) or "", ours.get("failed", ""), "")
        return
    provers = [peer for peer in others if proves(row, peer)]
    first = min(provers, key=lambda peer: others[peer]["seconds"], default=None)
    if proves(row, "auto"):
        if first and ours["seconds"] > TOLERATED * max(others[first]["seconds"], LEAST):
            times = (f"{answer['seconds']:.2f} s" for answer in (ours, others[first]))
            yield Loss(name, "time", first, *times)
        return
    if first:
        open_ = f"open after {ours['seconds']:.1f} s"
        yield Loss(name, "no proof", first, open_, f"proved in {others[first]['seconds']:.2f} s")
    yield from _of_value(name, row, others)
    bounds = {
        peer: answer["bound"] for peer, answer in others.items() if answer["bound"] is not None
    }
    if not first and bounds:
        least = min(bounds, key=lambda peer: bounds[peer])
        if ours["bound"] is None or bounds[least] < ours["bound"] - unit(row):
            yield Loss(name, "bound", least, shown(ours["bound"]), shown(bounds[least]))


def _of_value(name: str, row: Row, others: dict[str, Row]) -> Iterator[Loss]:
    values = {
        peer: answer["value"] for peer, answer in others.items() if answer["value"] is not None
    }
    ours = row["answers"]["auto"]["value"]
    if not values:
        return
    best = max(values, key=lambda peer: values[peer])
    if ours is None or values[best] > ours + unit(row):
        yield Loss(name, "value", best, shown(ours), shown(values[best]))


def wrong(row: Row) -> list[str]:
    """Who claims a proof or a bound that another solver's value refutes."""
    answers = answered(row)
    values = [answer["value"] for answer in answers.values() if answer["value"] is not None]
    if not values:
        return []

    def refuted(name: str, claim: float | None) -> bool:
        relative = OURS if name == "auto" else RELATIVE
        return claim is not None and claim < max(values) - unit(row, relative)

    return [
        name
        for name, answer in answers.items()
        if refuted(name, answer["bound"]) or (answer["proved"] and refuted(name, answer["value"]))
    ]


def standing(row: Row) -> str:
    """Whether `auto` is "behind" some other solver, "ahead" of all, or "level" with the best."""
    if list(losses("", row)):
        return "behind"
    answers = row["answers"]
    swapped = [
        row | {"answers": {"auto": answer, "ours": answers["auto"]}}
        for name, answer in answers.items()
        if name != "auto"
    ]
    return "ahead" if all(list(losses("", other)) for other in swapped) else "level"


def shown(number: float | None) -> str:
    """A value or a bound in words."""
    if number is None:
        return "none"
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.4f}"


def answer_shown(row: Row, name: str | None) -> str:
    """What a solver reached: its value, the bound if it is open, and seconds of CPU time."""
    answer = row["answers"].get(name or "", {})
    if "value" not in answer:
        return "no answer"
    seconds = f"{answer['seconds']:.2f} s"
    if proves(row, name or ""):
        return f"{shown(answer['value'])}, proved in {seconds}"
    return f"{shown(answer['value'])}, bound {shown(answer['bound'])}"


def table_rows(rows: dict[str, Row]) -> list[tuple[str, ...]]:
    """The lines of the table: instance, size, `auto` and its backend, the best peer."""
    return [
        (
            name,
            _size(row),
            answer_shown(row, "auto"),
            f"`{row['answers']['auto'].get('solver', 'auto')}`",
            answer_shown(row, best_peer(row)),
            best_peer(row) or "none",
        )
        for name, row in rows.items()
    ]


def _size(row: Row) -> str:
    values = "bits" if row["values"] == 2 else f"variables of {row['values']} values"
    rules = f", {row['constraints']} constraints" if row["constraints"] > 1 else ", one constraint"
    if not row["constraints"]:
        rules = ""
    return f"{row['n']} {values}{rules}"


def source_rows(rows: dict[str, Row]) -> list[tuple[str, ...]]:
    """The lines of the table of families: name, source, sizes of the instances."""
    sizes: dict[tuple[str, str], list[str]] = {}
    for row in rows.values():
        sizes.setdefault((row["family"], row["source"]), []).append(_size(row))
    return [(*family, "; ".join(found)) for family, found in sizes.items()]


def all_losses(rows: dict[str, Row]) -> list[Loss]:
    """Every loss, those without a proof first."""
    found = [loss for name, row in rows.items() for loss in losses(name, row)]
    kinds = ("no answer", "no proof", "value", "bound", "time")
    return sorted(found, key=lambda loss: kinds.index(loss.kind))
