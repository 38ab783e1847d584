"""Checkpoints that were written whole, of which a number, a tensor or a text is another one."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from structured_vae import DataConfig, TrainConfig, load_vae, resume, train
from structured_vae.runs import Run

from .draws import Draw
from .files import PLAIN
from .outcomes import OURS, claim, in_child

PATIENCE: Final = 90.0
"""Seconds of wall-clock time for a resumed epoch, on a machine with much else to do."""

Place = tuple[Any, ...]
"""The keys and indices that lead to a value."""


@cache
def _trained() -> Path:
    """Train a tiny run of one epoch, once for all calls, and return its folder."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-run-")) / "run"
    in_child(_train, (folder,), PATIENCE)
    return folder


def _images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (60, 4, 4), np.uint8)


def _train(folder: Path) -> None:
    options = {
        "n": 3,
        "hidden": 4,
        "epochs": 1,
        "picture_every": 0,
        "logger": "none",
        "device": "cpu",
    }
    config = TrainConfig(**options, data=DataConfig(batch_size=20))
    train(config, folder, progress=False, data=_images())


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the place of every value, inner ones too."""
    if place:
        yield place
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*place, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _places(inner, (*place, index))


def _at(content: Any, place: Place) -> Any:
    for key in place:
        content = content[key]
    return content


def _other_tensor(draw: Draw, value: torch.Tensor) -> Any:
    shape = draw.of(
        ((), (0,), (3,), (2, 2), (*value.shape, 1), tuple(reversed(value.shape)), (1, 1000))
    )
    spoiled = value.double().clone().reshape(-1)
    if len(spoiled):
        spoiled[draw.whole(0, len(spoiled) - 1)] = draw.of((math.nan, math.inf, -math.inf, 1e300))
    return draw.of(
        (
            torch.zeros(shape, dtype=value.dtype),
            torch.zeros(shape, dtype=value.dtype),
            spoiled.reshape(value.shape).to(value.dtype),
            spoiled.reshape(value.shape).to(value.dtype),
            value.to(
                draw.of((torch.float64, torch.int64, torch.bool, torch.complex64, torch.float16))
            ),
            value.to_sparse() if value.ndim else value,
            value.tolist(),
            None,
        )
    )


def _other_value(draw: Draw, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _other_tensor(draw, value)
    if isinstance(value, tuple | list) and len(value) == 2 and draw.chance(0.5):
        return draw.of((("0.9", "0.999"), (math.nan, 0.999), (2.0, 0.9), (0.9,), [0.9, 0.9, 0.9]))
    return draw.of((*PLAIN, -5, True, 10**20, -1.0, (), torch.zeros(2), [torch.zeros(1)]))


def _change(draw: Draw, content: dict[str, Any]) -> str:
    """Put another value somewhere, or take one away; say what."""
    places = list(_places(content))
    if draw.chance(0.4):
        places = [
            place for place in places if place[0] in ("optimizer_states", "state_dict", "epoch")
        ]
    place = draw.of(places)
    *outer, last = place
    holder = _at(content, tuple(outer))
    if isinstance(holder, tuple):
        holder = list(holder)
        _at(content, tuple(outer[:-1]))[outer[-1]] = holder
    if isinstance(holder, dict) and draw.chance(0.25):
        del holder[last]
        return f"without {place}"
    holder[last] = _other_value(draw, holder[last])
    return f"{place}: {str(holder[last])[:60]}"


def _resume(draw: Draw, folder: Path) -> Callable[[], None]:
    copy = Path(shutil.copytree(_trained(), folder / "run"))
    file = copy / "checkpoints" / "last.ckpt"
    content = torch.load(file, weights_only=True)
    said = "; ".join(_change(draw, content) for _ in range(draw.of((1, 1, 2))))
    torch.save(content, file)
    load_alone = draw.chance(0.3)

    def call() -> None:
        in_child(_read, (copy, load_alone, said), PATIENCE)

    return call


def _read(run: Path, load_alone: bool, said: str) -> None:
    """Load or resume a run: it is refused by an error of ours, or has finite weights afterwards."""
    try:
        if load_alone:
            load_vae(run, "last")
        else:
            resume(run, 2, progress=False, data=_images())
    except OURS:
        if not load_alone:
            _check_kept(run)
        return
    finite = all(bool(each.isfinite().all()) for each in load_vae(run, "last").parameters())
    claim(finite, f"weights that are not finite are accepted: {said}")


def _check_kept(folder: Path) -> None:
    """Check that a refused run keeps its configuration."""
    claim(
        Run.at(folder).config().epochs in (1, 2), "the configuration of a refused run has changed"
    )


CHECKPOINT_CALLS: Final = {"resume from a changed checkpoint": (4, _resume)}
"""Weight and maker of each, by the name that the report gives it."""
