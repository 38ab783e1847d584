"""The experiments of the paper as cells: training runs that differ in a few settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import yaml

from ..errors import ConfigError
from ..vaes.config import TrainConfig

CELLS = files(__package__) / "cells"
Settings: TypeAlias = list[tuple[str, Any]]
"""Names and values; a name such as "data.name" is a path."""

AFTERWARDS = ("refine", "draws", "picture", "appearance")
"""Settings of a cell that do not concern its training."""
WITHOUT_EFFECT = ("device", "picture_every", "evaluate_every")
"""Settings that do not change the result of a training."""


@dataclass(frozen=True)
class Cell:
    """A training run of an experiment.

    Attributes:
        experiment: the experiment whose folder holds the record.
        name: the name of the cell, without the seed.
        config: the configuration to train.
        defining: paths, such as `("data", "name")`, of the settings that define the cell; the
            number of epochs is not one of them.
        refine: number of moves of a search per image in the evaluation, see `evaluate`.
        draws: number of posterior samples per image in the evaluation; None for its default.
        picture: whether the last picture of samples is kept beside the record.
        appearance: whether another network judges decoded faces, see `evaluate_run`.
    """

    experiment: str
    name: str
    config: TrainConfig
    defining: tuple[tuple[str, ...], ...] = ()
    refine: int = 0
    draws: int | None = None
    picture: bool = False
    appearance: bool = False

    @property
    def falls(self) -> bool:
        """Whether a setting follows the number of epochs, which then changes the training."""
        return "cosine" in (self.config.rate_decay, self.config.dropout_decay)

    @property
    def title(self) -> str:
        """The name and seed, as in the names of files."""
        return f"{self.name}-seed{self.config.seed}"


class Axis(NamedTuple):
    """A setting that a grid of cells varies.

    Attributes:
        name: the name of the setting, such as "k".
        values: the values of the setting.
    """

    name: str
    values: list[Any]


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper, or an experiment beyond it.

    Attributes:
        name: the name on the command line of `structured-vae reproduce`.
        content: the content of its YAML file.
    """

    name: str
    content: dict[str, Any]

    @classmethod
    def named(cls, name: str) -> Experiment:
        """Return the experiment with this name.

        Raises:
            ConfigError: no experiment has this name.
        """
        if name not in experiment_names():
            raise ConfigError(
                f"no experiment is called '{name}'; there are: {', '.join(experiment_names())}"
            )
        return cls(name, yaml.safe_load((CELLS / f"{name}.yaml").read_text(encoding="utf-8")))

    @property
    def title(self) -> str:
        """The subject of the experiment."""
        return str(self.content["title"])

    @property
    def view(self) -> str:
        """The kind of report: curves, grid, attributes, gradients or pictures."""
        return str(self.content["view"])

    @cached_property
    def _source(self) -> Experiment:
        """The experiment that defines the cells."""
        if "cells_of" in self.content:
            return Experiment.named(self.content["cells_of"])
        return self

    @property
    def folder(self) -> str:
        """The name of the folder of its records, after the experiment that defines the cells."""
        return self._source.name

    @property
    def paper(self) -> dict[str, dict[str, float]]:
        """The paper's numbers by the names of cell and quantity.

        If a quantity of the paper may be either of two of ours, its number stands under both.
        """
        content = self._source.content
        may_be = content.get("may_be", {})
        return {
            name: {
                **numbers,
                **{other: numbers[stated] for other, stated in may_be.items() if stated in numbers},
            }
            for name, numbers in content.get("paper", {}).items()
        }

    def paper_of(self, name: str, epochs: int) -> dict[str, float]:
        """Return the paper's numbers of a cell after so many epochs, or those at its end."""
        return {**self.paper.get(name, {}), **self._read_after(epochs).get(name, {})}

    def read_early(self, name: str, epochs: int) -> bool:
        """Return whether `paper_of` has numbers of the paper's figure after so many epochs."""
        return name in self._read_after(epochs)

    def _read_after(self, epochs: int) -> dict[str, dict[str, float]]:
        """Return the paper's numbers after so many epochs, for cells where they could be read."""
        read: dict[str, dict[str, float]] = self._source.content.get("paper_after", {}).get(
            epochs, {}
        )
        return read

    @property
    def references(self) -> list[tuple[str, str]]:
        """The models that the cells are compared with, as experiment and name of the cell."""
        return [tuple(path.split("/")) for path in self._source.content.get("references", ())]

    @property
    def source(self) -> str:
        """The source of the paper's numbers, in a sentence."""
        return str(self._source.content.get("source", ""))

    @property
    def grid(self) -> list[Axis]:
        """The grid of the cells: panels, rows and columns of its tables."""
        return [
            Axis(name.rpartition(".")[2], values)
            for name, values in self._source.content["grid"].items()
        ]

    @property
    def has_grid(self) -> bool:
        """Whether the cells are those of a grid."""
        return "grid" in self._source.content

    @property
    def apart(self) -> list[str]:
        """The panels of the grid that are not counted, since their images are not the paper's."""
        return list(self._source.content.get("apart", ()))

    @property
    def orders(self) -> dict[str, list[str]]:
        """The orders of cells that the paper reports, the best first, by the kind of training."""
        return dict(self._source.content.get("orders", {}))

    @property
    def paper_epochs(self) -> int | None:
        """The number of epochs in the paper, where it states one."""
        return self._source.content.get("paper_epochs")

    @property
    def quantities(self) -> dict[str, str]:
        """The quantities of tables, and whether lower or higher values are better."""
        return dict(self._source.content.get("quantities", {"bound": "lower"}))

    @property
    def beside(self) -> str | None:
        """The line of a grid whose paper numbers all lines are compared with, or None."""
        return self._source.content.get("beside")

    def name_of(self, *values: Any) -> str:
        """Return the name of the cell of a grid with these values."""
        named = {"k": "k{}", "labels": "{}labels"}
        parts = [
            named.get(axis.name, "{}").format(value)
            for axis, value in zip(self.grid, values, strict=True)
        ]
        return "-".join(parts)

    def cells(
        self,
        seeds: Iterable[int] = (0,),
        epochs: int | None = None,
        only: str = "",
        root: str | None = None,
    ) -> list[Cell]:
        """Return every cell with every seed.

        Args:
            seeds: the seeds of the runs.
            epochs: number of epochs that replaces the experiment's setting.
            only: a regular expression that the names must contain.
            root: folder of the data.

        Raises:
            ConfigError: `only` is no regular expression or matches no cell, or there are no seeds.
        """
        named = _named_like(self.content.get("only", ""), dict(self._settings()))
        settings = {name: _split(values) for name, values in _named_like(only, named).items()}
        seeds = tuple(seeds)
        if not seeds:
            raise ConfigError("seeds is empty; give some, such as [0]")
        if not settings:
            names = ", ".join(named)
            raise ConfigError(f"no cell of {self.name} fits '{only}'; there are: {names}")
        chosen: Settings = []
        if epochs is not None:
            chosen.append(("epochs", epochs))
        if root is not None:
            chosen.append(("data.root", root))
        return [
            Cell(
                self.folder,
                name,
                _config([*values, *chosen, ("seed", seed)]),
                _defining(values),
                **kept,
            )
            for seed in seeds
            for name, (values, kept) in settings.items()
        ]

    def _settings(self) -> list[tuple[str, Settings]]:
        """Return name and settings of every cell; a key such as "data.name" is a path."""
        content = self._source.content
        base = list(content["base"].items())
        named = [(name, list(values.items())) for name, values in content.get("cells", {}).items()]
        grid = content.get("grid", {})
        if grid:  # the product of no settings would have one row
            for row in product(*grid.values()):
                values = list(zip(grid, row, strict=True))
                named.append((self._source.name_of(*row), values))
        return [(name, [*base, *self._of_names_like(name), *values]) for name, values in named]

    def _of_names_like(self, name: str) -> Settings:
        """Return the settings of a cell that belong to a word of its name, such as an estimator."""
        return [
            setting
            for pattern, settings in self._source.content.get("named", {}).items()
            if re.search(pattern, name)
            for setting in settings.items()
        ]


def experiment_names() -> list[str]:
    """Return the names of all experiments."""
    return sorted(
        path.name.removesuffix(".yaml") for path in CELLS.iterdir() if path.name.endswith(".yaml")
    )


def _named_like(pattern: str, settings: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return the settings of the cells whose names a regular expression matches.

    Raises:
        ConfigError: it is no regular expression.
    """
    try:
        fits = re.compile(pattern).search
    except re.error as error:
        raise ConfigError(f"only is not a regular expression: {error}") from error
    return {name: values for name, values in settings.items() if fits(name)}


def _split(settings: Settings) -> tuple[Settings, dict[str, Any]]:
    """Return the settings of a cell's training, and those of its evaluation."""
    training = [(name, value) for name, value in settings if name not in AFTERWARDS]
    return training, {name: value for name, value in settings if name in AFTERWARDS}


def _nested(settings: Settings) -> dict[str, Any]:
    """Return settings by paths as nested values; later ones replace earlier ones."""
    values: dict[str, Any] = {}
    for path, value in settings:
        place = values
        *groups, key = path.split(".")
        for group in groups:
            place = place.setdefault(group, {})
        if isinstance(value, dict):
            place[key] = {**place.get(key, {}), **deepcopy(value)}
        else:
            place[key] = value
    return values


def _paths(values: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the path of every single setting."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from ((key, *inner) for inner in _paths(value))
        else:
            yield (key,)


def _defining(settings: Settings) -> tuple[tuple[str, ...], ...]:
    """Return the paths of the settings that define a cell."""
    return tuple(
        path for path in _paths(_nested(settings)) if path[0] not in ("epochs", *WITHOUT_EFFECT)
    )


def _config(settings: Settings) -> TrainConfig:
    """Return the default configuration with these settings, after a check of each."""
    return TrainConfig.from_dict(_nested(settings))
