"""Read weighted constraint satisfaction problems in toulbar2's own format.

References:
    toulbar2's user documentation, section "WCSP format".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from ...formats.parsing.text import TextFile
from ...formats.quadratic.uai import Words
from ..conversions import Factor, LabelConversion, from_factors
from .comparisons import COMPARISONS, comparison_table

MOST_ENTRIES = 1 << 26
"""Maximum number of entries in the table of a cost function."""

MOST = 2**64
"""Largest cost."""

TITLE = re.compile(rb"\s*\S+(\s+[0-9]+){4}\s*$")
"""Pattern of the first line: a problem name, which may look like a comment, and four numbers."""


def read_wcsp(text: TextFile) -> LabelConversion:
    """Read a cost function network in toulbar2's wcsp format.

    The sum of the costs is minimised. A cost at or above the file's upper bound forbids its tuple.

    Raises:
        ProblemFileError: the file has another form, a global or shared cost function, or a cost
            function of three variables or more that allows too many tuples.
    """
    words = Words(text, TITLE)
    words.word("the name of the problem")
    n = words.integer("the number of variables", 1, 2**62)
    words.integer("the largest domain", 1, 2**62)
    count = words.integer("the number of cost functions", 0, 2**62)
    text.check_claim(n, n + 4 * count, 2)
    top = words.integer("the upper bound", 0, MOST)
    sizes = [words.integer(f"the number of values of variable {v}", 1, 2**30) for v in range(n)]
    factors = list(_factors(words, count, sizes, top))
    words.check_end()
    return from_factors(sizes, factors, sense="minimise")


def _factors(words: Words, count: int, sizes: list[int], top: int) -> Iterator[Factor]:
    for number in range(count):
        arity = words.integer(f"the number of variables of cost function {number}", -(2**30), 2**30)
        if arity < 0:
            raise words.text.error(f"cost function {number} is shared, which is not read")
        scope = [
            words.integer("a variable of a cost function", 0, len(sizes) - 1) for _ in range(arity)
        ]
        shape = [sizes[v] for v in scope]
        if math.prod(shape) > MOST_ENTRIES:
            raise words.text.error(
                f"a cost function has {math.prod(shape)} tuples, more than {MOST_ENTRIES}"
            )
        default = words.integer("the default cost", -1, MOST)
        if default < 0:
            yield scope, _named(words, number, shape, top)
            continue
        tuples = words.integer("the number of tuples", -(2**30), 2**62)
        if tuples < 0:
            raise words.text.error(f"cost function {number} is shared, which is not read")
        yield scope, _table(words, shape, default, tuples, top)


def _named(words: Words, number: int, shape: list[int], top: int) -> np.ndarray:
    """Read a cost function with a name in place of costs, a comparison of two variables."""
    name = words.word("the name of a cost function").decode(errors="replace")
    if name not in COMPARISONS or len(shape) != 2:
        listed = ", ".join(COMPARISONS)
        raise words.text.error(
            f"cost function {number} of {len(shape)} variables is the global one '{name[:40]}', "
            f"which is not read; of two variables {listed} are"
        )
    names = COMPARISONS[name]
    numbers = [words.integer(f"the {what} of '{name}'", -(2**53), MOST) for what in names]
    costs = comparison_table(name, numbers, shape[0], shape[1])
    return np.where(costs >= top, math.inf, costs)


def _table(words: Words, shape: list[int], default: int, tuples: int, top: int) -> np.ndarray:
    table = np.full(shape, _cost(default, top))
    for _ in range(tuples):
        place = tuple(words.integer("a value", 0, size - 1) for size in shape)
        table[place] = _cost(words.integer("a cost", 0, MOST), top)
    return table


def _cost(cost: int, top: int) -> float:
    if cost >= top:
        return math.inf
    return float(cost)
