"""Fit a stronger prior to the codes of a trained run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models import DiscreteVAE
from models.errors import SettingError
from models.priors import LearntPrior, PriorOptions

from ..errors import ConfigError, RunError
from ..evaluation.quantities import Evaluation
from ..seeds import Stream, torch_seeded
from ..training.batches import InOrderBatches, ShuffledBatches, batches
from ..training.prior_fit import fit_to_codes
from ..vaes.config import TrainConfig
from ..vaes.kind import IMAGES_AT_ONCE, Coded, Question
from ..vaes.registry import AnyVAE, kind_of
from .assembly import dataset_of
from .custom_objects import custom_objects_for
from .export import shared_config
from .folder import Run, Which
from .networks import load_vae


@dataclass(frozen=True)
class FittedPrior:
    """The networks of a run with another prior, and the bound before and after.

    Attributes:
        vae: the networks, with the fitted prior.
        before: the evaluation with the prior of the run.
        after: the evaluation with the fitted prior, on the same images.
        costs: the mean of -log p(z) over validation images after each epoch, in nats.
    """

    vae: AnyVAE
    before: Evaluation
    after: Evaluation
    costs: tuple[float, ...]


def fit_prior(
    folder: str | Path,
    prior: str = "made",
    *,
    hidden: int = 0,
    layers: int = 0,
    epochs: int = 20,
    learning_rate: float = 2e-3,
    split: str = "test",
    which: Which = "best",
    samples: int | None = None,
    target: str | Path | None = None,
    model: DiscreteVAE | None = None,
    data: Any = None,
) -> FittedPrior:
    """Fit a prior to the codes that a trained run gives its training images.

    Encoder and decoder stay as they are, so q(z | x) does not change. The bound therefore improves
    by as much as E_q[log p(z)]: `after` and `before` differ only in the KL.

    Args:
        folder: the run's folder.
        prior: a key of `models.priors.PRIORS`, such as "made" or "transformer"; for a Gaussian VAE
            a key of `models.priors.DENSITY_PRIORS`, such as "made" or "flow".
        hidden: size of the prior's hidden layers; 0 for the default.
        layers: number of the prior's layers; 0 for the default.
        epochs: passes over the training images.
        learning_rate: of Adam, falling to zero.
        split: images of the two evaluations.
        which: the best epoch of the run on the validation split, or the last.
        samples: posterior samples per image in the evaluations; None for the default.
        target: folder for the networks with the fitted prior, as `export_run` writes them; None
            to write nothing.
        model: the custom networks that the run trained; their weights are replaced.
        data: the images in memory that the run was trained on.

    Raises:
        ConfigError: the prior is unknown or cannot model these states; or a number is too small.
        RunError: the folder is not a run, or its prior is part of the model; or `target` is a run.
        DivergedError: the cost of the first epoch is not finite.
    """
    _check_options(epochs, learning_rate, target)
    config = Run.at(folder).config()
    custom = custom_objects_for(config, model, data, None)
    vae = load_vae(folder, which, custom.model)
    kind = kind_of(config)
    coded = kind.coded(config, vae)
    if coded is None:
        raise RunError(
            f"{folder} has a {type(vae).__name__}, whose prior is part of the model; fit_prior "
            "takes models whose latent variables are all discrete, or all Gaussian"
        )
    dataset = dataset_of(config, custom)
    # Fresh weights by the run's seed: a second fit gives the same prior.
    fitted_prior = _fresh_prior(coded, PriorOptions(prior, hidden, layers), config.seed)
    fitted = coded.with_prior(fitted_prior)
    train_images = dataset.split("train")
    validation_images = dataset.split("validation")
    # Without dropout and the like, the codes are those of an evaluation.
    vae.eval()
    costs = fit_to_codes(
        fitted_prior,
        coded.codes,
        batches(train_images, ShuffledBatches(len(train_images), IMAGES_AT_ONCE, config.seed)),
        batches(validation_images, InOrderBatches(len(validation_images), IMAGES_AT_ONCE)),
        epochs=epochs,
        learning_rate=learning_rate,
        seed=config.seed,
    )
    # Both evaluations are alike, so that they differ by the prior alone.
    before = kind.evaluate(Question(config, vae, dataset, split, samples))
    after = kind.evaluate(Question(config, fitted, dataset, split, samples))
    if target is not None:
        fitted.save_pretrained(target, training=_described(config, coded, fitted_prior))
    return FittedPrior(fitted, before, after, tuple(costs))


def _check_options(epochs: int, learning_rate: float, target: str | Path | None) -> None:
    """Raise before any work if an option of `fit_prior` is impossible.

    Raises:
        ConfigError: a number is too small.
        RunError: `target` is the folder of a run.
    """
    if epochs < 1:
        raise ConfigError(f"epochs must be at least 1; got {epochs}")
    if not learning_rate > 0:
        raise ConfigError(f"learning_rate must be positive; got {learning_rate}")
    if target is not None and Run.at(target).config_file.exists():
        raise RunError(f"{target} is the folder of a run; name another one")


def _described(config: TrainConfig, coded: Coded[Any], prior: LearntPrior) -> dict[str, Any]:
    """Return the configuration of the run, with the fitted prior in place of its own."""
    described = shared_config(config).to_dict()
    if coded.option in described:
        arguments = dict(prior.arguments)
        arguments[coded.option] = arguments.pop("prior")
        described |= {"prior_hidden": 0, "prior_layers": 0} | arguments
    return described


def _fresh_prior(coded: Coded[Any], options: PriorOptions, seed: int) -> LearntPrior:
    """Return a new prior over the codes of a model.

    Raises:
        ConfigError: the prior is unknown or cannot model these states.
    """
    try:
        with torch_seeded(seed, Stream.NETWORKS):
            prior = coded.fresh(options)
    except SettingError as error:
        raise ConfigError(str(error)) from error
    if prior is None:
        raise ConfigError(f"the prior {options.name} has nothing to fit: name another one")
    return prior
