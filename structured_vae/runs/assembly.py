"""Build the data, the networks and the training that a configuration names."""

from __future__ import annotations

from models.networks import train_mixed

from ..data import ImageDataset, load_dataset, name_in_memory
from ..seeds import Stream, torch_seeded
from ..training.base import Training
from ..training.batches import ImageData
from ..vaes.config import TrainConfig
from ..vaes.registry import AnyVAE, kind_of
from .custom_objects import NOTHING, CustomObjects
from .networks import vae_of


def dataset_of(config: TrainConfig, custom: CustomObjects = NOTHING) -> ImageDataset:
    """Return the images that a configuration names, or those that the caller passed."""
    dataset = custom.dataset
    if dataset is None:
        dataset = load_dataset(config.data.name, config.data.root, config.data.binarisation)
    if config.data.train_on == "train+validation":
        return dataset.all_for_training()
    return dataset


def initialised(config: TrainConfig, pixels: int, custom: CustomObjects = NOTHING) -> AnyVAE:
    """Return new networks with the weights that the seed gives, or the caller's custom networks.

    Raises:
        models.errors.NetworkError: the custom networks do not fit the images.
    """
    if custom.model is not None:
        custom.model.fit_to(pixels)
        return custom.model
    with torch_seeded(config.seed, Stream.INITIALISATION):
        return vae_of(config, pixels)


def training_of(config: TrainConfig, vae: AnyVAE, custom: CustomObjects = NOTHING) -> Training:
    """Return the training module that Lightning runs for a configuration.

    Raises:
        ConfigError: encoder, solver and estimator do not fit together.
        solvers.SolverError: the solver is unknown or its package is missing.
    """
    if config.precision == "bf16-mixed":
        train_mixed(vae)
    training = kind_of(config).training(config, vae, custom.estimator)
    if custom.model is None and custom.estimator is None:
        training.record_steps()
    return training


def data_of(config: TrainConfig, dataset: ImageDataset) -> ImageData:
    """Return the batches of a configuration, with labelled images if it has some.

    Raises:
        ConfigError: the split cannot supply that many labelled images.
    """
    labelled = kind_of(config).labelled(config, dataset)
    splits = (dataset.train, dataset.validation, dataset.test)
    digest = None
    if config.data.is_path:
        digest = name_in_memory(*splits)
    return ImageData(dataset, config.data.batch_size, config.seed, labelled, digest)
