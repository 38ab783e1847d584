"""Problems read from files, and solutions written to them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from solvers import Problem, Solution

from .atomic import whole_file
from .errors import ProblemFileError

ARRAYS = ("unary", "pairwise", "edges")


def read_problem(path: Path) -> Problem:
    """The problem of an .npz file with `unary`, and optionally `pairwise` and `edges`.

    Raises:
        ProblemFileError: there is no such file, or it is no .npz archive of such arrays.
        solvers.ProblemError: the arrays do not describe a problem.
    """
    if not path.is_file():
        raise ProblemFileError(f"{path} does not exist")
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ProblemFileError(
                    f"{path} holds one array; save unary=..., pairwise=... with numpy.savez"
                )
            unknown = sorted(set(archive.files) - set(ARRAYS))
            if "unary" not in archive.files or unknown:
                raise ProblemFileError(
                    f"{path} holds {', '.join(archive.files) or 'nothing'}; it must hold unary, and may hold "
                    "pairwise and edges, nothing else"
                )
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
        if isinstance(error, ProblemFileError):
            raise
        raise ProblemFileError(f"{path} is not a readable .npz archive of numbers: {error}") from error
    return Problem.from_arrays(arrays.pop("unary"), arrays.pop("pairwise", None), **arrays)


def write_solution(path: Path, solution: Solution, seconds: float) -> None:
    """Writes z, score, certificate, bound, solver and time as JSON."""
    answer = {
        "solver": solution.solver,
        "seconds": seconds,
        "z": solution.z.tolist(),
        "score": solution.score.tolist(),
        "optimal": solution.optimal.tolist(),
        "bound": solution.bound.tolist(),
        "stats": {name: str(value) for name, value in solution.stats.items()},
    }
    with whole_file(path) as part:
        part.write_text(json.dumps(answer) + "\n", encoding="utf-8")
