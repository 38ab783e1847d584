"""Read the binary files of dimod's models of several values: `.dqm`, and `.cqm` with integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import ProblemError
from ...formats.parsing.text import TextFile
from ...formats.quadratic.dimod_files import description_of, labels_of, model_of
from ..conversions import Factor, LabelConversion, from_dimod, from_factors


def read_dimod(text: TextFile) -> LabelConversion:
    """Read a discrete or a constrained quadratic model, which is minimised; see `from_dimod`.

    Raises:
        ProblemFileError: dimod cannot read the file, or the model has another type.
        ConversionUnavailableError: dimod is not installed.
    """
    model = description_of(text)
    try:
        if "constraints" in model:
            return from_dimod(model_of(model))
        if "cases" in model:
            return _discrete(model)
    except (ProblemError, ValueError) as error:
        raise text.error(str(error)) from error
    raise text.error("the model is binary; solvers.formats reads it")


def _discrete(model: dict[str, Any]) -> LabelConversion:
    sizes = [len(biases) for biases in model["cases"]]
    factors = list(_factors(model))
    names = labels_of(model)
    constant = model["offset"]
    return from_factors(sizes, factors, sense="minimise", constant=constant, names=names)


def _factors(model: dict[str, Any]) -> Iterator[Factor]:
    for variable, biases in enumerate(model["cases"]):
        yield (variable,), np.array(biases, np.float64)
    for first, second, cases in model["quadratic"]:
        table = np.zeros((len(model["cases"][first]), len(model["cases"][second])))
        for row, column, bias in cases:
            table[row, column] = bias
        yield (first, second), table
