"""The command `convert`, which writes the problem of a file in another format."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from solvers import OptionError
from solvers.conversions import Conversion
from solvers.formats import WRITABLE, Relation, format_of, write_problem
from solvers.labels import formats as label_formats
from solvers.labels.conversions import LabelConversion

from ..atomic import whole_file
from .counts import check_count
from .solve.answers import is_same_file
from .solve.command import add_max_bytes
from .solve.of_labels import read
from .solve.standard_input import reading
from .terminal import command


def options() -> ArgumentParser:
    """Make the parser of the command's options."""
    parser = command(
        "convert FILE TARGET",
        "Write the problem of a file in another format, and say how the objectives follow from "
        "each other. A format that cannot hold the problem is refused: variables of several values "
        "need uai, wcsp or cfn, constraints need lp.",
    )
    parser.add_argument(
        "file", type=str, metavar="FILE", help="file with one problem; - for standard input"
    )
    parser.add_argument("target", type=str, metavar="TARGET", help="file that is written")
    parser.add_argument(
        "--format", type=str | None, help="format of FILE; default: detected from the file"
    )
    names = ", ".join(dict.fromkeys((*WRITABLE, *label_formats.WRITABLE)))
    parser.add_argument(
        "--to", type=str | None, help=f"format of TARGET: {names}; default: from its suffix"
    )
    add_max_bytes(parser)
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Convert the file.

    Raises:
        SolverError: the file cannot be read, or the problem cannot be written.
        OSError: a file cannot be read or written.
    """
    check_count("max_bytes", chosen.max_bytes)
    if is_same_file(Path(chosen.target), chosen.file):
        raise OptionError(f"{chosen.target} is the file to convert; name another target")
    limit = chosen.max_bytes
    read_within = partial(read, format=chosen.format, max_bytes=limit)
    conversions = reading(chosen.file, read_within, limit)
    if len(conversions) > 1:
        raise OptionError(
            f"{chosen.file} has {len(conversions)} problems, and a file that is written has one"
        )
    relation = write(conversions[0], Path(chosen.target), chosen.to)
    console.print(f"written: {chosen.target}")
    console.print(f"the objective of {chosen.file} is {relation} of {chosen.target}")


def write(conversion: Conversion | LabelConversion, target: Path, format: str | None) -> Relation:
    """Write a problem as a whole file, or none, and return how the objectives are related.

    Raises:
        OptionError: no format of that name or suffix can be written.
        ProblemError: the format cannot hold the problem.
        OSError: the file cannot be written.
    """
    to = format or target.suffix[1:]
    if to in label_formats.WRITABLE:
        with whole_file(target) as unfinished:
            return label_formats.write_problem(conversion, unfinished, to)
    if isinstance(conversion, LabelConversion):
        raise OptionError(
            "variables of several values can be written as "
            f"{', '.join(label_formats.WRITABLE)}; name one with --to"
        )
    to = format_of(target, format)
    with whole_file(target) as unfinished:
        return write_problem(conversion, unfinished, to)
