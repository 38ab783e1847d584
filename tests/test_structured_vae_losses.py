"""Losses of structured prediction: values and gradients by enumeration, convexity, and what they refuse."""

import math

import numpy as np
import pytest
import torch
from enumeration import LEVEL, away, latent, seeded

from solvers import ProblemError, UnsupportedProblemError
from structured_vae import (
    ArgmaxLayer,
    ConfigError,
    DirectLoss,
    ExponentialDecay,
    GibbsLikelihood,
    ImplicitMLELoss,
    KOfN,
    PerturbedFenchelYoung,
    StructuredHinge,
    StructuredPerceptron,
)
from structured_vae.errors import StalledWarning, StructureError
from structured_vae.estimators import Adaptive, Scheduled
from structured_vae.noise import gumbel_differences

FAMILIES = ["independent", "supermodular", "general"]


def _kind(loss):
    """The name of a test; a representation may have an address in it."""
    return type(loss).__name__


every_family = pytest.mark.parametrize("family", FAMILIES)
WEIGHTS = np.array([0.5, 2.0, 0.0, 1.0, 3.0])


def cases(family, count=30, n=5):
    """Scores of one image and a target each."""
    random = np.random.default_rng(7)
    return [(latent(family, n, seed), random.integers(2, size=n)) for seed in range(count)]


def found(loss, this, y, generator=None, copies=1):
    """Losses `[copies]` and gradients `[copies, n + e]`."""
    unary = torch.from_numpy(this.unary).repeat(copies, 1).requires_grad_()
    leaves, given = [unary], {}
    if len(this.edges):
        leaves.append(torch.from_numpy(this.pairwise).repeat(copies, 1).requires_grad_())
        given = {"pairwise": leaves[1], "edges": this.edges}
    target = torch.from_numpy(y).repeat(copies, 1)
    value = loss(unary, **given, target=target, generator=generator)
    gradients = torch.autograd.grad(value.sum(), leaves)
    return value.detach().numpy(), torch.cat(gradients, dim=1).numpy()


def distance(this, y, weights=1.0):
    return (weights * (this.states != y)).sum(axis=1)


def margins(this, y, cost):
    """The best of score and cost over all states, less the score of y, and its gradient."""
    scores, statistics = this.scores(), this.statistics()
    best = (scores + cost).argmax()
    at_y = this.statistics(y)
    return (scores + cost)[best] - at_y @ this.parameters, statistics[best] - at_y


def check(loss, this, y, value, gradient):
    values, gradients = found(loss, this, y)
    np.testing.assert_allclose(values, [value], rtol=0, atol=1e-12)
    np.testing.assert_allclose(gradients, [gradient], rtol=0, atol=1e-12)


# --- values and gradients -----------------------------------------------------------------------


@every_family
def test_the_perceptron(family):
    values = []
    for this, y in cases(family):
        value, gradient = margins(this, y, 0.0)
        check(StructuredPerceptron(), this, y, value, gradient)
        best = this.states[this.scores().argmax()].astype(int)
        check(StructuredPerceptron(), this, best, 0.0, np.zeros_like(gradient))
        values.append(value)
    assert np.mean(values) > 0.5


@every_family
@pytest.mark.parametrize("margin", [1.0, 0.3])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_hinge_is_augmented_by_the_distance(family, margin, weights):
    given = None if weights is None else torch.from_numpy(weights)
    other = 0
    for this, y in cases(family):
        counted = distance(this, y, 1.0 if weights is None else weights)
        value, gradient = margins(this, y, margin * counted)
        check(StructuredHinge(margin=margin, weights=given), this, y, value, gradient)
        assert value >= margin * counted[this.scores().argmax()] - 1e-12
        other += (this.scores() + margin * counted).argmax() != this.scores().argmax()
    assert other > 3


@pytest.mark.spread(6)
@every_family
@pytest.mark.parametrize("side", ["better", "worse"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_direct_loss_is_what_is_counted_and_moves_by_its_definition(family, side, weights):
    given, epsilon, moves = None if weights is None else torch.from_numpy(weights), 0.8, 0
    for this, y in cases(family):
        counted = distance(this, y, 1.0 if weights is None else weights)
        scores, s = this.scores(), this.statistics()
        best = scores.argmax()
        better, worse = (scores - epsilon * counted).argmax(), (scores + epsilon * counted).argmax()
        gradient = (s[best] - s[better] if side == "better" else s[worse] - s[best]) / epsilon
        check(
            DirectLoss(epsilon=epsilon, side=side, weights=given), this, y, counted[best], gradient
        )
        moves += gradient.any()
    assert moves > 3


@every_family
def test_implicit_mle_moves_along_the_gradient_of_its_loss(family):
    def quartic(z, y):
        return (0.25 * (z - y) ** 4 + 0.1 * z**3).sum(dim=-1)

    epsilon, moves = 0.8, 0
    for this, y in cases(family):
        scores, s, states = this.scores(), this.statistics(), this.states
        z = states[scores.argmax()]
        for loss, slope, value in (
            (None, 2 * (z - y), ((z - y) ** 2).sum()),
            (quartic, (z - y) ** 3 + 0.3 * z**2, (0.25 * (z - y) ** 4 + 0.1 * z**3).sum()),
        ):
            moved = (scores - epsilon * states @ slope).argmax()
            gradient = (s[scores.argmax()] - s[moved]) / epsilon
            check(ImplicitMLELoss(epsilon=epsilon, loss=loss, seed=None), this, y, value, gradient)
            moves += gradient.any()
    assert moves > 3


@every_family
def test_the_likelihood_is_that_of_the_gibbs_distribution(family):
    for this, y in cases(family):
        log_z = np.logaddexp.reduce(this.scores())
        at_y = this.statistics(y)
        gradient = this.probabilities() @ this.statistics() - at_y
        values, gradients = found(GibbsLikelihood(), this, y)
        np.testing.assert_allclose(values, [log_z - at_y @ this.parameters], rtol=0, atol=1e-10)
        np.testing.assert_allclose(gradients, [gradient], rtol=0, atol=1e-10)


@pytest.mark.statistical
@pytest.mark.parametrize("samples", [1, 3])
def test_the_perturbed_loss_is_unbiased_for_independent_bits(samples):
    """Of one bit max(0, u + sigma g) has the mean u Phi(u / sigma) + sigma phi(u / sigma), in closed form."""
    this, sigma, y = latent("independent", 5), 0.7, np.array([1, 0, 1, 1, 0])
    normal = torch.distributions.Normal(0.0, 1.0)
    share = torch.from_numpy(this.unary / sigma)
    ones, density = normal.cdf(share).numpy(), normal.log_prob(share).exp().numpy()
    expected = (this.unary * ones + sigma * density).sum() - y @ this.unary
    loss = PerturbedFenchelYoung(sigma=sigma, samples=samples)
    values, gradients = found(loss, this, y, seeded(), copies=40_000)
    assert (values >= -1e-12).all()
    assert away(values[:, None], np.array([expected])) < LEVEL
    assert away(gradients, ones - y) < LEVEL
    assert away(values[:, None], np.array([expected]), scale=1.1) > LEVEL
    assert away(gradients, ones - y, scale=1.1) > LEVEL


@pytest.mark.parametrize("family", FAMILIES)
def test_the_perturbed_loss_by_enumeration_of_every_draw(family):
    sigma, copies = 0.7, 200
    for this, y in cases(family, count=3):
        noise = (
            sigma * torch.randn((2, copies, 5), generator=seeded(4), dtype=torch.float64).numpy()
        )
        scores = this.scores() + noise @ this.states.T  # [2, copies, states]
        best = scores.argmax(axis=-1)
        gradient = this.statistics()[best] - this.statistics(y)
        value = scores.max(axis=-1) - this.statistics(y) @ this.parameters - noise @ y
        values, gradients = found(
            PerturbedFenchelYoung(sigma=sigma, samples=2), this, y, seeded(4), copies
        )
        np.testing.assert_allclose(values, value.mean(axis=0), rtol=0, atol=1e-12)
        np.testing.assert_allclose(gradients, gradient.mean(axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("pairs", [False, True])
def test_implicit_mle_with_several_samples_is_the_loss_of_the_mean_state(pairs):
    unary = torch.randn(6, 4, generator=seeded(), dtype=torch.float64, requires_grad=True)
    target = torch.ones(6, 4, dtype=torch.float64)
    scores = [unary]
    edges = None
    if pairs:
        scores.append(torch.randn(6, 2, generator=seeded(1), requires_grad=True))
        edges = [[0, 1], [2, 3]]
    loss = ImplicitMLELoss(epsilon=0.7, samples=3)
    value = loss(*scores, edges=edges, target=target, generator=seeded(2))
    gradients = torch.autograd.grad(value.sum(), scores)

    layer = ArgmaxLayer(epsilon=0.7)
    stream = seeded(2)
    draws = [layer(*scores, edges=edges, generator=stream) for _ in range(3)]
    mean = torch.stack(draws).mean(dim=0).detach()
    torch.testing.assert_close(value, (mean - target).square().sum(dim=-1))
    slope = 2 * (mean - target)
    singles = [torch.autograd.grad(z, scores, slope) for z in draws]
    for gradient, of_draws in zip(gradients, zip(*singles, strict=True), strict=True):
        torch.testing.assert_close(gradient, torch.stack(of_draws).mean(dim=0))
        assert gradient.any()
    assert torch.equal(loss.eval()(*scores, edges=edges, target=target) % 1, torch.zeros(6))


@pytest.mark.parametrize("loss", [DirectLoss(epsilon=0.8), ImplicitMLELoss(epsilon=0.8)])
def test_noise_makes_a_sample_of_the_argmax(loss):
    this, y = latent("general", 5, 3), np.array([1, 0, 1, 1, 0])
    noise = gumbel_differences(torch.zeros(1, 50, 5, dtype=torch.float64), seeded(2))[0].numpy()
    best = (this.scores() + noise @ this.states.T).argmax(axis=1)
    values, gradients = found(loss, this, y, seeded(2), copies=50)
    np.testing.assert_allclose(values, distance(this, y)[best])
    assert len(np.unique(best)) > 3
    assert gradients.any()


# --- what is said of them -----------------------------------------------------------------------

CONVEX = [StructuredPerceptron(), StructuredHinge(), PerturbedFenchelYoung(), GibbsLikelihood()]


@pytest.mark.parametrize("loss", CONVEX, ids=_kind)
def test_convex_losses_are_below_their_chords(loss):
    for (first, y), (second, _) in zip(cases("general"), reversed(cases("general")), strict=True):
        middle = first.with_parameters((first.parameters + second.parameters) / 2)
        left, right, between = (
            found(loss, this, y, seeded(1))[0] for this in (first, second, middle)
        )
        assert between <= (left + right) / 2 + 1e-12
        assert min(left, right, between) >= 0


def test_direct_loss_goes_to_the_gradient_of_the_expected_loss():
    """For uniform thresholds, where expectation and estimate are known: E[z is not 1] with u drawn around 0."""
    unary = torch.linspace(-3, 3, 60_001, dtype=torch.float64)[:, None]  # as data: density 1/6
    for epsilon in (0.5, 0.1):
        leaf = unary.clone().requires_grad_()
        loss = DirectLoss(epsilon=epsilon)(leaf, target=torch.ones_like(unary)).mean()
        (gradient,) = torch.autograd.grad(loss, leaf)
        assert gradient.sum().item() == pytest.approx(-1 / 6, rel=1e-3)  # d/du P(u + x < 0)


@every_family
def test_leading_dimensions_are_a_batch(family):
    this, _ = cases(family)[0]
    random = np.random.default_rng(0)
    target = torch.from_numpy(random.integers(2, size=(6, 5)))
    unary = torch.from_numpy(this.unary + random.normal(size=(6, 5)))
    given = {}
    if len(this.edges):
        given = {"pairwise": torch.from_numpy(this.pairwise), "edges": this.edges}
    for loss in (*CONVEX, DirectLoss(epsilon=1.0), ImplicitMLELoss(epsilon=1.0, seed=None)):
        flat = loss(unary, **given, target=target, generator=seeded())
        shaped = loss(
            unary.reshape(2, 3, 5), **given, target=target.reshape(2, 3, 5), generator=seeded()
        )
        assert flat.shape == (6,)
        torch.testing.assert_close(shaped, flat.reshape(2, 3))


@pytest.mark.spread(1)
@pytest.mark.parametrize(
    "loss",
    [
        StructuredPerceptron(),
        StructuredHinge(weights=torch.ones(5)),
        DirectLoss(),
        DirectLoss(epsilon=Adaptive(1.0), side="worse"),
        ImplicitMLELoss(seed=None),
        GibbsLikelihood(),
    ],
    ids=_kind,
)
@pytest.mark.filterwarnings("error")
def test_compiled_losses_are_one_graph(loss):
    torch.compiler.reset()
    this, y = cases("general")[1]
    edges, target = this.edges.tolist(), torch.from_numpy(y)[None]
    grads = []

    def function(unary, pairwise):
        return loss(unary, pairwise, edges=edges, target=target).sum()

    for each in (function, torch.compile(function, fullgraph=True, backend="aot_eager")):
        leaves = [torch.from_numpy(a)[None].requires_grad_() for a in (this.unary, this.pairwise)]
        grads.append(torch.cat(torch.autograd.grad(each(*leaves), leaves), dim=1))
    adapted = isinstance(getattr(loss, "epsilon", None), Adaptive)  # by a percent after a step
    torch.testing.assert_close(*grads, rtol=0.02 if adapted else 1e-12, atol=1e-12)
    assert grads[0].any()


# --- steps --------------------------------------------------------------------------------------


def gradient_of(module, target=None):
    """Of the scores, for a loss that wants both variables to be one."""
    unary = torch.tensor([[1.0, -0.5]], dtype=torch.float64, requires_grad=True)
    value = (module(unary) - 1).square() if target is None else module(unary, target=target)
    return torch.autograd.grad(value.sum(), unary)[0]


STEPPING = [
    lambda epsilon: ArgmaxLayer(epsilon=epsilon, seed=None),
    lambda epsilon: DirectLoss(epsilon=epsilon),
    lambda epsilon: ImplicitMLELoss(epsilon=epsilon, seed=None),
]


@pytest.mark.parametrize("make", STEPPING, ids=["layer", "direct", "implicit_mle"])
def test_a_schedule_of_epsilon_goes_by_the_steps(make):
    module = make(Scheduled(ExponentialDecay(start=8.0, rate=math.log(2), floor=0.01, every=1)))
    target = None if isinstance(module, ArgmaxLayer) else torch.ones(1, 2)
    found = [gradient_of(module, target)[0, 1].item() for _ in range(3)]
    assert found == pytest.approx([-1 / 8, -1 / 4, -1 / 2])


@pytest.mark.parametrize("make", STEPPING, ids=["layer", "direct", "implicit_mle"])
def test_an_adaptive_epsilon_is_told_what_moved(make):
    epsilon = Adaptive(start=0.1, target=0.5, rate=0.1)
    module = make(epsilon)
    target = None if isinstance(module, ArgmaxLayer) else torch.ones(1, 2)
    assert not gradient_of(module, target).any()
    assert epsilon.log_epsilon.exp().item() == pytest.approx(0.1 * math.exp(0.05))
    epsilon.log_epsilon.fill_(1.0)
    assert gradient_of(module, target).any()
    assert epsilon.log_epsilon.item() == pytest.approx(1 - 0.05)


# --- structures ---------------------------------------------------------------------------------


class OneOf:
    """One-hot vectors, with their softmax."""

    def argmax(self, scores):
        return torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])

    def gibbs(self, scores):
        return Softmax(scores)


class Softmax:
    def __init__(self, scores):
        self.log_partition = scores.logsumexp(dim=-1)


class MostlyOneOf:
    argmax = OneOf.argmax


def test_losses_of_a_structure():
    logits = torch.randn(20, 4, generator=seeded(), dtype=torch.float64)
    label = torch.randint(4, (20,), generator=seeded(1))
    y = torch.nn.functional.one_hot(label, 4)
    picked = logits.gather(1, label[:, None])[:, 0]
    entropy = GibbsLikelihood(OneOf())(logits, target=y)
    torch.testing.assert_close(
        entropy, torch.nn.functional.cross_entropy(logits, label, reduction="none")
    )
    best = logits.max(dim=1).values
    torch.testing.assert_close(StructuredPerceptron(OneOf())(logits, target=y), best - picked)
    hinge = (logits + 2 - 2 * y).max(dim=1).values - picked  # two variables differ
    torch.testing.assert_close(StructuredHinge(OneOf())(logits, target=y), hinge)
    wrong = 2.0 * (logits.argmax(dim=1) != label)
    for loss in (DirectLoss(OneOf()), ImplicitMLELoss(OneOf(), seed=None)):
        leaf = logits.clone().requires_grad_()
        value = loss(leaf, target=y)
        torch.testing.assert_close(value, wrong.double())
        assert torch.autograd.grad(value.sum(), leaf)[0].any()
    assert (PerturbedFenchelYoung(OneOf())(logits, target=y, generator=seeded()) >= 0).all()
    with pytest.raises(StructureError, match="MostlyOneOf has no gibbs"):
        GibbsLikelihood(MostlyOneOf())(logits, target=y)


# --- errors and words ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: StructuredHinge(margin=0.0), "margin must be a positive number; got 0"),
        (lambda: StructuredHinge(weights=torch.tensor([-1.0])), "finite numbers, none negative"),
        (
            lambda: DirectLoss(weights=torch.tensor([1.0, torch.inf])),
            "finite numbers, none negative",
        ),
        (lambda: StructuredHinge(weights=[1.0]), "finite numbers, none negative"),
        (lambda: PerturbedFenchelYoung(sigma=-1.0), "sigma must be a positive number; got -1"),
        (lambda: PerturbedFenchelYoung(samples=0), "whole number of at least 1; got 0"),
        (lambda: PerturbedFenchelYoung(samples=1.5), "whole number of at least 1; got 1.5"),
        (lambda: DirectLoss(epsilon=0.0), "epsilon must be a positive number"),
        (lambda: DirectLoss(side="best"), "side must be 'better' or 'worse'; got 'best'"),
        (lambda: ImplicitMLELoss(epsilon="1"), "epsilon must be a positive number"),
        (lambda: ImplicitMLELoss(samples=0), "samples must be a whole number of at least 1; got 0"),
    ],
)
def test_impossible_options(make, words):
    with pytest.raises(ConfigError, match=words):
        make()


@pytest.mark.parametrize("loss", [*CONVEX, DirectLoss(), ImplicitMLELoss()], ids=_kind)
@pytest.mark.parametrize(
    "target", [torch.ones(2, 2), torch.ones(3), [[1, 0, 1]], torch.full((2, 3), 0.5)]
)
def test_a_target_that_is_no_state_is_named(loss, target):
    with pytest.raises(ProblemError, match=r"target must be"):
        loss(torch.ones(2, 3), target=target, generator=seeded())


@pytest.mark.parametrize(
    "loss", [StructuredPerceptron, StructuredHinge, DirectLoss, GibbsLikelihood]
)
def test_the_first_targets_are_states_of_the_structure(loss):
    scores, y = torch.ones(3, 4), torch.tensor([[1.0, 1, 0, 0], [1, 0, 0, 1], [1, 1, 1, 0]])
    with pytest.raises(ProblemError, match=r"target\[2\] is not a state of KOfN"):
        loss(KOfN(2))(scores, target=y)
    assert loss(KOfN(3, least=2))(scores, target=y).shape == (3,)


def test_a_solver_that_cannot_take_the_scores_says_so():
    with pytest.raises(UnsupportedProblemError):
        StructuredHinge("max_flow")(
            -torch.ones(1, 3), -torch.ones(1, 3, 3).triu(1), target=torch.ones(1, 3)
        )


def test_direct_loss_warns_once_when_nothing_moves():
    loss, unary = DirectLoss("independent", epsilon=1.0), torch.full((2, 3), 1e6)
    for _ in range(19):
        loss(unary, target=torch.zeros(2, 3))
    with pytest.warns(StalledWarning, match=r"DirectLoss\('independent', epsilon=1"):
        loss(unary, target=torch.zeros(2, 3))
    for _ in range(30):
        loss(unary, target=torch.zeros(2, 3))


def test_representations_name_solver_and_settings():
    assert (
        repr(StructuredHinge("max_flow", 0.5))
        == "StructuredHinge('max_flow', margin=0.5, weights=None)"
    )
    assert (
        repr(DirectLoss(epsilon=2)) == "DirectLoss('auto', epsilon=2, side='better', weights=None)"
    )
    assert repr(PerturbedFenchelYoung()) == "PerturbedFenchelYoung('auto', sigma=1.0, samples=1)"
    assert repr(GibbsLikelihood()) == "GibbsLikelihood('auto')"


def test_weights_move_with_the_module():
    loss = StructuredHinge(weights=torch.ones(3))
    assert loss.to(torch.float64).weights.dtype == torch.float64


def test_a_target_of_which_one_value_is_no_bit_is_refused():
    with pytest.raises(ProblemError, match="zeros and ones"):
        StructuredPerceptron()(torch.zeros(1, 3), target=torch.tensor([[0.0, 1.0, 2.0]]))


@pytest.mark.parametrize("leading", [(), (0,), (2,), (2, 3)])
@pytest.mark.parametrize("n", [0, 3])
def test_bits_without_pairs_or_no_bits_have_a_likelihood(leading, n):
    unary = torch.zeros(*leading, n, requires_grad=True)
    no_pairs = {"pairwise": torch.zeros(*leading, 0), "edges": torch.zeros(0, 2, dtype=torch.long)}
    loss = GibbsLikelihood()(unary, **no_pairs, target=torch.ones(*leading, n))
    assert torch.allclose(loss, torch.full(leading, n * math.log(2.0)))
    loss.sum().backward()
    assert torch.allclose(unary.grad, torch.full((*leading, n), -0.5))
