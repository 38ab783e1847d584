"""Two processes of DistributedDataParallel train as one process with the whole batch."""

import socket

import pytest
import torch
from enumeration import seeded
from torch import multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel

from structured_vae import (
    ArgmaxLayer,
    DirectLoss,
    GibbsLikelihood,
    LinearChainCRF,
    PairwiseCRF,
    PerturbedFenchelYoung,
    Relative,
    StructuredHinge,
    StructuredPerceptron,
)

pytestmark = pytest.mark.slow

EDGES = [[0, 1], [1, 2], [2, 3]]
PROCESSES = 2
BATCH = 12


def states_of(layer):
    """A mean loss of the states of a layer."""
    return lambda scores, y: (
        (layer(scores[:, :4], scores[:, 4:], edges=EDGES) - y).square().sum(-1).mean()
    )


def cost_of(layer):
    """A mean surrogate of a cost of the states of a layer."""

    def loss(scores, y):
        def cost(z):
            return (z - y).square().sum(-1)

        return layer(scores[:, :4], scores[:, 4:], edges=EDGES, cost=cost).surrogate.mean()

    return loss


def of_target(module):
    """The mean of a loss that compares scores with a target."""
    return lambda scores, y: module(scores[:, :4], scores[:, 4:], edges=EDGES, target=y).mean()


def crf(module):
    """The mean loss of a random field over four positions and two labels."""
    return lambda scores, y: -module(scores.unflatten(1, (4, 2)), y.long(), reduction="mean")


class Learner(nn.Module):
    """A linear network with a module behind it; its output is a mean loss of the batch."""

    def __init__(self, outputs, wrap, module):
        super().__init__()
        self.network = nn.Linear(5, outputs).double()
        self.module = module.double()
        self.loss = wrap(module)

    def forward(self, x, y):
        return self.loss(self.network(x), y)


def without_noise():
    """Learners whose gradient is a mean over the instances."""
    by_instance = Relative(by="instance")
    field = PairwiseCRF(n=4, k=2, edges=EDGES)
    return {
        "layer": Learner(7, states_of, ArgmaxLayer(epsilon=by_instance, seed=None)),
        "straight-through": Learner(
            7, states_of, ArgmaxLayer("auto", "straight_through", seed=None)
        ),
        "cost": Learner(7, cost_of, ArgmaxLayer(epsilon=by_instance, seed=None)),
        "hinge": Learner(7, of_target, StructuredHinge()),
        "perceptron": Learner(7, of_target, StructuredPerceptron()),
        "likelihood": Learner(7, of_target, GibbsLikelihood()),
        "direct": Learner(7, of_target, DirectLoss(epsilon=by_instance)),
        "chain": Learner(8, crf, LinearChainCRF(2, batch_first=True)),
        "graph": Learner(8, crf, field),
    }


def with_fixed_step():
    """A learner whose second argmax depends on the size of the loss."""
    return {"number": Learner(7, states_of, ArgmaxLayer(epsilon=3.0, seed=None))}


def with_noise():
    """Learners that draw noise."""
    return {
        "layer": Learner(7, states_of, ArgmaxLayer()),
        "layer with a seed": Learner(7, states_of, ArgmaxLayer(seed=5)),
        "perturbed": Learner(7, of_target, PerturbedFenchelYoung()),
    }


def seeded_learners(make):
    """The same learners in every process."""
    torch.manual_seed(0)
    return make()


def instances():
    """The whole batch."""
    x = torch.randn((BATCH, 5), generator=seeded(), dtype=torch.float64)
    y = (torch.rand((BATCH, 4), generator=seeded(1)) > 0.5).double()
    return x, y


def gradient(learner, x, y, parts=1):
    """The gradient of a loss that is divided before, and multiplied after the backward pass."""
    learner.zero_grad()
    (learner(x, y) / parts).backward()
    return parts * torch.cat([parameter.grad.flatten() for parameter in learner.parameters()])


def trained(learner, x, y, steps=3):
    adam = torch.optim.Adam(learner.parameters(), lr=0.1)
    for _ in range(steps):
        adam.zero_grad()
        learner(x, y).backward()
        adam.step()


def noisy_state():
    """States of zero scores, by noise alone."""
    scores = torch.zeros((50, 3), requires_grad=True)
    return {seed: ArgmaxLayer(seed=seed)(scores).detach() for seed in ("torch", 1)}


def process(rank, port, folder):
    """Save what one of the processes computes."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=PROCESSES
    )
    x, y = (tensor.chunk(PROCESSES)[rank] for tensor in instances())
    record = {"gradients": {}, "weights": {}}
    for name, learner in seeded_learners(without_noise).items():
        record["gradients"][name] = gradient(DistributedDataParallel(learner), x, y)
    for name, learner in seeded_learners(with_fixed_step).items():
        parallel = DistributedDataParallel(learner)
        record["gradients"][name] = gradient(parallel, x, y, PROCESSES)
    for name, learner in seeded_learners(with_noise).items():
        parallel = DistributedDataParallel(learner)
        trained(parallel, x, y)
        record["weights"][name] = parallel.state_dict()
    torch.manual_seed(0)
    record["noise"] = noisy_state()
    torch.save(record, f"{folder}/{rank}")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """What the processes have saved."""
    folder = tmp_path_factory.mktemp("processes")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    multiprocessing.spawn(process, (port, str(folder)), nprocs=PROCESSES)
    return [torch.load(folder / str(rank)) for rank in range(PROCESSES)]


def test_gradients_of_the_processes_equal_that_of_the_whole_batch(records):
    x, y = instances()
    learners = seeded_learners(without_noise) | seeded_learners(with_fixed_step)
    for name, learner in learners.items():
        expected = gradient(learner, x, y)
        assert expected.abs().sum() > 0, name
        for record in records:
            torch.testing.assert_close(
                record["gradients"][name], expected, msg=lambda text, name=name: f"{name}: {text}"
            )


def test_the_processes_draw_different_noise(records):
    first, second = (record["noise"] for record in records)
    torch.manual_seed(0)
    assert torch.equal(first["torch"], noisy_state()["torch"])
    for seed, states in first.items():
        assert (states != second[seed]).any(), seed


def test_weights_trained_with_noise_are_equal_and_load_in_one_process(records):
    first, second = (record["weights"] for record in records)
    x, y = instances()
    for name, learner in seeded_learners(with_noise).items():
        before = {key: value.clone() for key, value in learner.state_dict().items()}
        state = {key.removeprefix("module."): value for key, value in first[name].items()}
        learner.load_state_dict(state)
        assert all(torch.equal(value, second[name][key]) for key, value in first[name].items())
        assert any((value != before[key]).any() for key, value in state.items())
        assert learner.eval()(x, y).isfinite()
