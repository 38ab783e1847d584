"""The options of a training run, their form in a file, and what must hold of them."""

from __future__ import annotations

import math
from argparse import ArgumentError
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from jsonargparse import ArgumentParser

from ..data import ATTRIBUTES, CELEBA, IN_MEMORY, dataset_names, usual_binarisation
from ..errors import ConfigError, shortened
from ..schedules import ExponentialDecay
from .plain_values import mistyped, refuse_foreign

Model = Literal["discrete", "mixture", "attributes", "own"]
Encoder = Literal["independent", "supermodular", "general", "categorical", "gaussian"]
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
    "ram",
    "implicit_mle",
    "perturbed_argmax",
    "own",
]
Couplings = Literal["none", "potts", "general"]
Prior = Literal["uniform", "factorised", "gibbs"]
Styles = Literal["shared", "own"]
Logger = Literal["tensorboard", "csv", "wandb", "mlflow", "none"]
Decay = Literal["none", "cosine"]
Precision = Literal["32-true", "bf16-mixed"]
EpsilonRule = Literal["schedule", "scale_free", "adaptive"]
Sides = Literal[1, 2]
Recipe = Literal["paper", "elbo"]
Device = Literal["auto", "cpu", "cuda"]
TrainOn = Literal["train", "train+validation"]
Known = TypeVar("Known")


@dataclass(frozen=True)
class DataConfig:
    """The images.

    Attributes:
        name: fashion-mnist-mini (ships with the package), fashion-mnist, mnist, omniglot or celeba;
            an .npz file with train_images, validation_images and test_images, uint8 [count, height,
            width]; or a folder of PNG or JPEG files.
        root: folder that holds fashion-mnist/, mnist/, omniglot/ and celeba/; default: the
            environment variable STRUCTURED_VAE_DATA, then a per-user cache filled by download.
        binarisation: threshold (grey > 0.5), static (drawn once), dynamic (drawn anew in every
            training step) or none; default: threshold, and none for celeba.
        batch_size: images a step.
        train_on: the split train; or train+validation, all images that are not for the test, as the
            released code does, which leaves none to choose an epoch by: the best one is then of
            images that were trained on.
    """

    name: str = "fashion-mnist-mini"
    root: str | None = None
    binarisation: str | None = None
    batch_size: int = 100
    train_on: TrainOn = "train"

    @property
    def is_path(self) -> bool:
        """Whether the images are a file or folder of one's own: no name of ours, and not in memory."""
        return self.name not in dataset_names() and not self.name.startswith(IN_MEMORY)


@dataclass(frozen=True)
class EpsilonConfig:
    """The step of direct, table_direct and implicit_mle, as it decays: max(floor, start * exp(-rate * step)).

    Attributes:
        start: at the first training step; default: 0.1, and with the recipe paper the paper's 1.
        rate: decay a step.
        floor: smallest value.
        every: steps between renewals.
    """

    start: float | None = None
    rate: float = 1e-5
    floor: float = 0.1
    every: int = 1000

    def schedule(self) -> ExponentialDecay:
        """The values, once `start` is known."""
        return ExponentialDecay(**asdict(self))


@dataclass(frozen=True)
class TrainConfig:
    """A training run; everything that decides its result is here.

    Attributes:
        model: discrete, with bits or categories alone; mixture, a class with a continuous style,
            whose networks are the paper's; attributes, eight bits with a continuous code, for
            celeba; or own, networks that are given in Python. Options of the other models are
            refused.
        encoder: posterior over n bits: independent, supermodular (pairwise scores >= 0) or general;
            or categorical, over one or more variables of k categories; of attributes one of the
            first three. gaussian is the reference beside them: n continuous dimensions and the same
            layers, with gradients by reparameterisation.
        estimator: of the encoder's gradient: direct, table_direct, exact, maximum_likelihood,
            score_function, gumbel_softmax, straight_through, rebar, relax, arm, disarm, ram,
            implicit_mle, perturbed_argmax, or own, one that is given in Python.
        solver: argmax backend, see `structured-vae solvers`; auto picks the fastest exact one.
        recipe: elbo, which trains the whole bound, the default of discrete and own; or paper, in
            which direct does not train the KL, as in the released code, and what is not set below
            has the paper's value.
        n: binary latent variables.
        bandwidth: of an encoder with pairwise scores: they are of variables at most so far apart in
            their order, 1 for a chain, whose Gibbs distribution is in reach at any n; 0 for all
            pairs.
        k: categories of the categorical encoder, or classes of the mixture.
        variables: of the categorical encoder, with k categories each.
        couplings: of these: none; potts, a score for equal categories of two variables; or general,
            one for every pair of categories.
        hidden: units of the hidden layers.
        data: the images.
        kl_warmup: epochs over which the weight of the KL goes from kl_start to 1, in equal steps; 0
            for none; default: a quarter of them with the recipe elbo and at most 2^10 states, or
            where kl_start is given; else 0.
        kl_start: 0 lets the encoder use a code before it pays for it; above 1 spreads the posterior
            over all states at first, so that none is given up early (deterministic annealing);
            default: 30 for one variable of k values, else 10, and 0 where kl_warmup is given or 0.
        samples: latent states drawn for a gradient; default: 1, score_function 4, perturbed_argmax
            8.
        completions: bits of which ram, and direct of independent bits, try the other value, chosen
            at random in every step; 0 for all.
        sides: of direct and table_direct: 2 for z(-epsilon) in the place of z*, or 1; default: 2
            with the recipe elbo but for codes of up to ten bits from 100 epochs on, else 1.
        epsilon: step of direct, table_direct and implicit_mle, as it decays over training, or in
            Python a number for all steps; starts at 0.1, with the recipe paper at 1, which learns
            more slowly.
        epsilon_rule: schedule; scale_free (in units of the mean change of the cost); or adaptive
            (starts at epsilon.start and keeps half of the argmaxes moving).
        temperature: of gumbel_softmax and straight_through, as it decays over training, or in
            Python a number.
        learning_rate: of Adam; default: 0.002 where it falls with the recipe elbo or the encoder
            gaussian, else 0.001.
        rate_decay: cosine, which lowers the learning rate to zero over all epochs; or none;
            default: cosine with the recipe elbo and the encoder gaussian, else none.
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
        labels: training images whose classes, as many of each, or attributes the model sees; 0 for
            none.
        label_weight: of their loss beside the bound, in nats an image.
        consistency: weight of the same loss of images decoded from attributes, by which the decoder
            learns to show them; 0 for none. Without labels it has no effect.
        dropout: share of the values of an image that the encoder does not see in a training step;
            default: 0.2 of a mixture and of attributes, else 0.
        dropout_decay: none; or cosine, which lowers dropout to zero over all epochs.
        channels: of the first convolution for attributes; the others have 2, 4 and 4 times as many.
        prior: over the latent states: uniform; or learnt with the networks, factorised or gibbs,
            which has a score for every pair of bits.
        styles: of the mixture: shared by all classes, or own, a distribution of the style for each
            class, as in the released code.
        patience: evaluations without a better one after which the training ends early; 0 for none.
        logger: where curves go beside metrics.csv: tensorboard, csv, wandb, mlflow or none.
    """

    model: Model = "discrete"
    encoder: Encoder = "general"
    estimator: Estimator = "direct"
    solver: str = "auto"
    recipe: Recipe | None = None
    n: int = 15
    bandwidth: int = 0
    k: int = 10
    variables: int = 1
    couplings: Couplings = "none"
    hidden: int = 300
    kl_warmup: int | None = None
    kl_start: float | None = None
    data: DataConfig = field(default_factory=DataConfig)
    samples: int | None = None
    completions: int = 0
    sides: Sides | None = None
    epsilon: EpsilonConfig = field(default_factory=EpsilonConfig)
    epsilon_rule: EpsilonRule = "schedule"
    temperature: ExponentialDecay = field(default_factory=ExponentialDecay)
    learning_rate: float | None = None
    rate_decay: Decay | None = None
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
    prior: Prior = "uniform"
    styles: Styles = "shared"
    patience: int = 0
    logger: Logger = "tensorboard"

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.generic):  # a record holds plain values
                object.__setattr__(self, name, value.item())
        for name, kind in (("epsilon", EpsilonConfig), ("temperature", ExponentialDecay)):
            value = getattr(self, name)
            if type(value) in (int, float):  # at every step
                object.__setattr__(self, name, kind(start=float(value), floor=float(value)))
        if isinstance(self.epsilon, ExponentialDecay):
            object.__setattr__(self, "epsilon", EpsilonConfig(**asdict(self.epsilon)))
        if fault := next(mistyped(self), None):
            raise ConfigError(fault)
        if self.data.binarisation is None:  # a record says what was done
            named = replace(self.data, binarisation=usual_binarisation(self.data.name))
            object.__setattr__(self, "data", named)
        for name, value in _unset(self).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        if self.epsilon.start is None:
            object.__setattr__(self, "epsilon", replace(self.epsilon, start=_first_epsilon(self)))
        if fault := next(_faults(self), None):
            raise ConfigError(fault)
        self.epsilon.schedule()  # which refuses what is none

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        data = Path(self.data.name).stem
        if self.model == "mixture":
            own = "-own-styles" if self.styles == "own" else ""
            return (
                f"{data}-mixture{self.k}{own}-{self.labels}labels-{self.estimator}-seed{self.seed}"
            )
        if self.model == "attributes":
            known = f"{self.encoder}-{self.labels}labels"
            return f"{data}-{known}-{self.estimator}-{self.solver}-seed{self.seed}"
        if self.kind == "gaussian":
            return f"{data}-gaussian{self.n}-seed{self.seed}"
        latent = "own" if self.model == "own" else f"{self.encoder}{self.latent}"
        if self.variables > 1:
            latent = f"{self.encoder}{self.variables}x{self.k}-{self.couplings}"
        if self.bandwidth:
            latent += f"-band{self.bandwidth}"
        if self.prior != "uniform":
            latent += f"-{self.prior}-prior"
        return f"{data}-{latent}-{self.estimator}-{self.solver}-{self.recipe}-seed{self.seed}"

    @property
    def kind(self) -> str:
        """The model, or gaussian: what has options of its own."""
        return "gaussian" if self.model == "discrete" and self.encoder == "gaussian" else self.model

    @property
    def latent(self) -> int:
        """Latent variables, or categories; those of networks of one's own are not in a configuration."""
        if self.model == "attributes":
            return len(ATTRIBUTES)
        return self.k if self.model == "mixture" or self.encoder == "categorical" else self.n

    def to_dict(self) -> dict[str, Any]:
        """Plain values, nested as the attributes are."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """The inverse of `to_dict`, with every key and every type checked.

        A missing key has what runs had that are older than the key: `OLDER`, else its default. A k
        of bits and an n of categories, which had no effect when they could be given, are the
        default's.

        Raises:
            ConfigError: a key is unknown, or a value impossible.
        """
        refuse_foreign(values, cls)  # before a parser that can import sees it
        parser = _parser()
        whole = {**OLDER, **values, "epsilon": {**OLDER["epsilon"], **values.get("epsilon", {})}}
        if whole.get("model", cls.model) == "discrete":
            whole.pop("n" if whole.get("encoder", cls.encoder) == "categorical" else "k", None)
        try:
            chosen = parser.instantiate(parser.parse_object(whole))
            return cls(**{field.name: chosen[field.name] for field in fields(cls)})
        except (ArgumentError, TypeError) as error:
            raise ConfigError(f"not a training configuration: {error}") from error


FEW_BITS: Final = 10
"""A code of no more states than these bits have is annealed: where states are few, some are soon given up for good."""

LONG: Final = 100
"""From so many epochs on a code of few bits ends lower with one side, which learns it more slowly."""

OLDER: Final[dict[str, Any]] = {
    "recipe": "paper",
    "sides": 1,
    "epsilon": {"start": 0.1},
    "kl_start": 0.0,
    "kl_warmup": 0,
    "learning_rate": 1e-3,
    "rate_decay": "none",
}
"""What runs had before it could be chosen, or before the default became another."""

CHOICES: Final = {
    name: get_args(part)
    for name, kind in get_type_hints(TrainConfig).items()
    for part in (kind, *get_args(kind))
    if get_origin(part) is Literal
}
"""The values of an option that has few."""

LEAST: Final = {
    "epochs": 1,
    "n": 1,
    "bandwidth": 0,
    "k": 2,
    "variables": 1,
    "hidden": 1,
    "completions": 0,
    "kl_warmup": 0,
    "seed": 0,
    "evaluate_every": 1,
    "picture_every": 0,
    "processes": 1,
    "nodes": 1,
    "labels": 0,
    "channels": 1,
    "patience": 0,
}
"""The smallest value of what is counted."""

_LABELS = ("labels", "label_weight", "consistency", "channels", "styles")
_COUPLED = ("bandwidth", "variables", "couplings")
_KL = ("kl_warmup", "kl_start", "prior")
_GRADIENT = (
    *("estimator", "solver", "recipe", "samples", "completions", "sides"),
    *("epsilon", "epsilon_rule", "temperature"),
)

FOREIGN: Final = {
    "discrete": _LABELS,
    "gaussian": (*_GRADIENT, *_COUPLED, "k", "prior", *_LABELS),
    "mixture": (
        "encoder",
        "solver",
        "recipe",
        "n",
        *_COUPLED,
        "hidden",
        *_KL,
        "consistency",
        "channels",
    ),
    "attributes": ("recipe", "n", "k", *_COUPLED, "hidden", *_KL, "styles"),
    "own": ("encoder", "n", "k", *_COUPLED, "hidden", "prior", *_LABELS),
}
"""What each kind of model has no use for, and so must not be set."""

RULES: Final[tuple[tuple[Callable[[TrainConfig], bool], str], ...]] = (
    (
        lambda c: c.data.train_on in get_args(TrainOn),
        "data.train_on must be train or train+validation; got {c.data.train_on}",
    ),
    (
        lambda c: c.data.batch_size >= 1,
        "data.batch_size must be at least 1; got {c.data.batch_size}",
    ),
    (
        lambda c: 0 < known(c.learning_rate) < math.inf,
        "learning_rate must be positive and finite; got {c.learning_rate}",
    ),
    (lambda c: known(c.kl_start) >= 0, "kl_start must be at least 0; got {c.kl_start}"),
    (
        lambda c: c.kl_start == 0 or known(c.kl_warmup) > 0,
        "kl_start {c.kl_start} has no effect over no epochs: give kl_warmup, the epochs it takes to 1",
    ),
    (lambda c: c.label_weight > 0, "label_weight must be positive; got {c.label_weight}"),
    (lambda c: c.consistency >= 0, "consistency must be at least 0; got {c.consistency}"),
    (
        lambda c: 0 <= (c.dropout or 0.0) < 1,
        "dropout must be at least 0 and below 1; got {c.dropout}",
    ),
    (
        lambda c: c.dropout_decay == "none" or bool(c.dropout),
        "dropout_decay has no effect without dropout: give dropout, the share at the start",
    ),
    (
        lambda c: (c.model == "attributes") == (c.data.name == CELEBA),
        "the model attributes goes with the images of celeba, and they with no other: --model attributes "
        "--data.name celeba; got {c.model} and {c.data.name}",
    ),
    (
        lambda c: c.model != "attributes" or c.encoder not in ("categorical", "gaussian"),
        "attributes are bits: encoder must be independent, supermodular or general",
    ),
    (
        lambda c: c.variables == 1 or c.encoder == "categorical",
        "variables is of the encoder categorical; of {c.encoder} it is n; got {c.variables}",
    ),
    (
        lambda c: c.kind != "discrete" or c.encoder == "categorical" or c.k == TrainConfig.k,
        "k is of the encoder categorical; of {c.encoder} there are n bits: give n, or encoder categorical; got {c.k}",
    ),
    (
        lambda c: c.encoder != "categorical" or c.n == TrainConfig.n,
        "n is of bits; of the encoder categorical there are variables of k categories: give these; got {c.n}",
    ),
    (
        lambda c: c.couplings == "none" or c.variables > 1,
        "couplings are of several variables of the encoder categorical: give variables; got {c.couplings}",
    ),
    (
        lambda c: (
            not c.bandwidth or c.encoder in ("supermodular", "general") or c.couplings != "none"
        ),
        "bandwidth is of pairwise scores, which the encoder {c.encoder} has not; got {c.bandwidth}",
    ),
    (
        lambda c: not c.completions or c.estimator in ("ram", "direct"),
        "completions has no meaning with the estimator {c.estimator}; got {c.completions}",
    ),
    (
        lambda c: c.prior != "gibbs" or c.encoder != "categorical",
        "prior gibbs has scores for pairs of bits, and there are categories: prior must be uniform or factorised",
    ),
    (
        lambda c: c.prior == "uniform" or c.variables == 1,
        "the prior of several variables of categories is uniform; got {c.prior}",
    ),
    (
        lambda c: c.model != "own" or c.precision == "32-true",
        "precision bf16-mixed is that of our layers; of networks of your own it must be 32-true",
    ),
)
"""What must hold of a configuration c (of nan nothing does), and what is said where it does not."""


def _faults(config: TrainConfig) -> Iterator[str]:
    """What is wrong with a configuration; each part relies on those before it."""
    values = vars(config)
    for name, choices in CHOICES.items():
        if values[name] not in choices:
            yield f"{name} must be one of {', '.join(map(str, choices))}; got {shortened(values[name])}"
    for name, least in LEAST.items():
        if values[name] < least:
            yield f"{name} must be at least {least}; got {shortened(values[name])}"
    unset = {field.name: _default(field) for field in fields(config)} | _unset(config)
    unset["epsilon"] = replace(unset["epsilon"], start=_first_epsilon(config))
    for name in FOREIGN[config.kind]:
        if values[name] != unset[name]:
            what = "encoder gaussian" if config.kind == "gaussian" else f"model {config.model}"
            yield f"{name} has no meaning with {what}; got {shortened(values[name])}"
    for holds, message in RULES:
        if not holds(config):
            yield message.format(c=config)


def known(value: Known | None) -> Known:
    """An option that has a value once its configuration is made."""
    if value is None:
        raise TypeError("an option is not known before its configuration is made")
    return value


def _unset(config: TrainConfig) -> dict[str, Any]:
    """What options are where they are not set, which depends on others.

    Those of a whole bound are what came out best on validation images (`results/defaults.json`).
    """
    recipe = "elbo" if config.kind in ("discrete", "own") else "paper"
    whole = (config.recipe or recipe) == "elbo"
    decay = config.rate_decay or ("cosine" if whole or config.kind == "gaussian" else "none")
    bits = config.variables * math.log2(config.k) if config.encoder == "categorical" else config.n
    one_variable = config.encoder == "categorical" and config.variables == 1
    few = config.kind == "discrete" and bits <= FEW_BITS
    annealed = 30.0 if one_variable else 10.0
    warmup = config.epochs // 4 if (whole and few) or config.kl_start else 0
    return {
        "recipe": recipe,
        "sides": 2 if whole and (one_variable or not few or config.epochs < LONG) else 1,
        "rate_decay": decay,
        "learning_rate": 2e-3
        if decay == "cosine" and (whole or config.kind == "gaussian")
        else 1e-3,
        "kl_start": annealed if whole and few and warmup and config.kl_warmup is None else 0.0,
        "kl_warmup": warmup,
        "dropout": 0.2 if config.model in ("mixture", "attributes") else 0.0,
    }


def _first_epsilon(config: TrainConfig) -> float:
    return 1.0 if config.recipe == "paper" and config.kind == "discrete" else 0.1


def _default(option: Field[Any]) -> Any:
    """The value of an option that is not set."""
    return option.default if option.default_factory is MISSING else option.default_factory()


@cache
def _parser() -> ArgumentParser:
    """Made once: it reads the whole signature."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(TrainConfig, as_group=False)
    return parser
