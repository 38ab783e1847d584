"""Make the solver, estimator and posterior of a configuration, if they fit the encoder."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias, cast

import torch

from models import AttributeVAE, CategoricalPotentials, DiscreteVAE, MixtureVAE
from models.errors import SettingError
from models.potentials import AnyPotentials
from models.priors import Prior
from solvers import Problem, UnsupportedProblemError, solve
from solvers.solving.selection import resolve

from ..distributions import POSTERIORS, Gibbs
from ..distributions.argmax import AnySolver, argmax
from ..errors import ConfigError
from ..estimators import Estimator
from ..estimators.options import EstimatorOptions
from ..estimators.registry import ESTIMATORS
from ..objectives.label_losses import ArgmaxLoss, LabelLoss, RelaxedLoss, exact_loss
from ..seeds import Stream, torch_seeded
from .config import FROM_PYTHON, GIBBS, EstimatorConfig, LabelConfig, RecipeConfig, known

AnyDiscreteVAE: TypeAlias = DiscreteVAE | MixtureVAE | AttributeVAE
"""The kinds of potentials whose gradients need an estimator."""


def options_of(
    config: EstimatorConfig, solver: AnySolver, n: int, samples: int
) -> EstimatorOptions:
    """Return the options of an estimator in a configuration, for latent states of length n."""
    return EstimatorOptions(
        n=n,
        solver=solver,
        samples=samples,
        completions=config.completions or None,
        sides=known(config.sides),
        epsilon=config.epsilon.schedule(),
        epsilon_rule=config.epsilon_rule,
        temperature=config.temperature,
    )


def fitting_solver(name: str, vae: AnyDiscreteVAE) -> AnySolver:
    """Return the solver with this name, if it accepts the encoder's potentials.

    The solver is tried on the most difficult potentials that the encoder can give, which also
    compiles its kernels. Categories without pairwise scores need no solver, but the name must still
    be valid. Categories with pairwise scores use solvers of `solvers.labels`, and the function
    returns the name.

    Raises:
        ConfigError: the solver does not fit; the message names solvers that do.
        solvers.SolverError: the solver is unknown or its package missing.
    """
    worst = _worst(vae, name)
    if worst.categorical:
        return _label_solver(name, worst)
    problem = Problem.from_arrays(worst.unary, worst.pairwise, edges=worst.edges)
    solver = resolve(name, problem)
    try:
        solve(problem, solver=solver)
    except UnsupportedProblemError as error:
        raise ConfigError(f"this encoder does not fit: {error}") from error
    if name == "auto":
        # The scores of a step decide again: those on a device need no solver of the host.
        return name
    return solver


def _label_solver(name: str, worst: AnyPotentials) -> AnySolver:
    if worst.pairwise is None:
        return resolve(name, Problem.from_arrays(worst.unary))
    try:
        argmax(worst, name)
    except UnsupportedProblemError as error:
        raise ConfigError(f"this encoder does not fit: {error}") from error
    return name


def fitting_estimator(
    config: EstimatorConfig, vae: AnyDiscreteVAE, solver: AnySolver, custom: Estimator | None = None
) -> Estimator:
    """Return the configured or passed estimator, if it accepts the encoder's potentials.

    Raises:
        ConfigError: the estimator does not fit; the message names estimators that do.
        EstimatorError: an option of the estimator is out of range.
    """
    if custom is not None and custom.over is not None:
        _restrict(vae, custom)
    worst = _worst(vae, config.backend)
    estimator = custom or _estimator(config.estimator, config, solver, vae.n, config.samples)
    if config.distribution != GIBBS:  # an estimator from Python may draw from another one
        estimator.draw_from(POSTERIORS[config.distribution])
    if reasons := _misfit(estimator, worst):
        fitting_names = [
            name
            for name in ESTIMATORS
            if not _misfit(_estimator(name, config, solver, vae.n), worst)
        ]
        of = ""
        if config.encoder_name:
            of = f" {config.encoder_name}"
        if custom:
            name = type(custom).__name__
        else:
            name = config.estimator
        raise ConfigError(
            f"the estimator {name} does not fit the encoder{of}: "
            f"{'; '.join(reasons)}. Estimators that fit: {', '.join(fitting_names)}"
        )
    return estimator


def _restrict(vae: AnyDiscreteVAE, estimator: Estimator) -> None:
    """Restrict a VAE to the states that an estimator draws.

    Raises:
        ConfigError: the VAE cannot be restricted to them.
    """
    space = estimator.over
    restrict = getattr(vae, "restrict", None)
    if restrict is None:
        raise ConfigError(
            f"this {type(estimator).__name__} draws only states of {space}, and a "
            f"{type(vae).__name__} has all states of its bits: give the estimator a solver"
        )
    try:
        restrict(space)
    except SettingError as error:
        raise ConfigError(
            f"this {type(estimator).__name__} draws only states of {space}: {error}"
        ) from error


def seeded_estimator(
    config: EstimatorConfig, vae: AnyDiscreteVAE, solver: AnySolver, custom: Estimator | None
) -> Estimator:
    """Return the estimator of a training, with its parameters initialised from the seed.

    Raises:
        ConfigError: the estimator does not fit; the message names estimators that do.
    """
    with torch_seeded(config.seed, Stream.ESTIMATOR):
        return fitting_estimator(config, vae, solver, custom)


def require_whole_bound(config: EstimatorConfig, estimator: Estimator) -> None:
    """Raise if an estimator optimises anything other than the one-sample bound.

    Raises:
        ConfigError: the estimator has another objective.
    """
    if estimator.kl in ("weighted", "none"):
        raise ConfigError(
            f"the estimator {config.estimator} does not train the bound, which is what the model "
            f"{config.model} needs"
        )


def check_prior(config: RecipeConfig, estimator: Estimator, prior: Prior) -> None:
    """Raise if a learnt prior would not be trained, or its log Z cannot be computed.

    Raises:
        ConfigError: the prior would not be trained, or its log Z cannot be computed.
    """
    if config.recipe == "paper" and estimator.kl == "folded":
        raise ConfigError(
            "a learnt prior is trained by the KL, which the recipe paper leaves out with the "
            "estimator "
            f"{config.estimator}: set recipe to elbo"
        )
    try:
        prior.described(
            of_potentials=lambda scores: Gibbs(scores).log_partition,
            of_density=lambda density: None,
        )
    except UnsupportedProblemError as error:
        raise ConfigError(f"the prior's log Z is out of reach: {error}") from error


def label_loss_of(config: LabelConfig, solver: AnySolver) -> LabelLoss | None:
    """Return the loss of labelled images for an estimator; None if there are no labels."""
    if not config.labels:
        return None
    losses: dict[str, LabelLoss] = {
        "direct": ArgmaxLoss(solver),
        "table_direct": ArgmaxLoss(solver),
        "gumbel_softmax": RelaxedLoss(config.temperature),
        "straight_through": RelaxedLoss(config.temperature),
    }
    return losses.get(config.estimator, exact_loss)


def _estimator(
    name: str, config: EstimatorConfig, solver: AnySolver, n: int, samples: int | None = None
) -> Estimator:
    if name == FROM_PYTHON:
        raise ConfigError(
            "the estimator of this training was passed in Python: pass it again, estimator=..."
        )
    estimator = ESTIMATORS[name]
    if samples is None:
        samples = estimator.usual_samples
    return estimator.of_options(options_of(config, solver, n, samples))


def _misfit(estimator: Estimator, potentials: AnyPotentials) -> tuple[str, ...]:
    """Return why an estimator, or the distribution it needs, cannot take these potentials."""
    reasons = estimator.why_not(potentials)
    if reasons:
        return reasons
    q = estimator.summed(potentials)
    if q is None or not q.tractable:
        return ()
    try:
        q.kl()
    except UnsupportedProblemError as error:
        return (f"it needs the Gibbs distribution, which is out of reach: {error}",)
    return ()


def _worst(vae: AnyDiscreteVAE, solver: str = "auto") -> AnyPotentials:
    """Return the most difficult potentials of one image that the encoder can give.

    They are those of an encoder of this package if every output of its network is -1. Tables of
    pairwise scores penalise equal values instead.

    The signs of a custom encoder's pairwise scores are unknown. For `auto` they are made negative,
    so that it chooses a solver for every sign. A named solver is only checked on the potentials of
    a blank image.
    """
    probe = vae.probe()
    if vae.own:
        return _worst_of_own(probe, solver)
    return _worst_tables(probe)


def _worst_tables(potentials: AnyPotentials) -> AnyPotentials:
    """Return potentials whose tables penalise equal values, which no graph cut accepts.

    Every variable prefers value 0 so much that the argmax is easy. Potentials of bits, and those
    without tables, are returned unchanged.
    """
    if not potentials.categorical or potentials.edges is None or potentials.pairwise is None:
        return potentials
    e = len(potentials.edges)
    categories = cast("CategoricalPotentials", potentials)
    unary = torch.zeros_like(potentials.unary)
    categories.apart(unary)[..., 0] = 2.0 * categories.variables
    punished = torch.eye(categories.k).flatten().repeat(e)
    if categories.potts:
        punished = torch.ones(e)
    return replace(categories, unary=unary, pairwise=-punished.expand_as(potentials.pairwise))


def _worst_of_own(blank: AnyPotentials, solver: str) -> AnyPotentials:
    if solver != "auto":
        return blank
    if blank.categorical:
        return _worst_tables(blank)
    pairwise = None
    if blank.pairwise is not None:
        pairwise = -torch.ones_like(blank.pairwise)
    return replace(blank, unary=-torch.ones_like(blank.unary), pairwise=pairwise)
