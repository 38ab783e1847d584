"""Write problems over variables of several values to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from ...conversions import Conversion
from ...errors import ProblemError
from ...formats.writing.writer import format_to_write, write_lines
from ...formats.writing.written import Relation
from ..conversions import LabelConversion
from .reader import FORMATS
from .write_factors import (
    Factors,
    cfn_text,
    factors_of,
    factors_of_bits,
    uai_text,
    wcsp_text,
)

WRITERS: Mapping[str, Callable[[Factors], tuple[Iterator[str], Relation]]] = {
    "uai": uai_text,
    "wcsp": wcsp_text,
    "cfn": cfn_text,
}
"""Every format that can be written, by its name in `FORMATS`."""

WRITABLE = tuple(WRITERS)
"""The names of all formats that can be written."""


def write_problem(
    conversion: LabelConversion | Conversion,
    path: str | os.PathLike[str],
    format: str | None = None,
) -> Relation:
    """Write a problem to a file, and return how its objective and that of the file are related.

    Args:
        conversion: what `read_problem` of labels or of bits returns.
        path: the file, which is replaced if it exists.
        format: "uai", "wcsp" or "cfn"; None to take it from the suffix. Of these, only "cfn" keeps
            every digit of every objective: "uai" has rounded exponentials, "wcsp" whole numbers.

    Raises:
        OptionError: no format of that name or suffix can be written.
        ProblemError: the format cannot hold the problem.
        OSError: the file cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from solvers.labels import from_factors
        >>> vote = from_factors([3], [((0,), np.array([1.0, 5.0, 2.0]))])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "vote.wcsp")
        ...     str(write_problem(vote, path)), path.read_text().split()[-4:]
        ('5 - the objective', ['0', '4', '2', '3'])
    """
    name = format_to_write(FORMATS, WRITABLE, path, format)
    if isinstance(conversion, LabelConversion):
        factors = factors_of(conversion)
    else:
        factors = factors_of_bits(conversion)
    if not factors.names:
        raise ProblemError("the problem has no variables")
    lines, relation = WRITERS[name](factors)
    write_lines(path, lines)
    return relation
