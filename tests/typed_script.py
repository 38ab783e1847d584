"""What a type checker must see in a user's script: `test_types.py` has mypy read this file."""

from collections.abc import Iterator
from typing import Any, assert_type

import numpy as np
import torch

from models import AttributeVAE, DiscreteVAE, MixtureVAE, Potentials, load_pretrained
from models.gaussian import Gaussian
from models.potentials import AnyPotentials
from models.vaes import GaussianVAE, QuantisedVAE
from solvers import (
    Failure,
    Problem,
    Solution,
    gibbs,
    prepare,
    solve,
    solve_many,
)
from solvers.conversions import from_qubo
from solvers.gibbs_distribution import GibbsEstimate
from solvers.labels import LabelProblem
from solvers.labels.gibbs_distribution import LabelGibbs
from solvers.summing.answer import GibbsAnswer
from structured_vae import (
    ArgmaxLayer,
    Direct,
    Estimate,
    Gibbs,
    Hamming,
    StructuredHinge,
    TrainConfig,
    load_vae,
    train,
)
from structured_vae.runs import Run


def answers_are_of_the_callers_kind(unary: torch.Tensor, pairwise: torch.Tensor | None) -> None:
    solution = solve(unary, pairwise)
    assert_type(solution.z, torch.Tensor)
    # an array for a batch, a number for one instance
    assert_type(solution.score, Any)
    assert_type(solution.optimal, Any)
    assert_type(solution.bound, Any)
    assert_type(solution.seconds, float)
    assert_type(solve(torch.nn.Parameter(unary)).z, torch.Tensor)
    assert_type(solve(np.zeros(3), [[0, 1, 2], [0, 0, 3], [0, 0, 0]]).z, np.ndarray)
    assert_type(solve([1.0, -2.0]), Solution[np.ndarray])
    prepared = prepare([[0, 1]], 2)
    assert_type(prepared(unary, pairwise).z, torch.Tensor)
    assert_type(prepared([1.0, -2.0], [3.0]), Solution[np.ndarray])


def sums_are_of_the_callers_kind(unary: torch.Tensor) -> None:
    found = gibbs(unary)
    assert_type(found.log_partition, torch.Tensor)
    assert_type(found.unary_marginals, torch.Tensor)
    assert_type(found.pairwise_marginals, torch.Tensor)
    assert_type(found.samples, torch.Tensor | None)
    assert_type(found.sample([0.5]), torch.Tensor)
    assert_type(found.covariance_product(unary), tuple[torch.Tensor, torch.Tensor])
    assert_type(gibbs([0.0]).log_partition, np.ndarray)
    assert_type(found.entropy, torch.Tensor)
    problem = Problem.from_arrays(unary)
    assert_type(gibbs(problem, fix={0: 1}).sample([0.5]), torch.Tensor)
    assert_type(gibbs(problem, method="trw").log_partition, torch.Tensor)
    many = LabelProblem.from_arrays(unary)
    assert_type(gibbs(many), LabelGibbs[torch.Tensor])
    assert_type(gibbs(many, method="trw"), GibbsEstimate[LabelProblem[torch.Tensor], torch.Tensor])
    assert_type(gibbs(from_qubo({("a", "b"): -1.0}), fix={"a": 1}), GibbsAnswer)


def a_problem_remembers_the_kind(
    unary: torch.Tensor, many: Iterator[Problem[torch.Tensor]]
) -> None:
    problem = Problem.from_arrays(unary)
    assert_type(problem.unary, np.ndarray | torch.Tensor)  # numpy's where the tensor is on the host
    assert_type(problem.score([1, 0]), torch.Tensor)
    assert_type(solve(problem).z, torch.Tensor)
    assert_type(solve_many(many), Iterator[Solution[torch.Tensor] | Failure])
    for answer in solve_many(Problem.from_arrays([x, -x]) for x in (1.0, -2.0)):
        assert_type(answer, Solution[np.ndarray] | Failure)
    conversion = from_qubo({("a", "b"): -1.0})
    assert_type(conversion.value(solve(conversion.problem).z), np.ndarray)
    assert_type(conversion.value(1.0), float)


def layers_and_estimators(unary: torch.Tensor, target: torch.Tensor) -> None:
    layer = ArgmaxLayer("max_flow")
    assert_type(layer(unary), torch.Tensor)
    assert_type(layer(unary, cost=lambda z: z.sum(-1)), Estimate)
    assert_type(layer.solve(unary), tuple[torch.Tensor, Solution[torch.Tensor]])
    assert_type(StructuredHinge()(unary, edges=[[0, 1]], target=target), torch.Tensor)
    estimate = Direct()(Potentials(unary, None, None), Hamming(target), torch.Generator())
    assert_type(estimate.surrogate, torch.Tensor)
    assert_type(estimate.cost, torch.Tensor)
    assert_type(estimate.z, torch.Tensor)
    assert_type(Gibbs(Potentials(unary, None, None)).log_partition, torch.Tensor)


def trained_networks(x: torch.Tensor) -> None:
    run = train(TrainConfig(), "runs/typed")
    assert_type(run, Run)
    vae = load_vae(run.folder)
    assert_type(vae, DiscreteVAE | MixtureVAE | AttributeVAE | GaussianVAE | QuantisedVAE)
    exported = load_pretrained("exported")
    assert_type(exported, DiscreteVAE | MixtureVAE | AttributeVAE | GaussianVAE | QuantisedVAE)
    if isinstance(vae, DiscreteVAE):
        assert_type(vae.encoder(x), AnyPotentials)
        assert_type(vae.decoder(x), torch.Tensor)
    elif isinstance(vae, AttributeVAE):
        assert_type(vae.encoder(x), tuple[Potentials, Gaussian])
