"""Read the binary files of dimod's models: `.bqm` and `.cqm`."""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from ...conversions.conversion import Conversion
from ...conversions.dimod import ConversionUnavailableError, from_dimod
from ...errors import ProblemError
from ..parsing.text import TextFile

WORKER = Path(__file__).with_name("dimod_worker.py")
"""Script that loads a file in a separate process, since a damaged file can crash dimod."""


def read_dimod(text: TextFile) -> Conversion:
    """Read a binary or a constrained quadratic model, which is minimised; see `from_dimod`.

    Raises:
        ProblemFileError: dimod cannot read the file, or the model has other variables than binaries
            and spins, or constraints that `from_dimod` refuses.
        ConversionUnavailableError: dimod is not installed.
    """
    content = description_of(text)
    several_values = text.error(
        "the model has variables of several values; solvers.labels.formats reads it"
    )
    if "cases" in content or "INTEGER" in content["vartypes"]:
        raise several_values
    try:
        conversion = from_dimod(model_of(content))
    except (ProblemError, ValueError) as error:
        raise text.error(str(error)) from error
    if not isinstance(conversion, Conversion):
        raise several_values
    return conversion


def model_of(content: dict[str, Any]) -> Any:
    """Return the binary or the constrained quadratic model of a description."""
    dimod = importlib.import_module("dimod")
    labels = labels_of(content)
    if "constraints" in content:
        return _constrained(dimod, content, labels)
    linear, quadratic, offset = _biases(content["objective"], labels)
    return dimod.BinaryQuadraticModel(linear, quadratic, offset, content["vartypes"])


def description_of(text: TextFile) -> dict[str, Any]:
    """Return the model of a file as numbers and strings; see `dimod_worker`.

    Raises:
        ProblemFileError: dimod cannot read the file, or its arrays take more than `max_bytes`.
        ConversionUnavailableError: dimod is not installed.
    """
    content = text.content()
    if importlib.util.find_spec("dimod") is None:
        raise ConversionUnavailableError("models of dimod need dimod: pip install dimod")
    _check_archive(text, content)
    process = subprocess.run(  # noqa: S603  # our own file
        [sys.executable, "-P", str(WORKER)], input=content, capture_output=True, check=False
    )
    if process.returncode:
        lines = process.stderr.decode(errors="replace").strip().splitlines()
        reason = "it crashes"
        if lines:
            reason = lines[-1][:200]
        raise text.error(f"dimod cannot read the model: {reason}")
    model: dict[str, Any] = json.loads(process.stdout)
    return model


def labels_of(content: dict[str, Any]) -> list[Any]:
    """Return the labels of the variables; JSON has lists in place of tuples."""
    return [_label(label) for label in content["labels"]]


def _label(label: Any) -> Any:
    if isinstance(label, list):
        return tuple(map(_label, label))
    return label


def _biases(expression: dict[str, Any], labels: list[Any]) -> tuple[Any, Any, float]:
    linear = {labels[i]: bias for i, bias in expression["linear"]}
    quadratic = {(labels[i], labels[j]): bias for i, j, bias in expression["quadratic"]}
    return linear, quadratic, expression["offset"]


def _terms(expression: dict[str, Any], labels: list[Any]) -> list[tuple[Any, ...]]:
    """Return an expression in the form of dimod: tuples of variables and a bias."""
    linear, quadratic, offset = _biases(expression, labels)
    couplings = [(*pair, bias) for pair, bias in quadratic.items()]
    return [*linear.items(), *couplings, (offset,)]


def _constrained(dimod: Any, content: dict[str, Any], labels: list[Any]) -> Any:
    """Return a constrained quadratic model."""
    model = dimod.ConstrainedQuadraticModel()
    ranges = zip(labels, content["vartypes"], content["ranges"], strict=True)
    for label, kind, (low, high) in ranges:
        if kind in ("BINARY", "SPIN"):
            model.add_variable(kind, label)
        else:
            model.add_variable(kind, label, lower_bound=low, upper_bound=high)
    model.set_objective(_terms(content["objective"], labels))
    for constraint in content["constraints"]:
        model.add_constraint_from_iterable(
            _terms(constraint["left"], labels),
            constraint["sense"],
            rhs=constraint["right"],
            label=constraint["label"],
            weight=constraint["weight"],
            penalty=constraint["penalty"] or "linear",
        )
    return model


def _check_archive(text: TextFile, content: bytes) -> None:
    """Raise if the archive in a model of dimod grows beyond `max_bytes`."""
    stream = io.BytesIO(content)
    if not zipfile.is_zipfile(stream):
        return
    try:
        with zipfile.ZipFile(stream) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OverflowError, OSError, NotImplementedError) as error:
        raise text.error(f"the archive is damaged: {error}") from error
    text.check_bytes(size, "the arrays of the model")
