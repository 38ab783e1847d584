"""Read the binary files of dimod's models: `.bqm` and `.cqm`."""

from __future__ import annotations

import importlib
import importlib.util
import io
import zipfile
from typing import Any

from ..conversions.conversion import Conversion
from ..conversions.dimod import ConversionUnavailableError, from_dimod
from ..errors import ProblemError
from .text import TextFile


def read_dimod(text: TextFile) -> Conversion:
    """Read a binary or a constrained quadratic model, which is minimised; see `from_dimod`.

    Raises:
        ProblemFileError: dimod cannot read the file, or the model has other variables than binaries
            and spins, or constraints that are soft or have products.
        ConversionUnavailableError: dimod is not installed.
    """
    model = load_model(text)
    try:
        return from_dimod(model)
    except ProblemError as error:
        raise text.error(str(error)) from error


def load_model(text: TextFile) -> Any:
    """Return the model of a file.

    Raises:
        ProblemFileError: dimod cannot read the file, or its arrays take more than `max_bytes`.
        ConversionUnavailableError: dimod is not installed.
    """
    content = text.content()
    if importlib.util.find_spec("dimod") is None:
        raise ConversionUnavailableError("models of dimod need dimod: pip install dimod")
    fileview = importlib.import_module("dimod.serialization.fileview")
    _check_archive(text, content)
    try:
        return fileview.load(content)
    except Exception as error:  # dimod has no error of its own for a damaged file
        raise text.error(f"dimod cannot read the model: {str(error)[:200]}") from error


def _check_archive(text: TextFile, content: bytes) -> None:
    """Raise if the archive in a model of dimod grows beyond `max_bytes`."""
    stream = io.BytesIO(content)
    if not zipfile.is_zipfile(stream):
        return
    try:
        with zipfile.ZipFile(stream) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OverflowError, OSError) as error:
        raise text.error(f"the archive is damaged: {error}") from error
    text.check_bytes(size, "the arrays of the model")
