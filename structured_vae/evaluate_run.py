"""The evaluation of a trained run."""

from __future__ import annotations

from pathlib import Path

from .batches import InOrderBatches, batches
from .errors import ConfigError
from .evaluation import Evaluation, evaluate
from .fitting import fitting_estimator, fitting_solver, posterior_of
from .runs import Run, Which, dataset_of, load_vae
from .seeds import Stream, generator

IMAGES_AT_ONCE = 100


def evaluate_run(
    folder: str | Path, split: str = "test", which: Which = "best", samples: int = 1000
) -> Evaluation:
    """All that is known of a run on a split, with the posterior that it was trained with.

    Args:
        folder: of the run.
        split: train, validation or test.
        which: the best epoch on the validation split, or the last.
        samples: posterior samples an image, for what is not summed exactly.

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
    solver = fitting_solver(config.solver, vae)
    posterior = posterior_of(fitting_estimator(config, vae, solver), solver)
    noise = generator(config.seed, Stream.EVALUATION)
    image_batches = batches(images, InOrderBatches(len(images), IMAGES_AT_ONCE))
    return evaluate(vae, image_batches, posterior, noise, samples)
