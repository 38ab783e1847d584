"""Read the LP and MPS formats of mathematical programming solvers, by HiGHS."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints import Constraint, linear
from ...conversions.conversion import Conversion, converted
from ...conversions.dimod import ConversionUnavailableError
from ...conversions.sense import Sense
from ..parsing.text import TextFile

LEAST = 1e-12
"""Magnitude up to which HiGHS treats coefficients of products and constraints as zero.

HiGHS only warns about coefficients of constraints.
"""

PRODUCTS = {
    ".lp": re.compile(r"\[[^\]]*\]"),
    ".mps": re.compile(r"^Q[^\n]*\n(?:[ \t*][^\n]*\n)*", re.MULTILINE),
}
"""Patterns of the section of products in a program, by the suffix of its format."""

NUMBERS = re.compile(r"(?<![\w.^])(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.])")
"""Pattern of the numbers in a text, except numbers in names and exponents of powers."""

OPTIONS: Mapping[str, bool | float] = {
    "output_flag": False,
    "small_matrix_value": LEAST,  # HiGHS takes no lower value, and drops products below it
    "large_matrix_value": math.inf,
    "infinite_cost": math.inf,
    "infinite_bound": math.inf,
}
"""Options by which HiGHS reads numbers as they are written."""


def read_lp(text: TextFile) -> Conversion:
    """Read a program over binaries in the LP format: a quadratic objective, linear constraints.

    Raises:
        ProblemFileError: HiGHS cannot read the file, or a variable is not binary.
        ConversionUnavailableError: highspy is not installed.
    """
    return _conversion(text, _model(text, ".lp"))


def read_mps(text: TextFile) -> Conversion:
    """Read a program over binaries in the MPS format, as `read_lp` does.

    Raises:
        ProblemFileError: see `read_lp`.
        ConversionUnavailableError: highspy is not installed.
    """
    return _conversion(text, _model(text, ".mps"))


def _model(text: TextFile, suffix: str) -> Any:
    """Return HiGHS's model of a file, after a check of its size."""
    content = text.whole()
    _check_products(text, content, suffix)
    if importlib.util.find_spec("highspy") is None:
        raise ConversionUnavailableError("LP and MPS files need highspy: pip install highspy")
    highspy = importlib.import_module("highspy")
    highs = highspy.Highs()
    for name, value in OPTIONS.items():
        highs.setOptionValue(name, value)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"program{suffix}")
        path.write_text(content, encoding="utf-8")
        status = highs.readModel(str(path))
    if status != highspy.HighsStatus.kOk:
        raise text.error(
            f"HiGHS cannot read the file as {suffix}, or warns of it; products must be in the "
            "objective alone, and there may be no special ordered sets or indicators"
        )
    return highs.getModel()


def _check_products(text: TextFile, content: str, suffix: str) -> None:
    """Raise if the coefficient of a product is so small that HiGHS silently treats it as 0."""
    products = PRODUCTS[suffix].findall(content)
    for word in itertools.chain.from_iterable(map(NUMBERS.findall, products)):
        # The products of an LP file are divided by 2.
        if 0.0 < float(word) <= 2 * LEAST:
            raise text.error(
                f"the coefficient {word[:40]} of a product is so small that HiGHS takes it for 0; "
                "scale the objective"
            )


def _conversion(text: TextFile, model: Any) -> Conversion:
    program = model.lp_
    if not program.num_col_:
        raise text.error("the program has no variables")
    names = list(program.col_names_) or [f"x{column}" for column in range(program.num_col_)]
    _check_binary(text, names, program)
    linear_terms = np.array(program.col_cost_, np.float64)
    pairs, weights = _products(model.hessian_)
    sense: Sense = "minimise"
    if program.sense_.name == "kMaximize":
        sense = "maximise"
    conversion = converted(sense, names, linear_terms, pairs, weights, program.offset_)
    return replace(conversion, constraints=(*_fixed(names, program), *_constraints(program)))


def _fixed(names: Sequence[str], program: Any) -> Iterator[Constraint]:
    """Yield a constraint for each variable whose two bounds are equal."""
    lower, upper = _bounds(program)
    for place in np.flatnonzero(lower == upper).tolist():
        yield replace(linear({place: 1.0}, "==", lower[place]), name=f"bounds of {names[place]}")


def _bounds(program: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.array(program.col_lower_), np.array(program.col_upper_)


def _check_binary(text: TextFile, names: Sequence[str], program: Any) -> None:
    """Raise if a variable may have other values than 0 and 1."""
    lower, upper = _bounds(program)
    kinds = [kind.name for kind in program.integrality_] or ["kContinuous"] * len(names)
    for name, kind, low, high in zip(names, kinds, lower, upper, strict=True):
        if kind != "kInteger" or low not in (0, 1) or high not in (0, 1) or low > high:
            what = "continuous"
            if kind == "kInteger":
                what = "an integer"
            raise text.error(
                f"the variable {name[:40]!r} is {what} from {low:g} to {high:g}; all variables "
                "must be binary"
            )


def _products(hessian: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs and weights of x'Qx / 2, from the columns of Q's lower triangle."""
    starts = np.array(hessian.start_, np.int64)
    columns = np.repeat(np.arange(hessian.dim_), np.diff(starts))
    rows = np.array(hessian.index_, np.int64)
    weights = np.array(hessian.value_, np.float64)
    # An entry off the diagonal stands for two terms of x'Qx / 2.
    weights = np.where(rows == columns, weights / 2, weights)
    return np.stack([rows, columns], axis=-1), weights


def _constraints(program: Any) -> Iterator[Constraint]:
    """Yield the rows of a program; a row with two sides comes twice."""
    names = list(program.row_names_) or [f"row {row}" for row in range(program.num_row_)]
    members = _members(program)
    sides = zip(program.row_lower_, program.row_upper_, strict=True)
    for name, coefficients, (low, high) in zip(names, members, sides, strict=True):
        if low == high:
            yield replace(linear(coefficients, "==", low), name=name)
            continue
        if math.isfinite(low):
            yield replace(linear(coefficients, ">=", low), name=name)
        if math.isfinite(high):
            yield replace(linear(coefficients, "<=", high), name=name)


def _members(program: Any) -> list[dict[int, float]]:
    """Return the coefficients of each row by the places of its variables."""
    matrix = program.a_matrix_
    starts = np.array(matrix.start_, np.int64)
    outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    inner = np.array(matrix.index_, np.int64)
    rows = inner
    columns = outer
    if matrix.format_.name == "kRowwise":
        rows = outer
        columns = inner
    members: list[dict[int, float]] = [{} for _ in range(program.num_row_)]
    for row, column, value in zip(rows.tolist(), columns.tolist(), matrix.value_, strict=True):
        members[row][column] = float(value)
    return members
