"""Weighted constraint satisfaction problems in toulbar2's own format.

References:
    toulbar2's user documentation, section "WCSP format".
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...formats.text import TextFile
from ...formats.uai import Words
from ..conversions import Factor, LabelConversion, from_factors

MOST_ENTRIES = 1 << 26
"""Of the table of a cost function."""


def read_wcsp(text: TextFile) -> LabelConversion:
    """Read a cost function network in toulbar2's wcsp format.

    The sum of the costs is minimised. A cost at or above the file's upper bound forbids its tuple.

    Raises:
        ProblemFileError: another form, a global or shared cost function, or one of three variables
            or more that allows too many tuples.
    """
    words = Words(text)
    words.word("the name of the problem")
    n = words.integer("the number of variables", 1, 2**62)
    words.integer("the largest domain", 1, 2**62)
    count = words.integer("the number of cost functions", 0, 2**62)
    text.check_claim(n, n + 4 * count, 2)
    top = words.integer("the upper bound", 0, 2**62)
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
        default = words.integer("the default cost", -1, 2**62)
        if default < 0:
            name = words.word("the name of a global cost function").decode(errors="replace")
            raise words.text.error(
                f"cost function {number} is the global one '{name[:40]}', which is not read"
            )
        tuples = words.integer("the number of tuples", -(2**30), 2**62)
        if tuples < 0:
            raise words.text.error(f"cost function {number} is shared, which is not read")
        yield scope, _table(words, [sizes[v] for v in scope], default, tuples, top)


def _table(words: Words, shape: list[int], default: int, tuples: int, top: int) -> np.ndarray:
    if math.prod(shape) > MOST_ENTRIES:
        raise words.text.error(
            f"a cost function has {math.prod(shape)} tuples, more than {MOST_ENTRIES}"
        )
    table = np.full(shape, _cost(default, top))
    for _ in range(tuples):
        place = tuple(words.integer("a value", 0, size - 1) for size in shape)
        table[place] = _cost(words.integer("a cost", 0, 2**62), top)
    return table


def _cost(cost: int, top: int) -> float:
    return math.inf if cost >= top else float(cost)
