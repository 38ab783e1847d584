"""Conditional random fields: every value and gradient against enumeration of all labellings."""

import copy
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from solvers import Capabilities, Maximiser
from solvers.labels import LabelSolver
from structured_vae import LinearChainCRF, PairwiseCRF
from structured_vae.errors import StructureError

LENGTHS = (4, 1, 3)


def chains(k=3, lengths=LENGTHS, seed=0, scale=2.0, batch_first=True):
    """A module, emissions, tags and mask of chains of these lengths; rubbish beyond their ends."""
    generator = torch.Generator().manual_seed(seed)
    crf = LinearChainCRF(k, batch_first=batch_first).double()
    for parameter in crf.parameters():
        parameter.data = scale * torch.randn(
            parameter.shape, generator=generator, dtype=torch.float64
        )
    emissions = scale * torch.randn(
        len(lengths), max(lengths), k, generator=generator, dtype=torch.float64
    )
    tags = torch.randint(k, emissions.shape[:2], generator=generator)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    emissions[~mask], tags[~mask] = torch.nan, -100
    if not batch_first:
        return crf, *(part.transpose(0, 1) for part in (emissions, tags, mask))
    return crf, emissions, tags, mask


def score_of(crf, emissions, tags):
    """Of one chain, term by term."""
    total = crf.start_transitions[tags[0]] + crf.end_transitions[tags[-1]]
    for place, tag in enumerate(tags):
        total = total + emissions[place, tag]
    for before, after in pairwise(tags):
        total = total + crf.transitions[before, after]
    return total


def enumerated(crf, emissions, length):
    """All tags of one chain, and their scores."""
    states = list(product(range(crf.num_tags), repeat=length))
    return states, torch.stack([score_of(crf, emissions, state) for state in states])


def expected_log_p(crf, emissions, tags, lengths=LENGTHS):
    return torch.stack(
        [
            score_of(crf, e, t[:length].tolist())
            - torch.logsumexp(enumerated(crf, e, length)[1], dim=0)
            for e, t, length in zip(emissions, tags, lengths, strict=True)
        ]
    )


@pytest.mark.parametrize("seed", range(5))
def test_log_likelihoods_and_gradients_are_those_of_enumeration(seed):
    crf, emissions, tags, mask = chains(seed=seed)
    emissions.requires_grad_()
    leaves = [emissions, *crf.parameters()]
    found, wanted = crf(emissions, tags, mask, "none"), expected_log_p(crf, emissions, tags)
    assert torch.allclose(found, wanted, rtol=0, atol=1e-10)
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    ours, theirs = (torch.autograd.grad((weights * each).sum(), leaves) for each in (found, wanted))
    for own, other in zip(ours, theirs, strict=True):
        assert torch.allclose(own, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("reduction", ["sum", "mean", "token_mean"])
def test_reductions_are_what_they_say(reduction):
    crf, emissions, tags, mask = chains()
    each = expected_log_p(crf, emissions, tags)
    wanted = {"sum": each.sum(), "mean": each.sum() / 3, "token_mean": each.sum() / sum(LENGTHS)}[
        reduction
    ]
    assert torch.allclose(crf(emissions, tags, mask, reduction), wanted, rtol=0, atol=1e-10)


def test_the_first_dimension_may_be_the_length():
    crf, *arrays = chains(batch_first=False)
    other, *turned = chains()
    assert torch.equal(crf(*arrays, "none"), other(*turned, "none"))
    assert crf.decode(arrays[0], arrays[2]) == other.decode(turned[0], turned[2])
    assert torch.equal(
        crf.marginals(arrays[0], arrays[2]), other.marginals(turned[0], turned[2]).transpose(0, 1)
    )


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_decoded_tags_have_the_highest_score_and_its_proof(k, seed):
    crf, emissions, _, mask = chains(k, seed=seed)
    solution, decoded = crf.solve(emissions, mask), crf.decode(emissions, mask)
    for b, length in enumerate(LENGTHS):
        best = enumerated(crf, emissions[b], length)[1].max()
        assert len(decoded[b]) == length
        assert torch.allclose(score_of(crf, emissions[b], decoded[b]), best, rtol=0, atol=1e-10)
        assert torch.allclose(solution.score[b], best, rtol=0, atol=1e-10)
        assert solution.labels[b].tolist() == decoded[b] + [-1] * (max(LENGTHS) - length)
    assert solution.optimal.all()


@pytest.mark.parametrize("seed", range(3))
def test_marginals_and_their_gradients_are_those_of_enumeration(seed):
    crf, emissions, _, mask = chains(seed=seed)
    emissions.requires_grad_()
    found, wanted = crf.marginals(emissions, mask), torch.zeros_like(emissions)
    for b, length in enumerate(LENGTHS):
        states, scores = enumerated(crf, emissions[b], length)
        for state, p in zip(states, torch.softmax(scores, dim=0), strict=True):
            for place, tag in enumerate(state):
                wanted = wanted.index_put(
                    (torch.tensor(b), torch.tensor(place), torch.tensor(tag)), p, accumulate=True
                )
    assert torch.allclose(found, wanted, rtol=0, atol=1e-10)
    weights = torch.randn(
        found.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    leaves = [emissions, *crf.parameters()]
    ours, theirs = (torch.autograd.grad((weights * each).sum(), leaves) for each in (found, wanted))
    for own, other in zip(ours, theirs, strict=True):
        assert torch.allclose(own, other, rtol=0, atol=1e-9)


def test_marginals_need_no_gradient():
    crf, emissions, _, mask = chains()
    with torch.no_grad():
        found = crf.marginals(emissions, mask)
    assert not found.requires_grad
    assert torch.allclose(found.sum(dim=-1), mask.double())


def test_marginals_of_chains_of_one_place_have_gradients():
    crf, emissions, _, mask = chains(lengths=(1, 1))
    found = crf.marginals(emissions.requires_grad_(), mask)
    scores = emissions + crf.start_transitions + crf.end_transitions
    assert torch.allclose(found, torch.softmax(scores, dim=-1))
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    leaves = [emissions, crf.start_transitions, crf.end_transitions]
    ours, theirs = (
        torch.autograd.grad((weights * each).sum(), leaves)
        for each in (found, torch.softmax(scores, dim=-1))
    )
    for own, other in zip(ours, theirs, strict=True):
        assert torch.allclose(own, other, rtol=0, atol=1e-12)


def test_a_forbidden_tag_is_never_taken():
    crf, emissions, tags, mask = chains()
    emissions[0, 1, 2], tags[0, 1] = -torch.inf, 0
    assert crf.decode(emissions, mask)[0][1] != 2
    assert crf.marginals(emissions, mask)[0, 1, 2] == 0
    wanted = expected_log_p(crf, emissions.nan_to_num(nan=0.0, neginf=-1e6), tags)
    assert torch.allclose(crf(emissions, tags, mask, "none"), wanted, rtol=0, atol=1e-9)


def test_parameters_of_any_size_are_summed():
    crf, emissions, tags, mask = chains(scale=1000.0)
    wanted = expected_log_p(crf, emissions, tags)
    assert torch.allclose(crf(emissions, tags, mask, "none"), wanted, rtol=0, atol=1e-8)


def test_a_batch_is_its_chains_one_by_one():
    crf, emissions, tags, mask = chains(k=4, lengths=(5, 2, 3, 5))
    whole, decoded = crf(emissions, tags, mask, "none"), crf.decode(emissions, mask)
    for b, length in enumerate((5, 2, 3, 5)):
        alone = emissions[b : b + 1, :length]
        assert torch.allclose(crf(alone, tags[b : b + 1, :length]), whole[b], rtol=0, atol=1e-12)
        assert crf.decode(alone) == [decoded[b]]


def test_a_mask_longer_than_every_chain_changes_nothing():
    crf, emissions, tags, mask = chains()
    padded = torch.cat([emissions, torch.full((3, 2, 3), torch.inf, dtype=torch.float64)], dim=1)
    more = (
        torch.cat([tags, tags[:, :2]], dim=1),
        torch.cat([mask, torch.zeros(3, 2, dtype=torch.bool)], dim=1),
    )
    assert torch.equal(crf(padded, *more, "none"), crf(emissions, tags, mask, "none"))
    assert crf.solve(padded, more[1]).labels.shape == (3, 6)
    assert crf.marginals(padded.nan_to_num(posinf=0.0), more[1]).shape == padded.shape


def test_answers_have_the_type_of_the_emissions():
    crf, emissions, tags, mask = chains()
    single = copy.deepcopy(crf).float()
    found = single(emissions.float(), tags, mask, "none")
    assert found.dtype == torch.float32
    assert single.marginals(emissions.float(), mask).dtype == torch.float32
    assert torch.allclose(found.double(), crf(emissions, tags, mask, "none"), rtol=1e-4, atol=1e-4)


def test_the_state_dict_has_the_names_of_pytorch_crf():
    crf, emissions, tags, mask = chains()
    state = crf.state_dict()
    assert {name: tuple(value.shape) for name, value in state.items()} == {
        "start_transitions": (3,),
        "end_transitions": (3,),
        "transitions": (3, 3),
    }
    other = LinearChainCRF(3, batch_first=True).double()
    other.load_state_dict(state)
    assert torch.equal(other(emissions, tags, mask), crf(emissions, tags, mask))


def test_parameters_start_as_the_seed_says():
    torch.manual_seed(3)
    first = LinearChainCRF(4).state_dict()
    torch.manual_seed(3)
    second = LinearChainCRF(4).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert all(0 < value.abs().max() <= 0.1 for value in first.values())


def test_it_learns():
    crf, emissions, tags, mask = chains()
    adam = torch.optim.Adam(crf.parameters(), lr=0.1)
    before = crf(emissions, tags, mask).item()
    for _ in range(20):
        adam.zero_grad()
        (-crf(emissions, tags, mask)).backward()
        adam.step()
    assert crf(emissions, tags, mask).item() > before + 1


def changed(array, place, value):
    other = array.clone()
    other[place] = value
    return other


BAD_CALLS = {
    "a tensor of": lambda e, t, m: (e.to_sparse(), t, m),
    "emissions must be a tensor": lambda e, t, m: ([[1.0]], t, m),
    "floating-point": lambda e, t, m: (t, t, m),
    r"must be \[batch, length, 3\]; got \[3, 4, 2\]": lambda e, t, m: (e[:, :, :2], t, m),
    "a length of at least 1": lambda e, t, m: (e[:, :0], t, m),
    "at least one tag of each position": lambda e, t, m: (changed(e, (0, 1), -torch.inf), t, m),
    "finite": lambda e, t, m: (changed(e, (0, 1, 0), torch.nan), t, m),
    "mask must be a tensor": lambda e, t, m: (e, t, m[:, :2]),
    "without holes": lambda e, t, m: (e, t, changed(m, (0, 1), False)),
    "chain 1 has 0 blocks": lambda e, t, m: (e, t, changed(m, 1, False)),
    "tags must be integers": lambda e, t, m: (e, t.double(), m),
    r"tags must be integers \[3, 4\]": lambda e, t, m: (e, t[:, :2], m),
    "at least one label": lambda e, t, m: (e, e.isnan(), m),
    "add up to 1": lambda e, t, m: (e, torch.ones_like(e), m),
    "tags must be from 0 to 2; got 3": lambda e, t, m: (e, changed(t, (0, 0), 3), m),
    "reduction must be one of": lambda e, t, m: (e, t, m, "average"),
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_wrong_calls_get_an_error_of_ours(message):
    crf, emissions, tags, mask = chains()
    with pytest.raises(StructureError, match=message):
        crf(*BAD_CALLS[message](emissions, tags, mask))


def test_parameters_that_are_nan_or_plus_infinity_are_refused():
    crf, emissions, tags, mask = chains()
    for value in (torch.inf, torch.nan):
        crf.transitions.data[0, 1] = value
        with pytest.raises(StructureError, match="or minus infinity where a transition"):
            crf(emissions, tags, mask)
    with pytest.raises(StructureError, match="num_tags"):
        LinearChainCRF(0)
    with pytest.raises(StructureError, match="num_tags must be at most"):
        LinearChainCRF(1 << 20)


# --- any graph ----------------------------------------------------------------------------------

SQUARE = [[0, 1], [3, 2], [0, 2], [1, 3]]
GROUPS = [0, 0, 1, 1]


def square(seed=0, k=3):
    generator = torch.Generator().manual_seed(seed)
    crf = PairwiseCRF(4, k, SQUARE, GROUPS).double()
    crf.pairwise.data = torch.randn(2, k, k, generator=generator, dtype=torch.float64)
    unary = torch.randn(5, 4, k, generator=generator, dtype=torch.float64)
    return crf, unary, torch.randint(k, (5, 4), generator=generator)


def square_scores(crf, unary):
    """All labels `[states, 4]`, and their scores `[batch, states]`."""
    states = torch.tensor(list(product(range(unary.shape[-1]), repeat=4)))
    own = sum(unary[:, i, states[:, i]] for i in range(4))
    pairs = sum(
        crf.pairwise[g, states[:, i], states[:, j]]
        for g, (i, j) in zip(GROUPS, SQUARE, strict=True)
    )
    return states, own + pairs


@pytest.mark.parametrize("seed", range(3))
def test_a_square_against_enumeration(seed):
    crf, unary, target = square(seed)
    unary.requires_grad_()
    states, scores = square_scores(crf, unary)
    rows = (states[None] == target[:, None]).all(dim=-1).int().argmax(dim=1)
    wanted = torch.log_softmax(scores, dim=1)[torch.arange(5), rows]
    found = crf(unary, target, "none")
    assert torch.allclose(found, wanted, rtol=0, atol=1e-10)
    leaves = [unary, crf.pairwise]
    for own, other in zip(
        torch.autograd.grad(found.sum(), leaves),
        torch.autograd.grad(wanted.sum(), leaves),
        strict=True,
    ):
        assert torch.allclose(own, other, rtol=0, atol=1e-10)
    p = torch.softmax(square_scores(crf, unary)[1], dim=1)
    marginals = torch.einsum("bs,sik->bik", p, torch.nn.functional.one_hot(states, 3).double())
    assert torch.allclose(crf.marginals(unary), marginals, rtol=0, atol=1e-10)
    solution = crf.solve(unary)
    assert solution.optimal.all()
    assert torch.allclose(solution.score, scores.max(dim=1).values, rtol=0, atol=1e-10)
    assert torch.equal(crf.decode(unary), solution.labels)


def test_reductions_of_graphs_and_their_state():
    crf, unary, target = square()
    each = crf(unary, target, "none")
    assert torch.allclose(crf(unary, target), each.sum())
    assert torch.allclose(crf(unary, target, "mean"), each.mean())
    assert torch.allclose(crf(unary, target, "token_mean"), each.sum() / 20)
    other = PairwiseCRF(4, 3, SQUARE, GROUPS).double()
    other.load_state_dict(crf.state_dict())
    assert list(crf.state_dict()) == ["pairwise"]
    assert torch.equal(other(unary, target), crf(unary, target))


def test_a_graph_without_edges_is_a_softmax_a_variable():
    crf, unary = (
        PairwiseCRF(4, 3, []),
        torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0)),
    )
    target = unary.argmax(dim=-1)
    assert torch.equal(crf.decode(unary), target)
    wanted = torch.log_softmax(unary, dim=-1).amax(dim=-1).sum()
    assert torch.allclose(crf(unary, target), wanted)


def test_wrong_graphs_get_an_error_of_ours():
    crf, unary, target = square()
    for call, message in (
        (lambda: crf(unary[:, :3], target), r"unary must be \[batch, 4, 3\]"),
        (lambda: crf(target, target), "floating-point"),
        (lambda: crf(unary, target[:2]), "target must be integers"),
        (lambda: crf(unary, target + 3), "target must be from 0 to 2"),
        (lambda: crf(unary, target, "median"), "reduction"),
        (lambda: PairwiseCRF(4, 3, 1), "edges|arcs|pairs"),
        (lambda: PairwiseCRF(4, 3, SQUARE, [0, 0]), r"groups must be \[4\]"),
        (lambda: PairwiseCRF(4, 3, SQUARE, [0, 0, 2, 2]), "without gaps"),
    ):
        with pytest.raises(StructureError, match=message):
            call()


@pytest.mark.parametrize("reduction", [np.zeros(2, "i4,f8"), np.array(["mean"]), None, 1])
def test_a_reduction_is_a_word(reduction):
    crf, emissions, tags, mask = chains()
    with pytest.raises(StructureError, match="reduction must be one of"):
        crf(emissions, tags, mask, reduction)


def test_floats_that_torch_does_not_add_are_refused():
    crf, emissions, _, mask = chains()
    with pytest.raises(StructureError, match="16 bits"):
        crf.decode(emissions.to(torch.float8_e4m3fn), mask)


@pytest.mark.parametrize("edges", [np.array(3), np.array(None), 3, [[0, 1], [1]]], ids=str)
def test_edges_that_are_none_get_an_error_of_ours(edges):
    with pytest.raises(StructureError, match="edges must be pairs"):
        PairwiseCRF(3, 2, edges)


# --- what is easily lost ------------------------------------------------------------------------


@pytest.mark.parametrize("rubbish", [-100, 99])
def test_tags_beyond_the_mask_may_be_anything(rubbish):
    crf, emissions, tags, mask = chains()
    wanted = expected_log_p(crf, emissions, tags)
    tags[~mask] = rubbish
    assert torch.allclose(crf(emissions, tags, mask, "none"), wanted, rtol=0, atol=1e-10)


def test_marginals_have_gradients_in_the_parameters_alone():
    crf, emissions, _, mask = chains()
    assert not emissions.requires_grad
    crf.marginals(emissions, mask)[0, 0, 0].backward()
    found = crf.start_transitions.grad.clone()
    p = crf.marginals(emissions, mask)[0, 0].detach()
    wanted = p[0] * ((torch.arange(3) == 0).double() - p)  # of the start, as of the first emission
    assert torch.allclose(found, wanted, rtol=0, atol=1e-10)


def test_log_partitions_of_end_scores_that_differ_by_more_than_floats_hold():
    crf, *_ = chains(k=2, lengths=(1,))
    crf.start_transitions.data.zero_()
    crf.transitions.data.zero_()
    crf.end_transitions.data = torch.tensor([0.0, -1000.0], dtype=torch.float64)
    emissions = torch.tensor([[[-2000.0, 0.0]]], dtype=torch.float64)
    assert crf.log_partition(emissions).item() == -1000.0


def test_gradients_of_scores_that_differ_by_more_than_floats_hold_are_weighted():
    crf, emissions, _, _ = chains(lengths=(1, 1))
    crf.transitions.data[0, 1] = -1e4
    emissions.requires_grad_()
    (crf.log_partition(emissions) * torch.tensor([2.0, -3.0])).sum().backward()
    scores = emissions[:, 0] + crf.start_transitions + crf.end_transitions
    wanted = scores.softmax(dim=-1) * torch.tensor([[2.0], [-3.0]])
    assert torch.allclose(emissions.grad[:, 0], wanted, rtol=0, atol=1e-10)


def test_the_time_limit_of_a_graph_reaches_its_solver():
    limits = []

    class Recorded(LabelSolver):
        name = "recorded"
        capabilities = Capabilities(exact=False, time_limit=True)

        def _argmax(self, problem, deadline):
            limits.append(deadline.seconds)
            return Maximiser(problem.unary.argmax(axis=-1), problem.magnitude)

    crf = PairwiseCRF(2, 2, [[0, 1]], solver=Recorded())
    crf.solve(torch.zeros(1, 2, 2), time_limit=7.0)
    assert limits[0] == pytest.approx(7.0, abs=1.0)


def test_solutions_of_shorter_chains_print_their_tags_with_dashes_at_padding():
    crf, emissions, _, mask = chains()
    solution = crf.solve(emissions, mask)
    rows = [line.split() for line in repr(solution).splitlines()[2:]]
    paths = ["".join(map(str, path)) for path in crf.decode(emissions, mask)]
    assert [row[1] for row in rows] == [path.ljust(max(LENGTHS), "-") for path in paths]
    assert [row[5] for row in rows] == ["optimal"] * len(LENGTHS)
    html = solution._repr_html_()
    assert all(f"<td>{row[1]}</td>" in html for row in rows)


def test_a_chain_prints_none_only_where_there_are_no_more_sequences():
    crf, emissions, _, mask = chains(k=2, lengths=(2, 1))
    rows = [line.split() for line in repr(crf.solve(emissions, mask, k_best=3)).splitlines()[2:]]
    shorter = [row[2] for row in rows if row[0] == "1"]
    assert sorted(shorter) == ["0-", "1-", "none"]


def test_padding_before_a_chain_and_tags_of_two_digits_print():
    crf, emissions, _, mask = chains(k=12, lengths=(3, 2))
    crf.transitions.data.zero_()
    emissions = torch.nan_to_num(emissions.flip(1))
    emissions[..., 11] += 100
    row = repr(crf.solve(emissions, mask.flip(1))).splitlines()[3]
    assert "  - 11 11  " in row


def test_tables_of_pandas_have_the_numbers_of_the_labels():
    pytest.importorskip("pandas")
    crf, emissions, _, mask = chains()
    solution = crf.solve(emissions, mask)
    table = solution.to_pandas()
    columns = [f"z {i}" for i in range(max(LENGTHS))]
    assert table[columns].values.tolist() == solution.labels.tolist()
    assert (table[columns].values >= 0).tolist() == mask.tolist()
