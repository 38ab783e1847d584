"""Kills trainings at random moments, resumes them, and compares what is left with an uninterrupted training.

    python scripts/kill_and_resume.py --runs 50

Each training is a process of its own, forked after everything is imported and killed by SIGKILL, several times if it
lives so long. Weights, optimiser, metrics and configuration have to be those of the training that nobody killed, to the
last bit; times alone may differ. The exit status is the number of trainings that differ.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from structured_vae import DataConfig, TrainConfig, resume, train
from structured_vae.runs.folder import Run
from structured_vae.training.checkpoints import read_checkpoint

CONFIG = TrainConfig(n=4, hidden=8, epochs=4, picture_every=2, data=DataConfig(batch_size=500))
TIMES = ("ms_per_step", "seconds")


def forked(work: Callable[[], object]) -> int:
    """The process of a child that does the work in silence."""
    child = os.fork()
    if child:
        return child
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        work()
        os._exit(0)
    except BaseException:  # the parent sees the status
        os._exit(1)


def killed_after(child: int, seconds: float) -> bool:
    """Whether a child was killed, and did not end by itself before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if status:
                raise RuntimeError(f"a training failed with status {status}")
            return False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def state_of(folder: Path) -> dict[str, object]:
    """What has to be equal of a finished run."""
    run = Run(folder)
    last = read_checkpoint(run.checkpoint("last"))
    best = read_checkpoint(run.checkpoint("best"))
    with (folder / "metrics.csv").open(encoding="utf-8") as file:
        rows = [{key: row[key] for key in row if key not in TIMES} for row in csv.DictReader(file)]
    pictures = {path.name: path.read_bytes() for path in sorted(run.pictures.glob("*.png"))}
    return {
        "weights": last["state_dict"],
        "optimiser": last["optimizer_states"],
        "best": best["state_dict"],
        "metrics": rows,
        "pictures": pictures,
        "configuration": run.config(),
    }


def differing(one: object, other: object) -> bool:
    """Whether two nested values differ in anything."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return not torch.equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() != other.keys() or any(differing(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) != len(other) or any(map(differing, one, other))
    return bool(one != other)


def until_finished(folder: Path, moment: Callable[[], float]) -> int:
    """Trains a run, killed at moments that are drawn, and returns how often it was."""
    kills = 0
    while True:
        started = (folder / "config.yaml").exists()
        last = started and (folder / "checkpoints" / "last.ckpt").exists()
        if started and not last:  # killed before the first checkpoint: nothing to go on from, so anew
            for path in sorted(folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            started = False

        def work(goes_on: bool = started) -> object:
            return resume(folder, progress=False) if goes_on else train(CONFIG, folder, progress=False)

        if last and read_checkpoint(folder / "checkpoints" / "last.ckpt")["epoch"] + 1 == CONFIG.epochs:
            return kills
        if not killed_after(forked(work), moment() if kills < 4 else 1e9):
            return kills
        kills += 1


def main() -> None:
    """Runs all and says what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    console, generator = Console(), np.random.default_rng(options.seed)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        begin = time.monotonic()
        until_finished(Path(place) / "whole", lambda: 1e9)
        whole, length = state_of(Path(place) / "whole"), time.monotonic() - begin
        wrong = kills = 0
        for number in range(options.runs):
            folder = Path(place) / f"run{number}"
            kills += until_finished(folder, lambda: float(generator.uniform(0, length)))
            found = state_of(folder)
            names = [name for name in whole if differing(whole[name], found[name])]
            wrong += bool(names)
            if names:
                console.print(f"run {number}: {', '.join(names)} differ")
        console.print(
            f"{options.runs} trainings of {length:.1f} s, {kills} kills, {options.runs - wrong} equal"
        )
    sys.exit(wrong)


if __name__ == "__main__":
    main()
