import pytest
import torch
from jaxtyping import Float

from models import Potentials
from models.states import all_states, state_index

BATCH = 5


def states(n):
    return torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * n).reshape(-1, n)


def random_potentials(n, share, seed=0):
    """Scores for a random share of all pairs, in random order; None for no pairwise scores."""
    generator = torch.Generator().manual_seed(seed)
    unary = torch.randn(BATCH, n, generator=generator, dtype=torch.float64)
    if share is None:
        return Potentials(unary)
    pairs = torch.triu_indices(n, n, 1).T
    kept = torch.randperm(len(pairs), generator=generator)[: round(share * len(pairs))]
    pairwise = torch.randn(BATCH, len(kept), generator=generator, dtype=torch.float64)
    return Potentials(unary, pairwise, pairs[kept])


def random_states(n, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(2, (BATCH, n), generator=generator).double()


def score_by_loops(h, z):
    """h(z) of each row, in plain Python."""
    scores = []
    for b in range(len(z)):
        score = sum(float(h.unary[b, i]) * float(z[b, i]) for i in range(z.shape[1]))
        if h.pairwise is not None:
            for e, (i, j) in enumerate(h.edges.tolist()):
                score += float(h.pairwise[b, e]) * float(z[b, i]) * float(z[b, j])
        scores.append(score)
    return torch.tensor(scores, dtype=torch.float64)


every_kind = pytest.mark.parametrize(
    ("n", "share"), [(1, None), (4, None), (1, 1.0), (2, 1.0), (5, 0.0), (5, 0.4), (6, 1.0)]
)


@every_kind
def test_score_is_the_sum_over_variables_and_edges(n, share):
    h, z = random_potentials(n, share), random_states(n)
    torch.testing.assert_close(h.score(z), score_by_loops(h, z), rtol=0, atol=1e-13)


@every_kind
def test_score_difference_is_that_of_two_scores(n, share):
    h, z, other = random_potentials(n, share), random_states(n), random_states(n, seed=2)
    expected = score_by_loops(h, z) - score_by_loops(h, other)
    torch.testing.assert_close(h.score_difference(z, other), expected, rtol=0, atol=1e-13)
    assert not h.score_difference(z, z).any()


@every_kind
def test_gradient_of_the_score_is_the_sufficient_statistics(n, share):
    h, z = random_potentials(n, share), random_states(n)
    h.unary.requires_grad_()
    if h.pairwise is not None:
        h.pairwise.requires_grad_()
    h.score(z).sum().backward()
    assert torch.equal(h.unary.grad, z)
    if h.pairwise is not None:
        both = [[row[i] * row[j] for i, j in h.edges.tolist()] for row in z.tolist()]
        assert torch.equal(
            h.pairwise.grad, torch.tensor(both, dtype=torch.float64).reshape(h.pairwise.shape)
        )


@every_kind
def test_gradient_of_a_difference_is_the_difference_of_gradients(n, share):
    h, z, other = random_potentials(n, share), random_states(n), random_states(n, seed=2)
    leaves = [leaf.requires_grad_() for leaf in (h.unary, h.pairwise) if leaf is not None]
    together = torch.autograd.grad(h.score_difference(z, other).sum(), leaves)
    apart = torch.autograd.grad((h.score(z) - h.score(other)).sum(), leaves)
    assert all(torch.equal(a, b) for a, b in zip(together, apart, strict=True))


@every_kind
def test_field_is_what_each_variable_adds(n, share):
    h = random_potentials(n, share)
    every_state = states(n)
    scores = torch.stack([score_by_loops(h, state.expand(BATCH, n)) for state in every_state])
    number_of = {tuple(state): number for number, state in enumerate(every_state.tolist())}
    for state in every_state.tolist():
        field = h.field(torch.tensor(state, dtype=torch.float64).expand(BATCH, n))
        for i in range(n):
            with_one = number_of[(*state[:i], 1.0, *state[i + 1 :])]
            with_zero = number_of[(*state[:i], 0.0, *state[i + 1 :])]
            added = scores[with_one] - scores[with_zero]
            torch.testing.assert_close(field[:, i], added, rtol=0, atol=1e-13)


@every_kind
def test_shift_adds_to_the_score_of_every_state(n, share):
    h, z = random_potentials(n, share), random_states(n)
    shift = torch.randn(BATCH, n, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    before = h.unary.clone()
    expected = score_by_loops(h, z) + (shift * z).sum(dim=1)
    torch.testing.assert_close(h.shifted(shift).score(z), expected, rtol=0, atol=1e-13)
    assert torch.equal(h.unary, before)


@every_kind
def test_detached_scores_are_the_same_without_gradient(n, share):
    h, z = random_potentials(n, share), random_states(n)
    tracked = Potentials(
        h.unary.requires_grad_(), None if share is None else h.pairwise.requires_grad_(), h.edges
    )
    free = tracked.detach()
    assert torch.equal(free.score(z), tracked.score(z))
    assert not free.score(z).requires_grad
    assert tracked.score(z).requires_grad


def test_float32_stays_float32():
    h = Potentials(torch.ones(2, 3), torch.ones(2, 1), torch.tensor([[0, 2]]))
    z = torch.ones(2, 3)
    answers = (h.score(z), h.score_difference(z, 1 - z), h.field(z), h.shifted(z).unary)
    assert {answer.dtype for answer in answers} == {torch.float32}


@every_kind
def test_declared_shapes_hold(shape_checked, n, share):
    h, z = random_potentials(n, share), random_states(n)
    assert shape_checked(h.score, z).shape == (BATCH,)
    assert shape_checked(h.score_difference, z, z).shape == (BATCH,)
    assert shape_checked(h.field, z).shape == (BATCH, n)


def lying(h: Potentials, z: Float[torch.Tensor, "... n"]) -> Float[torch.Tensor, "... e"]:
    return h.unary[0, 0]


def test_shape_check_sees_a_wrong_shape(shape_checked):
    h = Potentials(torch.ones(2, 3))
    with pytest.raises(AssertionError, match="return"):
        shape_checked(lying, h, torch.ones(1))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_state_has_its_place_among_all(n):
    every = all_states(n, torch.zeros(1))
    assert sorted(every.tolist()) == sorted(states(n).tolist())
    assert state_index(every).tolist() == list(range(2**n))
    assert state_index(every.view(-1, 2, n)).flatten().tolist() == list(range(2**n))
