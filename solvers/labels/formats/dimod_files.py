"""Read the binary files of dimod's discrete quadratic models: `.dqm`."""

from __future__ import annotations

from ...errors import ProblemError
from ...formats.dimod_files import load_model
from ...formats.text import TextFile
from ..conversions import LabelConversion, from_dimod


def read_dqm(text: TextFile) -> LabelConversion:
    """Read a discrete quadratic model, which is minimised; see `solvers.labels.from_dimod`.

    Raises:
        ProblemFileError: dimod cannot read the file, or the model is another one.
        ConversionUnavailableError: dimod is not installed.
    """
    model = load_model(text)
    try:
        return from_dimod(model)
    except ProblemError as error:
        raise text.error(str(error)) from error
