"""Objects that a caller passes beside a configuration: networks, images, an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from models import DiscreteVAE
from models.likelihoods import DiscretisedGaussianLikelihood, GaussianLikelihood

from ..data import IN_MEMORY, ImageDataset, dataset_of_images, name_in_memory
from ..errors import ConfigError, shortened
from ..estimators import Estimator
from ..objectives.recipes import check_kl_term
from ..vaes import KINDS
from ..vaes.config import DataConfig, TrainConfig
from ..vaes.config.union import option_types

DATA_OPTIONS: Final = ("batch_size", "binarisation", "root", "train_on")
"""Options of `DataConfig` that a call may pass as its own options."""


@dataclass(frozen=True, eq=False)
class CustomObjects:
    """Objects that no file of a run holds, so that the caller passes them again on resuming.

    Attributes:
        model: custom networks.
        dataset: images in memory.
        estimator: the gradient estimator.
    """

    model: DiscreteVAE | None = None
    dataset: ImageDataset | None = None
    estimator: Estimator | None = None

    def check(self, config: TrainConfig) -> None:
        """Raise unless the passed objects match the configuration.

        Raises:
            ConfigError: an object is missing, or was passed though the configuration names another;
                or the images differ.
        """
        self.check_objects(config)
        _check_images(config, self.dataset)

    def check_objects(self, config: TrainConfig) -> None:
        """Raise unless the passed networks and estimator match the configuration.

        Raises:
            ConfigError: one is missing, or was passed though the configuration names another.
        """
        self.check_model(config)
        _check("estimator", config, self.estimator)

    def check_model(self, config: TrainConfig) -> None:
        """Raise unless the passed networks match the configuration.

        Raises:
            ConfigError: they are missing, or were passed though the configuration names others.
        """
        _check("model", config, self.model)


NOTHING: Final = CustomObjects()


def _check(what: str, config: TrainConfig, value: object) -> None:
    """Raise if an object is missing, or replaces one that the configuration names."""
    needed = what in config.from_python
    if needed and value is None:
        raise ConfigError(
            f"this run has a custom {what}, and no file of a run holds code: pass it in Python, "
            f"{what}=...; the command line cannot"
        )
    if not needed and value is not None:
        named = config.to_dict().get(what, "none")
        raise ConfigError(f"the configuration names the {what} of this run, {named}: drop {what}=")


def _check_images(config: TrainConfig, dataset: ImageDataset | None) -> None:
    if dataset is None and config.data.name.startswith(IN_MEMORY):
        raise ConfigError(
            "this run was trained on arrays, and its folder has no images: pass data="
        )
    if dataset is not None:
        _check_name(config, dataset.name)


def _check_name(config: TrainConfig, name: str) -> None:
    if name != config.data.name and Path(name).absolute() != Path(config.data.name).absolute():
        raise ConfigError(
            f"data= is {shortened(name)}, but this run was trained on {config.data.name}: pass the "
            "same images (a name that begins with 'given-' is a digest of arrays)"
        )


def custom_images(config: TrainConfig, data: Any) -> ImageDataset | None:
    """Return the images in memory that a run was passed; None if the run names its images.

    Raises:
        ConfigError: the images are missing, or differ from the run's.
        DataError: the images are not valid.
    """
    name = data
    if isinstance(data, DataConfig):
        name = data.name
    if isinstance(name, str | Path):
        _check_name(config, str(name))
        name = None
    dataset = None
    if name is not None:
        dataset = _images(data, config.data.binarisation)
    _check_images(config, dataset)
    return dataset


def custom_objects_for(config: TrainConfig, model: Any, data: Any, estimator: Any) -> CustomObjects:
    """Return the objects that a caller passes again for a run, after checking them.

    Raises:
        ConfigError: an object does not match the configuration.
        DataError: the images are not valid.
    """
    custom = CustomObjects(_checked_model(model), estimator=_checked_estimator(estimator))
    custom.check_objects(config)
    return replace(custom, dataset=custom_images(config, data))


def configured(
    config: TrainConfig | None, model: Any, data: Any, estimator: Any, options: dict[str, Any]
) -> tuple[TrainConfig, CustomObjects]:
    """Return a configuration with options replaced, and the objects that are passed beside it.

    Args:
        config: default: that of `TrainConfig` with these options, so that the options that they
            leave unset follow from them.
        model: custom networks, or None.
        data: images, as `train` takes them, or None.
        estimator: a name, an object, or None.
        options: fields of `TrainConfig`, and batch_size, binarisation, root and train_on of
            `DataConfig`.

    Raises:
        ConfigError: there is no such option, or its value is impossible.
        DataError: the images are not valid.
    """
    if not isinstance(config, TrainConfig | None):
        raise ConfigError(f"expected a TrainConfig; got {shortened(config)}")
    model = _checked_model(model)
    defaults = DataConfig()
    if config:
        defaults = config.data
    changes, source = _split_options(options, defaults, model)
    changes["data"], dataset = _chosen_data(data, source, options)
    if model is not None:
        changes["model"] = "own"
    custom_estimator = None
    if isinstance(estimator, str):
        changes["estimator"] = estimator
    elif estimator is not None:
        changes["estimator"] = "own"
        custom_estimator = _checked_estimator(estimator)
    custom = CustomObjects(model, dataset, custom_estimator)
    if config is None:
        config = TrainConfig(**changes)
    else:
        config = replace(config, **changes)
    chosen = _with_place(config)
    custom.check(chosen)
    return chosen, custom


def _with_place(config: TrainConfig) -> TrainConfig:
    """Return the configuration with an absolute path for a file of images."""
    place = Path(config.data.name)
    if not (config.data.is_path and place.exists()):
        return config
    return replace(config, data=replace(config.data, name=str(place.absolute())))


def _split_options(
    options: dict[str, Any], source: DataConfig, model: DiscreteVAE | None
) -> tuple[dict[str, Any], DataConfig]:
    """Return the fields of a training and the fields of its data."""
    names = set(option_types()) - {"model", "data", "estimator"}
    _check_names(options, names)
    changes = {name: value for name, value in options.items() if name in names}
    source = replace(source, **{name: options[name] for name in DATA_OPTIONS if name in options})
    likelihood = getattr(model and model.decoder, "likelihood", None)
    means = isinstance(likelihood, GaussianLikelihood | DiscretisedGaussianLikelihood)
    # Likelihoods of grey values take images as they are; only an option can ask for binary ones.
    if means and "binarisation" not in options:
        source = replace(source, binarisation="none")
    return changes, source


def _check_names(options: Mapping[str, Any], names: set[str]) -> None:
    """Raise if an option is neither one of a training, whose names these are, nor of its data.

    Raises:
        ConfigError: it is neither; the message suggests the nearest name.
    """
    unknown = sorted(set(options) - names - set(DATA_OPTIONS))
    if not unknown:
        return
    near = [match for name in unknown for match in get_close_matches(name, names, n=1)]
    suggestion = ""
    if near:
        suggestion = f". Did you mean {', '.join(near)}?"
    raise ConfigError(
        f"no option is called {', '.join(unknown)}{suggestion}; there are: "
        f"{', '.join(sorted(names))}, and of the data {', '.join(DATA_OPTIONS)}"
    )


def _chosen_data(
    data: Any, source: DataConfig, options: dict[str, Any]
) -> tuple[DataConfig, ImageDataset | None]:
    """Return the settings of the data, and the images if they are in memory.

    Args:
        data: what `train` got.
        source: the settings without `data`.
        options: the options of `train`, which win over a `DataConfig`.
    """
    if data is None:
        return source, None
    if isinstance(data, DataConfig):
        chosen = {name: options[name] for name in DATA_OPTIONS if name in options}
        return replace(data, **chosen), None
    if isinstance(data, str | Path):
        return replace(source, name=str(data)), None
    if isinstance(data, ImageDataset):
        _check_binarisation(data, options)
    dataset = _images(data, source.binarisation)
    return replace(source, name=dataset.name, binarisation=dataset.binarisation), dataset


def _check_binarisation(data: ImageDataset, options: dict[str, Any]) -> None:
    asked = options.get("binarisation", data.binarisation)
    if asked != data.binarisation:
        raise ConfigError(
            f"these images are binarised already, {data.binarisation}: leave binarisation out; "
            f"got {shortened(asked)}"
        )


def _images(data: Any, binarisation: str | None) -> ImageDataset:
    """Return images in memory as a dataset.

    An object that is already a dataset keeps its images; its name then identifies its content.
    """
    if isinstance(data, ImageDataset):
        return replace(data, name=name_in_memory(data.train, data.validation, data.test))
    return dataset_of_images(data, binarisation)


def _checked_model(model: Any) -> DiscreteVAE | None:
    if isinstance(model, str) and model in KINDS:
        raise ConfigError(
            "model= takes custom networks; for the networks of this package: "
            f"train(TrainConfig(model={model!r}, ...), ...)"
        )
    if model is not None and not isinstance(model, DiscreteVAE):
        raise ConfigError(
            "model must be a models.DiscreteVAE, DiscreteVAE(encoder, decoder); got "
            f"{shortened(model)}"
        )
    return model


def _checked_estimator(estimator: Any) -> Estimator | None:
    if estimator is not None and not isinstance(estimator, Estimator):
        raise ConfigError(f"estimator must be an Estimator or its name; got {shortened(estimator)}")
    if estimator is not None:
        check_kl_term(estimator.kl)
    return estimator
