"""Read files of label problems, in a named format or a recognised one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from ...formats.reader import MAX_BYTES, Format, lines, read_one
from ..conversions import LabelConversion
from .cfn import read_cfn
from .colouring import read_colouring
from .dimod_files import read_dimod
from .opengm import read_opengm
from .uai import read_evidence, read_uai
from .wcsp import read_wcsp

FORMATS: Mapping[str, Format[LabelConversion]] = {
    "uai": Format(
        "MARKOV or BAYES, variables of any sizes; sum of log factors maximised",
        partial(lines, read_uai),
        (b"markov", b"bayes"),
        (".uai",),
    ),
    "wcsp": Format(
        "toulbar2's weighted constraints; sum of costs minimised",
        partial(lines, read_wcsp),
        suffixes=(".wcsp",),
    ),
    "cfn": Format(
        "toulbar2's cost functions in JSON; minimised or maximised",
        partial(lines, read_cfn),
        suffixes=(".cfn",),
    ),
    "col": Format(
        "DIMACS graph, 'p edge' or 'p col'; the number of colours minimised",
        partial(lines, read_colouring),
        (b"p edge", b"p edges", b"p col"),
        (".col",),
    ),
    "opengm": Format(
        "OpenGM's HDF5; sum of functions minimised",
        partial(lines, read_opengm),
        suffixes=(".h5", ".hdf5"),
        magic=(b"\x89HDF",),
    ),
    "dimod": Format(
        "dimod's .dqm, and .cqm with integers; the energy minimised",
        partial(lines, read_dimod),
        magic=(b"DIMODDQM", b"DIMODCQM"),
    ),
}
"""Every format by name."""


def read_problem(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    evidence: str | os.PathLike[str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> LabelConversion:
    r"""Read the label problem in a file, plain or gzip.

    The conversion translates solutions back to the objective of the file's format.

    Args:
        path: a regular file.
        format: a name of `FORMATS`; None to take it from the first words, or else from the suffix.
        evidence: a file of the UAI competitions with observed values.
        max_bytes: the largest text after decompression.

    Raises:
        ProblemFileError: the file does not hold a problem of that format, or no format fits it.
        OptionError: no format has that name, `path` is not a path, or `max_bytes` is not a number
            of bytes.
        OSError: the file may not be read.

    Example:
        >>> import pathlib, tempfile
        >>> from solvers.labels import solve
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "coin.uai")
        ...     _ = path.write_text("MARKOV 1 3 1 1 0 3 0.2 0.5 0.3")
        ...     coin = read_problem(path)
        >>> solve(coin).assignment
        {0: 1}
    """
    conversion = read_one(FORMATS, path, format, max_bytes)
    if evidence is None:
        return conversion
    return read_one(
        {"evidence": Format("observed values", partial(lines, partial(read_evidence, conversion)))},
        evidence,
        "evidence",
        max_bytes,
    )
