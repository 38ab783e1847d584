"""Read UAI files: Markov networks, whose log-probabilities are scores up to a constant."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...conversions.conversion import Conversion, converted
from ...conversions.objective import FactorSum
from ..parsing.text import NO_TITLE, TextFile, shown

MOST_AXES = 64
"""Largest number of axes of a numpy array."""

FACTOR_BYTES = 4
"""Least number of bytes of a factor: the scope "0 " and "1 1 " for its table."""

NO_ZEROS = (
    "a zero is a score of minus infinity, and scores are finite. A finite penalty would change the "
    "value of every assignment that pays it, so you have to choose it: replace the zero by a small "
    "positive number, or fix the variables that it decides"
)
"""Error for a probability of zero."""


@dataclass(frozen=True, eq=False)
class Network:
    """The factors of a network.

    Attributes:
        sizes: `[n]`, number of values of each variable.
        factors: scopes, and logarithms of their tables, with one axis per variable.
    """

    sizes: list[int]
    factors: list[tuple[list[int], np.ndarray]]


def read_uai(text: TextFile) -> Conversion:
    """Read a problem that maximises the sum of the natural logarithms of the factors.

    Factors have at most two binary variables; the last variable of a table changes fastest. The
    normalising constant of the network is left out.

    Raises:
        ProblemFileError: the file has another form, a variable that is not binary, a factor of more
            than two variables, or a probability that is not positive.
    """
    network = read_network(text, binary=True)
    n = len(network.sizes)
    constant = 0.0
    linear = np.zeros(n)
    pairs = array("q")
    weights = array("d")
    for scope, values in network.factors:
        table = values.reshape(-1)
        constant += table[0]
        for place, variable in enumerate(reversed(scope)):
            linear[variable] += table[2**place] - table[0]
        if len(scope) == 2:
            pairs.extend(scope)
            weights.append(table[3] - table[2] - table[1] + table[0])
    ends = np.asarray(pairs, np.int64).reshape(-1, 2)
    couplings = np.asarray(weights, np.float64)
    original = FactorSum(0.0, network.factors)
    return converted("maximise", range(n), linear, ends, couplings, constant, original=original)


def read_network(text: TextFile, binary: bool) -> Network:
    """Read the factors of a file.

    Args:
        text: the file.
        binary: whether to raise for variables of other sizes, factors of more than two variables,
            and zeros.

    Raises:
        ProblemFileError: the file has another form, or content that `binary` excludes.
    """
    words = Words(text)
    sizes = _read_sizes(words, binary)
    scopes = _read_scopes(words, len(sizes), binary)
    tables = [_read_table(words, [sizes[v] for v in scope], binary) for scope in scopes]
    words.check_end()
    return Network(sizes, list(zip(scopes, tables, strict=True)))


class Words:
    """Reader of the words of a file, by their expected kind."""

    def __init__(self, text: TextFile, title: re.Pattern[bytes] = NO_TITLE):
        self.text = text
        self._words = text.words(title)

    def word(self, name: str) -> bytes:
        """Return the next word; errors call it `name`."""
        word = next(self._words, None)
        if word is None:
            raise self.text.error(f"the file ends before {name}")
        return word

    def integer(self, name: str, low: int, high: int) -> int:
        """Return the next word, an integer."""
        return self.text.integer(self.word(name), name, low, high)

    def rest_as_integers(self, name: str) -> Iterator[int]:
        """Yield all remaining words, integers from 0."""
        for word in self._words:
            yield self.text.integer(word, name, 0, 2**62)

    def logarithm(self, zeros: bool) -> float:
        """Return the logarithm of the next word, a probability; `zeros` allows 0."""
        word = self.word("a probability")
        value = self.text.number(word, "a probability")
        if value > 0:
            return math.log(value)
        if value == 0 and zeros:
            return -math.inf
        reason = NO_ZEROS
        if value:
            reason = "it must be positive"
        raise self.text.error(f"a probability is {shown(word)}: {reason}")

    def check_end(self) -> None:
        """Raise if a word remains."""
        for word in self._words:
            raise self.text.error(f"the last table is followed by {shown(word)}")


def _read_sizes(words: Words, binary: bool) -> list[int]:
    kind = words.word("the word MARKOV")
    if kind.upper() not in (b"MARKOV", b"BAYES"):
        raise words.text.error(
            f"expected a MARKOV or BAYES network; the file starts with {shown(kind)}"
        )
    n = words.integer("the number of variables", 1, 2**62)
    words.text.check_claim(n, n, 2)
    sizes = []
    for variable in range(n):
        size = words.integer(f"the number of states of variable {variable}", 1, 2**62)
        if binary and size != 2:
            raise words.text.error(
                f"variable {variable} has {size} states; only binary variables can be read here, "
                "and others by solvers.labels.formats"
            )
        sizes.append(size)
    return sizes


def _read_scopes(words: Words, n: int, binary: bool) -> list[list[int]]:
    """Return the variables of each factor."""
    count = words.integer("the number of factors", 0, 2**62)
    words.text.check_claim(n, count, FACTOR_BYTES)
    scopes = []
    for _ in range(count):
        size = words.integer("the number of variables of a factor", 0, 2**62)
        if binary and size > 2:
            raise words.text.error(f"a factor has {size} variables; only up to two can be read")
        if size > MOST_AXES:
            raise words.text.error(f"a factor has {size} variables, more than {MOST_AXES}")
        scope = [words.integer("a variable of a factor", 0, n - 1) for _ in range(size)]
        if len(set(scope)) < size:
            raise words.text.error(f"a factor has the variable {scope[0]} twice")
        scopes.append(scope)
    return scopes


def _read_table(words: Words, shape: list[int], binary: bool) -> np.ndarray:
    entries = math.prod(shape)
    words.integer("the size of the table", entries, entries)
    words.text.check_claim(0, entries, 2)
    table = array("d", (words.logarithm(zeros=not binary) for _ in range(entries)))
    return np.array(table).reshape(shape)
