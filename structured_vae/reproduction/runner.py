"""Run the cells that are missing, and resume those that were stopped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import torch
from filelock import FileLock, Timeout
from joblib import Parallel, cpu_count, delayed

from solvers import SolverError

from ..atomic import whole_file
from ..errors import RunError, StructuredVAEError, TerminatedError
from ..runs.assembly import dataset_of
from ..runs.evaluate import evaluate_run
from ..runs.folder import Run
from ..runs.networks import load_vae
from ..runs.resume import resume
from ..runs.train import train
from ..training.checkpoints import read_checkpoint
from ..training.pictures import picture_name
from ..vaes.config import TrainConfig
from ..vaes.registry import kind_of
from .experiments import WITHOUT_EFFECT, Cell
from .records import Places, record_of_run

FAILURES: Final = (StructuredVAEError, SolverError, OSError, RuntimeError)
"""The errors that end one cell but not the others, such as a full disk."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a cell.

    Attributes:
        cell: the cell.
        failure: the message of the error; None for success.
    """

    cell: Cell
    failure: str | None = None


def _epochs_of(cell: Cell, places: Places) -> int:
    """Return the epochs of the last checkpoint, which is the last file that an epoch writes."""
    run = places.run(cell)
    last = run.checkpoint("last")
    if last.exists():
        instead = run.instead_of("last", cell.config)
        return int(read_checkpoint(last, instead=instead)["epoch"]) + 1
    return 0


def run_cells(
    cells: Sequence[Cell],
    places: Places,
    jobs: int = 1,
    run_one: Callable[[Cell], Outcome] | None = None,
) -> Iterator[Outcome]:
    """Train and evaluate cells, several side by side, and yield every outcome as its cell ends.

    The processes run under joblib; `joblib.parallel_config` can send them to a Dask or Ray cluster.

    Args:
        cells: the cells to run; the caller leaves out finished cells.
        places: the folders of the files.
        jobs: number of cells at once; several share the cores that this process may use.
        run_one: a function of the cell that replaces `run_cell`.
    """
    run = run_one
    if run is None:
        threads = None
        if jobs != 1:
            threads = min(torch.get_num_threads(), max(1, cpu_count() // jobs))
        run = partial(run_cell, places=places, threads=threads)
    calls = [delayed(run)(cell) for cell in cells]
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(calls)


def run_cell(cell: Cell, places: Places, threads: int | None = None) -> Outcome:
    """Train a cell to its last epoch, evaluate it and write its record.

    Args:
        cell: the cell.
        places: the folders of the files.
        threads: number of torch threads for a cell that runs beside others and shows no progress;
            None keeps torch's threads and the progress.

    Raises:
        TerminatedError: this process was asked to end, by SIGTERM.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    folder = places.run(cell).folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock", blocking=False):
            _trained(cell, places, progress=threads is None)
            evaluation = evaluate_run(
                folder, samples=cell.draws, refine=cell.refine, appearance=cell.appearance
            )
            write_record(cell, places, evaluation.to_dict())
    except Timeout:
        return Outcome(cell, f"another process is at work in {folder}")
    except TerminatedError:  # ends all cells
        raise
    except FAILURES as error:
        return Outcome(cell, str(error))
    return Outcome(cell)


def _trained(cell: Cell, places: Places, progress: bool) -> None:
    """Train the epochs that are missing."""
    run = places.run(cell)
    if not run.config_file.exists():
        train(cell.config, run.folder, progress)
        return
    if other := _differing(run.config(), cell):
        raise RunError(
            f"{run.folder} was trained with other settings ({', '.join(other)}): "
            "delete it, or name another folder for runs: --runs FOLDER"
        )
    if _epochs_of(cell, places) < cell.config.epochs:
        resume(run.folder, cell.config.epochs, progress)


def _differing(run: TrainConfig, cell: Cell) -> list[str]:
    """Return the settings that keep a run from being resumed as this cell."""
    free = {*WITHOUT_EFFECT}
    if not cell.falls:
        free.add("epochs")
    here = run.to_dict()
    there = cell.config.to_dict()
    here["data"]["root"] = there["data"]["root"]
    return [key for key in there if key not in free and here[key] != there[key]]


def write_record(cell: Cell, places: Places, evaluation: dict[str, object] | None) -> None:
    """Write the record of a cell from its run folder, evaluated or not yet."""
    run = places.run(cell)
    if cell.picture:
        _copy_picture(
            run.pictures / picture_name("samples", _epochs_of(cell, places)), places.picture(cell)
        )
    images = len(dataset_of(cell.config).train)
    record_of_run(cell, run, _argmaxes(cell.config, run), images, evaluation).write(
        places.record(cell)
    )


def _argmaxes(config: TrainConfig, run: Run) -> int:
    """Return the argmaxes per image and step; a Gaussian model has none."""
    return kind_of(config).argmaxes(config, load_vae(run.folder, "last"))


def _copy_picture(drawn: Path, picture: Path) -> None:
    if not drawn.is_file():
        raise RunError(
            f"{drawn} is missing: put it back, or delete the folder of the run to train it again"
        )
    with whole_file(picture) as temporary:
        shutil.copyfile(drawn, temporary)
