"""Stop trainings of every kind of model at random moments, resume them, and compare with an uninterrupted training.

    python scripts/kill_and_resume.py --runs 40
    python scripts/kill_and_resume.py --runs 30 --signal int --kinds "gibbs prior" attributes

Each training is a process of its own, forked after everything is imported and stopped by a signal,
several times if it lives so long: SIGKILL, which gives it no time, or SIGINT or SIGTERM, after
which it must end within 60 seconds. Weights, optimiser, metrics, pictures and configuration must
equal those of the uninterrupted training to the last bit; times alone may differ. The kinds take
turns. Faces are random pixels. The exit status is the number of trainings that differ.
"""

from __future__ import annotations

import argparse
import csv
import faulthandler
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from rich.console import Console
from torch import nn

from models import DiscreteVAE, Potentials
from models.vaes.attributes import PIXELS
from structured_vae import DataConfig, TrainConfig, resume, train
from structured_vae.data import ATTRIBUTES, ImageDataset, Split
from structured_vae.runs import Run, assembly
from structured_vae.training.checkpoints import read_checkpoint

SECONDS: Final = 60.0
"""Seconds that a training has to end after SIGINT or SIGTERM."""

SMALL: Final[dict[str, Any]] = {"epochs": 4, "picture_every": 2, "data": DataConfig(batch_size=500)}
BITS: Final = {"n": 4, "hidden": 8, **SMALL}


def nothing() -> dict[str, Any]:
    """What most kinds are given beside their configuration."""
    return {}


class OwnEncoder(nn.Module):
    """A custom network: dropout draws from torch's global generator, and batch normalisation has buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Sequential(
            nn.Linear(36, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 4)
        )

    def forward(self, x: torch.Tensor) -> Potentials:
        """Scores of four bits."""
        return Potentials(self.scores(x))


def own_networks() -> dict[str, Any]:
    """Networks and images that have to be given again to resume."""
    torch.manual_seed(1)
    images = np.random.default_rng(1).random((300, 6, 6)).astype(np.float32)
    return {"model": DiscreteVAE(OwnEncoder(), nn.Linear(4, 36)), "data": images}


@dataclass(frozen=True)
class Kind:
    """A training that is stopped and resumed.

    Attributes:
        config: of the training.
        given: makes the objects that `train` and `resume` need beside it.
    """

    config: TrainConfig
    given: Callable[[], dict[str, Any]] = nothing


KINDS: Final = {
    "general bits": Kind(TrainConfig(**BITS)),
    "independent bits by relax": Kind(
        TrainConfig(encoder="independent", estimator="relax", **BITS)
    ),
    "adaptive epsilon": Kind(TrainConfig(encoder="supermodular", epsilon_rule="adaptive", **BITS)),
    "factorised prior": Kind(
        TrainConfig(
            encoder="independent", estimator="exact", prior="factorised", dropout=0.2, **BITS
        )
    ),
    "gibbs prior": Kind(TrainConfig(estimator="exact", prior="gibbs", **BITS)),
    "gibbs prior by direct": Kind(TrainConfig(encoder="independent", prior="gibbs", **BITS)),
    "one category": Kind(TrainConfig(encoder="categorical", k=5, hidden=8, **SMALL)),
    "coupled categories": Kind(
        TrainConfig(encoder="categorical", variables=2, k=3, couplings="potts", hidden=8, **SMALL)
    ),
    "gaussian": Kind(TrainConfig(encoder="gaussian", rate_decay="cosine", **BITS)),
    "codebook": Kind(
        TrainConfig(
            model="quantised", quantiser="vq", codes=16, code_prior="linear", hidden=8, **SMALL
        )
    ),
    "mixture": Kind(TrainConfig(model="mixture", labels=100, **SMALL)),
    "attributes": Kind(
        TrainConfig(
            model="attributes",
            labels=8,
            channels=1,
            epochs=4,
            picture_every=2,
            data=DataConfig(name="celeba", batch_size=8),
        )
    ),
    "own networks": Kind(
        TrainConfig(model="own", epochs=4, picture_every=2, data=DataConfig(batch_size=20)),
        own_networks,
    ),
}
"""By the name for `--kinds`."""


def random_faces(*_: object) -> ImageDataset:
    """A small data set of the shape of CelebA."""
    random = np.random.default_rng(0)

    def split(count: int) -> Split:
        images = random.integers(256, size=(count, PIXELS), dtype=np.uint8)
        return Split(images, random.integers(2, size=(count, len(ATTRIBUTES))))

    splits = {"train": split(64), "validation": split(16), "test": split(16)}
    return ImageDataset(
        "celeba", "none", 64, 64, **splits, channels=3, attributes=ATTRIBUTES, shown=False
    )


TIMES = ("ms_per_step", "seconds")


def forked(work: Callable[[], object]) -> int:
    """The process of a child that does the work in silence; 130 is its status after an interrupt."""
    child = os.fork()
    if child:
        return child
    output = os.open(
        os.environ.get("KILL_AND_RESUME_LOG", os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT
    )
    os.dup2(output, 1)
    os.dup2(output, 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.register(signal.SIGUSR1)
    try:
        work()
        os._exit(0)
    except KeyboardInterrupt:
        os._exit(128 + signal.SIGINT)
    except BaseException as error:  # the parent sees the status
        print(type(error).__name__, error, file=sys.stderr, flush=True)
        os._exit(1)


def ended_within(child: int, seconds: float) -> int | None:
    """The status of a child that ends in time; None of one that does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.002)
    return None


def stopped_after(child: int, seconds: float, number: signal.Signals) -> bool:
    """Whether a child was stopped by the signal, and did not end by itself before."""
    status = ended_within(child, seconds)
    if status is not None:
        if status:
            raise RuntimeError(f"a training failed with status {status}")
        return False
    os.kill(child, number)
    sent = time.monotonic()
    if ended_within(child, SECONDS) is None:
        os.kill(child, signal.SIGUSR1)  # its stack, in the file that KILL_AND_RESUME_LOG names
        time.sleep(1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise RuntimeError(f"a training had not ended {SECONDS:.0f} s after {number.name}")
    SLOWEST.append(time.monotonic() - sent)
    return True


SLOWEST: list[float] = []
"""Seconds that each training took to end after its signal."""


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


def until_finished(
    folder: Path, kind: Kind, moment: Callable[[], float], number: signal.Signals
) -> int:
    """Train a run, stopped at moments that are drawn, and return how often it was."""
    stops = 0
    while True:
        started = (folder / "config.yaml").exists()
        last = started and (folder / "checkpoints" / "last.ckpt").exists()
        # stopped before the first checkpoint: nothing to resume from, so anew
        if started and not last:
            shutil.rmtree(folder)
            started = False

        def work(again: bool = started) -> object:
            if again:
                return resume(folder, progress=False, **kind.given())
            return train(kind.config, folder, progress=False, **kind.given())

        if (
            last
            and read_checkpoint(folder / "checkpoints" / "last.ckpt")["epoch"] + 1
            == kind.config.epochs
        ):
            return stops
        if not stopped_after(forked(work), moment() if stops < 4 else 1e9, number):
            return stops
        stops += 1


@dataclass(frozen=True)
class Whole:
    """An uninterrupted training.

    Attributes:
        state: what it left.
        seconds: how long it took.
    """

    state: dict[str, object]
    seconds: float


def uninterrupted(folder: Path, kind: Kind) -> Whole:
    """Train a run in one piece."""
    begin = time.monotonic()
    until_finished(folder, kind, lambda: 1e9, signal.SIGKILL)
    return Whole(state_of(folder), time.monotonic() - begin)


def main() -> None:
    """Run all and say what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--signal", choices=["kill", "int", "term"], default="kill")
    parser.add_argument(
        "--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), metavar="KIND"
    )
    options = parser.parse_args()
    console, generator = Console(), np.random.default_rng(options.seed)
    number = signal.Signals[f"SIG{options.signal.upper()}"]
    torch.set_num_threads(1)
    load = assembly.load_dataset
    assembly.load_dataset = lambda name, *rest: (
        random_faces() if name == "celeba" else load(name, *rest)
    )
    wholes: dict[str, Whole] = {}
    counts = {name: [0, 0, 0] for name in options.kinds}
    with tempfile.TemporaryDirectory() as place:
        for run in range(options.runs):
            name = options.kinds[run % len(options.kinds)]
            kind, folder = KINDS[name], Path(place) / f"run{run}"
            if name not in wholes:
                wholes[name] = uninterrupted(Path(place) / name.replace(" ", "_"), kind)
            whole = wholes[name]
            draw = partial(generator.uniform, 0, whole.seconds)
            stops = until_finished(folder, kind, draw, number)
            state = state_of(folder)
            wrong = [part for part in whole.state if differing(whole.state[part], state[part])]
            counts[name] = [
                old + new for old, new in zip(counts[name], (1, stops, bool(wrong)), strict=True)
            ]
            if wrong:
                console.print(f"run {run}, {name}: {', '.join(wrong)} differ")
            shutil.rmtree(folder)
    for name, (runs, stops, wrong) in counts.items():
        console.print(
            f"{name}: {runs} trainings, {stops} times {number.name}, {runs - wrong} equal"
        )
    runs, stops, wrong = (sum(each) for each in zip(*counts.values(), strict=True))
    slowest = f", {max(SLOWEST):.1f} s at most to end" if SLOWEST else ""
    console.print(
        f"all: {runs} trainings, {stops} times {number.name}{slowest}, {runs - wrong} equal"
    )
    sys.exit(wrong)


if __name__ == "__main__":
    main()
