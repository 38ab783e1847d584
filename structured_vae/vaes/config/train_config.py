"""Options that every training has, and the base class of the configurations of all kinds."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from ...data import CELEBA, usual_binarisation
from ...errors import ConfigError
from .data import DataConfig
from .older import renamed, with_older_defaults
from .plain_values import mistyped, read_values, refuse_foreign
from .union import option_types, refuse_unknown, resolve_kind
from .values import at_least, faults_of_values, known, types_of

Logger = Literal["tensorboard", "csv", "wandb", "mlflow", "none"]
Decay = Literal["none", "cosine"]
Precision = Literal["32-true", "bf16-mixed"]
Device = Literal["auto", "cpu", "cuda"]


class Union(type):
    """The metaclass of configurations: a call returns a configuration of the kind in its options.

    `TrainConfig(model="mixture", k=5)` is a `MixtureConfig`. `dataclasses.replace` with another
    model returns a configuration of that model.
    """

    model: str

    def __call__(cls, **options: Any) -> Any:
        """Return the configuration of these options.

        Raises:
            ConfigError: an option is unknown or belongs to other kinds, or its value is impossible.
        """
        refuse_unknown(options)
        kind, chosen = resolve_kind(options, cls.model)
        return super(Union, kind).__call__(**chosen)  # type: ignore[misc]  # its type is `Union`


@dataclass(frozen=True, kw_only=True)
class TrainConfig(metaclass=Union):
    """The configuration of a training run, with everything that determines its result.

    A call accepts the options below and those of one kind of model. It returns a configuration of
    that kind: `DiscreteConfig`, `GaussianConfig`, `MixtureConfig`, `AttributesConfig`,
    `QuantisedConfig` or `OwnConfig`.

    Attributes:
        model: discrete, only bits or categories; gaussian, the continuous reference with the same
            layers (also: encoder gaussian); mixture, a class with a continuous style, with the
            paper's networks; attributes, eight bits with a continuous code, for celeba; quantised,
            a code for each image by a quantiser; or own, custom networks that are passed in Python.
            Options of other models raise an error.
        data: the images.
        learning_rate: learning rate of Adam; default: 0.002 if it decays by cosine with the recipe
            elbo or the models gaussian and quantised, else 0.001.
        rate_decay: none; or cosine, which lowers the learning rate to zero over all epochs;
            default: cosine with the recipe elbo and the models gaussian and quantised, else none.
        precision: 32-true; or bf16-mixed, in which the networks' layers multiply in bfloat16 during
            training. Everything else, and every evaluation, is in float32.
        epochs: number of passes over the training images.
        seed: seed of initialisation, shuffling and noise.
        evaluate_every: number of epochs between evaluations on the validation and test images. The
            last epoch always has one. The best epoch is one of the evaluated epochs.
        picture_every: number of epochs between pictures. The last epoch always has pictures; with
            0, only the last epoch has them.
        device: auto, cpu or cuda.
        processes: number of processes that train together on a machine, each with its own batches
            (Lightning's DDP) and, on GPUs, its own GPU.
        nodes: number of machines that train together, started as Lightning's DDP needs, for example
            by torchrun.
        dropout: share of the values of an image that a training step hides from the encoder;
            default: 0.2 for the models mixture and attributes, else 0.
        dropout_decay: none; or cosine, which lowers dropout to zero over all epochs.
        patience: number of evaluations without improvement after which training stops early; 0
            never stops it.
        logger: destination of the curves beside metrics.csv: tensorboard, csv, wandb, mlflow or
            none.
    """

    model: str = "discrete"
    data: DataConfig = field(default_factory=DataConfig)
    learning_rate: float | None = None
    rate_decay: Decay | None = None
    precision: Precision = "32-true"
    epochs: int = at_least(1, default=30)
    seed: int = at_least(0, default=0)
    evaluate_every: int = at_least(1, default=1)
    picture_every: int = at_least(0, default=10)
    device: Device = "auto"
    processes: int = at_least(1, default=1)
    nodes: int = at_least(1, default=1)
    dropout: float | None = None
    dropout_decay: Decay = "none"
    patience: int = at_least(0, default=0)
    logger: Logger = "tensorboard"

    if TYPE_CHECKING:

        def __init__(self, **options: Any) -> None:
            """Accept the options of any kind; the class of a kind lists them."""

    def __post_init__(self) -> None:
        self._simplify()
        _refuse(mistyped(self))
        _refuse(faults_of_values(self))
        self._complete()
        _refuse(self._faults())

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        return f"{self._data_name}-{self.model}-seed{self.seed}"

    @property
    def from_python(self) -> tuple[str, ...]:
        """The names of the objects that a caller passes, since no file of a run holds them."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, in nested dictionaries."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the configuration of plain values, the inverse of `to_dict`; check them all.

        A missing key has the value of runs that are older than the key, see `OLDER`, or its
        default. Files of earlier versions list the options of all kinds; options of other kinds
        are dropped.

        Raises:
            ConfigError: a key is unknown, or a value impossible.
        """
        refuse_foreign(values, option_types())
        kind, chosen = resolve_kind(renamed(values), cls.model)
        config: type[Self] = kind  # type: ignore[assignment]  # a kind's class derives from this
        return config._read(chosen)

    @classmethod
    def _read(cls, values: dict[str, Any]) -> Self:
        """Return the configuration of a file's values, all of which are options of this kind."""
        types = types_of(cls)
        return cls(**read_values(with_older_defaults(values, set(types)), types))

    @property
    def _data_name(self) -> str:
        """The name of the images in the name of a folder."""
        return Path(self.data.name).stem

    @property
    def _has_faces(self) -> bool:
        """Whether this kind of model needs the images of celeba."""
        return False

    def _simplify(self) -> None:
        """Replace numpy values by plain ones, which a record can hold."""
        for name, value in vars(self).items():
            if isinstance(value, np.generic):
                self._set(name, value.item())

    def _complete(self) -> None:
        """Set the remaining options to values that follow from the others."""
        if self.data.binarisation is None:  # so that the record shows it
            binarisation = usual_binarisation(self.data.name)
            self._set("data", replace(self.data, binarisation=binarisation))
        self._fill(learning_rate=1e-3, rate_decay="none", dropout=0.0)

    def _fill(self, **values: Any) -> None:
        """Set those of these options that have no value yet."""
        for name, value in values.items():
            if getattr(self, name) is None:
                self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        """Set an option of this frozen configuration during its construction."""
        object.__setattr__(self, name, value)

    def _faults(self) -> Iterator[str]:
        """Yield a message for each fault of the completed configuration."""
        yield from self.data.faults()
        if not 0 < known(self.learning_rate) < math.inf:
            yield f"learning_rate must be positive and finite; got {self.learning_rate}"
        if not 0 <= known(self.dropout) < 1:
            yield f"dropout must be at least 0 and below 1; got {self.dropout}"
        if self.dropout_decay != "none" and not self.dropout:
            yield "dropout_decay has no effect without dropout: set dropout, the share at the start"
        if (self.data.name == CELEBA) != self._has_faces:
            yield (
                "the model attributes needs the images of celeba, and celeba needs the model "
                "attributes or quantised: set --model attributes --data.name celeba; got "
                f"{self.model} and {self.data.name}"
            )


def _refuse(faults: Iterable[str]) -> None:
    """Raise the first fault.

    Raises:
        ConfigError: there is one.
    """
    for fault in faults:
        raise ConfigError(fault)
