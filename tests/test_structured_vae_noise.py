"""Where the noise of layers and losses comes from, and steps of single instances."""

from pathlib import Path

import pytest
import torch
from enumeration import seeded

from structured_vae import (
    ArgmaxLayer,
    DirectLoss,
    GibbsLikelihood,
    ImplicitMLELoss,
    KOfN,
    PerturbedFenchelYoung,
    Relative,
    ScaleFree,
    StructuredHinge,
    StructuredPerceptron,
)
from structured_vae.errors import EstimatorError
from structured_vae.noise import gumbel


def drawn(layer, count=1):
    scores = torch.zeros((200, 3), requires_grad=True)
    return [layer(scores).detach() for _ in range(count)]


def test_the_seed_of_torch_decides_the_noise_and_layers_draw_different_noise():
    torch.manual_seed(3)
    first, second = drawn(ArgmaxLayer()) + drawn(ArgmaxLayer())
    assert (first != second).any()
    torch.manual_seed(3)
    assert (drawn(ArgmaxLayer())[0] == first).all()


def test_a_seed_of_its_own_leaves_the_noise_of_torch_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    drawn(ArgmaxLayer(seed=5))
    assert torch.rand(1) == expected
    assert (drawn(ArgmaxLayer(seed=5))[0] == drawn(ArgmaxLayer(seed=5))[0]).all()


def test_a_perturbed_loss_draws_the_noise_of_torch_without_a_generator():
    scores, target = torch.zeros(20, 3), torch.ones(20, 3)
    loss = PerturbedFenchelYoung()
    torch.manual_seed(0)
    first = loss(scores, target=target)
    assert (loss(scores, target=target) != first).any()
    torch.manual_seed(0)
    assert (loss(scores, target=target) == first).all()


def test_vmap_draws_different_or_the_same_noise_as_it_is_told():
    scores = torch.zeros((2, 100, 3))
    for seed in ("torch", 0):
        layer = ArgmaxLayer(seed=seed)
        first, second = torch.func.vmap(layer, randomness="different")(scores)
        assert (first != second).any()
        first, second = torch.func.vmap(layer, randomness="same")(scores)
        assert (first == second).all()
        with pytest.raises((ValueError, RuntimeError), match="randomness"):
            torch.func.vmap(layer)(scores)


@pytest.fixture
def second_process(monkeypatch):
    """Let this process be the second of two that train together."""
    monkeypatch.setattr("torch.distributed.is_initialized", lambda: True)
    monkeypatch.setattr("torch.distributed.get_rank", lambda: 1)


NOISY = {
    "layer": lambda scores: ArgmaxLayer()(scores),
    "perturbed loss": lambda scores: PerturbedFenchelYoung()(scores, target=torch.ones(20, 3)),
    "gumbel": lambda scores: (scores + gumbel(scores, None)).softmax(-1).square(),
}


@pytest.mark.parametrize("kind", NOISY)
def test_the_noise_of_a_second_process_lets_gradients_through(second_process, kind):
    scores = torch.zeros((20, 3), requires_grad=True)
    NOISY[kind](scores).sum().backward()
    assert scores.grad.abs().sum() > 0


def test_vmap_tells_a_second_process_which_noise_is_the_same(second_process):
    loss, target = PerturbedFenchelYoung(), torch.ones(20, 3)

    def losses(scores):
        return loss(scores, target=target)

    gradient = torch.func.grad(lambda scores: losses(scores).sum())
    scores = torch.zeros((2, 20, 3))
    first, second = torch.func.vmap(gradient, randomness="different")(scores)
    assert (first != second).any()
    first, second = torch.func.vmap(gradient, randomness="same")(scores)
    assert torch.equal(first, second)
    with pytest.raises(EstimatorError, match="randomness= to vmap"):
        torch.func.vmap(losses)(scores)
    assert torch.func.vmap(losses, randomness="different")(scores[:0]).shape == (0, 20)


@pytest.mark.slow
def test_two_losses_compiled_in_a_second_process_draw_different_noise(second_process):
    first, second = PerturbedFenchelYoung(), PerturbedFenchelYoung()
    target = torch.ones(20, 3)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def both(scores):
        return first(scores, target=target), second(scores, target=target)

    one, other = both(torch.zeros((20, 3), requires_grad=True))
    assert (one != other).any()


STEPS = {
    "relative": lambda: Relative(by="instance"),
    "free of the scale": lambda: ScaleFree(1.5, by="instance"),
}
"""Steps of instances."""

NUMBERS = (0.5, 20.0)
"""Steps for which the loss of a part has to be divided."""
EDGES = [[0, 1], [1, 2], [2, 3]]


def gradients(module, parts, scale=1.0):
    """The gradients of the mean loss of 6 instances, taken in equal parts."""
    unary = torch.randn((6, 4), generator=seeded(), dtype=torch.float64).requires_grad_()
    pairs = torch.randn((6, 3), generator=seeded(1), dtype=torch.float64).requires_grad_()
    target = (torch.rand((6, 4), generator=seeded(2)) > 0.5).double()
    torch.manual_seed(0)
    for rows in torch.arange(6).chunk(parts):
        loss = module(unary[rows], pairs[rows], target[rows])
        (scale * loss.sum() / 6).backward()
    return torch.cat([unary.grad, pairs.grad], dim=1)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["layer", "layer with a cost", "direct loss"])
def test_accumulated_gradients_equal_those_of_the_batch(kind, step):
    def module():
        if kind == "direct loss":
            loss = DirectLoss(epsilon=STEPS[step]())
            return lambda u, w, y: loss(u, w, edges=EDGES, target=y)
        layer = ArgmaxLayer(epsilon=STEPS[step](), seed=None)
        if kind == "layer":
            return lambda u, w, y: (layer(u, w, edges=EDGES) - y).square().sum(-1)
        return lambda u, w, y: (
            layer(u, w, edges=EDGES, cost=lambda z: (z - y).square().sum(-1)).surrogate
        )

    whole = gradients(module(), 1)
    torch.testing.assert_close(gradients(module(), 3), whole)
    assert whole.abs().sum() > 0
    torch.testing.assert_close(gradients(module(), 1, scale=100.0), 100 * whole)


@pytest.mark.parametrize("epsilon", NUMBERS)
@pytest.mark.parametrize("kind", ["layer", "direct loss", "implicit MLE"])
def test_parts_of_a_divided_loss_have_the_gradient_of_the_batch_if_epsilon_is_a_number(
    kind, epsilon
):
    made = {
        "layer": lambda: squared_distance(ArgmaxLayer(epsilon=epsilon, seed=None)),
        "direct loss": lambda: with_target(DirectLoss(epsilon=epsilon)),
        "implicit MLE": lambda: with_target(ImplicitMLELoss(epsilon=epsilon, seed=None)),
    }
    whole = gradients(made[kind](), 1)
    assert whole.abs().sum() > 0
    torch.testing.assert_close(gradients(made[kind](), 3), whole)
    # The loss of a sum needs no division.
    torch.testing.assert_close(
        gradients(made[kind](), 3, scale=6.0), gradients(made[kind](), 1, scale=6.0)
    )


CONVEX = {
    "hinge": StructuredHinge,
    "perceptron": StructuredPerceptron,
    "likelihood": GibbsLikelihood,
}


@pytest.mark.parametrize("name", CONVEX)
def test_parts_have_the_gradient_of_the_batch_in_losses_without_epsilon(name):
    loss = with_target(CONVEX[name]())
    torch.testing.assert_close(gradients(loss, 3), gradients(loss, 1))


def test_parts_have_the_gradient_of_the_batch_on_average_in_the_perturbed_loss():
    loss = with_target(PerturbedFenchelYoung(samples=4000))
    # A mean of 4,000 bits over 6 instances has a standard error of at most 0.0013.
    torch.testing.assert_close(gradients(loss, 3), gradients(loss, 1), rtol=0, atol=0.01)


def squared_distance(layer):
    return lambda u, w, y: (layer(u, w, edges=EDGES) - y).square().sum(-1)


def with_target(loss):
    return lambda u, w, y: loss(u, w, edges=EDGES, target=y)


def difference(epsilon, parts, seed, divided=True):
    """The difference of the page on split batches, relative to the gradient of the batch."""
    noise = seeded(seed)
    unary = torch.randn(240, 8, generator=noise, dtype=torch.float64)
    pairs = torch.randn(240, 7, generator=noise, dtype=torch.float64)
    target = (torch.rand(240, 8, generator=noise) > 0.5).double()
    edges = [[i, i + 1] for i in range(7)]
    layer = ArgmaxLayer(epsilon=epsilon, seed=None)

    def gradient(parts):
        scores = unary.clone().requires_grad_(), pairs.clone().requires_grad_()
        before = 1
        if divided:
            before = parts
        for rows in torch.arange(240).chunk(parts):
            z = layer(scores[0][rows], scores[1][rows], edges=edges)
            ((z - target[rows]).square().mean() / before).backward()
        return torch.cat([values.grad for values in scores], dim=1) * before / parts

    whole = gradient(1)
    return ((gradient(parts) - whole).norm() / whole.norm()).item()


@pytest.mark.parametrize(
    ("epsilon", "divided", "parts", "mean", "deviation"),
    [
        (None, True, 4, 0.13, 0.03),
        (None, True, 16, 0.21, 0.03),
        (ScaleFree(1.0), True, 4, 0.12, 0.04),
        (ScaleFree(1.0), True, 16, 0.19, 0.03),
        (100.0, False, 4, 0.87, 0.02),
        (100.0, False, 16, 0.96, 0.003),
    ],
)
def test_gradients_of_parts_differ_by_what_the_page_says(epsilon, divided, parts, mean, deviation):
    seeds = 4
    found = [difference(epsilon, parts, seed, divided) for seed in range(100, 100 + seeds)]
    # The page has two digits.
    assert abs(sum(found) / seeds - mean) < 3.5 * deviation / seeds**0.5 + 0.005
    row = f"{100 * mean:.0f}% ± {100 * deviation:g}%"
    assert row in (Path(__file__).parents[1] / "docs" / "layer_training.md").read_text("utf-8")


def test_a_number_as_epsilon_has_the_gradient_of_the_batch_at_that_size():
    assert difference(100.0, 4, 100) < 1e-9


def test_noise_of_torch_is_the_same_in_parts_of_a_batch():
    layer = ArgmaxLayer(epsilon=Relative(by="instance"))

    def module(u, w, y):
        return (layer(u, w, edges=EDGES) - y).square().sum(-1)

    torch.testing.assert_close(gradients(module, 3), gradients(module, 1))


def test_a_step_of_the_batch_differs_between_parts():
    layer = ArgmaxLayer(seed=None)

    def module(u, w, y):
        return (layer(u, w, edges=EDGES) - y).square().sum(-1)

    assert (gradients(module, 3) - gradients(module, 1)).abs().max() > 1e-3


def test_steps_of_instances_leave_out_scores_that_decide_nothing():
    layer = ArgmaxLayer(KOfN(2), epsilon=Relative(by="instance"), seed=None)
    sizes = []
    for fill in (-10.0, -1e9):
        scores = torch.randn((6, 8), generator=seeded(), dtype=torch.float64)
        scores[:, 6:] = fill
        scores.requires_grad_()
        (layer(scores) - 1).square().sum().backward()
        sizes.append(scores.grad.abs().sum())
    assert 0.3 < sizes[0] / sizes[1] < 3


def test_steps_name_what_they_are_by():
    assert repr(Relative(2.0, by="instance")) == "Relative(2, by='instance')"
    assert repr(ScaleFree(0.5, by="instance")) == "ScaleFree(0.5, by='instance')"
    with pytest.raises(EstimatorError, match="by must be 'batch' or 'instance'; got 'row'"):
        Relative(by="row")
