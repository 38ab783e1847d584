"""Read UAI networks of variables of any sizes, and their evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...formats.parsing.text import TextFile
from ...formats.quadratic.uai import Words, read_network
from ..conversions import LabelConversion, from_factors
from ..problem import LabelProblem


def read_uai(text: TextFile) -> LabelConversion:
    """Read a UAI network: maximise the sum of logarithms of factors, where log 0 = -inf.

    Raises:
        ProblemFileError: the file has another form, or a factor of three variables or more allows
            too many tuples.
    """
    network = read_network(text, binary=False)
    return from_factors(network.sizes, network.factors)


def read_evidence(conversion: LabelConversion, text: TextFile) -> LabelConversion:
    """Return the conversion with the other values of observed variables forbidden.

    The file has the number of observed variables, then each variable with its value. Some files
    begin with the number of such samples, which must be 1.

    Raises:
        ProblemFileError: the file has another form, more than one sample, or a value that a
            variable does not have.
    """
    words = Words(text)
    n = len(conversion.names)
    count = words.integer("the number of observed variables", 0, 2**62)
    numbers = list(words.rest_as_integers("a variable or its value"))
    if count == 1 and len(numbers) % 2 == 1 and len(numbers) == 2 * numbers[0] + 1:
        count = numbers[0]
        numbers = numbers[1:]
    if len(numbers) != 2 * count:
        raise text.error(
            f"{count} observed variables need {2 * count} numbers; there are {len(numbers)}"
        )
    problem = conversion.problem
    unary = problem.unary.copy()
    for variable, value in zip(numbers[::2], numbers[1::2], strict=True):
        if not (0 <= variable < n and 0 <= value < problem.sizes[variable]):
            raise text.error(f"variable {variable} cannot be {value}")
        unary[:, variable, np.arange(problem.k) != value] = -np.inf
    return replace(conversion, problem=_checked(problem, unary))


def _checked(problem: LabelProblem, unary: np.ndarray) -> LabelProblem:
    return replace(problem, unary=unary)
