"""UAI files: Markov networks, whose log-probabilities are scores up to a constant."""

from __future__ import annotations

import math
from array import array

import numpy as np

from ..conversions.conversion import Conversion, converted
from .text import TextFile, shown

FACTOR_BYTES = 4  # the scope "0 ", and "1 1 " for its table, or more
NO_ZEROS = (
    "a zero is a score of minus infinity, and scores are finite. A finite penalty would change the value of "
    "every assignment that pays it, so none is chosen for you: replace the zero by a small positive number, "
    "or fix the variables that it decides"
)


def read_uai(text: TextFile) -> Conversion:
    """From the sum of the natural logarithms of the factors, maximised.

    Factors of none, one or two binary variables; the last variable of a table changes fastest. The
    normalising constant of the network is left out.

    Raises:
        ProblemFileError: another form, a variable that is not binary, a factor of more than two
            variables, a probability that is not positive.
    """
    words = _Words(text)
    n = _read_variables(words)
    sizes, scopes = _read_scopes(words, n)
    network = _read_tables(words, n, sizes, scopes)
    words.check_end()
    return network


class _Words:
    """The words of the file, asked for by what they should be."""

    def __init__(self, text: TextFile):
        self.text = text
        self._words = text.words()

    def word(self, name: str) -> bytes:
        word = next(self._words, None)
        if word is None:
            raise self.text.error(f"the file ends where {name} should be")
        return word

    def integer(self, name: str, low: int, high: int) -> int:
        return self.text.integer(self.word(name), name, low, high)

    def logarithm(self) -> float:
        word = self.word("a probability")
        value = self.text.number(word, "a probability")
        if value > 0:
            return math.log(value)
        reason = "it must be positive" if value else NO_ZEROS
        raise self.text.error(f"a probability is {shown(word)}: {reason}")

    def check_end(self) -> None:
        for word in self._words:
            raise self.text.error(f"the last table is followed by {shown(word)}")


def _read_variables(words: _Words) -> int:
    kind = words.word("the word MARKOV")
    if kind != b"MARKOV":
        raise words.text.error(f"expected a MARKOV network; the file starts with {shown(kind)}")
    n = words.integer("the number of variables", 1, 2**62)
    words.text.check_claim(n, n, 2)
    for variable in range(n):
        states = words.integer(f"the number of states of variable {variable}", 1, 2**62)
        if states != 2:
            raise words.text.error(f"variable {variable} has {states} states; only binary ones can be read")
    return n


def _read_scopes(words: _Words, n: int) -> tuple[array[int], array[int]]:
    """How many variables each factor has, and all of them in a row."""
    count = words.integer("the number of factors", 0, 2**62)
    words.text.check_claim(n, count, FACTOR_BYTES)
    sizes, scopes = array("b"), array("q")
    for _ in range(count):
        size = words.integer("the number of variables of a factor", 0, 2**62)
        if size > 2:
            raise words.text.error(f"a factor has {size} variables; only up to two can be read")
        scope = [words.integer("a variable of a factor", 0, n - 1) for _ in range(size)]
        if len(set(scope)) < size:
            raise words.text.error(f"a factor has the variable {scope[0]} twice")
        sizes.append(size)
        scopes.extend(scope)
    return sizes, scopes


def _read_tables(words: _Words, n: int, sizes: array[int], scopes: array[int]) -> Conversion:
    constant, linear = 0.0, np.zeros(n)
    pairs, weights = array("q"), array("d")
    variables = iter(scopes)
    for size in sizes:
        words.integer("the size of the table", 2**size, 2**size)
        table = [words.logarithm() for _ in range(2**size)]
        scope = [next(variables) for _ in range(size)]
        constant += table[0]
        for place, variable in enumerate(reversed(scope)):
            linear[variable] += table[2**place] - table[0]
        if size == 2:
            pairs.extend(scope)
            weights.append(table[3] - table[2] - table[1] + table[0])
    ends = np.asarray(pairs, np.int64).reshape(-1, 2)
    return converted("maximise", range(n), linear, ends, np.asarray(weights, np.float64), constant)
