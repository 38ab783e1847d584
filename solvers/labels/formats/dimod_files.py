"""Read the binary files of dimod's discrete quadratic models: `.dqm`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import ProblemError
from ...formats.dimod_files import description_of, labels_of
from ...formats.text import TextFile
from ..conversions import Factor, LabelConversion, from_factors


def read_dqm(text: TextFile) -> LabelConversion:
    """Read a discrete quadratic model, which is minimised; see `solvers.labels.from_dimod`.

    Raises:
        ProblemFileError: dimod cannot read the file, or the model is another one.
        ConversionUnavailableError: dimod is not installed.
    """
    model = description_of(text)
    if "cases" not in model:
        raise text.error("the model is binary or constrained; solvers.formats reads it")
    sizes = [len(biases) for biases in model["cases"]]
    try:
        return from_factors(
            sizes,
            list(_factors(model)),
            sense="minimise",
            constant=model["offset"],
            names=labels_of(model),
        )
    except ProblemError as error:
        raise text.error(str(error)) from error


def _factors(model: dict[str, Any]) -> Iterator[Factor]:
    for variable, biases in enumerate(model["cases"]):
        yield (variable,), np.array(biases, np.float64)
    for first, second, cases in model["quadratic"]:
        table = np.zeros((len(model["cases"][first]), len(model["cases"][second])))
        for row, column, bias in cases:
            table[row, column] = bias
        yield (first, second), table
