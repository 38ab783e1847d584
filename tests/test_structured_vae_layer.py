"""An argmax as a layer: its values by enumeration, its gradients by their definitions."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import torch
from enumeration import all_bits, seeded
from torch.utils.checkpoint import checkpoint

from solvers import (
    ProblemError,
    SolverUnavailableError,
    UnknownSolverError,
    UnsupportedProblemError,
    solver_class,
)
from structured_vae import (
    ArgmaxLayer,
    ConfigError,
    CostOfBits,
    Estimate,
    Hamming,
    PerturbedFenchelYoung,
    Relative,
)
from structured_vae.errors import EstimatorError, StalledWarning, StructureError
from structured_vae.noise import gumbel_differences
from structured_vae.spaces import Categories, KOfN


def plain(*args, **options):
    """A layer without noise of its own."""
    return ArgmaxLayer(*args, **{"seed": None, **options})


FORMS = ["independent", "edges", "upper", "symmetric"]
every_form = pytest.mark.parametrize("form", FORMS)


def scores_of(form, batch=40, n=5, seed=0, dtype=torch.float64):
    """Leaves `unary`, `pairwise`, the `edges` to pass on, and the pairwise scores by edge as numpy."""
    random = np.random.default_rng(seed)
    unary, upper = random.normal(size=(batch, n)), np.triu(random.normal(size=(batch, n, n)), 1)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    by_edge = upper[:, edges[:, 0], edges[:, 1]]
    given = {
        "independent": None,
        "edges": by_edge,
        "upper": upper,
        "symmetric": upper + upper.swapaxes(1, 2),
    }[form]
    if form == "independent":
        by_edge = np.zeros_like(by_edge)
    leaves = [
        None if a is None else torch.from_numpy(a).to(dtype).requires_grad_()
        for a in (unary, given)
    ]
    return *leaves, torch.from_numpy(edges) if form == "edges" else None, by_edge


def statistics(n=5):
    z = all_bits(n)
    first, second = np.triu_indices(n, 1)
    return z, np.concatenate([z, z[:, first] * z[:, second]], axis=1)


def best_states(unary, by_edge):
    """`[batch]`: places of the best states of each instance."""
    _, s = statistics(unary.shape[1])
    return (np.concatenate([unary, by_edge], axis=1) @ s.T).argmax(axis=1)


def by_edge_of(gradient, form):
    """The gradient of a pairwise argument, of each edge."""
    if form == "edges":
        return gradient.numpy()
    first, second = np.triu_indices(gradient.shape[-1], 1)
    lower = gradient[:, second, first]
    assert (lower == 0).all()
    return gradient[:, first, second].numpy()


# --- values -------------------------------------------------------------------------------------


@every_form
@pytest.mark.parametrize("estimator", ["implicit_mle", "straight_through"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_layer_gives_the_best_states(form, estimator, dtype):
    unary, pairwise, edges, by_edge = scores_of(form, dtype=dtype)
    layer = plain(estimator=estimator)
    z = layer(unary, pairwise, edges=edges)
    expected = all_bits(5)[best_states(unary.detach().double().numpy(), by_edge)]
    np.testing.assert_array_equal(z.detach().numpy(), expected)
    assert z.dtype == dtype
    assert z.requires_grad
    again, solution = layer.solve(unary, pairwise, edges=edges)
    assert torch.equal(again, z)
    assert again.requires_grad
    assert solution.optimal.all()
    score = (unary * z).sum(dim=-1).detach()
    if form == "independent":
        torch.testing.assert_close(torch.as_tensor(solution.score).to(dtype), score)


def test_an_edge_index_means_what_it_means_to_solve():
    generator = seeded(5)
    unary, pairwise = (torch.randn(4, size, generator=generator) for size in (5, 6))
    edges = torch.tensor([[0, 1], [3, 2], [1, 4], [0, 4], [2, 4], [1, 2]])
    expected = plain()(unary, pairwise, edges=edges)
    for form in (edges.T, edges.T.tolist(), edges.T.numpy()):
        assert torch.equal(plain()(unary, pairwise, edges=form), expected)
    compiled = torch.compile(plain(), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(unary, pairwise, edges=edges.T), expected)


def test_scores_of_pairs_may_be_of_another_type():
    unary, edges = torch.ones(2, 3, requires_grad=True), torch.tensor([[0, 1]])
    pairwise = torch.ones(2, 1, dtype=torch.float64, requires_grad=True)
    z = plain()(unary, pairwise, edges=edges)
    z.sum().backward()
    assert (z.dtype, unary.grad.dtype, pairwise.grad.dtype) == (
        torch.float32,
        torch.float32,
        torch.float64,
    )


def test_edges_of_no_number_are_none():
    empty = np.empty((0, 2), np.dtype([("a", int)]))
    assert plain()(torch.ones(1, 2), torch.ones(1, 0), edges=empty).tolist() == [[1, 1]]


@pytest.mark.parametrize("solver", ["exhaustive", "elimination"])
def test_the_solver_is_the_one_that_is_named(solver):
    unary, pairwise, edges, _ = scores_of("edges")
    z, solution = plain(solver).solve(unary, pairwise, edges=edges)
    assert solution.solver == solver
    assert torch.equal(z, plain()(unary, pairwise, edges=edges))


@every_form
def test_leading_dimensions_are_a_batch(form):
    unary, pairwise, edges, _ = scores_of(form)
    layer, weights = plain(), torch.randn(40, 5, generator=seeded(), dtype=torch.float64)
    leaves = [leaf for leaf in (unary, pairwise) if leaf is not None]
    flat = layer(unary, pairwise, edges=edges)
    expected = torch.autograd.grad((flat * weights).sum(), leaves)
    shaped = [
        None if leaf is None else leaf.reshape(4, 10, *leaf.shape[1:]) for leaf in (unary, pairwise)
    ]
    z = layer(*shaped, edges=edges)
    assert torch.equal(z, flat.reshape(4, 10, 5))
    found = torch.autograd.grad((z * weights.reshape(4, 10, 5)).sum(), leaves)
    torch.testing.assert_close(found, expected)


def test_pairwise_scores_that_the_batch_shares_learn_from_all_of_it():
    unary, _, _, _ = scores_of("independent")
    edges = torch.tensor([[0, 1], [1, 3]])
    shared = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    copies = shared.detach().repeat(40, 1).requires_grad_()
    grads = []
    for pairwise in (shared, copies):
        z = plain(epsilon=2.0)(unary, pairwise, edges=edges)
        grads.append(torch.autograd.grad((z * torch.linspace(-2, 2, 5)).sum(), pairwise)[0])
    torch.testing.assert_close(grads[0], grads[1].sum(dim=0))
    assert grads[0].abs().max() > 0


def test_noise_comes_from_the_generator():
    unary, pairwise, edges, by_edge = scores_of("edges")
    z = plain()(unary, pairwise, edges=edges, generator=seeded(3))
    noise = gumbel_differences(unary.detach(), seeded(3)).numpy()
    expected = all_bits(5)[best_states(unary.detach().numpy() + noise, by_edge)]
    np.testing.assert_array_equal(z.detach().numpy(), expected)
    assert not torch.equal(z, plain()(unary, pairwise, edges=edges))


# --- gradients ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_an_unsigned_step_goes_where_any_other_does():
    unary = torch.tensor([[1.0, -0.5]], requires_grad=True)
    for epsilon in (1.0, np.uint8(1), np.float16(1)):
        z = plain(epsilon=epsilon)(unary)
        assert torch.autograd.grad(2 * z.sum() - 3 * z[0, 1], unary)[0].tolist() == [[1.0, -1.0]]


@every_form
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_implicit_mle_is_the_difference_to_a_second_argmax(form, noisy, epsilon):
    unary, pairwise, edges, by_edge = scores_of(form)
    coming = np.random.default_rng(1).normal(size=(40, 5))
    generator = seeded(3) if noisy else None
    z = plain(epsilon=epsilon)(unary, pairwise, edges=edges, generator=generator)
    leaves = [leaf for leaf in (unary, pairwise) if leaf is not None]
    found = torch.autograd.grad((z * torch.from_numpy(coming)).sum(), leaves)
    noise = gumbel_differences(unary.detach(), seeded(3)).numpy() if noisy else 0
    base = unary.detach().numpy() + noise
    _, s = statistics()
    first, second = (best_states(each, by_edge) for each in (base, base - epsilon * coming))
    expected = (s[first] - s[second]) / epsilon
    np.testing.assert_allclose(found[0], expected[:, :5], rtol=0, atol=1e-12)
    assert 0.1 < (first != second).mean() < 1
    if pairwise is not None:
        np.testing.assert_allclose(by_edge_of(found[1], form), expected[:, 5:], rtol=0, atol=1e-12)


@every_form
def test_straight_through_hands_the_gradient_on(form):
    unary, pairwise, edges, _ = scores_of(form)
    coming = torch.randn(40, 5, generator=seeded(), dtype=torch.float64)
    z = plain(estimator="straight_through")(unary, pairwise, edges=edges)
    (found,) = torch.autograd.grad((z * coming).sum(), unary)
    assert torch.equal(found, coming)


@pytest.mark.parametrize("form", ["independent", "edges"])
@pytest.mark.parametrize("estimator", ["implicit_mle", "straight_through"])
def test_several_samples_are_the_mean_of_single_draws_with_the_same_noise(form, estimator):
    unary, pairwise, edges, _ = scores_of(form, batch=6)
    coming = torch.randn(6, 5, generator=seeded(1), dtype=torch.float64)
    leaves = [leaf for leaf in (unary, pairwise) if leaf is not None]

    def result(layer, generator):
        z = layer(unary, pairwise, edges=edges, generator=generator)
        gradients = torch.autograd.grad(z, leaves, coming, allow_unused=True)
        return [z.detach(), *(each for each in gradients if each is not None)]

    mean = result(plain(estimator=estimator, epsilon=0.7, samples=3), seeded(3))
    stream = seeded(3)
    draws = [result(plain(estimator=estimator, epsilon=0.7), stream) for _ in range(3)]
    for value, values in zip(mean, zip(*draws, strict=True), strict=True):
        torch.testing.assert_close(value, torch.stack(values).mean(dim=0))
    assert ((mean[0] > 0) & (mean[0] < 1)).any()


def test_several_samples_of_a_cost_are_the_mean_of_single_draws():
    unary, pairwise, edges, _ = scores_of("edges", batch=6)

    def estimate_of(layer, generator):
        estimate = layer(unary, pairwise, edges=edges, cost=black_box, generator=generator)
        return estimate, torch.autograd.grad(estimate.surrogate.sum(), (unary, pairwise))

    estimate, gradients = estimate_of(plain(epsilon=0.7, samples=3), seeded(3))
    stream = seeded(3)
    draws = [estimate_of(plain(epsilon=0.7), stream) for _ in range(3)]
    assert torch.equal(estimate.z, torch.cat([draw.z for draw, _ in draws]))
    costs = torch.stack([draw.cost for draw, _ in draws])
    torch.testing.assert_close(estimate.cost, costs.mean(dim=0))
    for place, gradient in enumerate(gradients):
        singles = torch.stack([of_draw[place] for _, of_draw in draws])
        torch.testing.assert_close(gradient, singles.mean(dim=0))


@pytest.mark.statistical
def test_the_mean_of_many_samples_is_the_expected_state():
    unary = torch.tensor([[1.0, -1.0, 0.2], [0.0, 3.0, -0.5]], dtype=torch.float64)
    unary.requires_grad_()
    mean = ArgmaxLayer("independent", seed=0, samples=4000)(unary).detach()
    error = (mean * (1 - mean) / 4000).sqrt()
    assert ((mean - unary.detach().sigmoid()).abs() < 4 * error + 1e-3).all()


def test_samples_without_noise_are_one_argmax_and_masks_hold_in_every_draw():
    unary, pairwise, edges, _ = scores_of("edges")
    layer = ArgmaxLayer(seed=3, samples=4)
    z = layer.eval()(unary, pairwise, edges=edges)
    assert torch.equal(z, plain()(unary, pairwise, edges=edges))
    assert len(layer(unary, pairwise, edges=edges, cost=black_box).z) == 1
    mask = torch.rand(unary.shape, generator=seeded()) < 0.5
    mean = layer.train()(unary, pairwise, edges=edges, mask=mask)
    assert (mean[~mask] == 0).all()
    (gradient,) = torch.autograd.grad(mean.sum(), unary)
    assert (gradient[~mask] == 0).all()
    assert len(layer(unary, pairwise, edges=edges, cost=black_box).z) == 4


def test_samples_of_a_structure_keep_the_number_of_ones_of_each_instance():
    scores = torch.zeros(2, 4, requires_grad=True)
    layer = ArgmaxLayer(KOfN([1, 3]), seed=1, samples=4)
    torch.testing.assert_close(layer(scores).sum(dim=-1), torch.tensor([1.0, 3.0]))
    states = layer(scores, cost=black_box).z
    assert states.shape == (4, 2, 4)
    assert states.sum(dim=-1).tolist() == [[1.0, 3.0]] * 4


def test_vmap_of_several_samples_is_a_loop():
    unary, _, _, _ = scores_of("independent", batch=6)
    unary = unary.detach().reshape(3, 2, 5)
    weights = torch.linspace(-2, 2, 5, dtype=torch.float64)

    def gradient_of(layer):
        return torch.func.grad(lambda scores: (layer(scores) * weights).square().sum())

    layers = [ArgmaxLayer("independent", seed=3, epsilon=1.0, samples=4) for _ in range(2)]
    mapped = torch.func.vmap(gradient_of(layers[0]), randomness="different")(unary)
    looped = torch.stack([gradient_of(layers[1])(scores) for scores in unary])
    torch.testing.assert_close(mapped, looped)
    assert mapped.any()


def black_box(z):
    """Not differentiable, and not a sum over bits: a cost for every one beyond the second."""
    return (z.sum(dim=-1) - 2).clamp(min=0).round() + 0.5 * z[..., 0]


@every_form
@pytest.mark.parametrize("cost", ["hamming", "function", "object"])
def test_a_cost_is_learned_by_direct_optimization(form, cost):
    unary, pairwise, edges, by_edge = scores_of(form)
    target = torch.randint(2, (40, 5), generator=seeded()).double()
    given = {"hamming": Hamming(target), "function": black_box, "object": CostOfBits(black_box)}[
        cost
    ]
    estimate = plain(epsilon=0.7)(unary, pairwise, edges=edges, cost=given)
    assert isinstance(estimate, Estimate)
    leaves = [leaf for leaf in (unary, pairwise) if leaf is not None]
    found = torch.autograd.grad(estimate.surrogate.sum(), leaves)

    states, s = statistics()
    first = best_states(unary.detach().numpy(), by_edge)
    z = states[first]
    np.testing.assert_array_equal(estimate.z[0].numpy(), z)
    if cost == "hamming":
        slope, value = 1 - 2 * target.numpy(), np.abs(z - target.numpy()).sum(axis=1)
    else:
        values = black_box(torch.from_numpy(states).double()).numpy()
        place, value = np.arange(32), values[first]
        slope = np.stack(
            [values[place | 1 << i] - values[place & ~(1 << i)] for i in range(5)], axis=1
        )[first]
    second = best_states(unary.detach().numpy() - 0.7 * slope, by_edge)
    expected = (s[first] - s[second]) / 0.7
    np.testing.assert_allclose(estimate.cost, value, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[0], expected[:, :5], rtol=0, atol=1e-12)
    if pairwise is not None:
        np.testing.assert_allclose(by_edge_of(found[1], form), expected[:, 5:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("cost", ["hamming", "function"])
@pytest.mark.parametrize("noisy", [False, True])
def test_steps_against_the_gradient_lower_the_cost(cost, noisy):
    unary, pairwise, edges, _ = scores_of("edges", batch=100)
    target = torch.randint(2, (100, 5), generator=seeded()).double()
    given = Hamming(target) if cost == "hamming" else black_box
    layer = plain(epsilon=3.0)
    costs = []
    for step in range(25):
        generator = seeded(step) if noisy else None
        estimate = layer(unary, pairwise, edges=edges, cost=given, generator=generator)
        costs.append(estimate.cost.mean().item())
        moves = torch.autograd.grad(estimate.surrogate.sum(), [unary, pairwise])
        with torch.no_grad():
            for leaf, move in zip((unary, pairwise), moves, strict=True):
                leaf -= 0.5 * move
    assert np.mean(costs[-5:]) < 0.5 * costs[0]


def test_hamming_counts_and_knows_its_changes():
    target = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    hamming, plain = Hamming(target), CostOfBits(lambda z: (z != target).double().sum(dim=-1))
    states = torch.from_numpy(all_bits(3).astype(np.float32))
    torch.testing.assert_close(hamming.table(states), plain.table(states))
    z = torch.tensor([[[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]])
    assert hamming(z).tolist() == [[1, 2]]
    torch.testing.assert_close(hamming.around(z).slope, plain.around(z).slope)
    assert hamming.around(z).slope[0, 0].tolist() == [-1, 1, -1]


# --- the step of its own ------------------------------------------------------------------------


def expected_step(unary, by_edge, gradient, z, size):
    """The relative step by numpy: the mean change of the score by a flip, over the mean slope that is not 0."""
    matrix = np.zeros((len(unary), 5, 5))
    first, second = np.triu_indices(5, 1)
    matrix[:, first, second] = by_edge
    field = unary + ((matrix + matrix.swapaxes(1, 2)) @ z[:, :, None])[..., 0]
    return size * np.abs(field[field != 0]).mean() / np.abs(gradient[gradient != 0]).mean()


@every_form
@pytest.mark.parametrize("size", [None, 0.7])
def test_the_default_step_is_that_of_scores_and_gradient(form, size):
    unary, pairwise, edges, by_edge = scores_of(form)
    coming = np.random.default_rng(1).normal(size=(40, 5)) * (np.arange(5) > 1)
    z = plain(epsilon=None if size is None else Relative(size))(unary, pairwise, edges=edges)
    (found,) = torch.autograd.grad((z * torch.from_numpy(coming)).sum(), unary)
    base, states = unary.detach().numpy(), all_bits(5)
    epsilon = expected_step(
        base, by_edge, coming, z.detach().numpy(), 1.0 if size is None else size
    )
    first, second = (best_states(each, by_edge) for each in (base, base - epsilon * coming))
    np.testing.assert_allclose(found, (states[first] - states[second]) / epsilon, atol=1e-12)
    assert 0.1 < (first != second).mean() < 1


@pytest.mark.parametrize("cost", [None, black_box])
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_default_step_moves_the_same_argmaxes_whatever_the_scale(cost, factor):
    unary, pairwise, edges, _ = scores_of("edges")

    def gradient(scores, loss):
        leaves = [(scores * leaf.detach()).requires_grad_() for leaf in (unary, pairwise)]
        if cost is None:
            value = loss * (plain()(*leaves, edges=edges) * torch.linspace(-2, 3, 5)).sum()
        else:
            value = plain()(*leaves, edges=edges, cost=lambda z: loss * cost(z)).surrogate.sum()
        return torch.cat(torch.autograd.grad(value, leaves), dim=1)

    found = gradient(1.0, 1.0)
    assert (found != 0).any(dim=1).float().mean() > 0.2
    torch.testing.assert_close(gradient(factor, 1.0), found / factor)  # a derivative in scores
    torch.testing.assert_close(gradient(1.0, factor), found * factor)


def test_no_gradient_and_no_scores_give_none():
    for unary, factor in (
        (torch.ones(2, 3), 0.0),
        (torch.zeros(2, 3), 1.0),
        (torch.ones(2, 3), 1e38),
    ):
        leaf = unary.clone().requires_grad_()
        (found,) = torch.autograd.grad((factor * plain()(leaf)).sum(), leaf)
        assert found.isfinite().all()
        assert factor > 0 or not found.any()


@pytest.mark.parametrize("cost", [None, Hamming(torch.zeros(2, 3))])
@pytest.mark.parametrize(
    ("seed", "advice"), [(None, "one, or pass a generator for noise"), (0, "choose a larger one")]
)
def test_a_layer_warns_once_when_nothing_moves(cost, seed, advice):
    unary = torch.full((2, 3), 1e6, requires_grad=True)
    layer = ArgmaxLayer("independent", epsilon=1.0, seed=seed)

    def step():
        answer = layer(unary, cost=cost)
        (answer.sum() if cost is None else answer.surrogate.sum()).backward()

    for _ in range(19):
        step()
    with pytest.warns(
        StalledWarning,
        match=r"no argmax changed in 20 consecutive steps.*ArgmaxLayer\('independent'"
        rf".*epsilon=1, seed={seed}\).*{advice}$",
    ):
        step()
    for _ in range(30):
        step()  # warnings are errors here
    assert not unary.grad.any()


@pytest.mark.parametrize(
    ("scores", "coming"),
    [(0.5, 1.0), (1e6, 0.0), (1e6, -1.0)],
    ids=["moves", "nothing asked", "every third"],
)
def test_a_layer_that_moves_or_is_not_asked_does_not_warn(scores, coming):
    layer = plain("independent", epsilon=1.0)
    for step in range(50):
        size = 0.5 if coming < 0 and step % 3 == 0 else scores
        unary = torch.full((2, 3), size, requires_grad=True)
        (abs(coming) * layer(unary)).sum().backward()


def test_the_representation_says_what_it_does():
    assert repr(ArgmaxLayer("max_flow")) == (
        "ArgmaxLayer('max_flow', 'implicit_mle', epsilon=Relative(1), seed='torch')"
    )
    assert repr(plain(estimator="straight_through", epsilon=0.5)) == (
        "ArgmaxLayer('auto', 'straight_through', epsilon=0.5, seed=None)"
    )
    assert repr(ArgmaxLayer(samples=8)).endswith("seed='torch', samples=8)")
    assert "ArgmaxLayer('max_flow'" in repr(torch.nn.Sequential(plain("max_flow")))


# --- noise of its own ---------------------------------------------------------------------------


@pytest.mark.parametrize("cost", [None, black_box])
def test_a_layer_draws_noise_of_its_seed_while_it_trains(cost):
    unary, pairwise, edges, _ = scores_of("edges")
    layer, stream = ArgmaxLayer(seed=3), seeded(3)

    def state(answer):
        return answer if cost is None else answer.z[0]

    states = []
    for _ in range(2):
        z = state(layer(unary, pairwise, edges=edges, cost=cost))
        assert torch.equal(
            z, state(plain()(unary, pairwise, edges=edges, cost=cost, generator=stream))
        )
        states.append(z)
    assert not torch.equal(*states)
    given = state(layer(unary, pairwise, edges=edges, cost=cost, generator=seeded(5)))
    assert torch.equal(
        given, state(plain()(unary, pairwise, edges=edges, cost=cost, generator=seeded(5)))
    )


@pytest.mark.parametrize("way", ["eval", "no_grad", "no gradient wanted"])
def test_a_layer_that_does_not_train_gives_the_argmax(way):
    unary, pairwise, edges, _ = scores_of("edges")
    layer = ArgmaxLayer(seed=3).train(way != "eval")
    given = [leaf.detach() if way == "no gradient wanted" else leaf for leaf in (unary, pairwise)]
    with torch.set_grad_enabled(way != "no_grad"):
        z = layer(*given, edges=edges)
    assert torch.equal(z, plain()(unary, pairwise, edges=edges))
    trained = ArgmaxLayer(seed=3)
    for leaves in ((unary.detach(), pairwise), (unary, pairwise.detach())):  # either may want one
        assert not torch.equal(trained(*leaves, edges=edges), z)


def test_a_copy_draws_from_the_start_of_the_seed():
    unary, _, _, _ = scores_of("independent")
    layer = ArgmaxLayer(seed=3)
    first = layer(unary)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):  # noqa: S301
        assert torch.equal(twin(unary), first)
    assert not torch.equal(layer(unary), first)


# --- compiled, copied ---------------------------------------------------------------------------


@pytest.mark.spread(1)
@pytest.mark.parametrize("form", ["independent", "edges", "upper"])
@pytest.mark.parametrize(
    ("estimator", "seed", "samples"),
    [("implicit_mle", 3, 1), ("implicit_mle", 3, 2), ("straight_through", None, 1)],
)
def test_compiled_code_is_one_graph_without_a_warning(form, estimator, seed, samples, recwarn):
    torch.compiler.reset()
    unary, pairwise, edges, _ = scores_of(form)
    solver = solver_class("exhaustive")()
    layers = [ArgmaxLayer(solver, estimator, seed=seed, samples=samples) for _ in range(2)]
    weights = torch.linspace(-2, 2, 5, dtype=torch.float64)

    pairs = None if edges is None else edges.tolist()

    def loss(layer, unary, pairwise):
        return (layer(2 * unary, pairwise, edges=pairs) * weights).sum()

    leaves = [leaf for leaf in (unary, pairwise) if leaf is not None]
    grads = []
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for function, layer in zip((loss, compiled), layers, strict=True):
        value = function(layer, unary, pairwise)
        grads.append((value, *torch.autograd.grad(value, leaves, allow_unused=True)))
    for one, other in zip(*grads, strict=True):
        assert one is other is None or torch.equal(one, other)
    assert grads[0][1].any()
    assert [str(each.message) for each in recwarn] == []


def test_a_copy_of_a_layer_is_another_layer():
    layer = plain("max_flow", epsilon=1.0)
    twin = copy.deepcopy(layer)
    twin.epsilon, twin.solver = plain(epsilon=100.0).epsilon, "independent"
    loaded = pickle.loads(pickle.dumps(twin))  # noqa: S301
    grads = []
    for each in (layer, twin, loaded):
        unary = torch.full((1, 2), 3.0, requires_grad=True)
        each(unary).sum().backward()
        grads.append(unary.grad.tolist())
    np.testing.assert_allclose(grads, [[[0, 0]], [[0.01, 0.01]], [[0.01, 0.01]]], rtol=1e-6)


# --- structures ---------------------------------------------------------------------------------


class TwoOf:
    """States of two ones."""

    def argmax(self, scores):
        best = scores.topk(2, dim=-1).indices
        return torch.zeros_like(scores).scatter(-1, best, 1.0)


def test_a_structure_stands_where_a_solver_does():
    unary, _, _, _ = scores_of("independent")
    z = plain(TwoOf(), epsilon=1.0)(unary)
    assert (z.sum(dim=-1) == 2).all()
    coming = torch.randn(40, 5, generator=seeded(), dtype=torch.float64)
    (found,) = torch.autograd.grad((z * coming).sum(), unary)
    states = all_bits(5)[all_bits(5).sum(axis=1) == 2]

    def best(scores):
        return states[(scores @ states.T).argmax(axis=1)]

    base = unary.detach().numpy()
    np.testing.assert_array_equal(z.detach().numpy(), best(base))
    np.testing.assert_allclose(found, best(base) - best(base - coming.numpy()))
    estimate = plain(TwoOf())(unary, cost=lambda z: z[..., 0], generator=seeded())
    assert (estimate.z.sum(dim=-1) == 2).all()
    assert torch.autograd.grad(estimate.surrogate.sum(), unary)[0].any()


def test_what_a_structure_cannot_do_is_named():
    unary, pairwise, edges, _ = scores_of("edges")
    with pytest.raises(StructureError, match="TwoOf takes one score per variable and no pair"):
        plain(TwoOf())(unary, pairwise, edges=edges)
    with pytest.raises(StructureError, match="TwoOf takes one score per variable and no pair"):
        plain(TwoOf())(unary, pairwise, edges=edges, cost=lambda z: z[..., 0])
    with pytest.raises(StructureError, match=r"TwoOf takes .* leave out pairwise"):
        plain(TwoOf())(unary, torch.ones(40, 5, 5))
    with pytest.raises(UnknownSolverError, match=r"got 3. A structure is .* argmax\(scores\)"):
        ArgmaxLayer(3)
    with pytest.raises(StructureError, match=r"k = 3 .* number of variables, 2, .*: lower k"):
        plain(KOfN(3))(torch.ones(1, 2))
    with pytest.raises(StructureError, match=r"TwoOf.* without a certificate.*call layer\(unary\)"):
        plain(TwoOf()).solve(unary)

    class Half:
        def argmax(self, scores):
            return scores[..., :2]

    with pytest.raises(
        StructureError, match=r"Half.argmax must give states \[40, 5\]; it gave \[40, 2\]"
    ):
        plain(Half())(unary)


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": "explicit_mle"}, "implicit_mle, straight_through; got 'explicit_mle'"),
        ({"epsilon": 0.0}, "epsilon must be a positive number or a schedule; got 0"),
        ({"epsilon": float("nan")}, "epsilon must be a positive number or a schedule; got nan"),
        ({"epsilon": float("inf")}, "epsilon must be a positive number or a schedule; got inf"),
        ({"epsilon": 10**400}, "epsilon must be a positive number or a schedule; got 1000"),
        ({"epsilon": "1"}, "epsilon must be a positive number or a schedule; got '1'"),
        (
            {"epsilon": torch.nn.Linear(1, 1)},
            r"epsilon is not a schedule: it fails at step 0 \(TypeError",
        ),
        ({"epsilon": lambda step: -1.0}, "epsilon must be positive at step 0; got -1"),
        ({"estimator": None}, "straight_through; got None"),
        ({"estimator": ["implicit_mle"]}, "straight_through; got "),
        (
            {"seed": -1},
            r"seed must be 'torch', a whole number from 0 to 2\^63 - 1, or None; got -1",
        ),
        ({"seed": 2**63}, "seed must be .torch., a whole number"),
        ({"seed": 0.5}, "seed must be .torch., a whole number"),
        ({"seed": np.zeros(1, "i4,f4")}, "seed must be .torch., a whole number"),
        ({"samples": 0}, "samples must be a whole number of at least 1; got 0"),
        ({"samples": 2.0}, "samples must be a whole number of at least 1; got 2.0"),
        ({"samples": True}, "samples must be a whole number of at least 1; got True"),
        ({"samples": np.array([1, 2])}, "samples must be a whole number of at least 1; got"),
    ],
)
def test_impossible_options(options, words):
    with pytest.raises(ConfigError, match=words):
        plain(**options)


@pytest.mark.parametrize("cost", [None, black_box])
def test_what_is_no_problem_is_refused(cost):
    unary, pairwise, edges, _ = scores_of("edges")
    for arguments in (
        {"unary": unary, "pairwise": pairwise[:, :-1], "edges": edges},
        {"unary": unary[:, :-1], "pairwise": pairwise, "edges": edges},
        {"unary": unary * torch.nan},
        {"unary": unary, "pairwise": torch.ones(5, 5)},
    ):
        with pytest.raises(ProblemError):
            plain()(**arguments, **({} if cost is None else {"cost": cost}))
    with pytest.raises(UnsupportedProblemError):
        plain("max_flow")(unary, pairwise, edges=edges)


@pytest.mark.parametrize(
    "solver", [None, "maxflow", "", 3, solver_class("max_flow"), ["auto"], torch.ones(2)]
)
def test_what_names_no_solver_is_refused_before_there_are_scores(solver):
    with pytest.raises(UnknownSolverError):
        ArgmaxLayer(np.float64(3.0))(torch.ones(1, 2))  # it has an argmax, of another kind
    with pytest.raises(UnknownSolverError):
        ArgmaxLayer(np)(torch.ones(1, 2))
    with pytest.raises(UnknownSolverError):
        plain(solver)


def test_a_solver_whose_package_is_missing_is_refused_before_there_are_scores(hide_packages):
    hide_packages()
    with pytest.raises(SolverUnavailableError, match="pip install"):
        plain("cplex")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"unary": None}, "unary must be a torch tensor; got None"),
        ({"unary": np.ones((2, 3))}, "unary must be a torch tensor; got array"),
        ({"pairwise": [[1.0], [2.0]]}, "pairwise must be a torch tensor"),
        ({"edges": torch.tensor([[0, 1]], dtype=torch.bfloat16)}, "edges must be integers"),
        ({"unary": torch.ones(2, 3, dtype=torch.int64)}, "unary must be of a floating-point type"),
        ({"unary": torch.ones(2, 3).to(torch.float8_e4m3fn)}, "16 bits or more"),
        ({"pairwise": torch.ones(2, 3).to(torch.float8_e4m3fn)}, "16 bits or more"),
        ({"unary": torch.ones(2, 3).to_sparse()}, "layout torch.sparse_coo"),
        ({"unary": torch.ones(2, 3, device="meta")}, "on the device meta"),
    ],
)
def test_what_are_no_scores_is_named(changed, words):
    given = {
        "unary": torch.ones(2, 3),
        "pairwise": torch.ones(2, 1),
        "edges": torch.tensor([[0, 1]]),
    }
    with pytest.raises(ProblemError, match=words):
        plain()(**{**given, **changed})


@pytest.mark.parametrize("kind", [np.asarray, torch.Tensor.tolist])
def test_edges_as_an_array_or_a_list(kind):
    unary, pairwise, edges, _ = scores_of("edges")
    expected = plain()(unary, pairwise, edges=edges)
    found = plain()(unary, pairwise, edges=kind(edges))
    assert torch.equal(found, expected)
    found.sum().backward()


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.uint16])
def test_edges_of_any_integers(dtype):
    unary, pairwise, edges, _ = scores_of("edges")
    expected = plain()(unary, pairwise, edges=edges)
    found = plain()(unary, pairwise, edges=edges.to(dtype))
    assert torch.equal(found, expected)
    found.sum().backward()


def test_no_edges_in_any_shape():
    z = plain()(
        torch.ones(2, 3, requires_grad=True),
        torch.zeros(2, 0),
        edges=torch.zeros(0, dtype=torch.int64),
    )
    z.sum().backward()
    assert z.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("generator", [0, "cpu", np.random.default_rng(0)])
@pytest.mark.parametrize("cost", [None, black_box])
def test_what_generates_no_noise_is_named(generator, cost):
    with pytest.raises(ConfigError, match="generator must be a torch\\.Generator or None; got"):
        plain()(torch.ones(2, 3), generator=generator, cost=cost)


@pytest.mark.parametrize("cost", [3.0, "loss", torch.ones(2)])
def test_what_is_no_cost_is_named(cost):
    with pytest.raises(ConfigError, match="cost must be a function of states"):
        plain()(torch.ones(2, 3), cost=cost)


@pytest.mark.parametrize(
    "cost",
    [lambda z: None, lambda z: 1.0, lambda z: z, lambda z: z.sum(), lambda z: z.sum(-1).numpy()],
)
def test_a_cost_of_another_shape_is_named(cost):
    with pytest.raises(
        EstimatorError, match=r"the cost of states \[1, 2, 3\] must be a tensor \[1, 2\]"
    ):
        plain()(torch.ones(2, 3), cost=cost)


# --- learning -----------------------------------------------------------------------------------


def grid_edges(size):
    at = torch.arange(size * size).reshape(size, size)
    right = torch.stack([at[:, :-1].flatten(), at[:, 1:].flatten()], dim=1)
    down = torch.stack([at[:-1].flatten(), at[1:].flatten()], dim=1)
    return torch.cat([right, down])


def rectangles(count, size, generator):
    """Masks `[count, size^2]` of one rectangle each, and noisy pictures of them."""
    at = torch.arange(size)
    corners = torch.randint(0, size // 2, (count, 2), generator=generator)
    inside = [(at >= c[:, None]) & (at < c[:, None] + size // 2) for c in corners.T]
    masks = (inside[0][:, :, None] & inside[1][:, None, :]).flatten(1).float()
    return masks, masks + 0.7 * torch.randn(masks.shape, generator=generator)


@pytest.mark.parametrize("way", ["hamming", "implicit_mle", "defaults"])
def test_a_small_network_learns_to_segment(way):
    size, generator = 6, seeded(0)
    edges = grid_edges(size)
    masks, pictures = rectangles(100, size, generator)
    weight = torch.tensor([1.0, -0.5], requires_grad=True)
    coupling = torch.tensor(-3.0, requires_grad=True)
    layer = ArgmaxLayer("max_flow") if way == "defaults" else plain("max_flow", epsilon=1.0)
    optimizer = torch.optim.Adam([weight, coupling], lr=0.1)

    def scores(given):
        unary = weight[0] * given + weight[1]
        return unary, torch.nn.functional.softplus(coupling).expand(len(given), len(edges))

    @torch.no_grad()
    def share_wrong(given, right):
        return (layer(*scores(given), edges=edges) != right).float().mean().item()

    before = share_wrong(pictures, masks)
    for _ in range(40):
        optimizer.zero_grad()
        if way == "hamming":
            layer(*scores(pictures), edges=edges, cost=Hamming(masks)).surrogate.mean().backward()
        else:
            (layer(*scores(pictures), edges=edges) - masks).square().sum(dim=1).mean().backward()
        optimizer.step()
    new_masks, new_pictures = rectangles(100, size, generator)
    alone = (new_pictures > 0.5).float()
    assert share_wrong(new_pictures, new_masks) < 0.7 * before
    assert share_wrong(new_pictures, new_masks) < 0.7 * (alone != new_masks).float().mean().item()


def test_a_seed_may_be_any_whole_number():
    layer = ArgmaxLayer("independent", seed=True)
    scores = torch.randn(4, 3, requires_grad=True)
    layer(scores).sum().backward()
    assert scores.grad.shape == (4, 3)


@pytest.mark.parametrize("reentrant", [False, True])
def test_activation_checkpointing_has_the_same_gradients_or_is_refused(reentrant):
    def gradient(layer, checkpointed):
        unary = torch.linspace(-1, 1, 8).expand(16, 8).clone().requires_grad_()
        head = torch.nn.Linear(8, 1, dtype=unary.dtype)
        torch.nn.init.ones_(head.weight)
        through = (
            partial(checkpoint, use_reentrant=reentrant)
            if checkpointed
            else lambda call, u: call(u)
        )
        through(lambda u: head(layer(u)), unary).sum().backward()
        return head.weight.grad, unary.grad

    for one, other in zip(
        *(gradient(ArgmaxLayer(seed=None), each) for each in (False, True)), strict=True
    ):
        assert torch.equal(one, other)
    with pytest.raises(ConfigError, match="would draw new noise"):
        gradient(ArgmaxLayer(), True)


@pytest.mark.parametrize("leading", [(), (0,), (2,)])
def test_no_bits_have_a_cost(leading):
    unary = torch.zeros(*leading, 0, requires_grad=True)
    estimate = plain()(unary, cost=lambda z: z.sum(dim=-1) + 2.0)
    assert torch.equal(estimate.surrogate, torch.full(leading, 2.0))
    estimate.surrogate.sum().backward()
    assert unary.grad.shape == unary.shape


@pytest.mark.parametrize("structure", [KOfN(1), Categories()], ids=["k of n", "one category"])
def test_a_forgotten_squeeze_that_leaves_a_single_state_warns_with_the_shape(structure):
    scores = torch.randn(4, 6, 1, requires_grad=True)
    layer = ArgmaxLayer(structure)
    with pytest.warns(
        StalledWarning, match=r"single state for scores \[\.\.\., 1\].*squeeze\(-1\)"
    ):
        assert layer(scores).eq(1).all()
    layer(scores.squeeze(-1))  # without a warning, which would be an error here


def test_choosing_all_variables_is_right_and_warns_that_nothing_is_learnt():
    scores = torch.randn(4, 6)
    with pytest.warns(StalledWarning, match=r"scores \[\.\.\., 6\].*no gradient can change it$"):
        assert ArgmaxLayer(KOfN(6))(scores).eq(1).all()
    with pytest.warns(StalledWarning, match=r"scores \[\.\.\., 6\].*no gradient can change it$"):
        PerturbedFenchelYoung(KOfN(6))(scores, target=torch.ones(4, 6))
    layer = ArgmaxLayer(KOfN(5))
    assert layer.over(KOfN([6, 6, 6, 6]))(scores).eq(1).all()  # each instance may choose all
    assert layer.over(KOfN(6, least=5))(scores).sum(-1).ge(5).all()


def test_too_few_scores_for_k_name_their_shape():
    with pytest.raises(StructureError, match=r"number of variables, 1, of scores \[4, 6, 1\]"):
        ArgmaxLayer(KOfN(2))(torch.randn(4, 6, 1))
    with pytest.raises(StructureError, match=r"number of variables, 4: lower k"):
        KOfN(5).check(4)
