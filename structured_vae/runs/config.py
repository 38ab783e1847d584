"""What a training run is made of."""

from __future__ import annotations

from argparse import ArgumentError
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

from jsonargparse import ArgumentParser

from ..data import ATTRIBUTES, CELEBA, usual_binarisation
from ..errors import ConfigError
from ..schedules import ExponentialDecay
from .plain_values import refuse_foreign

Model = Literal["discrete", "mixture", "attributes"]
Encoder = Literal["independent", "supermodular", "general", "categorical"]
Estimator = Literal[
    "direct",
    "table_direct",
    "exact",
    "maximum_likelihood",
    "score_function",
    "gumbel_softmax",
    "straight_through",
    "rebar",
    "relax",
    "arm",
    "disarm",
    "implicit_mle",
    "perturbed_argmax",
]
Decay = Literal["none", "cosine"]
Precision = Literal["32-true", "bf16-mixed"]
EpsilonRule = Literal["schedule", "scale_free", "adaptive"]
Sides = Literal[1, 2]
Recipe = Literal["paper", "elbo"]
Device = Literal["auto", "cpu", "cuda"]
CHOICES: Final[dict[str, Any]] = {
    "model": Model,
    "encoder": Encoder,
    "estimator": Estimator,
    "recipe": Recipe,
    "sides": Sides,
    "epsilon_rule": EpsilonRule,
    "rate_decay": Decay,
    "dropout_decay": Decay,
    "precision": Precision,
    "device": Device,
}

FOREIGN: Final = {
    "discrete": ("labels", "label_weight", "consistency", "channels"),
    "mixture": (
        "encoder",
        "solver",
        "recipe",
        "n",
        "hidden",
        "kl_warmup",
        "kl_start",
        "consistency",
        "channels",
    ),
    "attributes": ("recipe", "n", "k", "hidden", "kl_warmup", "kl_start"),
}
"""What each model has no use for, and so must not be set."""


@dataclass(frozen=True)
class DataConfig:
    """The images.

    Attributes:
        name: fashion-mnist-mini (ships with the package), fashion-mnist, mnist, omniglot or celeba; or an .npz
            file with train_images, validation_images and test_images, uint8 [count, height, width].
        root: folder that holds fashion-mnist/, mnist/, omniglot/ and celeba/; default: the environment variable
            STRUCTURED_VAE_DATA, then a per-user cache filled by download.
        binarisation: threshold (grey > 0.5), static (drawn once), dynamic (drawn anew in every training
            step) or none; default: threshold, and none for celeba.
        batch_size: images a step.
    """

    name: str = "fashion-mnist-mini"
    root: str | None = None
    binarisation: str | None = None
    batch_size: int = 100


@dataclass(frozen=True)
class TrainConfig:
    """A training run; everything that decides its result is here.

    Attributes:
        model: discrete, with bits or categories alone; mixture, a class with a continuous style, whose
            networks are the paper's; or attributes, eight bits with a continuous code, for celeba. Options
            of the other models are refused.
        encoder: posterior over n bits: independent, supermodular (pairwise scores >= 0) or general; or
            categorical, over k categories; of attributes one of the first three.
        estimator: of the encoder's gradient: direct, table_direct, exact, maximum_likelihood,
            score_function, gumbel_softmax, straight_through, rebar, relax, arm, disarm, implicit_mle or
            perturbed_argmax.
        solver: argmax backend, see `structured-vae solvers`; auto picks the fastest exact one.
        recipe: paper (direct does not train the KL, as in the released code) or elbo (KL trained too).
        n: binary latent variables.
        k: categories of the categorical encoder, or classes of the mixture.
        hidden: units of the hidden layers.
        data: the images.
        kl_warmup: epochs over which the weight of the KL goes from kl_start to 1, in equal steps; 0 for none.
        kl_start: 0 lets the encoder use a code before it pays for it; above 1, such as 30, spreads the posterior
            over all states at first, so that none is given up early (deterministic annealing).
        samples: latent states drawn for a gradient; default: 1, score_function 4, perturbed_argmax 8.
        sides: of direct and table_direct: 1, or 2 for z(-epsilon) in the place of z*.
        epsilon: step of direct, table_direct and implicit_mle, as it decays over training; the paper
            starts at 1, which learns more slowly.
        epsilon_rule: schedule; scale_free (in units of the mean change of the cost); or adaptive (starts
            at epsilon.start and keeps half of the argmaxes moving).
        temperature: of gumbel_softmax and straight_through, as it decays over training.
        learning_rate: of Adam.
        rate_decay: none; or cosine, which lowers the learning rate to zero over all epochs.
        precision: 32-true, or bf16-mixed: products of the networks' layers in bfloat16 during training, all
            else, and every evaluation, in float32.
        epochs: passes over the training images.
        seed: of initialisation, shuffling and noise.
        evaluate_every: epochs between evaluations on the validation and test images; the last epoch always
            has one. The best epoch is one of them.
        picture_every: epochs between pictures; the last epoch always has them, with 0 that alone.
        device: auto, cpu or cuda.
        processes: that train together on a machine, each with batches of its own (Lightning's DDP); on a
            GPU one each.
        nodes: machines that train together, started as Lightning's DDP needs it, for example by torchrun.
        labels: training images whose classes, as many of each, or attributes the model sees; 0 for none.
        label_weight: of their loss beside the bound, in nats an image.
        consistency: weight of the same loss of images decoded from attributes, by which the decoder learns to
            show them; 0 for none. Without labels it has no effect.
        dropout: share of the values of an image that the encoder does not see in a training step; default:
            0.2 of a mixture and of attributes, else 0.
        dropout_decay: none; or cosine, which lowers dropout to zero over all epochs.
        channels: of the first convolution for attributes; the others have 2, 4 and 4 times as many.
    """

    model: Model = "discrete"
    encoder: Encoder = "general"
    estimator: Estimator = "direct"
    solver: str = "auto"
    recipe: Recipe = "paper"
    n: int = 15
    k: int = 10
    hidden: int = 300
    kl_warmup: int = 0
    kl_start: float = 0.0
    data: DataConfig = field(default_factory=DataConfig)
    samples: int | None = None
    sides: Sides = 1
    epsilon: ExponentialDecay = field(default_factory=lambda: ExponentialDecay(start=0.1))
    epsilon_rule: EpsilonRule = "schedule"
    temperature: ExponentialDecay = field(default_factory=ExponentialDecay)
    learning_rate: float = 1e-3
    rate_decay: Decay = "none"
    precision: Precision = "32-true"
    epochs: int = 30
    seed: int = 0
    evaluate_every: int = 1
    picture_every: int = 10
    device: Device = "auto"
    processes: int = 1
    nodes: int = 1
    labels: int = 0
    label_weight: float = 30.0
    consistency: float = 30.0
    dropout: float | None = None
    dropout_decay: Decay = "none"
    channels: int = 32

    def __post_init__(self) -> None:
        if self.data.binarisation is None:  # a record says what was done
            named = replace(self.data, binarisation=usual_binarisation(self.data.name))
            object.__setattr__(self, "data", named)
        if self.dropout is None:
            object.__setattr__(self, "dropout", 0.0 if self.model == "discrete" else 0.2)
        for name, choices in CHOICES.items():
            if getattr(self, name) not in get_args(choices):
                known = ", ".join(map(str, get_args(choices)))
                raise ConfigError(f"{name} must be one of {known}; got '{getattr(self, name)}'")
        smallest = {"n": 1, "k": 2, "hidden": 1, "epochs": 1, "seed": 0, "picture_every": 0, "labels": 0}
        smallest |= {"processes": 1, "nodes": 1, "channels": 1, "kl_warmup": 0, "evaluate_every": 1}
        for name, least in smallest.items():
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}; got {getattr(self, name)}")
        if self.data.batch_size < 1:
            raise ConfigError(f"data.batch_size must be at least 1; got {self.data.batch_size}")
        if not self.learning_rate > 0:
            raise ConfigError(f"learning_rate must be positive; got {self.learning_rate}")
        if not self.kl_start >= 0:
            raise ConfigError(f"kl_start must be at least 0; got {self.kl_start}")
        if self.kl_start and not self.kl_warmup:
            raise ConfigError(
                f"kl_start {self.kl_start} has no effect over no epochs: give kl_warmup, the epochs it takes to 1"
            )
        if not self.label_weight > 0:
            raise ConfigError(f"label_weight must be positive; got {self.label_weight}")
        if not self.consistency >= 0:
            raise ConfigError(f"consistency must be at least 0; got {self.consistency}")
        if not 0 <= (self.dropout or 0.0) < 1:
            raise ConfigError(f"dropout must be at least 0 and below 1; got {self.dropout}")
        if self.dropout_decay != "none" and not self.dropout:
            raise ConfigError(
                "dropout_decay has no effect without dropout: give dropout, the share at the start"
            )
        foreign = FOREIGN[self.model]
        defaults = {field.name: field.default for field in fields(self) if field.name in foreign}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                raise ConfigError(f"{name} has no meaning with model {self.model}; got {getattr(self, name)}")
        if (self.model == "attributes") != (self.data.name == CELEBA):
            raise ConfigError(
                f"the model attributes goes with the images of celeba, and they with no other: --model attributes "
                f"--data.name celeba; got {self.model} and {self.data.name}"
            )
        if self.model == "attributes" and self.encoder == "categorical":
            raise ConfigError("attributes are bits: encoder must be independent, supermodular or general")

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        data = Path(self.data.name).stem
        if self.model == "mixture":
            return f"{data}-mixture{self.k}-{self.labels}labels-{self.estimator}-seed{self.seed}"
        if self.model == "attributes":
            known = f"{self.encoder}-{self.labels}labels"
            return f"{data}-{known}-{self.estimator}-{self.solver}-seed{self.seed}"
        latent = f"{self.encoder}{self.latent}"
        return f"{data}-{latent}-{self.estimator}-{self.solver}-{self.recipe}-seed{self.seed}"

    @property
    def latent(self) -> int:
        """Binary latent variables, or categories."""
        if self.model == "attributes":
            return len(ATTRIBUTES)
        return self.k if self.model == "mixture" or self.encoder == "categorical" else self.n

    def to_dict(self) -> dict[str, Any]:
        """Plain values, nested as the attributes are."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """The inverse of `to_dict`, with every key and every type checked.

        A missing key has its default, at every level: the run may be older than the key.

        Raises:
            ConfigError: a key is unknown, or a value impossible.
        """
        refuse_foreign(values, cls)  # before a parser that can import sees it
        parser = _parser()
        try:
            chosen = parser.instantiate(parser.parse_object(values))
            return cls(**{field.name: chosen[field.name] for field in fields(cls)})
        except (ArgumentError, TypeError) as error:
            raise ConfigError(f"not a training configuration: {error}") from error


@cache
def _parser() -> ArgumentParser:
    """Made once: it reads the whole signature."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(TrainConfig, as_group=False)
    return parser
