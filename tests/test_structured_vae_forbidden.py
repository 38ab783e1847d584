"""Scores that forbid variables, pairs, labels and transitions: minus infinity, and fills such as -1e9."""

import itertools
import math

import pytest
import torch
from enumeration import seeded

from models import Potentials
from solvers import ProblemError
from structured_vae import (
    Arborescences,
    ArgmaxLayer,
    Assignments,
    DirectLoss,
    GibbsLikelihood,
    Hamming,
    ImplicitMLELoss,
    Knapsack,
    KOfN,
    LinearChainCRF,
    Matchings,
    PairwiseCRF,
    PerturbedFenchelYoung,
    Relative,
    SpanningTrees,
    StructuredHinge,
    StructuredPerceptron,
    grid_paths,
)
from structured_vae.errors import StructureError
from structured_vae.spaces import PairwiseLabels, as_space

NEVER = -torch.inf
BITS = torch.tensor(list(itertools.product((0.0, 1.0), repeat=5)), dtype=torch.float64)


def masked_bits(dtype=torch.float64):
    """Scores of 5 bits and all pairs with some forbidden, and the score of every state."""
    unary = torch.randn(30, 5, generator=seeded()).to(dtype)
    pairwise = torch.randn(30, 5, 5, generator=seeded(1)).triu(1).to(dtype)
    some = torch.rand(30, 5, generator=seeded(2)) < 0.3
    pairs = (torch.rand(30, 5, 5, generator=seeded(3)) < 0.2).triu(1)
    low = -1e12
    scores = unary.double().masked_fill(some, low) @ BITS.T
    scores = scores + torch.einsum(
        "si,sj,bij->bs", BITS, BITS, pairwise.double().masked_fill(pairs, low)
    )
    return unary.masked_fill(some, NEVER), pairwise.masked_fill(pairs, NEVER), some, pairs, scores


LOSSES = {
    "layer": lambda u, w, y: ArgmaxLayer(seed=None)(u, w) * torch.linspace(-2, 1, 5).to(u),
    "layer with noise": lambda u, w, y: (ArgmaxLayer()(u, w) - y).square(),
    "straight through": lambda u, w, y: ArgmaxLayer(estimator="straight_through")(u, w),
    "solve": lambda u, w, y: ArgmaxLayer(seed=None).solve(u, w)[0] * torch.linspace(-2, 1, 5).to(u),
    "cost": lambda u, w, y: ArgmaxLayer()(u, w, cost=Hamming(y)).surrogate,
    "hinge": lambda u, w, y: StructuredHinge()(u, w, target=y),
    "perceptron": lambda u, w, y: StructuredPerceptron()(u, w, target=y),
    "perturbed": lambda u, w, y: PerturbedFenchelYoung()(u, w, target=y, generator=seeded()),
    "direct": lambda u, w, y: DirectLoss()(u, w, target=y),
    "implicit MLE": lambda u, w, y: ImplicitMLELoss()(u, w, target=y),
    "likelihood": lambda u, w, y: GibbsLikelihood()(u, w, target=y),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_the_layer_gives_the_best_allowed_state(dtype):
    unary, pairwise, some, _, scores = masked_bits(dtype)
    z = ArgmaxLayer(seed=None)(unary, pairwise)
    found = scores.gather(1, (z.double()[:, None] == BITS).all(-1).long().argmax(1, keepdim=True))
    torch.testing.assert_close(found[:, 0], scores.max(dim=1).values)
    assert not z[some].any()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_forbidden_scores_get_no_gradient_and_nothing_is_nan(name, dtype):
    unary, pairwise, some, pairs, scores = masked_bits(dtype)
    leaves = [part.clone().requires_grad_() for part in (unary, pairwise)]
    target = BITS[scores.argsort(dim=1)[:, -2]].to(dtype)
    target = torch.where((scores.sort(dim=1).values[:, -2] > -1e6)[:, None], target, 0.0)
    value = LOSSES[name](*leaves, target).sum()
    value.backward()
    assert value.isfinite()
    assert leaves[0].grad.isfinite().all()
    assert leaves[0].grad.any()
    assert not leaves[0].grad[some].any()
    if name != "straight through":
        assert leaves[1].grad.isfinite().all()
        assert not leaves[1].grad[pairs].any()


def test_the_likelihood_is_that_over_allowed_states():
    unary, pairwise, *_, scores = masked_bits()
    best = scores.argmax(dim=1)
    expected = scores.logsumexp(dim=1) - scores.max(dim=1).values
    found = GibbsLikelihood()(unary, pairwise, target=BITS[best])
    torch.testing.assert_close(found, expected)


@pytest.mark.spread(1)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_layers_take_forbidden_scores(backend):
    torch.compiler.reset()
    unary, pairwise, *_ = masked_bits()
    grads = []
    layer = ArgmaxLayer(seed=None)

    def loss(u, w):
        return (layer(u, w) * torch.linspace(-2, 1, 5)).sum()

    for function in (loss, torch.compile(loss, backend=backend, fullgraph=True)):
        leaves = [part.clone().requires_grad_() for part in (unary, pairwise)]
        grads.append(torch.autograd.grad(function(*leaves), leaves))
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other)


def test_a_forbidden_target_is_named():
    unary = torch.tensor([[1.0, NEVER, 0.5]])
    with pytest.raises(
        ProblemError, match=r"target\[0, 1\] is 1, and unary\[0, 1\] is minus infinity"
    ):
        StructuredHinge()(unary, target=torch.tensor([[0.0, 1.0, 0.0]]))
    pairs = torch.tensor([[NEVER]])
    with pytest.raises(ProblemError, match=r"variables \[0, 2\] of target\[0\] are both 1"):
        GibbsLikelihood()(torch.ones(1, 3), pairs, edges=[[0, 2]], target=torch.ones(1, 3))


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_plus_infinity_and_nan_stay_refused(value):
    unary = torch.tensor([[1.0, value, 0.5]])
    with pytest.raises(ProblemError, match=r"unary\[0, 1\] is"):
        ArgmaxLayer()(unary)
    with pytest.raises(StructureError, match="minus infinity where a variable must be 0"):
        KOfN(1).argmax(unary)


# --- structures -----------------------------------------------------------------------------------

STRUCTURES = {
    "k of n": (KOfN(2), 5),
    "least to k of n": (KOfN(3, least=1), 5),
    "knapsack": (Knapsack([1, 2, 1, 3], 3), 4),
    "paths": (grid_paths(3, 3), 12),
    "trees": (SpanningTrees([[0, 1], [1, 2], [0, 2], [2, 3], [0, 3]]), 5),
    "arborescences": (Arborescences([[0, 1], [0, 2], [1, 2], [2, 1], [2, 3], [0, 3]]), 6),
    "labels": (PairwiseLabels(2, 2, [[0, 1]]), 8),
    "assignments": (Assignments(2, 3), 6),
    "matchings": (Matchings(2), 4),
}


def masked_instances(name):
    """Of a structure: scores, masked scores, and the allowed states of each instance."""
    structure, n = STRUCTURES[name]
    states = torch.unique(
        structure.argmax(torch.randn(2000, n, generator=seeded())), dim=0
    ).double()
    scores = torch.randn(25, n, generator=seeded(1), dtype=torch.float64)
    masks = torch.rand(25, n, generator=seeded(2)) < 0.35
    for plain, mask in zip(scores, masks, strict=True):
        yield (
            structure,
            plain,
            plain.masked_fill(mask, NEVER)[None],
            states[(states @ mask.double()) == 0],
        )


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_give_the_best_allowed_state_or_name_the_instance(name):
    for structure, plain, masked, allowed in masked_instances(name):
        layer = ArgmaxLayer(structure, seed=None)
        if not len(allowed):
            two = torch.cat([torch.zeros_like(masked), masked])
            for ask in (structure.argmax, layer):
                with pytest.raises(
                    (StructureError, ProblemError), match=r"instance \[?1\]?|in instance 1"
                ):
                    ask(two)
            continue
        best = (allowed @ plain).max()
        for z in (structure.argmax(masked), layer(masked)):
            torch.testing.assert_close(z[0] @ plain, best)
            assert not z[masked == NEVER].any()


@pytest.mark.parametrize(
    "name", [name for name in STRUCTURES if as_space(STRUCTURES[name][0]).tractable]
)
def test_sums_of_structures_are_those_over_allowed_states(name):
    for structure, plain, masked, allowed in masked_instances(name):
        q = structure.gibbs(masked.clone().requires_grad_())
        if not len(allowed):
            with pytest.raises((StructureError, ProblemError), match="instance"):
                _ = q.log_partition
            continue
        scores = allowed @ plain
        torch.testing.assert_close(q.log_partition[0], scores.logsumexp(dim=0))
        torch.testing.assert_close(q.marginals[0], scores.softmax(dim=0) @ allowed)
        assert not q.sample(seeded(), 10)[:, masked == NEVER].any()


class OneOf:
    """A structure that cannot take minus infinity."""

    def argmax(self, scores):
        assert scores.isfinite().all()
        return torch.nn.functional.one_hot(scores.argmax(dim=-1), scores.shape[-1])


def test_a_custom_structure_gets_finite_scores_and_keeps_to_them():
    scores = torch.tensor([[NEVER, -5.0, NEVER], [1.0, 2.0, NEVER]], requires_grad=True)
    z = ArgmaxLayer(OneOf(), seed=None)(scores)
    assert z.tolist() == [[0, 1, 0], [0, 1, 0]]
    with pytest.raises(
        StructureError, match=r"instance \[0\] has no allowed state: every state of OneOf"
    ):
        ArgmaxLayer(OneOf(), seed=None)(torch.full((1, 3), NEVER))


# --- fields over chains and graphs ----------------------------------------------------------------


def test_forbidden_transitions_of_chains():
    crf = LinearChainCRF(3, batch_first=True).double()
    with torch.no_grad():
        crf.transitions[0, 1] = crf.start_transitions[2] = crf.end_transitions[0] = NEVER
    scores = torch.randn(1, 4, 3, generator=seeded(), dtype=torch.float64).requires_grad_()
    tags = list(itertools.product(range(3), repeat=4))
    values = torch.stack(
        [
            crf.start_transitions[tag[0]]
            + crf.end_transitions[tag[-1]]
            + sum(scores[0, place, label] for place, label in enumerate(tag))
            + sum(crf.transitions[one, other] for one, other in itertools.pairwise(tag))
            for tag in tags
        ]
    ).detach()
    torch.testing.assert_close(crf.log_partition(scores)[0], values.logsumexp(dim=0))
    best = tags[int(values.argmax())]
    assert crf.decode(scores) == [list(best)]
    torch.testing.assert_close(crf.solve(scores).score[0], values.max())
    (-crf(scores, torch.tensor([best]))).backward()
    grads = scores.grad, crf.transitions.grad, crf.start_transitions.grad, crf.end_transitions.grad
    assert all(grad.isfinite().all() and grad.any() for grad in grads)
    assert grads[1][0, 1] == grads[2][2] == grads[3][0] == 0
    with torch.no_grad():
        crf.transitions[:] = NEVER
    for ask in (crf.decode, crf.log_partition, crf.marginals):
        with pytest.raises(StructureError, match="chain 0 has no allowed tags"):
            ask(scores)


def test_forbidden_labels_and_pairs_of_graphs():
    crf = PairwiseCRF(2, 3, [[0, 1]]).double()
    with torch.no_grad():
        crf.pairwise.normal_(generator=seeded())
        crf.pairwise[0, 0, 1] = NEVER
    unary = torch.randn(4, 2, 3, generator=seeded(1), dtype=torch.float64)
    unary[0, 0, 2] = NEVER
    unary.requires_grad_()
    values = (unary[:, 0, :, None] + unary[:, 1, None, :] + crf.pairwise).flatten(1).detach()
    best = values.argmax(dim=1)
    target = torch.stack([best // 3, best % 3], dim=1)
    assert torch.equal(crf.decode(unary), target)
    expected = (values.max(dim=1).values - values.logsumexp(dim=1)).sum()
    loss = crf(unary, target)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert unary.grad.isfinite().all()
    assert unary.grad[0, 0, 2] == crf.pairwise.grad[0, 0, 1] == 0
    with torch.no_grad():
        crf.pairwise[:] = NEVER
    for ask in (crf.decode, crf.marginals, lambda u: crf(u, target)):
        with pytest.raises(StructureError, match="instance 0 has no allowed labels"):
            ask(unary)


# --- fills and the default step -------------------------------------------------------------------


def gradient_beside(fill, share=0.4, dtype=torch.float32, solver="auto", pairs=False):
    """The size of the gradient of scores beside others that are filled."""
    scores = torch.randn(64, 20, generator=seeded()).to(dtype).requires_grad_()
    coming = torch.randn(64, 20, generator=seeded(1)).to(dtype)
    pairwise = (
        0.3 * torch.randn(64, 20, 20, generator=seeded(2)).triu(1).to(dtype) if pairs else None
    )
    filled = scores.masked_fill(torch.arange(20) >= 20 * (1 - share), fill)
    (ArgmaxLayer(solver, seed=None)(filled, pairwise) * coming).sum().backward()
    return scores.grad.abs().float().sum().item()


@pytest.mark.parametrize("solver", ["auto", KOfN(3)], ids=["bits", "structure"])
@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
def test_the_default_step_does_not_depend_on_a_fill(solver, share):
    sizes = [gradient_beside(fill, share, solver=solver) for fill in (-100.0, -1e4, -1e9, NEVER)]
    assert sizes[0] > 5
    assert sizes == pytest.approx([sizes[-1]] * 4, rel=0.05)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_least_number_of_a_type_forbids_as_minus_infinity_does(dtype):
    found = [
        gradient_beside(fill, dtype=dtype, pairs=True) for fill in (torch.finfo(dtype).min, NEVER)
    ]
    assert found[0] == found[1] > 5


def test_forbidden_variables_take_no_part_in_the_scale():
    unary = torch.tensor([[2.0, 4.0, NEVER]])
    pairwise = torch.tensor([[1000.0]])  # what the forbidden variable would add, were it 1
    h = Potentials.of_scores(unary, pairwise, torch.tensor([[1, 2]]))
    slope = h.where_allowed(torch.tensor([[1.0, 1.0, 50.0]]))
    assert Relative(1.0).at(0, slope, h, torch.tensor([[1.0, 1.0, 0.0]])) == 3.0


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ([1.0, 2.0, 3.0, 6.0], 3.0),  # no outlier: the mean
        ([1.0, 2.0, 3.0, 1e9], 2.0),
        ([1e9, 1e9, 1e9, 1e9, 1.0, 3.0], 2.0),  # most of them are out of reach
        ([1.0, 100.0], 50.5),  # chance would leave as much between two
        ([1e-17] + [1.0] * 99, 0.99),  # a tie that is rounded sets no scale
    ],
)
def test_the_typical_gap_is_a_mean_without_what_is_out_of_reach(gaps, expected):
    h, slope = Potentials(torch.tensor([gaps], dtype=torch.float64)), torch.ones(1, len(gaps))
    assert Relative(1.0).at(0, slope, h, slope).item() == pytest.approx(expected)


@pytest.mark.spread(2)
@pytest.mark.parametrize("fill", [-1e4, -1e9, torch.finfo(torch.float32).min, NEVER])
def test_training_beside_a_fill_learns_as_well(fill):
    torch.manual_seed(0)
    masked = torch.arange(20) >= 12
    x, weights = torch.randn(256, 20, 4), torch.randn(4)
    target = KOfN(3).argmax((x @ weights).masked_fill(masked, -50))
    network = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    layer = ArgmaxLayer(KOfN(3))
    for _ in range(60):
        optimizer.zero_grad()
        z = layer(network(x).squeeze(-1).masked_fill(masked, fill))
        (z - target).square().sum(-1).mean().backward()
        optimizer.step()
    wrong = layer.eval()(network(x).squeeze(-1).masked_fill(masked, fill)) != target
    assert wrong.float().mean() < 0.02


@pytest.mark.parametrize(
    "fill", [-math.inf, torch.finfo(torch.float32).min, torch.finfo(torch.float64).min]
)
def test_the_least_number_of_a_narrower_type_forbids_in_a_wider_one(fill):
    random = torch.Generator().manual_seed(0)
    unary = torch.randn(3, 6, dtype=torch.float64, generator=random)
    pairwise = torch.randn(3, 5, dtype=torch.float64, generator=random)
    edges = [[i, i + 1] for i in range(5)]
    layer = ArgmaxLayer("auto", "straight_through", seed=None).eval()
    masked = torch.zeros(3, 6, dtype=torch.bool)
    masked[:, 4] = True
    expected = layer(unary.masked_fill(masked, -1e3), pairwise, edges=edges)
    assert torch.equal(layer(unary.masked_fill(masked, fill), pairwise, edges=edges), expected)
