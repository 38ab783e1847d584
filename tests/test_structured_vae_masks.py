"""Masks beside minus infinity, and structures whose states differ by instance."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
import torch
from enumeration import seeded

from solvers import ProblemError
from structured_vae import (
    ArgmaxLayer,
    Assignments,
    DirectLoss,
    GibbsLikelihood,
    Hamming,
    ImplicitMLELoss,
    Knapsack,
    KOfN,
    Matchings,
    PerturbedFenchelYoung,
    SpanningTrees,
    StructuredHinge,
    StructuredPerceptron,
    grid_paths,
    routing_weights,
)
from structured_vae.errors import ConfigError, StructureError

LOSSES = (
    StructuredPerceptron,
    StructuredHinge,
    PerturbedFenchelYoung,
    DirectLoss,
    ImplicitMLELoss,
    GibbsLikelihood,
)


def scores_and_mask(batch=3, n=6):
    scores = torch.randn(batch, n, generator=seeded())
    mask = torch.ones(batch, n, dtype=torch.bool)
    mask[0, :2] = False
    mask[1, 3:] = False
    return scores, mask


def test_a_mask_of_the_layer_is_a_score_of_minus_infinity():
    scores, mask = scores_and_mask()
    pairwise = torch.randn(3, 6, 6, generator=seeded(1)).triu(1)
    masked = scores.masked_fill(~mask, -torch.inf)
    layer = ArgmaxLayer(seed=None)
    z, solution = layer.solve(scores, pairwise, mask=mask)
    expected, other = layer.solve(masked, pairwise)
    assert torch.equal(z, expected)
    assert torch.equal(solution.score, other.score)
    scores.requires_grad_()
    layer(scores, pairwise, mask=mask).square().sum().backward()
    assert torch.equal(scores.grad[~mask], torch.zeros(5))


@pytest.mark.parametrize("loss", LOSSES)
def test_masks_and_sample_weights_of_losses(loss):
    scores, mask = scores_and_mask()
    target = KOfN(2).argmax(scores + torch.randn(3, 6, generator=seeded(2)), mask)
    weights = torch.tensor([0.0, 1.0, 3.0])
    function = loss(KOfN(2)).eval()
    expected = function(scores.masked_fill(~mask, -torch.inf), target=target, generator=seeded())
    value = function(scores, target=target, mask=mask, sample_weight=weights, generator=seeded())
    torch.testing.assert_close(value, weights * expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_multiply_a_loss_by_the_mean_weight_of_its_target_bits(loss):
    scores, mask = scores_and_mask()
    target = KOfN(2).argmax(scores + torch.randn(3, 6, generator=seeded(2)), mask)
    function = loss(KOfN(2)).eval()
    weights = torch.tensor([0.5, 3.0])
    expected = function(scores, target=target, mask=mask, generator=seeded())
    value = function(scores, target=target, mask=mask, class_weight=weights, generator=seeded())
    counts = (4, 3, 6)  # variables that the mask allows; two of them are ones
    means = torch.tensor([(2 * 3.0 + (n - 2) * 0.5) / n for n in counts])
    torch.testing.assert_close(value, means * expected)


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_of_instances_without_variables_are_zero_and_not_nan(loss):
    scores = torch.zeros(2, 0)
    value = loss()(scores, target=scores, class_weight=torch.ones(2), generator=seeded())
    assert value.tolist() == [0.0, 0.0]


def test_class_and_sample_weights_of_the_likelihood_by_enumeration():
    scores = torch.randn(2, 4, generator=seeded()).requires_grad_()
    target = torch.tensor([[1.0, 0, 0, 0], [1.0, 1, 1, 0]])
    loss = GibbsLikelihood()(
        scores,
        target=target,
        sample_weight=torch.tensor([2.0, 0.5]),
        class_weight=torch.tensor([1.0, 5.0]),
    )
    states = torch.tensor(list(product((0.0, 1.0), repeat=4)))
    log_likelihoods = (scores * target).sum(dim=1) - (scores @ states.T).logsumexp(dim=1)
    expected = -torch.tensor([2.0 * (5 + 3) / 4, 0.5 * (15 + 1) / 4]) * log_likelihoods
    torch.testing.assert_close(loss, expected)
    (gradient,) = torch.autograd.grad(loss.sum(), scores)
    (of_states,) = torch.autograd.grad(expected.sum(), scores)
    torch.testing.assert_close(gradient, of_states)


@pytest.mark.parametrize("weight", [torch.ones(3), -torch.ones(2), [1.0, 1.0]])
def test_wrong_class_weights_get_an_error_of_ours(weight):
    scores, _ = scores_and_mask()
    with pytest.raises(ConfigError, match="class_weight"):
        StructuredHinge()(scores, target=torch.zeros(3, 6), class_weight=weight)


@pytest.mark.parametrize("weight", [torch.ones(2), -torch.ones(3), [1.0, 1.0, 1.0]])
def test_wrong_sample_weights_get_an_error_of_ours(weight):
    scores, _ = scores_and_mask()
    with pytest.raises(ConfigError, match="sample_weight"):
        StructuredHinge()(scores, target=torch.zeros(3, 6), sample_weight=weight)


@pytest.mark.parametrize("mask", [torch.ones(3, 6), torch.ones(2, 6).bool(), [[True] * 6] * 3])
def test_wrong_masks_get_an_error_of_ours(mask):
    scores, _ = scores_and_mask()
    with pytest.raises(ProblemError, match="mask must be"):
        ArgmaxLayer()(scores, mask=mask)
    with pytest.raises(ProblemError, match="mask must be"):
        KOfN(2).argmax(scores, mask)


@pytest.mark.parametrize(
    "structure",
    [KOfN(2), SpanningTrees([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]])],
    ids=str,
)
def test_masks_of_structures(structure):
    scores, mask = scores_and_mask()
    mask = mask | torch.tensor([False, False, False, True, True, False])
    states = structure.states(6, scores)
    for row, allowed in zip(scores, mask, strict=True):
        rest = states[(states[:, ~allowed] == 0).all(dim=-1)]
        best = rest[(rest @ row).argmax()]
        assert torch.equal(structure.argmax(row[None], allowed)[0], best)
        log_z = structure.gibbs(row[None], allowed).log_partition
        torch.testing.assert_close(log_z, (rest @ row).logsumexp(0)[None])


def test_paths_around_blocked_nodes():
    paths = grid_paths(3, 3)
    scores = torch.randn(4, 12, generator=seeded())
    allowed = torch.ones(9, dtype=torch.bool)
    allowed[4] = False  # the centre
    mask = paths.mask_of_nodes(allowed)
    blocked = [place for place, arc in enumerate(paths.arcs.tolist()) if 4 in arc]
    assert (~mask).nonzero()[:, 0].tolist() == blocked
    assert paths.gibbs(torch.zeros(1, 12), mask).log_partition.exp().round().item() == 2
    assert not paths.argmax(scores, mask)[:, blocked].any()
    with pytest.raises(StructureError, match="nodes must be a boolean tensor"):
        paths.mask_of_nodes(allowed[:4])


def test_subsets_of_a_size_for_each_instance():
    scores = torch.randn(4, 5, generator=seeded(), dtype=torch.float64)
    counts = [2, 0, 5, 3]
    space = KOfN(torch.tensor(counts))
    gibbs = space.gibbs(scores)
    draws = gibbs.sample(seeded(), 50)
    z = space.argmax(scores)
    # Leading dimensions before the batch repeat the sizes.
    assert torch.equal(space.argmax(scores.expand(2, 4, 5)), z.expand(2, 4, 5))
    for i, k in enumerate(counts):
        chosen = list(combinations(range(5), k))
        values = torch.stack([scores[i, list(c)].sum() for c in chosen])
        torch.testing.assert_close(gibbs.log_partition[i], values.logsumexp(0))
        assert (scores[i] * z[i]).sum() == pytest.approx(values.max().item())
        assert (draws[:, i].sum(dim=-1) == k).all()


def test_at_most_so_many_for_each_instance():
    scores = torch.tensor([[1.0, 2.0, -1.0], [1.0, 2.0, -1.0], [-3.0, -2.0, -1.0]])
    space = KOfN([1, 3, 2], least=[0, 0, 1])
    assert space.argmax(scores).tolist() == [[0, 1, 0], [1, 1, 0], [0, 0, 1]]
    counts = space.gibbs(torch.zeros(3, 3)).log_partition.exp().round().tolist()
    assert counts == [4, 8, 6]


@pytest.mark.parametrize(
    ("weights", "capacity"),
    [
        ([[2, 3, 1, 2], [1, 0, 4, 9], [5, 5, 5, 5]], [4, 3, 4]),
        ([[2, 3, 1, 2], [1, 0, 4, 9], [5, 5, 5, 5]], 6),
        ([2, 3, 1, 2], [4, 0, 100]),
    ],
)
def test_knapsacks_with_weights_and_capacities_of_each_instance(weights, capacity):
    scores = torch.randn(3, 4, generator=seeded(), dtype=torch.float64)
    space = Knapsack(torch.tensor(weights), capacity)
    gibbs = space.gibbs(scores)
    draws = gibbs.sample(seeded(), 500)
    z = space.argmax(scores)
    # Leading dimensions before the batch repeat the knapsacks.
    assert torch.equal(space.argmax(scores.expand(2, 3, 4)), z.expand(2, 3, 4))
    bits = torch.tensor(list(product([0.0, 1.0], repeat=4)), dtype=torch.float64)
    rows = torch.tensor(weights).expand(3, 4)
    limits = torch.tensor(capacity).expand(3)
    for i in range(3):
        packed = bits[bits @ rows[i].double() <= limits[i]]
        values = packed @ scores[i]
        assert (scores[i] * z[i]).sum() == pytest.approx(values.max().item())
        torch.testing.assert_close(gibbs.log_partition[i], values.logsumexp(0))
        torch.testing.assert_close(gibbs.marginals[i], values.softmax(0) @ packed)
        assert ((draws[:, i] @ rows[i].double()) <= limits[i]).all()
        assert (draws[:, i].mean(dim=0) - gibbs.marginals[i]).abs().max() < 0.1


def test_a_layer_over_knapsacks_of_each_instance():
    scores = torch.ones(2, 3, requires_grad=True)
    layer = ArgmaxLayer(Knapsack([1, 1, 1], 3), seed=None)
    z = layer.over(Knapsack([[1, 2, 3], [3, 3, 3]], [3, 2]))(scores)
    assert z.tolist() == [[1, 1, 0], [0, 0, 0]]


def test_knapsacks_for_another_batch_get_an_error_of_ours():
    rows = [[1, 2], [3, 4]]
    with pytest.raises(StructureError, match="weights has numbers for 2 instances; the scores"):
        Knapsack(rows, 3).argmax(torch.zeros(3, 2))
    with pytest.raises(StructureError, match="capacity has numbers for 2 instances; the scores"):
        Knapsack([1, 2], [3, 4]).gibbs(torch.zeros(3, 2))
    with pytest.raises(StructureError, match="2 rows of weights and 3 capacities"):
        Knapsack(rows, [3, 4, 5])
    with pytest.raises(StructureError, match=r"weights must be .*\[n\] or \[batch, n\]"):
        Knapsack([rows], 3)
    with pytest.raises(StructureError, match=r"capacity must be a whole number .*\[batch\]"):
        Knapsack(rows, [3, -1])


def test_sizes_for_another_batch_get_an_error_of_ours():
    with pytest.raises(StructureError, match="k has numbers for 2 instances; the scores have 3"):
        KOfN([1, 2]).argmax(torch.zeros(3, 4))
    with pytest.raises(StructureError, match="other states for each instance"):
        KOfN([1, 2]).states(4, torch.zeros(1))
    with pytest.raises(StructureError, match="same batch"):
        KOfN([1, 2], least=[0, 0, 0])
    with pytest.raises(StructureError, match="least must be at most k"):
        KOfN([1, 2], least=[0, 3])
    with pytest.raises(StructureError, match="sizes must be"):
        Assignments(2, 3, sizes=[[1, 4]])
    with pytest.raises(StructureError, match="sizes has numbers for 1 instances"):
        Assignments(2, sizes=[[1, 2]]).argmax(torch.zeros(3, 4))


@pytest.mark.parametrize("kind", [Assignments, Matchings])
def test_assignments_and_matchings_of_unequal_sizes(kind):
    scores = torch.randn(3, 4, 3, generator=seeded(), dtype=torch.float64)
    sizes = [(4, 3), (2, 3), (3, 1)]
    z = kind(4, 3, sizes=sizes).argmax(scores.flatten(1)).reshape(3, 4, 3)
    for values, state, (rows, columns) in zip(scores.numpy(), z.numpy(), sizes, strict=True):
        smaller, larger = sorted((rows, columns))
        table = values[:rows, :columns]
        if rows > columns:
            table = table.T
        if kind is Matchings:
            table = np.maximum(table, 0)
        best = max(
            sum(table[i, j] for i, j in enumerate(order))
            for order in permutations(range(larger), smaller)
        )
        assert (values * state).sum() == pytest.approx(best)
        assert not state[rows:].any()
        assert not state[:, columns:].any()


def test_a_layer_over_another_structure_shares_noise_and_steps():
    scores = torch.zeros(2, 6, requires_grad=True)
    layer = ArgmaxLayer(KOfN(1), seed=0)
    other = ArgmaxLayer(KOfN(1), seed=0)
    first = layer.over(KOfN([3, 1]))(scores)
    assert first.sum(dim=-1).tolist() == [3, 1]
    other(scores)
    assert torch.equal(layer(scores), other(scores))  # the second draw of the same noise
    first.square().sum().backward()
    assert layer.taken == 1
    loss = ImplicitMLELoss(KOfN(1), seed=None).over(KOfN([3, 1]))
    target = KOfN([3, 1]).argmax(torch.rand(2, 6, generator=seeded()))
    assert loss(torch.zeros(2, 6), target=target).shape == (2,)
    with pytest.raises(StructureError, match="must be a StateSpace"):
        layer.over("max_flow")


def test_a_cost_of_subsets_of_a_size_for_each_instance():
    scores = torch.randn(2, 5, generator=seeded(), requires_grad=True)
    target = torch.tensor([[1.0, 0, 0, 0, 0], [1.0, 1, 1, 0, 0]])
    layer = ArgmaxLayer(KOfN(1), epsilon=100.0, seed=None).over(KOfN([1, 3]))
    estimate = layer(scores, cost=Hamming(target))
    estimate.surrogate.sum().backward()
    moved = KOfN([1, 3]).argmax(scores.detach() - 100 * scores.grad)
    assert torch.equal(moved, target)


def test_routing_weights_are_the_softmax_of_the_chosen():
    scores = torch.randn(4, 6, generator=seeded(), dtype=torch.float64)
    scores[0, 0] = -torch.inf
    z = KOfN(2).argmax(scores)
    weights = routing_weights(scores, z, temperature=0.5)
    expected = (2 * scores).masked_fill(z == 0, -torch.inf).softmax(dim=-1)
    torch.testing.assert_close(weights, expected)
    assert not routing_weights(scores, torch.zeros_like(z)).any()
    scores[0, 0] = -9.0
    assert torch.autograd.gradcheck(
        lambda given: routing_weights(given, z), scores.requires_grad_()
    )
    with pytest.raises(StructureError, match="one shape"):
        routing_weights(scores, z[:2])
    with pytest.raises(StructureError, match="temperature"):
        routing_weights(scores, z, temperature=0.0)


def test_the_direct_gradient_of_a_subset_depends_on_no_forbidden_variable():
    """Neighbours of z swap variables; a forbidden one counted as a partner of score 0."""
    generator = seeded()
    scores = torch.randn(40, 9, generator=generator)
    weights = torch.randn(9, generator=generator)
    mask = torch.arange(9) < 5

    def surrogate(masked):
        layer = ArgmaxLayer(KOfN(5, least=1), seed=None, epsilon=5.0)
        masked = masked.clone().requires_grad_()
        value = layer(masked, cost=lambda z: (z @ weights - 1.0).square()).surrogate
        value.sum().backward()
        return value.detach(), masked.grad.where(mask, 0.0)

    forbidden = surrogate(scores.masked_fill(~mask, -torch.inf))
    filled = surrogate(scores.masked_fill(~mask, -1e6))
    torch.testing.assert_close(forbidden, filled, rtol=1e-4, atol=1e-4)


def test_batches_without_instances_have_sizes_too():
    spaces = {
        KOfN(torch.zeros(0, dtype=torch.long), least=[]): 4,
        Knapsack([1, 2, 1, 1], []): 4,
        Assignments(2, sizes=[]): 4,
        Matchings(2, sizes=torch.zeros(0, 2, dtype=torch.long)): 4,
    }
    for space, n in spaces.items():
        scores = torch.zeros(0, n, requires_grad=True)
        z = ArgmaxLayer(KOfN(1)).over(space)(scores)
        z.sum().backward()
        assert z.shape == scores.grad.shape == (0, n)
        if space.tractable:
            assert space.gibbs(scores).log_partition.shape == (0,)
        with pytest.raises(StructureError, match="for 0 instances; the scores have 3"):
            space.argmax(torch.zeros(3, n))


@pytest.mark.parametrize("kind", [Assignments, Matchings])
def test_an_instance_without_rows_or_columns_has_no_pairs(kind):
    scores = torch.ones(3, 6)
    z = kind(3, 2, sizes=[[3, 0], [0, 2], [1, 1]]).argmax(scores)
    assert z.tolist() == [[0] * 6, [0] * 6, [1, 0, 0, 0, 0, 0]]
    with pytest.raises(StructureError, match="from 0 to 3 rows and 2 columns"):
        kind(3, 2, sizes=[[-1, 2]])
