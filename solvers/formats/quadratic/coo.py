"""Read binary quadratic models in the COO format of dimod: lines "i j bias"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...conversions.conversion import Conversion
from ...conversions.ising import from_ising
from ...conversions.qubo import from_qubo
from ..parsing.text import TextFile

VARTYPE = re.compile(rb"#\s*vartype\s*=\s*(SPIN|BINARY)\s*")
"""Pattern of the line with the type of the variables."""

LARGEST = 2**62
"""Largest number of a variable."""


def read_coo(text: TextFile) -> Conversion:
    """Read a binary quadratic model, whose energy is minimised.

    The first line is "# vartype=BINARY" or "# vartype=SPIN". A line "i i bias" is a linear bias,
    and "i j bias" an interaction; lines of the same variables add up.

    Raises:
        ProblemFileError: the file has another form.
    """
    lines = text.lines(b"#")
    kind = VARTYPE.fullmatch(next(lines, b"").strip())
    if kind is None:
        raise text.error(
            "the first line must say what the variables are: '# vartype=BINARY' for 0 and 1, or "
            "'# vartype=SPIN' for -1 and 1"
        )
    linear: dict[int, float] = {}
    quadratic: dict[tuple[int, int], float] = {}
    for i, j, bias in _terms(text, lines):
        linear.setdefault(i, 0.0)
        linear.setdefault(j, 0.0)
        if i == j:
            linear[i] += bias
        else:
            quadratic[i, j] = quadratic.get((i, j), 0.0) + bias
    if kind[1] == b"SPIN":
        return from_ising(linear, quadratic)
    return from_qubo({**{(i, i): bias for i, bias in linear.items()}, **quadratic})


def _terms(text: TextFile, lines: Iterator[bytes]) -> Iterator[tuple[int, int, float]]:
    for line in lines:
        words = line.split(b"#", 1)[0].split()
        if len(words) != 3:
            raise text.error(f"expected 'i j bias'; the line has {len(words)} words")
        i = text.integer(words[0], "a variable", 0, LARGEST)
        j = text.integer(words[1], "a variable", 0, LARGEST)
        yield min(i, j), max(i, j), text.number(words[2], "the bias")
