"""Which tags may follow each other in a tagging scheme, such as BIO."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from ..errors import StructureError, shortened

Scheme: TypeAlias = Literal["BIO", "IOBES", "BILOU"]

PARTS: Final[dict[str, dict[str, str]]] = {
    "BIO": {"O": "outside", "B": "begin", "I": "inside"},
    "IOBES": {"O": "outside", "B": "begin", "I": "inside", "E": "end", "S": "single"},
    "BILOU": {"O": "outside", "B": "begin", "I": "inside", "L": "end", "U": "single"},
}
"""The letters of each scheme, and the part of a span that each stands for."""

OPENING: Final = ("outside", "begin", "single")
"""Parts that may follow a closed span, and begin a chain."""


@dataclass(frozen=True, eq=False)
class TagRules:
    """The first tags, last tags and transitions that a tagging scheme allows.

    Attributes:
        start: `[k]`, boolean, True where a tag may be the first.
        transitions: `[k, k]`, boolean, True where the tag of the column may follow that of the row.
        end: `[k]`, boolean, True where a tag may be the last.
    """

    start: np.ndarray
    transitions: np.ndarray
    end: np.ndarray

    def __post_init__(self) -> None:
        k = np.asarray(self.start).size
        shapes = {"start": (k,), "transitions": (k, k), "end": (k,)}
        for name, shape in shapes.items():
            values = np.asarray(getattr(self, name))
            if values.shape != shape or values.dtype != bool:
                raise StructureError(
                    f"{name} of tag rules must be {list(shape)} booleans; got {shortened(values)}"
                )
            object.__setattr__(self, name, values)


def tag_rules(tags: Sequence[str], scheme: Scheme = "BIO") -> TagRules:
    """Return the tags and transitions that a tagging scheme such as BIO allows.

    In all schemes a span keeps its type: I-PER never follows B-LOC.

    Args:
        tags: `[k]`, the tags in the order of their numbers: "O", and a letter of the scheme with a
            type, such as "B-PER", or without.
        scheme: "BIO": a span begins with B and continues with I. "IOBES": it ends with E, and S is
            a span of one position. "BILOU": the same with L and U.

    Raises:
        StructureError: there is no such scheme, a tag occurs twice, or is not one of the scheme.

    Example:
        >>> rules = tag_rules(["O", "B-PER", "I-PER"])
        >>> rules.transitions[0].tolist()  # what may follow O
        [True, True, False]
        >>> rules.start.tolist()
        [True, True, False]
    """
    if not isinstance(scheme, str) or scheme not in PARTS:
        raise StructureError(f"scheme must be one of {', '.join(PARTS)}; got {shortened(scheme)}")
    parts = _parts_of(tags, scheme)
    transitions = [[_follows(before, after, scheme) for after in parts] for before in parts]
    closes = scheme == "BIO"
    return TagRules(
        start=np.array([position in OPENING for position, _ in parts]),
        transitions=np.array(transitions),
        end=np.array([closes or position not in ("begin", "inside") for position, _ in parts]),
    )


def _parts_of(tags: Sequence[str], scheme: str) -> list[tuple[str, str]]:
    """Return the part of a span and the type of each tag.

    Raises:
        StructureError: a tag occurs twice, or is not one of the scheme.
    """
    names: list[Any] = []
    if not isinstance(tags, str):
        with suppress(TypeError):  # no sequence
            names = list(tags)
    if not names or len({name for name in names if isinstance(name, str)}) != len(names):
        raise StructureError(f"tags must be a list of names that differ; got {shortened(tags)}")
    return [_part(name, scheme) for name in names]


def _part(name: object, scheme: str) -> tuple[str, str]:
    """Return the part of a span that a tag stands for, and its type."""
    letters = PARTS[scheme]
    letter, _, kind = str(name).partition("-")
    if not isinstance(name, str) or letter not in letters:
        raise StructureError(
            f"{shortened(name)} is not a tag of {scheme}, whose letters are {', '.join(letters)}: "
            "write 'O', or a letter, '-' and a type, such as 'B-PER'"
        )
    return letters[letter], kind


def _follows(before: tuple[str, str], after: tuple[str, str], scheme: str) -> bool:
    position, kind = before
    next_position, next_kind = after
    inside = position in ("begin", "inside")
    continues = next_position in ("inside", "end") and inside and kind == next_kind
    if scheme == "BIO":
        return continues or next_position in OPENING
    return continues or (not inside and next_position in OPENING)
