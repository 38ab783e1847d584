"""Segments and second-order chains against enumeration, and bits within constraints."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from enumeration import all_bits, seeded

from solvers import OptionError, SolverError
from solvers.constraints import at_most, cardinality, implies, linear, one_of
from structured_vae import (
    ArgmaxLayer,
    Assignments,
    DirectLoss,
    GibbsLikelihood,
    Hamming,
    ImplicitMLELoss,
    KOfN,
    LinearChainCRF,
    PerturbedFenchelYoung,
    Relative,
    SecondOrderChains,
    Segments,
    StructuredHinge,
)
from structured_vae.errors import ConfigError, StructuredVAEError, StructureError
from structured_vae.inference import ArgmaxInference, ChainInference, VAEInference
from structured_vae.spaces import ConstrainedBits


def segmentations(n, k, longest):
    """All segmentations of n positions, as lists of (first, after the last, label)."""
    if n == 0:
        return [[]]
    return [
        [*before, (n - duration, n, label)]
        for duration in range(1, min(longest, n) + 1)
        for before in segmentations(n - duration, k, longest)
        for label in range(k)
    ]


def score_of(segments, scores, transitions, start, end):
    total = start[segments[0][2]] + end[segments[-1][2]]
    for first, after, label in segments:
        total += scores[first, after - first - 1, label]
    for (_, after, label), (_, _, other) in pairwise(segments):
        total += transitions[after - 1, label, other]
    return total


def segment_arrays(n, k, longest, batch=2, seed=0):
    generator = seeded(seed)
    shapes = ((batch, n, longest, k), (n - 1, k, k), (k,), (k,))
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("lengths", [None, [4, 2]])
def test_segments_against_enumeration(lengths):
    n, k, longest = 4, 2, 3
    space = Segments(n, k, longest)
    arrays = segment_arrays(n, k, longest)
    scores = space.scores(*arrays, lengths=lengths)
    gibbs = space.gibbs(scores)
    best = space.segments(space.argmax(scores), lengths)
    for i, length in enumerate(lengths or [n, n]):
        states = segmentations(length, k, longest)
        values = [score_of(s, arrays[0][i], *arrays[1:]) for s in states]
        totals = torch.stack(values)
        assert best[i] == states[int(totals.argmax())]
        torch.testing.assert_close(gibbs.log_partition[i], totals.logsumexp(0))
        z = space.states_of(states).double()
        torch.testing.assert_close(z @ scores[i].nan_to_num(neginf=0.0), totals)
        probabilities = totals.softmax(0)
        torch.testing.assert_close(gibbs.marginals[i], probabilities @ z)
        tags = space.position_marginals(gibbs.marginals)[i, :length]
        expected = torch.zeros(length, k, dtype=torch.float64)
        for p, segments in zip(probabilities, states, strict=True):
            for first, after, label in segments:
                expected[first:after, label] += p
        torch.testing.assert_close(tags, expected)


def test_segments_draw_train_and_convert():
    space = Segments(5, 2, longest=3)
    emissions = torch.randn(2, 5, 2, generator=seeded())
    durations = torch.randn(3, 2, generator=seeded(1))
    scores = space.segment_scores(emissions, durations)
    expected = emissions[1, 1:4, 0].sum() + durations[2, 0]
    torch.testing.assert_close(scores[1, 1, 2, 0], expected)
    vector = space.scores(scores, torch.zeros(2, 2)).requires_grad_()
    truth = [[(0, 2, 1), (2, 5, 0)], [(0, 1, 0), (1, 4, 1), (4, 5, 0)]]
    target = space.states_of(truth)
    assert space.segments(target) == truth
    assert space.labels(target).tolist() == [[1, 1, 0, 0, 0], [0, 1, 1, 1, 0]]
    GibbsLikelihood(space)(vector, target=target).sum().backward()
    assert space.segments(space.argmax(-10 * vector.grad)) == truth
    draws = space.gibbs(vector.detach()).sample(seeded(), 3)
    assert space.contains(draws).all()


def test_the_longest_segment_may_be_one_position():
    space = Segments(3, 2, longest=1)
    assert space.gibbs(torch.zeros(1, space.dimension)).log_partition.exp().round() == 8
    assert Segments(1, 3, longest=1).argmax(torch.zeros(1, 9)).sum() == 3


@pytest.mark.parametrize("lengths", [None, [4, 1, 3]])
def test_second_order_chains_against_enumeration(lengths):
    n, k = 4, 3
    generator = seeded()
    space = SecondOrderChains(n, k)
    unary = torch.randn(3, n, k, generator=generator, dtype=torch.float64)
    pairwise = torch.randn(n - 1, k, k, generator=generator, dtype=torch.float64)
    triples = torch.randn(k, k, k, generator=generator, dtype=torch.float64)
    scores = space.scores(unary, pairwise, triples, lengths)
    gibbs = space.gibbs(scores)
    best = space.labels(space.argmax(scores))
    marginals = space.position_marginals(gibbs.marginals)
    for i, length in enumerate(lengths or [n] * 3):
        labels = np.array(list(product(range(k), repeat=length)))
        totals = sum(unary[i, t, labels[:, t]] for t in range(length))
        for t in range(length - 1):
            totals = totals + pairwise[t, labels[:, t], labels[:, t + 1]]
        for t in range(length - 2):
            totals = totals + triples[labels[:, t], labels[:, t + 1], labels[:, t + 2]]
        assert best[i, :length].tolist() == labels[int(totals.argmax())].tolist()
        torch.testing.assert_close(gibbs.log_partition[i], totals.logsumexp(0))
        padded = np.zeros((len(labels), n), np.int64)
        padded[:, :length] = labels
        z = space.states_of(torch.from_numpy(padded)).double()
        torch.testing.assert_close(z @ scores[i].nan_to_num(neginf=0.0), totals)
        assert torch.equal(space.labels(z), torch.from_numpy(padded))
        for t in range(length):
            p = torch.stack([totals.softmax(0)[labels[:, t] == a].sum() for a in range(k)])
            torch.testing.assert_close(marginals[i, t], p)


def test_a_second_order_chain_of_two_positions():
    space = SecondOrderChains(2, 2)
    pairwise = torch.tensor([[0.0, 3.0], [0.0, 0.0]])
    scores = space.scores(torch.zeros(1, 2, 2), pairwise)
    assert space.labels(space.argmax(scores)).tolist() == [[0, 1]]


def wrong_calls():
    space = Segments(3, 2, longest=2)
    chain = SecondOrderChains(3, 2)
    segments = torch.zeros(1, 3, 2, 2)
    return {
        "longest must be at most n = 3": lambda: Segments(3, 2, 4),
        r"segments must be \[..., 3, 2, 2\]": lambda: space.scores(segments[:, :2]),
        "lengths must be": lambda: space.scores(segments, lengths=[4]),
        "segments must follow each other": lambda: space.states_of([[(0, 1, 0), (2, 3, 0)]]),
        "at least one segment": lambda: space.states_of([[]]),
        r"z must be \[batch": lambda: space.segments(torch.zeros(space.dimension)),
        "n must be a whole number of at least 2": lambda: SecondOrderChains(1, 2),
        r"unary must be \[..., 3, 2\]": lambda: chain.scores(torch.zeros(2, 2)),
        "labels must be from 0 to 1": lambda: chain.states_of(torch.full((1, 3), 2)),
        "labels must be integers": lambda: chain.states_of(torch.zeros(1, 3)),
    }


@pytest.mark.parametrize("message", wrong_calls())
def test_wrong_calls_of_sequences_get_an_error_of_ours(message):
    with pytest.raises(StructureError, match=message):
        wrong_calls()[message]()


RULES = {
    "two of six": [cardinality(2)],
    "groups": [one_of([0, 1, 2]), at_most(1, [3, 4, 5])],
    "weights": [linear([0.3, 0.1, 0.2, 0.4, 0.7, 0.2], "<=", 0.9), implies(0, 3)],
}
ALLOWED = {
    "two of six": lambda z: z.sum(axis=1) == 2,
    "groups": lambda z: (z[:, :3].sum(axis=1) == 1) & (z[:, 3:].sum(axis=1) <= 1),
    "weights": lambda z: (z @ [3, 1, 2, 4, 7, 2] <= 9) & (z[:, 0] <= z[:, 3]),
}


def constrained_problem(name, batch=3):
    unary = torch.randn(batch, 6, generator=seeded(), dtype=torch.float64)
    pairwise = torch.randn(batch, 6, 6, generator=seeded(1), dtype=torch.float64).triu(1)
    states = all_bits(6)
    return unary, pairwise, torch.from_numpy(states[ALLOWED[name](states)]).double()


def scores_of_states(unary, pairwise, states):
    pairs = torch.einsum("si,bij,sj->bs", states, pairwise, states)
    return unary @ states.T + pairs


@pytest.mark.parametrize("name", RULES)
def test_the_layer_maximises_pairs_within_constraints(name):
    unary, pairwise, states = constrained_problem(name)
    layer = ArgmaxLayer(constraints=RULES[name], seed=None)
    best = states[scores_of_states(unary, pairwise, states).argmax(dim=1)]
    z, solution = layer.solve(unary, pairwise)
    assert torch.equal(layer(unary, pairwise), best)
    assert torch.equal(z, best)
    assert solution.optimal.all()
    space = layer.solver
    assert torch.equal(space.states(6, unary), states)


@pytest.mark.parametrize("name", RULES)
def test_losses_within_constraints(name):
    unary, pairwise, states = constrained_problem(name)
    unary.requires_grad_()
    target = states[[0, 1, -1]]
    rules = RULES[name]
    values = scores_of_states(unary.detach(), pairwise, states)
    truth = values.gather(1, torch.tensor([[0], [1], [len(states) - 1]]))[:, 0]
    distance = (target[:, None] != states).sum(dim=-1)
    hinge = StructuredHinge(constraints=rules)(unary, pairwise, target=target)
    torch.testing.assert_close(hinge.detach(), (values + distance).amax(dim=1) - truth)
    best = states[values.argmax(dim=1)]
    wrong = (best != target).sum(dim=1).double()
    # With a large step, the moved argmax is the state of least cost.
    to_target = 1 - 2 * target
    moved = states[(to_target[:, None] * states).sum(dim=-1).argmin(dim=1)]
    of_best = 2 * (best - target)
    values = scores_of_states(unary.detach() - 1e3 * of_best, pairwise, states)
    others = states[values.argmax(dim=1)]
    for loss, other in ((DirectLoss, moved), (ImplicitMLELoss, others)):
        function = loss(constraints=rules, epsilon=1e3).eval()
        value = function(unary, pairwise, target=target)
        torch.testing.assert_close(value.detach(), wrong)
        (gradient,) = torch.autograd.grad(value.sum(), unary)
        torch.testing.assert_close(gradient, (best - other) / 1e3)
    noisy = PerturbedFenchelYoung(samples=4, constraints=rules)
    loss = noisy(unary, pairwise, target=target, generator=seeded())
    loss.sum().backward()
    assert (loss >= 0).all()
    with pytest.raises(StructureError, match="no gibbs"):
        GibbsLikelihood(constraints=rules)


def test_costs_and_forbidden_scores_within_constraints():
    unary, pairwise, states = constrained_problem("groups")
    unary.requires_grad_()
    layer = ArgmaxLayer(constraints=RULES["groups"], seed=None, epsilon=1e3)
    target = states[[2, 4, 6]]
    estimate = layer(unary, pairwise, cost=Hamming(target))
    estimate.surrogate.sum().backward()
    torch.testing.assert_close(unary.grad, (estimate.z[0] - target) / 1e3)
    mask = torch.tensor([False, False, True, True, True, True])
    pairwise = pairwise.clone()
    pairwise[:, 2, 3] = -torch.inf
    z = layer(unary.detach(), pairwise, mask=mask)
    assert (z[:, 2] == 1).all()
    assert not z[:, [0, 1, 3]].any()
    with pytest.raises(StructureError, match="no allowed state"):
        layer(unary.detach(), mask=~torch.tensor([True] * 3 + [False] * 3))


def test_wrong_constraints_get_an_error_of_ours():
    for rules in ([3], 3, "k", [cardinality(2), None]):
        with pytest.raises(ConfigError, match="constraints must be a list"):
            ArgmaxLayer(constraints=rules)
    with pytest.raises(ConfigError, match="constraints must be a list"):
        ConstrainedBits([])
    with pytest.raises(ConfigError, match="a structure has states of its own"):
        ArgmaxLayer(KOfN(2), constraints=[cardinality(2)])
    short = ConstrainedBits([linear([1.0, 1.0], "<=", 1)])
    for use in (short.argmax, short.contains):
        with pytest.raises(OptionError, match="has length 2, and the problem has 3 variables"):
            use(torch.ones(1, 3))


JUDGED = {
    "GibbsLikelihood needs a sum": lambda: GibbsLikelihood(constraints=[cardinality(2)]),
    "and Assignments.* has no gibbs": lambda: GibbsLikelihood(Assignments(2)),
    "has no gibbs: use": lambda: GibbsLikelihood(KOfN(2)).over(Assignments(2)),
    "'max_flow'.*takes no constraints": lambda: ArgmaxLayer(
        "max_flow", constraints=[cardinality(2)]
    ),
    "'dual_ascent'.*takes no constraints": lambda: ConstrainedBits([cardinality(2)], "dual_ascent"),
    "weights must be a tensor": lambda: StructuredHinge(weights=torch.ones(2, dtype=torch.cfloat)),
    "batch_first must be True or False": lambda: LinearChainCRF(2, batch_first="yes"),
    "size must be a positive number": lambda: Relative("large"),
    "crf must be a LinearChainCRF": lambda: ChainInference(3),
    "vae must be a DiscreteVAE": lambda: VAEInference(3),
    r"edges must be from 0 to 1; edges\[1, 1\] is 2": lambda: ArgmaxInference(2, [[0, 1], [1, 2]]),
    "k must be|at most|k = 9": lambda: ArgmaxInference(4, space=KOfN(9)),
}


@pytest.mark.parametrize("message", JUDGED)
def test_arguments_are_judged_when_a_module_is_made(message):
    with pytest.raises((StructuredVAEError, SolverError), match=message):
        JUDGED[message]()


def test_forbidden_labels_of_positions_forbid_the_segments_over_them():
    space = Segments(4, 2, longest=3)
    emissions = torch.randn(1, 4, 2, generator=seeded(), dtype=torch.float64)
    emissions[0, 1, 0] = -torch.inf
    scores = space.segment_scores(emissions)
    for first in range(4):
        for after in range(first + 1, min(first + 3, 4) + 1):
            expected = emissions[0, first:after].sum(dim=0)
            torch.testing.assert_close(scores[0, first, after - first - 1], expected)
    allowed = [
        segments
        for segments in segmentations(4, 2, 3)
        if all(label or not first <= 1 < after for first, after, label in segments)
    ]
    gibbs = space.gibbs(space.scores(torch.where(scores.isinf(), scores, 0.0)))
    torch.testing.assert_close(gibbs.log_partition.exp().item(), float(len(allowed)))


def test_segment_scores_in_16_bits_are_those_of_their_positions():
    emissions = torch.full((1, 2000, 1), 1.1).half()
    scores = Segments(2000, 1, longest=2).segment_scores(emissions)
    expected = torch.tensor([1.1, 2.2]).half()[None, :, None].expand(1999, 2, 1)
    torch.testing.assert_close(scores[0, :-1], expected, rtol=2e-3, atol=0.0)


def test_batches_without_sequences():
    space = Segments(3, 2, longest=2)
    assert space.states_of([]).shape == (0, space.dimension)
    scores = space.scores(torch.zeros(0, 3, 2, 2), lengths=[])
    assert space.segments(space.argmax(scores), lengths=[]) == []
    chains = SecondOrderChains(3, 2)
    scores = chains.scores(torch.zeros(0, 3, 2), lengths=torch.zeros(0, dtype=torch.long))
    assert chains.labels(chains.argmax(scores)).shape == (0, 3)


def test_vmap_maps_over_labels_of_second_order_chains():
    space = SecondOrderChains(4, 3)
    likelihood = GibbsLikelihood(space)
    scores = torch.randn(3, space.dimension, generator=seeded(), dtype=torch.float64)
    labels = torch.randint(3, (3, 4), generator=seeded(1))

    def loss(scores, labels):
        return likelihood(scores[None], target=space.states_of(labels[None]))[0]

    def summed(scores):
        return likelihood(scores, target=space.states_of(labels)).sum()

    per_instance = torch.func.vmap(torch.func.grad(loss))(scores, labels)
    torch.testing.assert_close(per_instance, torch.func.grad(summed)(scores))
