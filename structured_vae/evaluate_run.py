"""The evaluation of a trained run."""

from __future__ import annotations

from pathlib import Path

from .batches import InOrderBatches, batches
from .errors import ConfigError
from .evaluation import Bound, evaluate_bound
from .runs import Run, Which, dataset_of, load_vae
from .seeds import Stream, generator
from .training import fitting_solver


def evaluate_run(
    folder: str | Path, split: str = "test", which: Which = "best", samples: int = 10
) -> tuple[Bound, bool]:
    """The bound of a run on a split, and whether its KL is exact.

    Args:
        folder: of the run.
        split: train, validation or test.
        which: the epoch of best `validation/bound_surrogate`, or the last.
        samples: posterior samples an image.

    Raises:
        RunError: the folder is no run, or its checkpoint is missing or damaged.
        ConfigError: no samples.
        DataError: images are missing or damaged.
    """
    if samples < 1:
        raise ConfigError(f"samples must be at least 1; got {samples}")
    config = Run(Path(folder)).config()
    vae = load_vae(folder, which)
    images = dataset_of(config).split(split)
    solver = fitting_solver(config.solver, vae.encoder)
    noise = generator(config.seed, Stream.EVALUATION)
    image_batches = batches(images, InOrderBatches(len(images), 1000))
    bound = evaluate_bound(vae, image_batches, solver, noise, samples)
    return bound, vae.encoder.link is None
