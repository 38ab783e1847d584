"""Read graphical models in the HDF5 format of OpenGM, by h5py.

References:
    Andres, Beier and Kappes (2012), OpenGM: a C++ library for discrete graphical models.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...conversions import ConversionUnavailableError
from ...formats.parsing.text import TextFile
from ..conversions import Factor, LabelConversion, from_factors
from .wcsp import MOST_ENTRIES

EXPLICIT = 16000
"""The number of functions that are tables."""

PARAMETRIC: Mapping[int, Callable[[np.ndarray, Sequence[float]], np.ndarray]] = {
    16003: lambda apart, p: np.minimum(apart, p[0]) * p[1],
    16006: lambda apart, p: np.where(apart == 0, p[0], p[1]),
}
"""Type numbers of functions of the absolute difference of two labels, with two parameters.

They are the truncated absolute difference, and Potts.
"""

GROUP = "gm"
"""The usual name of the group of a model."""


def read_opengm(text: TextFile) -> LabelConversion:
    """Read a graphical model, whose sum of functions is minimised.

    Functions are tables, Potts functions and truncated absolute differences.

    Raises:
        ProblemFileError: the file has another form, or functions of another kind.
        ConversionUnavailableError: h5py is not installed.
    """
    content = text.content()
    if importlib.util.find_spec("h5py") is None:
        raise ConversionUnavailableError(
            "files of OpenGM need h5py: pip install 'structured-vae[opengm]'"
        )
    h5py = importlib.import_module("h5py")
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            arrays = _arrays(text, h5py, _group(text, h5py, file))
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise text.error(f"h5py cannot read the file: {str(error)[:200]}") from error
    model = _Model(text, arrays)
    return from_factors(model.sizes, list(model.factors()), sense="minimise")


def _group(text: TextFile, h5py: Any, file: Any) -> Any:
    """Return the group of the model: "gm", or the only one."""
    names = [name for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
    if GROUP in names:
        return file[GROUP]
    if len(names) != 1:
        raise text.error(f"expected one group of a model, named 'gm'; there are {names[:8]}")
    return file[names[0]]


def _arrays(text: TextFile, h5py: Any, group: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a group by their paths, after a check of their size."""
    arrays: dict[str, np.ndarray] = {}
    size = 0
    for name in ("header", "numbers-of-states", "factors", *_functions(group)):
        dataset = group.get(name)
        if not isinstance(dataset, h5py.Dataset) or dataset.ndim != 1:
            raise text.error(f"the file has no list of numbers '{name[:40]}'")
        if dataset.dtype.kind not in "uif" or dataset.external or dataset.is_virtual:
            raise text.error(f"'{name[:40]}' is not a list of numbers in this file")
        size += dataset.size * max(8, dataset.dtype.itemsize)
        text.check_bytes(size, "the arrays of the model")
        arrays[name] = dataset[()]
    return arrays


def _functions(group: Any) -> list[str]:
    """Return the paths of the arrays of all functions."""
    groups = sorted(name for name in group if name.startswith("function-id-"))
    return [f"{name}/{array}" for name in groups for array in ("indices", "values")]


@dataclass(frozen=True, eq=False)
class _Model:
    """Arrays of a file."""

    text: TextFile
    arrays: Mapping[str, np.ndarray]

    @property
    def sizes(self) -> list[int]:
        """The number of labels of each variable."""
        sizes = self._whole("numbers-of-states")
        if not sizes or min(sizes) < 1 or max(sizes) > 2**30:
            raise self.text.error("every variable must have 1 to 2^30 labels")
        return sizes

    def factors(self) -> Iterator[Factor]:
        """Yield the scopes and tables of all factors."""
        kinds = self._kinds()
        tables = {kind: self._tables(kind) for kind in kinds if self._has(kind)}
        sizes = self.sizes
        numbers = _Numbers(self.text, "factors", self._whole("factors"))
        for _ in range(self._whole("header")[3]):
            index = numbers.next(2**62)
            kind = kinds[numbers.next(len(kinds) - 1)]
            scope = [numbers.next(len(sizes) - 1) for _ in range(numbers.next(64))]
            if index >= len(tables.get(kind, ())):
                raise self.text.error(f"a factor has the function {index} of kind {kind}")
            table = tables[kind][index]
            if table.shape != tuple(sizes[v] for v in scope):
                raise self.text.error(
                    f"a factor of the variables {scope[:8]} has a function of shape {table.shape}"
                )
            yield scope, table
        numbers.check_end()

    def _kinds(self) -> list[int]:
        header = self._whole("header")
        if len(header) < 5 or header[0] != 2:
            raise self.text.error("the header is not one of version 2")
        if not 0 < header[4] <= len(header) or len(header) < 5 + 2 * header[4]:
            raise self.text.error("the header is too short for its kinds of functions")
        return header[5 : 5 + 2 * header[4] : 2]

    def _has(self, kind: int) -> bool:
        return f"function-id-{kind}/indices" in self.arrays

    def _tables(self, kind: int) -> list[np.ndarray]:
        """Return the tables of all functions of a kind."""
        if kind != EXPLICIT and kind not in PARAMETRIC:
            raise self.text.error(f"functions of kind {kind} cannot be read")
        name = f"function-id-{kind}/indices"
        indices = _Numbers(self.text, name, self._whole(name))
        values = self.arrays[f"function-id-{kind}/values"].astype(np.float64)
        tables = []
        place = 0
        entries = 0
        while not indices.ended:
            dimension = 2
            if kind == EXPLICIT:
                dimension = indices.next(64)
            shape = [indices.next(2**30) for _ in range(dimension)]
            entries += math.prod(shape)
            if entries > MOST_ENTRIES:
                raise self.text.error(f"the functions have more than {MOST_ENTRIES} entries")
            used = 2
            if kind == EXPLICIT:
                used = math.prod(shape)
            if place + used > len(values):
                raise self.text.error(f"the values of functions of kind {kind} end too early")
            tables.append(_table(kind, shape, values[place : place + used]))
            place += used
        return tables

    def _whole(self, name: str) -> list[int]:
        """Return an array of whole numbers as a list."""
        array = self.arrays[name]
        if array.dtype.kind not in "ui":
            raise self.text.error(f"'{name}' must be whole numbers")
        return [int(number) for number in array.tolist()]


def _table(kind: int, shape: list[int], values: np.ndarray) -> np.ndarray:
    """Return a function as a table, with an axis for each variable."""
    if kind == EXPLICIT:
        # The first variable changes fastest.
        return values.reshape(shape, order="F")
    first, second = (np.arange(size) for size in shape)
    apart = np.abs(first[:, None] - second).astype(np.float64)
    return PARAMETRIC[kind](apart, values.tolist())


class _Numbers:
    """A list of whole numbers, read one by one."""

    def __init__(self, text: TextFile, name: str, numbers: list[int]):
        self._text = text
        self._name = name
        self._numbers = numbers
        self._place = 0

    @property
    def ended(self) -> bool:
        """Whether all numbers have been read."""
        return self._place == len(self._numbers)

    def next(self, most: int) -> int:
        """Return the next number, from 0 to `most`."""
        if self.ended:
            raise self._text.error(f"'{self._name}' ends too early")
        number = self._numbers[self._place]
        if not 0 <= number <= most:
            raise self._text.error(
                f"entry {self._place} of '{self._name}' is {number}; it must lie in 0..{most}"
            )
        self._place += 1
        return number

    def check_end(self) -> None:
        """Raise if numbers remain."""
        if not self.ended:
            raise self._text.error(f"'{self._name}' has more numbers than factors need")
