"""Conditional random fields with partial and soft labels, weights, rules, and several answers."""

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from enumeration import seeded
from torch import func

from solvers.constraints import at_most
from structured_vae import LinearChainCRF, PairwiseCRF, TagRules, tag_rules
from structured_vae.errors import ConfigError, StructureError

K = 3
LENGTHS = (4, 1, 3)
SQUARE = [[0, 1], [3, 2], [0, 2], [1, 3]]


def chain_crf(rules=None):
    crf = LinearChainCRF(K, batch_first=True, rules=rules).double()
    for parameter in crf.parameters():
        parameter.data = torch.randn(parameter.shape, generator=seeded(), dtype=torch.float64)
    emissions = torch.randn(3, 4, K, generator=seeded(1), dtype=torch.float64)
    tags = torch.randint(K, (3, 4), generator=seeded(2))
    mask = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
    return crf, emissions, tags, mask


def sequences(crf, emissions, length):
    """All tags `[states, length]` of one chain, and their scores."""
    tags = torch.tensor(list(product(range(K), repeat=length)))
    score = crf.start_transitions[tags[:, 0]] + crf.end_transitions[tags[:, -1]]
    for place in range(length):
        score = score + emissions[place, tags[:, place]]
    for place in range(length - 1):
        score = score + crf.transitions[tags[:, place], tags[:, place + 1]]
    return tags, score


def per_chain(crf, emissions, value):
    """The value of (chain, tags, log p) of each chain, stacked."""
    values = []
    for i, length in enumerate(LENGTHS):
        tags, score = sequences(crf, emissions[i], length)
        values.append(value(i, tags, score.log_softmax(0)))
    return torch.stack(values)


def test_sets_of_tags_are_marginalised():
    crf, emissions, _, mask = chain_crf()
    possible = torch.rand(3, 4, K, generator=seeded(3)) < 0.6
    possible[..., 0] |= ~possible.any(dim=-1)

    def log_p_of_sets(i, tags, log_p):
        places = torch.arange(tags.shape[1])
        return log_p[possible[i, places, tags].all(dim=1)].logsumexp(0)

    log_p = crf(emissions, possible, mask, "none")
    torch.testing.assert_close(log_p, per_chain(crf, emissions, log_p_of_sets))
    everything = crf(emissions, torch.ones_like(possible), mask, "none")
    torch.testing.assert_close(everything, torch.zeros(3, dtype=torch.float64))


def test_soft_tags_and_smoothing_are_expected_log_likelihoods():
    crf, emissions, tags, mask = chain_crf()
    q = torch.rand(3, 4, K, generator=seeded(3), dtype=torch.float64)
    q = q / q.sum(dim=-1, keepdim=True)

    def expected(i, states, log_p):
        places = torch.arange(states.shape[1])
        return (q[i, places, states].prod(dim=1) * log_p).sum()

    torch.testing.assert_close(crf(emissions, q, mask, "none"), per_chain(crf, emissions, expected))
    smooth = crf(emissions, tags, mask, "none", label_smoothing=0.2)
    mean = per_chain(crf, emissions, lambda i, states, log_p: log_p.mean())
    hard = crf(emissions, tags, mask, "none")
    torch.testing.assert_close(smooth, 0.8 * hard + 0.2 * mean)
    one_hot = torch.nn.functional.one_hot(tags, K).double()
    torch.testing.assert_close(crf(emissions, one_hot, mask, "none"), hard)


def test_smoothing_leaves_forbidden_tags_out():
    rules = tag_rules(["O", "B", "I"])
    crf, emissions, _, mask = chain_crf(rules)
    tags = torch.tensor([[1, 2, 0, 0], [0, 0, 0, 0], [0, 1, 2, 0]])
    value = crf(emissions, tags, mask, label_smoothing=0.5)
    assert value.isfinite()
    value.backward()
    assert crf.transitions.grad.isfinite().all()
    assert crf.transitions.grad[0, 2] == 0


def test_weights_of_chains_and_classes():
    crf, emissions, tags, mask = chain_crf()
    log_p = crf(emissions, tags, mask, "none")
    of_chains = torch.tensor([2.0, 0.0, 0.5], dtype=torch.float64)
    of_classes = torch.tensor([1.0, 3.0, 0.0], dtype=torch.float64)
    means = [of_classes[tags[i, :length]].mean() for i, length in enumerate(LENGTHS)]
    weights = of_chains * torch.stack(means)

    def call(reduction):
        return crf(
            emissions,
            tags,
            mask,
            reduction,
            sample_weight=of_chains,
            class_weight=of_classes,
        )

    torch.testing.assert_close(call("none"), weights * log_p)
    torch.testing.assert_close(call("mean"), (weights * log_p).sum() / weights.sum())
    tokens = weights @ torch.tensor(LENGTHS, dtype=torch.float64)
    torch.testing.assert_close(call("token_mean"), (weights * log_p).sum() / tokens)
    with pytest.raises(ConfigError, match=r"class_weight must be a tensor \[3\]"):
        crf(emissions, tags, mask, class_weight=torch.ones(2))
    with pytest.raises(ConfigError, match="label_smoothing"):
        crf(emissions, tags, mask, label_smoothing=1.0)


def test_padding_on_the_left_changes_nothing():
    crf, emissions, tags, mask = chain_crf()
    rows = [torch.arange(4).roll(4 - length) for length in LENGTHS]
    index = torch.stack(rows)  # padding first
    moved = emissions.gather(1, index[..., None].expand_as(emissions)).requires_grad_()
    tags_moved = tags.gather(1, index)
    mask_moved = mask.gather(1, index)
    moved.data[~mask_moved] = torch.nan
    arguments = (moved, tags_moved, mask_moved, "none")
    torch.testing.assert_close(crf(*arguments), crf(emissions, tags, mask, "none"))
    marginals = crf.marginals(emissions, mask)
    expected = marginals.gather(1, index[..., None].expand_as(marginals))
    torch.testing.assert_close(crf.marginals(moved, mask_moved), expected)
    assert crf.decode(moved, mask_moved) == crf.decode(emissions, mask)
    labels = crf.solve(moved, mask_moved).labels
    assert torch.equal(labels, crf.solve(emissions, mask).labels.gather(1, index))
    pairs = crf.pair_marginals(moved, mask_moved)
    for i, length in enumerate(LENGTHS):
        steps = pairs[i, 4 - length :]
        torch.testing.assert_close(steps, crf.pair_marginals(emissions, mask)[i, : length - 1])


def test_pair_marginals_and_their_gradients():
    crf, emissions, _, mask = chain_crf()
    emissions.requires_grad_()
    pairs = crf.pair_marginals(emissions, mask)
    assert pairs.shape == (3, 3, K, K)

    def joint(i, tags, log_p):
        table = torch.zeros(3, K, K, dtype=torch.float64)
        for place in range(tags.shape[1] - 1):
            for a, b in product(range(K), repeat=2):
                both = (tags[:, place] == a) & (tags[:, place + 1] == b)
                table[place, a, b] = log_p[both].exp().sum()
        return table

    expected = per_chain(crf, emissions, joint)
    torch.testing.assert_close(pairs, expected)
    (gradient,) = torch.autograd.grad(pairs[0, 1, 0, 2], emissions)
    (wanted,) = torch.autograd.grad(expected[0, 1, 0, 2], emissions)
    torch.testing.assert_close(gradient, wanted)


def test_the_best_sequences_in_order():
    crf, emissions, _, mask = chain_crf()
    solution = crf.solve(emissions, mask, k_best=5)
    assert solution.labels.shape == (3, 5, 4)
    for i, length in enumerate(LENGTHS):
        tags, scores = sequences(crf, emissions[i], length)
        count = min(5, len(tags))
        order = scores.argsort(descending=True)[:count]
        assert torch.equal(solution.labels[i, :count, :length], tags[order])
        torch.testing.assert_close(solution.score[i, :count], scores[order])
        assert (solution.labels[i, count:] == -1).all()
        assert (solution.score[i, count:] == -torch.inf).all()
        assert (solution.labels[i, :, length:] == -1).all()


def test_fixed_and_allowed_tags():
    crf, emissions, _, mask = chain_crf()
    fix = torch.full((3, 4), -1)
    fix[0, 2] = 1
    allowed = torch.ones(3, 4, K, dtype=torch.bool)
    allowed[0, 0, 0] = False
    tags, scores = sequences(crf, emissions[0], 4)
    scores = scores.masked_fill((tags[:, 2] != 1) | (tags[:, 0] == 0), -torch.inf)
    best = tags[scores.argmax()].tolist()
    assert crf.decode(emissions, mask, fix=fix, allowed=allowed)[0] == best
    with pytest.raises(StructureError, match="fix must be from 0 to 2"):
        crf.decode(emissions, mask, fix=fix + 4)
    with pytest.raises(StructureError, match="allowed must be booleans"):
        crf.decode(emissions, mask, allowed=allowed.float())
    with pytest.raises(StructureError, match="fix must be integers"):
        crf.decode(emissions, mask, fix=fix[:, :2])


def spans_are_valid(tags, scheme):
    """Whether tags are valid, by reading them from left to right."""
    letters = {"BIO": "BI", "IOBES": "BIES", "BILOU": "BILU"}[scheme]
    begin, inside, *others = letters
    last, single = others if others else (None, None)
    open_kind = None
    for tag in tags:
        letter, _, kind = tag.partition("-")
        continues = letter in (inside, last)
        if continues != (open_kind is not None) and scheme != "BIO":
            return False
        if continues and open_kind != kind:
            return False
        open_kind = kind if letter in (begin, inside) else None
        assert single is None or letter != single or open_kind is None
    return scheme == "BIO" or open_kind is None


@pytest.mark.parametrize("scheme", ["BIO", "IOBES", "BILOU"])
def test_rules_of_a_scheme_allow_exactly_its_sequences(scheme):
    letters = {"BIO": "BI", "IOBES": "BIES", "BILOU": "BILU"}[scheme]
    tags = ["O", *(f"{letter}-{kind}" for kind in "XY" for letter in letters)]
    rules = tag_rules(tags, scheme)
    for sequence in product(range(len(tags)), repeat=3):
        steps = all(rules.transitions[a, b] for a, b in pairwise(sequence))
        by_rules = rules.start[sequence[0]] and rules.end[sequence[-1]] and steps
        assert by_rules == spans_are_valid([tags[i] for i in sequence], scheme)


def test_a_chain_with_rules_never_breaks_them():
    rules = tag_rules(["O", "B", "I"])
    crf, emissions, _, mask = chain_crf(rules)
    emissions[..., 2] += 5
    for chain in crf.decode(emissions, mask):
        assert spans_are_valid(["OBI"[tag] for tag in chain], "BIO")
    assert "_forbidden_start" not in crf.state_dict()
    tags = torch.tensor([[1, 2, 0, 0], [0, 0, 0, 0], [0, 1, 2, 0]])
    invalid = torch.tensor([[2, 2, 0, 0], [0, 0, 0, 0], [0, 2, 2, 0]])
    assert crf(emissions, tags, mask).isfinite()
    assert crf(emissions, invalid, mask) == -torch.inf
    every = crf.solve(emissions, mask, k_best=40)
    assert ((every.labels >= 0).any(dim=-1).sum(dim=1)).tolist() == [34, 2, 13]
    for values in (every.score, every.bound):
        assert (values > -torch.inf).sum(dim=1).tolist() == [34, 2, 13]


WRONG_RULES = {
    "scheme must be one of": lambda: tag_rules(["O"], "IO"),
    "'X-PER' is not a tag of BIO": lambda: tag_rules(["O", "X-PER"]),
    "names that differ": lambda: tag_rules(["O", "O"]),
    "must be a list of names": lambda: tag_rules(None),
    r"start of tag rules must be \[1\] booleans": lambda: TagRules(
        np.ones(1), np.ones((1, 1)), np.ones(1)
    ),
    "rules must be TagRules of 3 tags": lambda: LinearChainCRF(3, rules=tag_rules(["O"])),
}


@pytest.mark.parametrize("message", WRONG_RULES)
def test_wrong_rules_get_an_error_of_ours(message):
    with pytest.raises(StructureError, match=message):
        WRONG_RULES[message]()


# --- any graph ----------------------------------------------------------------------------------


def square():
    crf = PairwiseCRF(4, K, SQUARE).double()
    crf.pairwise.data = torch.randn(1, K, K, generator=seeded(), dtype=torch.float64)
    unary = torch.randn(2, 4, K, generator=seeded(1), dtype=torch.float64)
    states = torch.tensor(list(product(range(K), repeat=4)))
    return crf, unary, states, scores_of(crf, unary, states)


def scores_of(crf, unary, states):
    scores = sum(unary[:, i, states[:, i]] for i in range(4))
    for i, j in SQUARE:
        scores = scores + crf.pairwise[0, states[:, i], states[:, j]]
    return scores.detach()


def test_partial_and_soft_labels_of_graphs():
    crf, unary, states, scores = square()
    log_p = scores.log_softmax(dim=-1)
    possible = torch.rand(2, 4, K, generator=seeded(3)) < 0.6
    possible[..., 0] |= ~possible.any(dim=-1)
    q = torch.rand(2, 4, K, generator=seeded(3), dtype=torch.float64)
    q = q / q.sum(dim=-1, keepdim=True)
    places = torch.arange(4)
    for i in range(2):
        kept = possible[i, places, states].all(dim=1)
        expected = log_p[i, kept].logsumexp(0)
        torch.testing.assert_close(crf(unary, possible, "none")[i], expected)
        mean = (q[i, places, states].prod(dim=1) * log_p[i]).sum()
        torch.testing.assert_close(crf(unary, q, "none")[i], mean)
    target = states[[3, 40]]
    smooth = crf(unary, target, "none", label_smoothing=0.2)
    hard = crf(unary, target, "none")
    torch.testing.assert_close(smooth, 0.8 * hard + 0.2 * log_p.mean(dim=1))
    weights = torch.tensor([2.0, 0.0], dtype=torch.float64)
    weighted = crf(unary, target, "mean", sample_weight=weights)
    torch.testing.assert_close(weighted, hard[0])


def test_several_answers_of_graphs():
    crf, unary, states, scores = square()
    solution = crf.solve(unary, k_best=3)
    order = scores.argsort(dim=-1, descending=True)[:, :3]
    assert torch.equal(solution.labels, states[order])
    fixed = scores.masked_fill(states[:, 2] != 1, -torch.inf).argmax(dim=-1)
    assert torch.equal(crf.decode(unary, fix={2: 1}), states[fixed])
    rule = at_most(1, [(i, 0) for i in range(4)])
    few = scores.masked_fill((states == 0).sum(dim=1) > 1, -torch.inf).argmax(dim=-1)
    assert torch.equal(crf.solve(unary, constraints=[rule]).labels, states[few])
    p = scores.softmax(dim=-1)
    pairs = crf.pair_marginals(unary)
    for edge, (i, j) in enumerate(SQUARE):
        both = (states[:, i] == 0) & (states[:, j] == 2)
        torch.testing.assert_close(pairs[:, edge, 0, 2], p[:, both].sum(dim=1))


@pytest.mark.parametrize("kind", ["chain", "graph"])
def test_soft_labels_of_a_bfloat16_softmax_are_probabilities(kind):
    crf, scores, _, _ = chain_crf() if kind == "chain" else square()
    shares = torch.rand(scores.shape, generator=seeded(3)).softmax(dim=-1).bfloat16()
    assert ((shares.double().sum(dim=-1) - 1).abs() > 1e-3).any()
    exact = shares.double() / shares.double().sum(dim=-1, keepdim=True)
    torch.testing.assert_close(crf(scores, shares), crf(scores, exact))
    with pytest.raises(StructureError, match="add up to 1"):
        crf(scores, (1.05 * exact).bfloat16())


@pytest.mark.parametrize("kind", ["chain", "graph"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_batches_without_instances_take_every_kind_of_target(kind, smoothing):
    crf, scores, _, _ = chain_crf() if kind == "chain" else square()
    scores = scores[:0].clone().requires_grad_()
    labels = torch.zeros(0, 4, dtype=torch.long)
    weights = {"sample_weight": torch.ones(0), "class_weight": torch.ones(K)}
    for target in (labels, torch.ones(0, 4, K, dtype=torch.bool), torch.ones(0, 4, K)):
        value = crf(scores, target, reduction="none", label_smoothing=smoothing, **weights)
        value.sum().backward()
        assert value.shape == (0,)


@pytest.mark.parametrize("kind", ["chain", "graph"])
def test_vmap_maps_over_labels_and_class_weights_count_them(kind):
    crf, scores, _, _ = chain_crf() if kind == "chain" else square()
    labels = torch.randint(K, scores.shape[:2], generator=seeded(3))
    weights = torch.tensor([0.5, 1.0, 2.0])

    def loss(scores, labels):
        return -crf(scores[None], labels[None], class_weight=weights)

    def summed(scores):
        return -crf(scores, labels, class_weight=weights)

    per_instance = func.vmap(func.grad(loss))(scores, labels)
    torch.testing.assert_close(per_instance, func.grad(summed)(scores))


def test_the_best_labels_of_a_graph_in_16_bits_are_those_of_its_log_likelihood():
    crf, unary, states, _ = square()
    unary = unary.half()
    with torch.no_grad():
        crf.pairwise += 1000.0  # tables whose differences 16 bits do not resolve
    scores = scores_of(crf, unary.double(), states)
    solution = crf.solve(unary)
    torch.testing.assert_close(solution.score, scores.amax(dim=-1))
    assert torch.equal(solution.labels, states[scores.argmax(dim=-1)])
