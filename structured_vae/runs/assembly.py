"""What a configuration names, put together: data, networks, training."""

from __future__ import annotations

import torch

from models import DiscreteVAE, GaussianVAE, MixtureVAE, train_mixed

from ..data import ImageDataset, load_dataset, name_in_memory
from ..errors import ConfigError
from ..objectives.recipes import RECIPES
from ..schedules import Constant, CosineDecay, Ramp, Schedule
from ..seeds import Stream, torch_seeded
from ..training.base import Training, TrainingOptions
from ..training.batches import ImageData
from ..training.labelled import balanced_labels, drawn_labels
from ..vaes.attributes.training import AttributeTraining
from ..vaes.discrete.training import ArgmaxTraining
from ..vaes.gaussian.training import GaussianTraining
from ..vaes.mixture.training import MixtureTraining
from .config import Decay, TrainConfig, known
from .fitting import fitting_estimator, fitting_solver, label_loss_of, posterior_of
from .given import NOTHING, Given
from .networks import AnyVAE, vae_of


def dataset_of(config: TrainConfig, given: Given = NOTHING) -> ImageDataset:
    """The images that a configuration names, or that were given."""
    dataset = given.dataset
    if dataset is None:
        dataset = load_dataset(config.data.name, config.data.root, config.data.binarisation)
    return dataset.all_for_training() if config.data.train_on == "train+validation" else dataset


def initialised(config: TrainConfig, pixels: int, given: Given = NOTHING) -> AnyVAE:
    """New networks, with the weights that the seed gives; or those that were given, once they fit the images.

    Raises:
        models.NetworkError: those that were given do not.
    """
    if given.model is not None:
        given.model.fit_to(pixels)
        return given.model
    with torch_seeded(config.seed, Stream.INITIALISATION):
        return vae_of(config, pixels)


def training_of(config: TrainConfig, vae: AnyVAE, given: Given = NOTHING) -> Training:
    """What Lightning trains for a configuration.

    Raises:
        ConfigError: encoder, solver and estimator do not fit.
        solvers.SolverError: the solver is unknown or its package missing.
    """
    if config.precision == "bf16-mixed":
        train_mixed(vae)
    options, kl_weight = _options(config), Ramp(known(config.kl_warmup), known(config.kl_start))
    if isinstance(vae, GaussianVAE):
        return GaussianTraining(vae, options, kl_weight=kl_weight)
    solver = fitting_solver(config.solver, vae)
    with torch_seeded(config.seed, Stream.ESTIMATOR):
        estimator = fitting_estimator(config, vae, solver, given.estimator)
    if isinstance(vae, DiscreteVAE):
        return ArgmaxTraining(
            vae,
            estimator,
            options,
            posterior=posterior_of(estimator, solver),
            recipe=RECIPES[known(config.recipe)],
            kl_weight=kl_weight,
        )
    loss, weight = label_loss_of(config, solver), config.label_weight
    if isinstance(vae, MixtureVAE):
        return MixtureTraining(vae, estimator, options, label_loss=loss, label_weight=weight)
    return AttributeTraining(
        vae,
        estimator,
        options,
        label_loss=loss,
        label_weight=weight,
        consistency=config.consistency,
        solver=solver,
    )


def data_of(config: TrainConfig, dataset: ImageDataset) -> ImageData:
    """The batches of a configuration, with labelled images where it has some.

    Raises:
        ConfigError: so many labelled images cannot be drawn.
    """
    labelled = _labelled(config, dataset) if config.labels else None
    splits = (dataset.train, dataset.validation, dataset.test)
    digest = name_in_memory(*splits) if config.data.is_path else None
    return ImageData(dataset, config.data.batch_size, config.seed, labelled, digest)


def by_epoch(start: float, decay: Decay, epochs: int) -> Schedule:
    """What starts so and decays so over all epochs."""
    return CosineDecay(start, epochs) if decay == "cosine" else Constant(start)


def _options(config: TrainConfig) -> TrainingOptions:
    dropout = (
        by_epoch(config.dropout, config.dropout_decay, config.epochs) if config.dropout else None
    )
    return TrainingOptions(known(config.learning_rate), config.seed, dropout)


def _labelled(config: TrainConfig, dataset: ImageDataset) -> torch.Tensor:
    classes = dataset.train.labels
    if config.model == "attributes":  # no draw has as many of each
        return drawn_labels(len(classes), config.labels, config.seed)
    for name, split in (("validation", dataset.validation), ("test", dataset.test)):
        if (most := split.labels.max()) >= config.k:
            raise ConfigError(
                f"a {name} image has the class {most}, and the model has 0 to {config.k - 1}"
            )
    return balanced_labels(classes, config.k, config.labels, config.seed)
