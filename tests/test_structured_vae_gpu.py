"""On a GPU: every estimator trains, resumes to the same end, and computes what the host computes."""

from dataclasses import replace

import pytest
import torch
from paper_networks import paper_vae_of
from run_metrics import rows_but_times
from torch import nn

from models import Potentials, paper_vae
from models.host_edges import HostEdges
from models.networks import NetworkDecoder
from solvers import gibbs
from solvers.labels import gibbs as labels_gibbs
from structured_vae import Gibbs, TrainConfig, evaluate_run, resume, train
from structured_vae.estimators import ScoreFunction
from structured_vae.evaluation import gradient_variance
from structured_vae.spaces import space_of
from structured_vae.training.base import Training

pytestmark = pytest.mark.gpu

DEVICE = "cuda"
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
SMALL = TrainConfig(
    hidden=8,
    epochs=2,
    recipe="paper",
    epsilon=TrainConfig().epsilon,
    picture_every=0,
    device=DEVICE,
    logger="none",
)
BITS = (
    "direct",
    "score_function",
    "nvil",
    "muprop",
    "double_cv",
    "rodeo",
    "unordered_set",
    "ram",
    "implicit_mle",
    "adaptive_implicit_mle",
    "perturbed_argmax",
    "stochastic_softmax",
    "stochastic_straight_through",
    "sparse_map",
    "exact",
    "vimco",
    "ovis",
    "reweighted_wake_sleep",
)
OF_INDEPENDENT_BITS = (
    "arm",
    "disarm",
    "arms",
    "rebar",
    "relax",
    "gumbel_softmax",
    "straight_through",
    "gumbel_rao",
    "gapped_straight_through",
    "reinmax",
    "reinmax_rao",
    "reinmax_cv",
    "local_disarm",
)
INDEPENDENT = {"encoder": "independent", "n": 4}
CATEGORIES = {"encoder": "categorical", "k": 4}
CHANGES = {
    **{
        f"{name}, independent": {**INDEPENDENT, "estimator": name}
        for name in (*BITS, *OF_INDEPENDENT_BITS)
    },
    **{f"{name}, general": {"estimator": name, "n": 4} for name in BITS},
    "direct, supermodular": {"encoder": "supermodular"},
    "direct, two sides": {"sides": 2},
    "direct, some flips": {**INDEPENDENT, "completions": 2},
    "ram, chain": {"estimator": "ram", "bandwidth": 1},
    "ram, long chain": {"estimator": "ram", "bandwidth": 1, "n": 30},
    "direct, long chain": {"bandwidth": 1, "n": 30},
    "score_function, long chain": {
        "estimator": "score_function",
        "bandwidth": 1,
        "n": 30,
        "recipe": "elbo",
    },
    "direct, categories": CATEGORIES,
    "table_direct, categories": {**CATEGORIES, "estimator": "table_direct"},
    "relax, categories": {**CATEGORIES, "estimator": "relax"},
    "carms, categories": {**CATEGORIES, "estimator": "carms"},
    "direct, labels": {**CATEGORIES, "variables": 2, "couplings": "potts"},
    "ram, labels": {**CATEGORIES, "variables": 2, "couplings": "general", "estimator": "ram"},
    "direct, mixed precision": {"precision": "bf16-mixed"},
    "direct, dropout": {"dropout": 0.2},
    "mixture": {"model": "mixture", "labels": 20, "hidden": TrainConfig().hidden},
    "gaussian": {"encoder": "gaussian"},
}


def on_device(*tensors):
    return [tensor.to(DEVICE) for tensor in tensors]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.usefixtures("on_tiny_images")
def test_a_training_resumes_to_the_same_end(tmp_path, change):
    config = replace(SMALL, **change)
    train(config, tmp_path / "whole", progress=False)
    train(replace(config, epochs=1), tmp_path / "resumed", progress=False)
    resume(tmp_path / "resumed", 2, progress=False)
    assert rows_but_times(tmp_path / "whole") == rows_but_times(tmp_path / "resumed")
    whole, resumed = (
        evaluate_run(tmp_path / name, samples=2).quantities for name in ("whole", "resumed")
    )
    assert {name: each.value for name, each in whole.items()} == {
        name: each.value for name, each in resumed.items()
    }


RECORDED = {
    "straight_through, learnt prior": {
        **INDEPENDENT,
        "estimator": "straight_through",
        "prior": "made",
        "recipe": "elbo",
        "dropout": 0.2,
        "dropout_decay": "cosine",
    },
    "nvil, independent": {**INDEPENDENT, "estimator": "nvil"},
    "score_function, general": {"estimator": "score_function", "n": 4},
    "direct, independent": INDEPENDENT,
    "direct, general": {"n": 4},
    "direct, long chain": {"bandwidth": 1, "n": 30},
    "ram, general": {"estimator": "ram", "n": 4},
    "ram, long chain": {"estimator": "ram", "bandwidth": 1, "n": 30},
    "unordered_set, general": {"estimator": "unordered_set", "n": 4},
    "ram, labels": {**CATEGORIES, "variables": 2, "couplings": "general", "estimator": "ram"},
    "carms, categories": {**CATEGORIES, "estimator": "carms"},
    "relax, categories": {**CATEGORIES, "estimator": "relax"},
    "gaussian": {"encoder": "gaussian"},
}


@pytest.mark.parametrize("change", RECORDED.values(), ids=RECORDED)
@pytest.mark.usefixtures("on_tiny_images")
def test_a_training_by_cuda_graphs_is_the_same_training(tmp_path, monkeypatch, change):
    replays = []
    replay = torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(
        torch.cuda.CUDAGraph, "replay", lambda graph: (replays.append(1), replay(graph))
    )
    config = replace(SMALL, **change)
    train(config, tmp_path / "recorded", progress=False)
    assert replays
    monkeypatch.setattr(Training, "record_steps", lambda training: None)
    count = len(replays)
    train(config, tmp_path / "step by step", progress=False)
    assert len(replays) == count
    assert rows_but_times(tmp_path / "recorded") == rows_but_times(tmp_path / "step by step")


@pytest.mark.parametrize("encoder", ["independent", "general", "categorical", "own"])
def test_the_changes_of_the_cost_are_those_of_the_host(encoder):
    torch.manual_seed(0)
    x, z = torch.rand(5, 9).round(), torch.rand(3, 5, 4).round()
    if encoder == "own":
        decoder = NetworkDecoder(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 9)))
    else:
        decoder = paper_vae_of(encoder, 4, pixels=9).decoder
    if encoder == "categorical":
        z = nn.functional.one_hot(torch.randint(4, (3, 5)), 4).float()
    here = decoder.around(x, z)
    there = decoder.to(DEVICE).around(*on_device(x, z))
    assert there.slope.device.type == DEVICE
    torch.testing.assert_close(there.slope.cpu(), here.slope, **CLOSE)
    torch.testing.assert_close(there.cost.cpu(), here.cost, **CLOSE)


@pytest.mark.parametrize("n", [6, 40])
def test_the_gibbs_distribution_is_that_of_the_host(n):
    torch.manual_seed(0)
    unary, pairwise = (
        torch.randn(3, n, dtype=torch.float64),
        torch.randn(3, n - 1, dtype=torch.float64),
    )
    edges = torch.stack([torch.arange(n - 1), torch.arange(1, n)], dim=1)
    here = gibbs(unary, pairwise, edges=edges)
    there = gibbs(*on_device(unary, pairwise), edges=edges.to(DEVICE))
    for name in ("log_partition", "unary_marginals", "pairwise_marginals"):
        torch.testing.assert_close(getattr(there, name).cpu(), getattr(here, name))


@pytest.mark.parametrize("n", [6, 40])
def test_a_posterior_on_a_device_is_that_of_the_host(n):
    torch.manual_seed(0)
    edges = torch.stack([torch.arange(n - 1), torch.arange(1, n)], dim=1)
    here = Potentials(
        torch.randn(3, n).double(),
        torch.randn(3, n - 1).double(),
        edges,
        host_edges=HostEdges.of(edges),
    )
    there = replace(
        here,
        unary=here.unary.to(DEVICE).requires_grad_(),
        pairwise=here.pairwise.to(DEVICE).requires_grad_(),
        edges=edges.to(DEVICE),
    )
    for scores in (here.unary, here.pairwise):
        scores.requires_grad_()
    for h in (here, there):
        Gibbs(h).kl().value.sum().backward()
    torch.testing.assert_close(there.unary.grad.cpu(), here.unary.grad)
    torch.testing.assert_close(there.pairwise.grad.cpu(), here.pairwise.grad)
    completions = Gibbs(there).completions(torch.Generator(DEVICE).manual_seed(0), 2000)
    mean = completions.conditionals.mean(dim=0).cpu()
    torch.testing.assert_close(mean, Gibbs(here).marginals[0], rtol=0, atol=0.06)
    best = space_of(there).maximise(there.detach()).cpu()
    expected = space_of(here).maximise(here.detach())
    torch.testing.assert_close(here.score(best[None]), here.score(expected[None]))


def test_labels_are_summed_as_on_the_host():
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1], [1, 2], [0, 2], [2, 3]])
    unary, pairwise = torch.randn(3, 4, 5).double(), torch.randn(3, 4, 5, 5).double()
    uniforms = torch.rand(2, 3, 4).double()
    here = labels_gibbs(unary, pairwise, edges=edges)
    there = labels_gibbs(*on_device(unary, pairwise), edges=edges.to(DEVICE))
    torch.testing.assert_close(there.log_partition.cpu(), here.log_partition)
    torch.testing.assert_close(there.sample(uniforms.to(DEVICE)).cpu(), here.sample(uniforms))


def test_the_variance_of_a_gradient():
    torch.manual_seed(0)
    vae = paper_vae("independent", n=4, pixels=9)
    x = torch.rand(5, 9).round()
    here, there = (
        gradient_variance(
            vae.to(device),
            x.to(device),
            ScoreFunction(4),
            4000,
            torch.Generator(device).manual_seed(0),
        )
        for device in ("cpu", DEVICE)
    )
    assert there == pytest.approx(here, rel=0.1)
