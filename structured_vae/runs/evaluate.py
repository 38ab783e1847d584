"""The evaluation of a trained run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models import AttributeVAE, DiscreteVAE, GaussianVAE, MixtureVAE

from ..data import ImageDataset
from ..errors import ConfigError
from ..estimators import Estimator
from ..evaluation.quantities import Evaluation, Quantity
from ..seeds import Stream, generator
from ..training.batches import InOrderBatches, batches
from ..vaes.attributes.appearance import appearance as appearance_of
from ..vaes.attributes.appearance import recognised
from ..vaes.attributes.evaluation import evaluate_attributes
from ..vaes.attributes.recogniser import recogniser
from ..vaes.attributes.training import SWITCHED, combinations
from ..vaes.discrete.evaluation import evaluate
from ..vaes.gaussian.evaluation import evaluate_gaussian
from ..vaes.mixture.evaluation import evaluate_mixture
from .assembly import dataset_of
from .fitting import fitting_estimator, fitting_solver, posterior_of
from .folder import Run, Which
from .given import given_for
from .networks import load_vae

IMAGES_AT_ONCE = 100

SAMPLES = 1000
"""Of the posterior, for an image, where the latent variables are discrete alone."""

SAMPLES_OF_CODES = 200
"""Of a Gaussian code, as its likelihood is usually reported."""

SAMPLES_OF_STYLES = 10
"""The same elsewhere; each costs a mixture the decoding of every class for an image, and attributes one decoding."""


def evaluate_run(
    folder: str | Path,
    split: str = "test",
    which: Which = "best",
    samples: int | None = None,
    refine: int = 0,
    *,
    appearance: bool = False,
    model: DiscreteVAE | None = None,
    data: Any = None,
    estimator: Estimator | None = None,
) -> Evaluation:
    """All that is known of a run on a split, with the posterior that it was trained with.

    Args:
        folder: of the run.
        split: train, validation or test.
        which: the best epoch on the validation split, or the last.
        samples: posterior samples an image, for what is not summed exactly; default: 1000, a
            mixture and attributes 10, a Gaussian 200.
        refine: moves of a search for each image that tighten the bound of a model of bits; 0 for
            none.
        appearance: whether to train a network that recognises attributes, and to ask it for those
            of decoded faces; of the model attributes with labels, see `vaes.attributes.appearance`.
        model: networks of one's own that the run has trained; their weights are replaced.
        data: images in memory that it was given.
        estimator: an object that it was given.

    Raises:
        RunError: the folder is no run, or its checkpoint is missing or damaged.
        ConfigError: no samples, or a refinement or an appearance that the model does not allow; or
            what was given to `train` is missing or is another.
        DataError: images are missing or damaged.
    """
    if samples is not None and samples < 1:
        raise ConfigError(f"samples must be at least 1; got {samples}")
    if refine < 0:
        raise ConfigError(f"refine must be at least 0; got {refine}")
    config = Run.at(folder).config()
    if appearance and not (config.model == "attributes" and config.labels):
        raise ConfigError(
            f"appearance is of the model attributes with labels; this run has the model {config.model} with "
            f"{config.labels} labels"
        )
    given = given_for(config, model, data, estimator)
    vae = load_vae(folder, which, given.model)
    dataset = dataset_of(config, given)
    images = dataset.split(split)
    noise = generator(config.seed, Stream.EVALUATION)
    image_batches = batches(images, InOrderBatches(len(images), IMAGES_AT_ONCE))
    count = SAMPLES_OF_STYLES if samples is None else samples
    if refine and not isinstance(vae, DiscreteVAE):
        raise ConfigError(
            f"the posterior of the model {config.kind} cannot be refined; set refine to 0"
        )
    if isinstance(vae, GaussianVAE):
        return evaluate_gaussian(
            vae, image_batches, noise, SAMPLES_OF_CODES if samples is None else samples
        )
    if isinstance(vae, MixtureVAE):
        return evaluate_mixture(vae, image_batches, noise, count, supervised=config.labels > 0)
    solver = fitting_solver(config.solver, vae)
    if isinstance(vae, AttributeVAE):
        names, supervised = dataset.attributes, config.labels > 0
        found = evaluate_attributes(vae, image_batches, names, noise, solver, count, supervised)
        return found.joined(_appearance(vae, dataset, split, config.seed)) if appearance else found
    posterior = posterior_of(fitting_estimator(config, vae, solver, given.estimator), solver)
    return evaluate(
        vae, image_batches, posterior, noise, SAMPLES if samples is None else samples, refine
    )


def _appearance(
    vae: AttributeVAE, dataset: ImageDataset, split: str, seed: int
) -> dict[str, Quantity]:
    """What a network that is trained for it finds in decoded faces, and how well it knows real ones."""
    judge = recogniser(dataset, seed)
    switched = {name: dataset.attributes.index(name) for name in SWITCHED}
    real = dataset.split(split)
    known = recognised(
        judge.found, batches(real, InOrderBatches(len(real), IMAGES_AT_ONCE)), switched
    )
    states = combinations(vae.decoder.first.weight)
    return known | appearance_of(
        vae, judge.found, states, switched, generator(seed, Stream.PICTURES)
    )
