"""The solver, estimator and posterior that a configuration names, and whether they fit the encoder."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import torch

from models import AttributeVAE, CategoricalPotentials, DiscreteVAE, MixtureVAE
from models.errors import SettingError
from models.potentials import AnyPotentials
from models.priors import Prior
from solvers import Problem, UnsupportedProblemError, resolve, solve

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
"""Those whose gradients need an estimator."""


def options_of(
    config: EstimatorConfig, solver: AnySolver, n: int, samples: int
) -> EstimatorOptions:
    """Return what a configuration says of an estimator of latent states of length n."""
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
    """The solver of that name, if it takes what the encoder gives.

    It is tried on the least convenient potentials that the encoder can give; this also compiles the
    solver's kernels. Categories without pairwise scores need no solver; the name must be right all
    the same. Those with them have solvers of `solvers.labels`, and the answer is the name.

    Raises:
        ConfigError: it does not fit; the message names solvers that do.
        solvers.SolverError: it is unknown or its package missing.
    """
    worst = _worst(vae, name)
    if isinstance(worst, CategoricalPotentials):
        return _label_solver(name, worst)
    problem = Problem.from_arrays(worst.unary, worst.pairwise, edges=worst.edges)
    solver = resolve(name, problem)
    try:
        solve(problem, solver=solver)
    except UnsupportedProblemError as error:
        raise ConfigError(f"this encoder does not fit: {error}") from error
    return solver


def _label_solver(name: str, worst: CategoricalPotentials) -> AnySolver:
    if worst.pairwise is None:
        return resolve(name, Problem.from_arrays(worst.unary))
    try:
        argmax(worst, name)
    except UnsupportedProblemError as error:
        raise ConfigError(f"this encoder does not fit: {error}") from error
    return name


def fitting_estimator(
    config: EstimatorConfig, vae: AnyDiscreteVAE, solver: AnySolver, given: Estimator | None = None
) -> Estimator:
    """The estimator that a configuration names, or that was given, if it takes what the encoder gives.

    Raises:
        ConfigError: it does not fit; the message names estimators that do.
        EstimatorError: an option of it is out of range.
    """
    if given is not None and given.over is not None:
        _restrict(vae, given)
    worst = _worst(vae, config.backend)
    estimator = given or _estimator(config.estimator, config, solver, vae.n, config.samples)
    if config.distribution != GIBBS:  # an estimator from Python may draw from another one
        estimator.draw_from(POSTERIORS[config.distribution])
    if reasons := _misfit(estimator, worst):
        able = [
            name
            for name in ESTIMATORS
            if not _misfit(_estimator(name, config, solver, vae.n), worst)
        ]
        of = f" {config.encoder_name}" if config.encoder_name else ""
        raise ConfigError(
            f"the estimator {type(given).__name__ if given else config.estimator} does not fit the encoder{of}: "
            f"{'; '.join(reasons)}. These do: {', '.join(able)}"
        )
    return estimator


def _restrict(vae: AnyDiscreteVAE, estimator: Estimator) -> None:
    """Let a VAE be over the states that an estimator draws.

    Raises:
        ConfigError: it cannot be.
    """
    space = estimator.over
    restrict = getattr(vae, "restrict", None)
    if restrict is None:
        raise ConfigError(
            f"this {type(estimator).__name__} draws states of {space} alone, and a "
            f"{type(vae).__name__} has all states of its bits: give the estimator a solver"
        )
    try:
        restrict(space)
    except SettingError as error:
        raise ConfigError(
            f"this {type(estimator).__name__} draws states of {space} alone: {error}"
        ) from error


def seeded_estimator(
    config: EstimatorConfig, vae: AnyDiscreteVAE, solver: AnySolver, given: Estimator | None
) -> Estimator:
    """Return the estimator of a training, whose own parameters start from the seed.

    Raises:
        ConfigError: it does not fit; the message names estimators that do.
    """
    with torch_seeded(config.seed, Stream.ESTIMATOR):
        return fitting_estimator(config, vae, solver, given)


def require_whole_bound(config: EstimatorConfig, estimator: Estimator) -> None:
    """Refuse an estimator of another objective than the bound from one sample.

    Raises:
        ConfigError: it does.
    """
    if estimator.kl in ("weighted", "none"):
        raise ConfigError(
            f"the estimator {config.estimator} does not train the bound, which is what the model "
            f"{config.model} needs"
        )


def check_prior(config: RecipeConfig, estimator: Estimator, prior: Prior) -> None:
    """Refuse a learnt prior that nothing would train, or whose log Z is out of reach.

    Raises:
        ConfigError: it is one.
    """
    if config.recipe == "paper" and estimator.kl == "folded":
        raise ConfigError(
            "a learnt prior is trained by the KL, which the recipe paper leaves out with the estimator "
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
    """What an estimator makes of labelled images; None where there are none."""
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
            "the estimator of this training was given in Python: give it again, estimator=..."
        )
    estimator = ESTIMATORS[name]
    if samples is None:
        samples = estimator.usual_samples
    return estimator.of_options(options_of(config, solver, n, samples))


def _misfit(estimator: Estimator, potentials: AnyPotentials) -> tuple[str, ...]:
    """Why an estimator, or the distribution whose sums it needs, cannot take these potentials."""
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
    """Potentials of one image, all outputs of the encoder's network being negative.

    Of an encoder that is not ours nobody knows which signs its pairwise scores can take. They are
    negative for `auto`, which then chooses what takes every sign; who names a solver is believed,
    as far as a blank image shows.
    """
    probe = vae.probe()
    if vae.own:
        return _worst_of_own(probe, solver)
    return _worst_tables(probe) if isinstance(probe, CategoricalPotentials) else probe


def _worst_tables(potentials: CategoricalPotentials) -> CategoricalPotentials:
    """Equal values are punished, which no cut takes, and a value of each variable wins all the same, at once."""
    if potentials.edges is None or potentials.pairwise is None:
        return potentials
    unary, e, k = torch.zeros_like(potentials.unary), len(potentials.edges), potentials.k
    potentials.apart(unary)[..., 0] = 2.0 * potentials.variables
    punished = torch.ones(e) if potentials.potts else torch.eye(k).flatten().repeat(e)
    return replace(potentials, unary=unary, pairwise=-punished.expand_as(potentials.pairwise))


def _worst_of_own(blank: AnyPotentials, solver: str) -> AnyPotentials:
    if solver != "auto":
        return blank
    if isinstance(blank, CategoricalPotentials):
        return _worst_tables(blank)
    pairwise = None if blank.pairwise is None else -torch.ones_like(blank.pairwise)
    return replace(blank, unary=-torch.ones_like(blank.unary), pairwise=pairwise)
