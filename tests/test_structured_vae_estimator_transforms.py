"""Every estimator under `torch.func`: right, or refused in words that name the way."""

import pytest
import torch
from enumeration import seeded
from torch import func

from models import CategoricalPotentials, Potentials
from structured_vae.errors import EstimatorError
from structured_vae.estimators import (
    ESTIMATORS,
    Adaptive,
    EstimatorOptions,
    TableDirect,
    estimator_class,
)

EDGES = torch.tensor([[0, 1], [1, 2], [2, 3]])
SCORES = torch.randn((3, 6), generator=seeded(), dtype=torch.float64)
PAIRS = torch.randn(3, generator=seeded(1), dtype=torch.float64)
SLOPES = torch.randn(6, generator=seeded(2), dtype=torch.float64)

POTENTIALS = {
    "bits": lambda x: Potentials(x[:, :4]),
    "pairs": lambda x: Potentials(x[:, :4], PAIRS.expand(len(x), 3), EDGES),
    "category": lambda x: CategoricalPotentials(x),
    "categories": lambda x: CategoricalPotentials(x, variables=2),
}

REFUSED = {
    "by a solver": (
        "direct",
        "implicit_mle",
        "adaptive_implicit_mle",
        "perturbed_argmax",
        "stochastic_softmax",
        "stochastic_straight_through",
        "sparse_map",
    ),
    "by gradients of their own": ("muprop", "double_cv", "rodeo", "rebar", "relax"),
    "by a running mean": ("nvil",),
}
"""Estimators that no transform takes."""

ONCE = ("table_direct", "score_function", "unordered_set", "arm", "disarm", "arms", "carms", "ram")
ONCE += ("vimco", "ovis", "local_disarm")
"""Estimators with a first derivative alone, in reverse mode."""

EXACT_RAM = ("ram", "category")
"""RAM of a single variable has the exact gradient, and so every derivative."""

REPEATED = ("exact", "maximum_likelihood", "wake_wake", "wake_sleep", "reweighted_wake_sleep")
REPEATED += ("gumbel_softmax", "straight_through", "gumbel_rao", "gapped_straight_through")
REPEATED += ("reinmax", "reinmax_rao", "reinmax_cv")
"""Estimators whose surrogate has every derivative, in either mode."""

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's

NOISELESS = ("exact", "maximum_likelihood")

TRANSFORMS = {
    "grad": lambda f, x: func.grad(lambda x: f(x).sum())(x),
    "vjp": lambda f, x: func.vjp(f, x),
    "jvp": lambda f, x: func.jvp(f, (x,), (x,)),
    "vmap": lambda f, x: func.vmap(lambda row: f(row[None]), randomness="same")(x),
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacfwd": lambda f, x: func.jacfwd(f, randomness="same")(x),
}


def cost(z):
    return (z @ SLOPES[: z.shape[-1]]).square()


def surrogate_of(name, kind):
    """The surrogate `[batch]` as a function of the scores, with the same noise in each call."""
    h = POTENTIALS[kind](SCORES)
    options = EstimatorOptions(n=h.unary.shape[-1], samples=4)
    estimator = estimator_class(name).of_options(options).double()
    if estimator.why_not(h):
        return None

    def surrogate(x):
        return estimator(POTENTIALS[kind](x), cost, seeded(3)).surrogate

    return surrogate


def cases(names, without=()):
    return [
        pytest.param(name, kind, id=f"{name}, {kind}")
        for name in names
        for kind in POTENTIALS
        if surrogate_of(name, kind) is not None and (name, kind) not in without
    ]


def gradient(function, x):
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0]


def total(function):
    return lambda x: function(x).sum()


def of_row(function):
    return lambda row: function(row[None])[0]


def close(values, expected):
    torch.testing.assert_close(values, expected, rtol=1e-9, atol=1e-9)


def test_every_estimator_is_in_the_table():
    names = [name for group in REFUSED.values() for name in group]
    assert sorted([*names, *ONCE, *REPEATED]) == sorted(ESTIMATORS)


@pytest.mark.parametrize(("name", "kind"), cases(ONCE + REPEATED))
def test_gradients_equal_those_of_autograd(name, kind):
    surrogate = surrogate_of(name, kind)
    found = func.grad(total(surrogate))(SCORES)
    by_row = func.jacrev(surrogate)(SCORES).diagonal(dim1=0, dim2=1).T
    close(found, by_row)
    # Without `torch.func`, pairs are drawn by variable elimination, and so other states.
    if kind != "pairs" or name in NOISELESS:
        close(found, gradient(surrogate, SCORES))


@pytest.mark.parametrize(("name", "kind"), cases(ONCE + REPEATED))
def test_gradients_per_sample_equal_those_of_a_loop(name, kind):
    surrogate = surrogate_of(name, kind)
    loop = torch.cat([func.grad(total(surrogate))(row[None]) for row in SCORES])
    mapped = func.vmap(func.grad(of_row(surrogate)), randomness="same")(SCORES)
    close(mapped, loop)
    inside = total(func.vmap(of_row(surrogate), randomness="same"))
    close(func.grad(inside)(SCORES), loop)


@pytest.mark.parametrize("name", [*ONCE, *REPEATED])
def test_vmap_asks_for_the_randomness_of_the_noise(name):
    kind = "bits"
    if name == "carms":
        kind = "category"
    mapped = func.vmap(of_row(surrogate_of(name, kind)))
    if name in NOISELESS:
        assert mapped(SCORES).shape == (3,)
        return
    with pytest.raises(EstimatorError, match="pass randomness= to vmap"):
        mapped(SCORES)


def test_instances_of_vmap_draw_different_noise_if_asked_to():
    row = torch.zeros(6, dtype=torch.float64)
    mapped = func.vmap(of_row(surrogate_of("arm", "bits")), randomness="different")
    assert len(set(mapped(row.expand(8, 6)).tolist())) > 1


@pytest.mark.parametrize(("name", "kind"), cases(ONCE, without=[EXACT_RAM]))
def test_second_derivatives_of_an_estimate_are_refused(name, kind):
    surrogate = surrogate_of(name, kind)
    alone = func.vmap(of_row(surrogate), randomness="same")
    for twice in (
        lambda: func.jacrev(func.jacrev(total(surrogate)))(SCORES),
        lambda: func.grad(lambda x: func.grad(total(alone))(x).sum())(SCORES),
        lambda: torch.autograd.functional.hessian(total(surrogate), SCORES),
    ):
        with pytest.raises(EstimatorError, match="has no derivative: leave out gradient penalties"):
            twice()
    reverse = rf"^{estimator_class(name).__name__} has derivatives in reverse mode only.*use grad"
    for forward in ("jvp", "jacfwd"):
        with pytest.raises(EstimatorError, match=reverse):
            TRANSFORMS[forward](surrogate, SCORES)
    with pytest.raises(EstimatorError, match="reverse mode only"):
        func.jacfwd(func.jacrev(total(surrogate)), randomness="same")(SCORES)


@pytest.mark.parametrize(("name", "kind"), [*cases(REPEATED), EXACT_RAM])
def test_second_derivatives_and_forward_mode_are_differences(name, kind):
    surrogate = surrogate_of(name, kind)
    x = SCORES[:1]

    def slope(x):
        return func.grad(total(surrogate))(x)

    moves = 1e-5 * torch.eye(6, dtype=torch.float64)
    rows = [(slope(x + move) - slope(x - move))[0] / 2e-5 for move in moves]
    if name in ("exact", "maximum_likelihood", "ram", "gumbel_softmax"):
        expected = torch.stack(rows)
        hessian = func.jacrev(func.jacrev(total(surrogate)))(x)[0, :, 0]
        torch.testing.assert_close(hessian, expected, rtol=1e-6, atol=1e-7)
    twice = func.jacrev(func.jacrev(total(surrogate)))(x)
    close(func.jacfwd(func.jacrev(total(surrogate)), randomness="same")(x), twice)
    _, along = func.jvp(surrogate, (x,), (torch.ones_like(x),))
    close(along, slope(x).sum(dim=-1))


def test_the_hessian_of_wake_wake_is_that_of_its_objective():
    """The wake-wake surrogate is -E_p[log q] with p held fixed, so its Hessian is that of log Z."""
    surrogate = surrogate_of("wake_wake", "bits")
    hessian = func.jacrev(func.jacrev(total(surrogate)))(SCORES[:1])[0, :4, 0, :4]
    p = SCORES[0, :4].sigmoid()
    # The normalised weights of the samples add up to one, whatever the samples are.
    close(hessian, torch.diag(p * (1 - p)))


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_transformed_is_refused_with_the_way_to_go(transform, reason):
    ways = {
        "by a solver": "asks a solver for argmaxes.*call ArgmaxLayer or a loss there, without",
        "by gradients of their own": "differentiates .* itself.*outside of torch.func, and its",
        "by a running mean": "updates its baseline in every call.*outside of torch.func, and its",
    }
    for name in REFUSED[reason]:
        for kind in POTENTIALS:
            surrogate = surrogate_of(name, kind)
            if surrogate is None:
                continue
            with pytest.raises(EstimatorError, match=ways[reason]):
                TRANSFORMS[transform](surrogate, SCORES)


def test_an_adaptive_epsilon_is_fixed_inside_of_a_transform():
    estimator = TableDirect(Adaptive()).double()

    def surrogate(x):
        return estimator(Potentials(x), cost, seeded()).surrogate.sum()

    with pytest.raises(EstimatorError, match=r"an adaptive epsilon changes .*call eval\(\)"):
        func.grad(surrogate)(SCORES)
    estimator.eval()
    close(func.grad(surrogate)(SCORES), gradient(surrogate, SCORES))


def test_costs_that_are_not_finite_are_refused_inside_of_vmap():
    estimator = estimator_class("arm")()

    def surrogate(row):
        return estimator(Potentials(row[None]), lambda z: z.sum(-1) / 0.0, seeded()).surrogate

    with pytest.raises(EstimatorError, match="cost of states must be finite"):
        func.vmap(surrogate, randomness="different")(SCORES)


def test_vmap_over_the_edges_of_potentials_is_refused():
    def on_host(edges):
        h = Potentials(SCORES[:, :4], PAIRS.expand(3, 3), edges)
        return torch.tensor(h.edge_array())

    with pytest.raises(TypeError, match="in_dims=None"):
        func.vmap(on_host)(EDGES.expand(2, 3, 2))
