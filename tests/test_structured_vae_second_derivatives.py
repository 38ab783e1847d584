"""Second derivatives: right against differences, or refused, and never zero without a word."""

import pytest
import torch
from enumeration import seeded
from torch import func
from torch.autograd import forward_ad, functional, gradgradcheck

from models import CategoricalPotentials, Potentials
from structured_vae import (
    ArgmaxLayer,
    DirectLoss,
    Gibbs,
    GibbsLikelihood,
    ImplicitMLELoss,
    KOfN,
    LinearChainCRF,
    PairwiseCRF,
    PerturbedFenchelYoung,
    SpanningTrees,
    StructuredHinge,
    routing_weights,
)
from structured_vae.errors import EstimatorError
from structured_vae.estimators import EstimatorOptions, estimator_class
from structured_vae.spaces import PairwiseLabels

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's

TRIANGLE = torch.tensor([[0, 1], [1, 2], [0, 2]])
TARGET = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], dtype=torch.float64)


def chain(n):
    return torch.tensor([[i, i + 1] for i in range(n - 1)])


def leaf(*shape, seed=0):
    return torch.randn(shape, generator=seeded(seed), dtype=torch.float64).requires_grad_()


def penalised(loss, scores):
    """The gradient of a loss with a gradient penalty, less that of the loss alone."""
    (gradient,) = torch.autograd.grad(loss, scores, create_graph=True)
    (total,) = torch.autograd.grad(loss + gradient.square().sum(), scores)
    return total - gradient


def of_bits(quantity):
    return lambda unary, pairwise: quantity(Gibbs(Potentials(unary, pairwise, TRIANGLE)))


BITS = {
    "likelihood": lambda unary, pairwise: GibbsLikelihood()(
        unary, pairwise, edges=TRIANGLE, target=TARGET
    ),
    "log Z": of_bits(lambda q: q.log_partition),
    "marginals": of_bits(lambda q: q.marginals),
    "entropy": of_bits(lambda q: q.entropy()),
    "KL": of_bits(lambda q: q.kl().value),
    "log_prob": of_bits(lambda q: q.log_prob(TARGET)),
    "both": of_bits(lambda q: (q.log_partition.square(), *q.marginals)),
}


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", BITS)
def test_second_derivatives_of_coupled_bits_are_right(name):
    assert gradgradcheck(BITS[name], (leaf(2, 3), leaf(2, 3, seed=1)))


def test_second_derivatives_of_coupled_categories_are_right():
    def sums(unary, pairwise):
        q = Gibbs(CategoricalPotentials(unary, pairwise, torch.tensor([[0, 1]]), variables=2))
        return q.log_partition, *q.marginals, q.entropy()

    assert gradgradcheck(sums, (leaf(2, 6), leaf(2, 9, seed=1)))


def test_the_likelihood_of_a_long_chain_has_second_derivatives():
    edges, target = chain(30), (leaf(1, 30, seed=2) > 0).double()

    def loss(unary, pairwise):
        return GibbsLikelihood()(unary, pairwise, edges=edges, target=target)

    assert gradgradcheck(loss, (leaf(1, 30), leaf(1, 29, seed=1)))


def test_a_penalty_on_the_gradient_of_a_likelihood_has_an_effect():
    for edges, couplings in ((None, None), (TRIANGLE, leaf(2, 3, seed=1))):
        scores = leaf(2, 3)
        loss = GibbsLikelihood()(scores, couplings, edges=edges, target=TARGET).sum()
        assert penalised(loss, scores).abs().max() > 0.01


def test_compiled_likelihoods_have_second_derivatives_too():
    torch.compiler.reset()
    pairs, likelihood = TRIANGLE.tolist(), GibbsLikelihood()

    def loss(unary, pairwise):
        return likelihood(unary, pairwise, edges=pairs, target=TARGET).sum()

    scores, couplings = leaf(2, 3), leaf(2, 3, seed=1)
    compiled = torch.compile(loss, backend="eager")
    plain = penalised(loss(scores, couplings), scores)
    torch.testing.assert_close(penalised(compiled(scores, couplings), scores), plain)


def test_crfs_have_second_derivatives():
    crf = LinearChainCRF(3, batch_first=True).double()
    tags = torch.zeros((2, 3), dtype=torch.long)
    assert gradgradcheck(lambda scores: crf(scores, tags, reduction="none"), (leaf(2, 3, 3),))
    assert gradgradcheck(crf.marginals, (leaf(2, 3, 3),))
    graph = PairwiseCRF(3, 2, [[0, 1], [1, 2]]).double()
    assert gradgradcheck(lambda scores: graph(scores, tags, "none"), (leaf(2, 3, 2),))


def third(log_partition, scores):
    (first,) = torch.autograd.grad(log_partition(scores).sum(), scores, create_graph=True)
    return penalised(first.square().sum(), scores)


CHAIN = LinearChainCRF(2, batch_first=True).double()
GRAPH = PairwiseCRF(2, 2, [[0, 1]]).double()
with torch.no_grad():
    for number, scores in enumerate([*CHAIN.parameters(), GRAPH.pairwise]):
        scores.copy_(torch.randn(scores.shape, generator=seeded(number), dtype=torch.float64))
TAGS = torch.tensor([[0, 1]])
SOFT_TAGS = torch.tensor([[[0.3, 0.7], [0.5, 0.5]]], dtype=torch.float64)
BITS_OF_TWO = torch.tensor([[0.0, 1.0, 0.0, 1.0]], dtype=torch.float64)


def steps(x):
    return x.reshape(1, 2, 2)


def of_pairs(x):
    """Pairwise scores that depend on the unary ones."""
    unary = x.reshape(1, 4)
    return Gibbs(Potentials(unary, unary[:, :3] * unary[:, 1:], chain(4)))


HESSIANS = {
    "chain": lambda x: CHAIN(steps(x), TAGS, reduction="none"),
    "log Z of a chain": lambda x: CHAIN.log_partition(steps(x)),
    "soft tags": lambda x: CHAIN(steps(x), SOFT_TAGS, reduction="none"),
    "marginals of a chain": lambda x: CHAIN.marginals(steps(x)),
    "log Z of pairs": lambda x: of_pairs(x).log_partition,
    "marginals of pairs": lambda x: of_pairs(x).marginals[1],
    "entropy of pairs": lambda x: of_pairs(x).entropy(),
    "likelihood": lambda x: GibbsLikelihood(KOfN(2))(x.reshape(1, 4), target=BITS_OF_TWO),
    "trees": lambda x: (
        SpanningTrees([[0, 1], [1, 2], [0, 2], [0, 3]]).gibbs(x.reshape(1, 4)).marginals
    ),
    "routing": lambda x: routing_weights(x.reshape(1, 4), BITS_OF_TWO),
    "graph": lambda x: GRAPH(steps(x), TAGS, "none"),
}
"""Functions of four scores that have a second derivative."""

FORWARD = [name for name in HESSIANS if name != "graph"]
"""Those that have derivatives in forward mode as well."""

POINT = torch.tensor([0.3, -1.1, 0.7, 0.2], dtype=torch.float64)


def squared(name):
    """A function whose incoming gradient depends on the scores, as those of most losses do."""
    return lambda x: HESSIANS[name](x).square().sum()


def slope(function, x, graph=False):
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(function(x), x, create_graph=graph)[0].detach()


def by_differences(function):
    moves = 1e-5 * torch.eye(4, dtype=torch.float64)
    rows = [slope(function, POINT + move) - slope(function, POINT - move) for move in moves]
    return torch.stack(rows) / 2e-5


@pytest.mark.parametrize("name", HESSIANS)
def test_a_gradient_with_a_graph_equals_one_without(name):
    plain = slope(squared(name), POINT)
    torch.testing.assert_close(slope(squared(name), POINT, graph=True), plain)


@pytest.mark.parametrize("name", HESSIANS)
def test_hessians_are_differences_of_gradients(name):
    expected = by_differences(squared(name))
    hessians = [
        functional.hessian(squared(name), POINT),
        func.jacrev(func.jacrev(squared(name)))(POINT),
    ]
    if name in FORWARD:
        hessians.append(func.hessian(squared(name))(POINT))
    for hessian in hessians:
        torch.testing.assert_close(hessian, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["log Z of a chain", "marginals of pairs"])
def test_dual_numbers_give_the_derivative_along_a_direction(name):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(POINT, torch.ones_like(POINT))
        _, along = forward_ad.unpack_dual(squared(name)(dual))
    torch.testing.assert_close(along, slope(squared(name), POINT).sum())


def test_several_gradients_at_once_are_right_or_refused():
    expected = functional.jacobian(HESSIANS["log Z of a chain"], POINT)
    several = functional.jacobian(HESSIANS["log Z of a chain"], POINT, vectorize=True)
    torch.testing.assert_close(several, expected)
    for name in ("graph", "marginals of pairs"):
        with pytest.raises(EstimatorError, match="leave out vectorize=True"):
            functional.jacobian(HESSIANS[name], POINT, vectorize=True)


NOISY = {
    "noise": ArgmaxLayer(),
    "seed": ArgmaxLayer(seed=3),
    "draws": ArgmaxLayer(samples=3),
    "structure": ArgmaxLayer(KOfN(2)),
    "generator": lambda x: ArgmaxLayer(seed=None)(x, generator=seeded()),
    "implicit MLE": lambda x: ImplicitMLELoss()(x, target=BITS_OF_TWO),
    "perturbed": lambda x: PerturbedFenchelYoung()(x, target=BITS_OF_TWO),
}


@pytest.mark.parametrize("name", NOISY)
def test_hessians_of_noisy_layers_are_refused(name):
    def total(x):
        return NOISY[name](x.reshape(1, 4)).square().sum()

    for hessian in (
        lambda: functional.hessian(total, POINT),
        lambda: func.jacrev(func.jacrev(total))(POINT),
    ):
        with pytest.raises(EstimatorError, match="has no derivative: leave out gradient penalties"):
            hessian()
    with pytest.raises(EstimatorError, match="derivatives in reverse mode only"):
        func.hessian(total)(POINT)


def test_noise_inside_of_a_hessian_names_the_randomness():
    layer = ArgmaxLayer(estimator="straight_through")

    def total(x):
        return layer(x.reshape(1, 4)).square().sum()

    with pytest.raises(EstimatorError, match="in place of hessian"):
        func.hessian(total)(POINT)
    hessian = func.jacfwd(func.jacrev(total), randomness="same")(POINT)
    torch.testing.assert_close(hessian, 2 * torch.eye(4, dtype=torch.float64))


LINEAR = ("direct", "table_direct", "implicit_mle", "adaptive_implicit_mle", "perturbed_argmax")
LINEAR += ("arm", "disarm", "arms", "rebar", "relax", "local_disarm", "score_function", "nvil")
LINEAR += ("muprop", "double_cv", "rodeo", "unordered_set", "ram", "vimco", "ovis")


@pytest.mark.parametrize("name", LINEAR)
def test_estimates_refuse_a_second_derivative(name):
    options = EstimatorOptions(n=4, samples=2)
    estimator = estimator_class(name).of_options(options).double()
    unary = POINT.reshape(1, 4).clone().requires_grad_()
    surrogate = estimator(Potentials(unary), lambda z: z.square().sum(-1), seeded()).surrogate.sum()
    (gradient,) = torch.autograd.grad(surrogate, unary, create_graph=True)
    torch.testing.assert_close(gradient, torch.autograd.grad(surrogate, unary)[0])
    with pytest.raises(EstimatorError, match=f"gradient of {type(estimator).__name__} has no"):
        gradient.square().sum().backward()


def test_a_layer_with_a_cost_refuses_a_second_derivative_of_either_score():
    for wanted in (0, 1):
        unary, pairwise = leaf(2, 3), leaf(2, 3, seed=1)
        layer = ArgmaxLayer(seed=None)
        estimate = layer(
            unary, pairwise, edges=TRIANGLE, cost=lambda z: (z - TARGET).square().sum(-1)
        )
        scores = (unary, pairwise)[wanted]
        (gradient,) = torch.autograd.grad(estimate.surrogate.sum(), scores, create_graph=True)
        with pytest.raises(EstimatorError, match="gradient of Direct has no derivative"):
            torch.autograd.grad(gradient.square().sum(), scores)


REFUSED = {
    "layer": lambda u: ArgmaxLayer(seed=None)(u).square().sum(),
    "layer of a structure": lambda u: ArgmaxLayer(KOfN(1), seed=None)(u).square().sum(),
    "perturbed": lambda u: PerturbedFenchelYoung()(u, target=TARGET, generator=seeded()).sum(),
    "direct": lambda u: DirectLoss()(u, target=TARGET).sum(),
    "implicit MLE": lambda u: ImplicitMLELoss()(u, target=TARGET).sum(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sampled_gradients_refuse_a_derivative(name):
    scores = leaf(2, 3)
    loss = REFUSED[name](scores)
    (gradient,) = torch.autograd.grad(loss, scores, create_graph=True)
    with pytest.raises(EstimatorError, match="has no derivative: leave out gradient penalties"):
        (loss + gradient.square().sum()).backward()


def test_sums_of_many_states_refuse_what_they_cannot_differentiate():
    edges, couplings, scores = chain(30), leaf(1, 29, seed=1), leaf(1, 30)
    entropy = Gibbs(Potentials(scores, couplings, edges)).entropy().sum()
    with pytest.raises(EstimatorError, match="has no derivative"):
        penalised(entropy, scores)
    labels, scores = PairwiseLabels(2, 2, [[0, 1]]), leaf(2, 8)
    with pytest.raises(EstimatorError, match="PairwiseLabels has no derivative"):
        third(lambda u: labels.gibbs(u).log_partition, scores)


def test_piecewise_linear_losses_have_a_second_derivative_of_zero():
    scores = leaf(2, 3)
    loss = StructuredHinge()(scores, target=TARGET).sum() + scores.square().sum()
    plain = penalised(scores.square().sum(), scores)
    assert plain.any()
    (gradient,) = torch.autograd.grad(loss, scores, create_graph=True)
    (found,) = torch.autograd.grad(gradient.sum(), scores)
    assert torch.equal(found, torch.full_like(scores, 2.0))
