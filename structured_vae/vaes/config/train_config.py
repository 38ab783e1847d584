"""The options that every training has, as the type of the configurations of all kinds."""

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
    """The type of configuration classes: a call gives a configuration of the kind that its options mean.

    So `TrainConfig(model="mixture", k=5)` is a `MixtureConfig`, and `dataclasses.replace` of it
    with another model is a configuration of that model.
    """

    model: str

    def __call__(cls, **options: Any) -> Any:
        """Return the configuration of these options.

        Raises:
            ConfigError: an option is unknown or none of the kind's, or its value is impossible.
        """
        refuse_unknown(options)
        kind, chosen = resolve_kind(options, cls.model)
        return super(Union, kind).__call__(**chosen)  # type: ignore[misc]  # its type is `Union`


@dataclass(frozen=True, kw_only=True)
class TrainConfig(metaclass=Union):
    """A training run; everything that decides its result is here.

    A call takes the options of one kind of model, beside those below, and returns a configuration
    of that kind: `DiscreteConfig`, `GaussianConfig`, `MixtureConfig`, `AttributesConfig`,
    `QuantisedConfig` or `OwnConfig`.

    Attributes:
        model: discrete, with bits or categories alone; gaussian, the continuous reference with the
            same layers (also: encoder gaussian); mixture, a class with a continuous style, whose
            networks are the paper's; attributes, eight bits with a continuous code, for celeba;
            quantised, one code for each image by a quantiser; or own, networks that are given in
            Python. Options of the other models are refused.
        data: the images.
        learning_rate: of Adam; default: 0.002 where it falls with the recipe elbo or the model
            gaussian, else 0.001.
        rate_decay: cosine, which lowers the learning rate to zero over all epochs; or none;
            default: cosine with the recipe elbo and the model gaussian, else none.
        precision: 32-true, or bf16-mixed: products of the networks' layers in bfloat16 during
            training, all else, and every evaluation, in float32.
        epochs: passes over the training images.
        seed: of initialisation, shuffling and noise.
        evaluate_every: epochs between evaluations on the validation and test images; the last epoch
            always has one. The best epoch is one of them.
        picture_every: epochs between pictures; the last epoch always has them, with 0 that alone.
        device: auto, cpu or cuda.
        processes: that train together on a machine, each with batches of its own (Lightning's DDP);
            on a GPU one each.
        nodes: machines that train together, started as Lightning's DDP needs it, for example by
            torchrun.
        dropout: share of the values of an image that the encoder does not see in a training step;
            default: 0.2 of a mixture and of attributes, else 0.
        dropout_decay: none; or cosine, which lowers dropout to zero over all epochs.
        patience: evaluations without a better one after which the training ends early; 0 for none.
        logger: where curves go beside metrics.csv: tensorboard, csv, wandb, mlflow or none.
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
            """Take the options of any kind; the kinds' own classes name theirs."""

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
        """What a caller gives as an object in Python, since no file of a run holds it."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, nested as the attributes are."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, with every key and every type checked.

        A missing key has what runs had that are older than the key: `OLDER`, else its default.
        Files of earlier versions list the options of all kinds; those of other kinds are left out.

        Raises:
            ConfigError: a key is unknown, or a value impossible.
        """
        refuse_foreign(values, option_types())
        kind, chosen = resolve_kind(renamed(values), cls.model)
        config: type[Self] = kind  # type: ignore[assignment]  # every kind's derives from this class
        return config._read(chosen)

    @classmethod
    def _read(cls, values: dict[str, Any]) -> Self:
        """Return the configuration of a file's values, all of which are options of this kind."""
        types = types_of(cls)
        return cls(**read_values(with_older_defaults(values, set(types)), types))

    @property
    def _data_name(self) -> str:
        """The images, in the name of a folder."""
        return Path(self.data.name).stem

    @property
    def _has_faces(self) -> bool:
        """Whether the images are those of celeba, which no other kind takes."""
        return False

    def _simplify(self) -> None:
        """Replace values of numpy by plain ones, which a record can hold."""
        for name, value in vars(self).items():
            if isinstance(value, np.generic):
                self._set(name, value.item())

    def _complete(self) -> None:
        """Give options that are not set the values that follow from others."""
        if self.data.binarisation is None:  # a record says what was done
            binarisation = usual_binarisation(self.data.name)
            self._set("data", replace(self.data, binarisation=binarisation))
        self._fill(learning_rate=1e-3, rate_decay="none", dropout=0.0)

    def _fill(self, **values: Any) -> None:
        """Set options that have no value yet."""
        for name, value in values.items():
            if getattr(self, name) is None:
                self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        """Set an option while the configuration is made; afterwards it is frozen."""
        object.__setattr__(self, name, value)

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong, once every option has a value."""
        yield from self.data.faults()
        if not 0 < known(self.learning_rate) < math.inf:
            yield f"learning_rate must be positive and finite; got {self.learning_rate}"
        if not 0 <= known(self.dropout) < 1:
            yield f"dropout must be at least 0 and below 1; got {self.dropout}"
        if self.dropout_decay != "none" and not self.dropout:
            yield "dropout_decay has no effect without dropout: give dropout, the share at the start"
        if (self.data.name == CELEBA) != self._has_faces:
            yield (
                "the model attributes goes with the images of celeba, and they with no other but "
                "quantised: --model attributes --data.name celeba; got "
                f"{self.model} and {self.data.name}"
            )


def _refuse(faults: Iterable[str]) -> None:
    """Raise the first fault.

    Raises:
        ConfigError: there is one.
    """
    for fault in faults:
        raise ConfigError(fault)
