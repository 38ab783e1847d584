"""Functions of JAX: the same values and gradients as those of torch."""

import numpy as np
import pytest
import torch

jax = pytest.importorskip("jax", reason="JAX is an extra: pip install 'structured-vae[jax]'")
jnp = jax.numpy

import structured_vae.jax as svj  # noqa: E402
from structured_vae import (  # noqa: E402
    ArgmaxLayer,
    ConfigError,
    DirectLoss,
    GibbsLikelihood,
    KOfN,
    LinearChainCRF,
    PerturbedFenchelYoung,
    Relative,
    StructuredHinge,
    StructuredPerceptron,
)

RANDOM = np.random.default_rng(0)
UNARY = RANDOM.normal(size=(3, 4)).astype(np.float32)
PAIRS = RANDOM.normal(size=(3, 3)).astype(np.float32)
TARGET = (RANDOM.random((3, 4)) > 0.5).astype(np.float32)
WEIGHTS = RANDOM.normal(size=(3, 4)).astype(np.float32)
EDGES = [[0, 1], [1, 2], [2, 3]]


def of_torch(function, *arrays):
    """The values of a function of torch, and the gradients of their sum."""
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    values = function(*leaves)
    gradients = torch.autograd.grad(values.sum(), leaves)
    return values.detach().numpy(), [gradient.numpy() for gradient in gradients]


def of_jax(function, *arrays):
    arguments = [jnp.asarray(array) for array in arrays]
    places = tuple(range(len(arguments)))
    gradients = jax.jit(jax.grad(lambda *a: function(*a).sum(), places))(*arguments)
    return function(*arguments), gradients


def check(ours, theirs, *arrays):
    values, gradients = of_jax(ours, *arrays)
    expected, expected_gradients = of_torch(theirs, *arrays)
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)
    for gradient, wanted in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.7, None])
def test_the_layer_is_that_of_torch(epsilon):
    layer = ArgmaxLayer(epsilon=epsilon or Relative(by="instance"), seed=None)
    check(
        lambda u, w: WEIGHTS * svj.argmax_layer(u, w, edges=EDGES, epsilon=epsilon),
        lambda u, w: torch.tensor(WEIGHTS) * layer(u, w, edges=EDGES),
        UNARY,
        PAIRS,
    )


@pytest.mark.parametrize("solver", ["max_flow", KOfN(2)], ids=["solver", "structure"])
def test_the_layer_takes_a_solver_or_a_structure(solver):
    layer = ArgmaxLayer(solver, epsilon=1.0, seed=None)
    check(
        lambda u: WEIGHTS * svj.argmax_layer(u, solver=solver, epsilon=1.0),
        lambda u: torch.tensor(WEIGHTS) * layer(u),
        UNARY,
    )


LOSSES = {
    "perceptron": (svj.structured_perceptron, StructuredPerceptron()),
    "hinge": (svj.structured_hinge, StructuredHinge()),
    "likelihood": (svj.gibbs_likelihood, GibbsLikelihood()),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_that_of_torch(name):
    ours, theirs = LOSSES[name]
    check(
        lambda u, w: ours(u, w, edges=EDGES, target=TARGET),
        lambda u, w: theirs(u, w, edges=EDGES, target=torch.tensor(TARGET)),
        UNARY,
        PAIRS,
    )
    check(lambda u: ours(u, target=TARGET), lambda u: theirs(u, target=torch.tensor(TARGET)), UNARY)


@pytest.mark.parametrize("epsilon", [0.7, None])
def test_the_direct_loss_is_that_of_torch(epsilon):
    theirs = DirectLoss(epsilon=epsilon or Relative(by="instance"))
    check(
        lambda u, w: svj.direct_loss(u, w, edges=EDGES, target=TARGET, epsilon=epsilon),
        lambda u, w: theirs(u, w, edges=EDGES, target=torch.tensor(TARGET)),
        UNARY,
        PAIRS,
    )
    theirs = DirectLoss(KOfN(2), epsilon=epsilon or Relative(by="instance"))
    target = np.asarray(svj.argmax(WEIGHTS, solver=KOfN(2)))
    check(
        lambda u: svj.direct_loss(u, target=target, solver=KOfN(2), epsilon=epsilon),
        lambda u: theirs(u, target=torch.tensor(target)),
        UNARY,
    )


def test_noise_of_the_direct_loss_is_another_argmax():
    def loss(key):
        return svj.direct_loss(0 * UNARY, target=TARGET, key=key)

    first, second = jax.vmap(loss)(jax.random.split(jax.random.key(0)))
    assert (first != second).any()


def test_the_perturbed_loss_has_the_mean_and_gradient_of_torch():
    key, samples = jax.random.key(0), 1000
    loss = PerturbedFenchelYoung(samples=samples)
    torch.manual_seed(0)
    values, (gradient,) = of_torch(lambda u: loss(u, target=torch.tensor(TARGET)), UNARY)
    ours, (own,) = of_jax(
        lambda u: svj.perturbed_loss(u, target=TARGET, key=key, samples=samples), UNARY
    )
    np.testing.assert_allclose(ours, values, atol=0.2)
    np.testing.assert_allclose(own, gradient, atol=0.1)


def test_a_chain_is_that_of_torch():
    crf = LinearChainCRF(3, batch_first=True)
    emissions = RANDOM.normal(size=(2, 4, 3)).astype(np.float32)
    tags, lengths = np.array([[0, 1, 2, 1], [2, 0, 1, 1]]), np.array([4, 2])
    mask = torch.arange(4) < torch.tensor(lengths)[:, None]
    parameters = [
        parameter.detach().numpy()
        for parameter in (crf.transitions, crf.start_transitions, crf.end_transitions)
    ]
    values, gradients = of_jax(
        lambda e, *p: svj.chain_log_likelihood(e, tags, *p, lengths), emissions, *parameters
    )
    leaf = torch.tensor(emissions, requires_grad=True)
    expected = crf(leaf, torch.tensor(tags), mask, reduction="none")
    np.testing.assert_allclose(values, expected.detach().numpy(), rtol=1e-4)
    expected.sum().backward()
    wanted = [leaf, crf.transitions, crf.start_transitions, crf.end_transitions]
    for gradient, parameter in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(gradient, parameter.grad.numpy(), atol=1e-5)
    best = svj.chain_decode(emissions, *parameters, lengths)
    assert best.tolist() == crf.solve(leaf.detach(), mask).labels.tolist()


def test_transforms_compose():
    def loss(u, w, y):
        return svj.gibbs_likelihood(u, w, edges=EDGES, target=y)

    rows = jax.vmap(jax.grad(loss))(UNARY, PAIRS, TARGET)
    whole = jax.grad(lambda u: loss(u, PAIRS, TARGET).sum())(jnp.asarray(UNARY))
    np.testing.assert_allclose(rows, whole, atol=1e-5)
    hessian = jax.jacrev(jax.grad(lambda u: loss(u, PAIRS[0], TARGET[0])))(jnp.asarray(UNARY[0]))
    expected = torch.autograd.functional.hessian(
        lambda u: GibbsLikelihood()(
            u[None], torch.tensor(PAIRS[:1]), edges=EDGES, target=torch.tensor(TARGET[:1])
        ).sum(),
        torch.tensor(UNARY[0]),
    )
    np.testing.assert_allclose(hessian, expected.numpy(), atol=1e-5)
    states = jax.vmap(lambda u: svj.argmax(u))(UNARY)
    assert (states == (UNARY > 0)).all()


def test_noise_comes_from_the_key():
    scores = jnp.zeros((2000, 1)) + 1.0
    z = svj.argmax_layer(scores, key=jax.random.key(0))
    assert abs(float(z.mean()) - 1 / (1 + np.exp(-1))) < 0.04
    assert (z == svj.argmax_layer(scores, key=jax.random.key(0))).all()
    assert (z != svj.argmax_layer(scores, key=jax.random.key(1))).any()


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("epsilon", [0.7, None])
def test_several_samples_are_the_mean_of_single_draws_for_the_same_gradient(pairs, epsilon):
    key = jax.random.key(3)
    noise = jax.random.logistic(key, (3, *UNARY.shape))
    arrays = [jnp.asarray(UNARY)]
    edges = None
    if pairs:
        arrays.append(jnp.asarray(PAIRS))
        edges = EDGES

    def mean(*scores):
        return svj.argmax_layer(*scores, edges=edges, epsilon=epsilon, key=key, samples=3)

    def single(draw, unary, *rest):
        return svj.argmax_layer(unary + draw, *rest, edges=edges, epsilon=epsilon)

    z, pull = jax.vjp(jax.jit(mean), *arrays)
    draws = [jax.vjp(lambda *a, draw=draw: single(draw, *a), *arrays) for draw in noise]
    np.testing.assert_allclose(z, np.mean([state for state, _ in draws], axis=0), rtol=1e-6)
    assert ((z > 0) & (z < 1)).any()
    gradients = zip(*[pull_one(jnp.asarray(WEIGHTS)) for _, pull_one in draws], strict=True)
    for gradient, of_draws in zip(pull(jnp.asarray(WEIGHTS)), gradients, strict=True):
        np.testing.assert_allclose(gradient, np.mean(of_draws, axis=0), rtol=1e-5)
        assert gradient.any()


def test_samples_without_a_key_are_one_argmax_and_vmap_maps_over_keys():
    assert (svj.argmax_layer(UNARY, samples=4) == svj.argmax(UNARY)).all()
    keys = jax.random.split(jax.random.key(0), 3)
    rows = jax.vmap(lambda u, key: svj.argmax_layer(u, key=key, samples=4))(UNARY, keys)
    looped = [svj.argmax_layer(u, key=key, samples=4) for u, key in zip(UNARY, keys, strict=True)]
    np.testing.assert_array_equal(rows, looped)


def test_wrong_arguments_are_named():
    with pytest.raises(ConfigError, match="samples must be a whole number of at least 1; got 0"):
        svj.argmax_layer(UNARY, samples=0)
    with pytest.raises(ConfigError, match=r"whole number of at least 1; got 1\.5"):
        svj.perturbed_loss(UNARY, target=TARGET, key=jax.random.key(0), samples=1.5)
    with pytest.raises(ValueError, match="go together"):
        svj.argmax(UNARY, PAIRS)
    with pytest.raises(ValueError, match="one score for each edge"):
        svj.argmax(UNARY, PAIRS[:, :2], edges=EDGES)
    with pytest.raises(ConfigError, match="epsilon must be"):
        svj.argmax_layer(UNARY, epsilon=0.0)
    with pytest.raises(ConfigError, match="none of pairs"):
        svj.argmax(UNARY, PAIRS, edges=EDGES, solver=KOfN(2))


@pytest.mark.parametrize("solver", ["auto", KOfN(2)], ids=["solver", "structure"])
def test_scores_in_bfloat16_have_the_argmax_of_their_values(solver):
    scores = jnp.asarray(UNARY, jnp.bfloat16)
    z = svj.argmax_layer(scores, solver=solver)
    assert z.dtype == jnp.bfloat16
    assert (z == svj.argmax(scores.astype(jnp.float32), solver=solver)).all()
    slope = jax.grad(lambda u: svj.argmax_layer(u, solver=solver)[0, 0] * 3)(scores)
    assert slope.dtype == jnp.bfloat16


WRONG = {
    "edges of no variable": (
        lambda: svj.argmax(UNARY, PAIRS, edges=[[0, 1], [1, 2], [2, 9]]),
        "0 to 3",
    ),
    "negative edges": (lambda: svj.argmax(UNARY, PAIRS, edges=[[0, 1], [1, 2], [2, -1]]), "0 to 3"),
    "ragged edges": (lambda: svj.argmax(UNARY, PAIRS, edges=[[0], [1, 2]]), "edges must be"),
    "one pairwise score": (lambda: svj.argmax(UNARY, 1.0, edges=EDGES), "pairwise must be"),
    "no such solver": (lambda: svj.argmax(UNARY, solver="nope"), "no solver is called 'nope'"),
    "target": (lambda: svj.structured_hinge(UNARY, target=TARGET[:, :2]), "target must be states"),
    "no target": (lambda: svj.structured_perceptron(UNARY, target=None), "target must be states"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_get_errors_before_jax_runs(name):
    call, words = WRONG[name]
    with pytest.raises((ValueError, LookupError), match=words):
        call()


@pytest.mark.parametrize(
    ("loss", "value"),
    [
        (lambda u: svj.argmax_layer(u, PAIRS, edges=EDGES).sum(axis=-1), np.nan),
        (lambda u: svj.structured_hinge(u, target=TARGET), np.inf),
        (lambda u: svj.gibbs_likelihood(u, PAIRS, edges=EDGES, target=TARGET), np.nan),
        (lambda u: svj.gibbs_likelihood(u, target=TARGET), -np.inf),
        (lambda u: svj.direct_loss(u, PAIRS, edges=EDGES, target=TARGET), np.nan),
        (lambda u: svj.argmax_layer(u, solver=KOfN(2)).sum(axis=-1), np.inf),
    ],
)
def test_a_score_that_is_not_finite_makes_the_results_of_its_instance_nan(loss, value):
    wrong = UNARY.copy()
    wrong[1, 2] = value
    values, (gradient,) = of_jax(loss, wrong)
    expected, (expected_gradient,) = of_jax(loss, UNARY)
    assert np.isnan(values).tolist() == [False, True, False]
    assert np.isnan(gradient).any(axis=-1).tolist() == [False, True, False]
    np.testing.assert_array_equal(values[::2], expected[::2])
    np.testing.assert_array_equal(gradient[::2], expected_gradient[::2])


def test_an_incoming_gradient_that_is_not_finite_makes_that_of_its_instance_nan():
    slope = np.ones((3, 1), np.float32)
    slope[1] = np.inf
    _, (gradient, _) = of_jax(
        lambda u, w: slope * svj.argmax_layer(u, w, edges=EDGES), UNARY, PAIRS
    )
    assert np.isnan(gradient).all(axis=-1).tolist() == [False, True, False]


def test_a_forbidden_variable_of_a_structure_does_not_enlarge_the_step():
    scores = np.array([[0.5, 0.2, -np.inf, -np.inf]], np.float32)
    weights = np.array([[1.0, -2.0, 1.0, 1.0]], np.float32)

    def layer(unary):
        return weights * svj.argmax_layer(unary, solver=KOfN(1))

    _, (gradient,) = of_jax(layer, scores)
    _, (expected,) = of_jax(lambda u: layer(u) * np.array([1, 1, 0, 0]), scores)
    assert np.isfinite(gradient).all()
    assert gradient[0, :2].any()
    assert np.sign(gradient).tolist() == np.sign(expected).tolist()


def test_tags_beyond_the_end_of_a_chain_may_have_any_value_and_others_must_be_in_range():
    emissions = RANDOM.normal(size=(2, 4, 3)).astype(np.float32)
    chain = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    lengths = np.array([4, 2])

    def likelihood(tags):
        return svj.chain_log_likelihood(emissions, tags, *chain, lengths)

    expected = likelihood(np.array([[0, 1, 2, 0], [1, 1, 0, 0]]))
    padded = likelihood(np.array([[0, 1, 2, 0], [1, 1, -100, 99]]))
    np.testing.assert_array_equal(padded, expected)
    out_of_range = likelihood(np.array([[0, -1, 2, 0], [1, 1, 0, 0]]))
    assert np.isnan(out_of_range).tolist() == [True, False]


@pytest.mark.parametrize("length", [1, 3])
def test_a_chain_with_a_nan_score_has_no_tags_and_a_nan_likelihood(length):
    emissions = RANDOM.normal(size=(2, length, 3)).astype(np.float32)
    emissions[0, 0, 1] = np.nan
    chain = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    tags = svj.chain_decode(emissions, *chain)
    assert (np.asarray(tags) == -1).all(axis=-1).tolist() == [True, False]
    value = svj.chain_log_likelihood(emissions, np.zeros((2, length), int), *chain)
    assert np.isnan(value).tolist() == [True, False]
