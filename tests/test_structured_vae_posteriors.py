"""Posteriors against numpy sums over all states, and against transfer matrices beyond."""

import gc
import math
import weakref

import numpy as np
import pytest
import torch
from enumeration import LEVEL, away, latent, leaves_of, pair_statistics, seeded

import solvers
from models import CategoricalPotentials, Potentials
from solvers import UnsupportedProblemError
from solvers.gibbs_distribution import Completions
from solvers.gibbs_distribution import Gibbs as SumsOfBits
from structured_vae import ConfigError, Gibbs, PerturbAndMAP
from structured_vae.distributions import histogram_kl
from structured_vae.spaces.sums.table_sums import TableSums

SIZES = {"independent": 4, "general": 6, "supermodular": 5, "categorical": 10}
every_family = pytest.mark.parametrize("family", SIZES)
structured = pytest.mark.parametrize("family", ["general", "supermodular"])


def problem(family, seed=0):
    return latent(family, SIZES[family], seed, scale=1.5)


def kl_by_sum(this):
    q = this.probabilities()
    return q @ np.log(q * len(q))


def slopes_of(function, parameters, step=1e-5):
    """Finite differences."""
    moves = step * np.eye(len(parameters))
    return np.array(
        [(function(parameters + m) - function(parameters - m)) / (2 * step) for m in moves]
    )


# --- exact sums ---------------------------------------------------------------------------------


@every_family
@pytest.mark.parametrize("seed", range(3))
def test_sums_are_those_over_all_states(family, seed):
    this = problem(family, seed)
    q, probabilities = Gibbs(this.potentials(2)), this.probabilities()
    scores = this.scores()
    log_z = scores.max() + np.log(np.exp(scores - scores.max()).sum())
    means = probabilities @ this.statistics()
    unary, pairs = q.marginals
    np.testing.assert_allclose(q.log_partition, [log_z] * 2, rtol=0, atol=1e-10)
    np.testing.assert_allclose(unary, np.tile(means[: this.n], (2, 1)), rtol=0, atol=1e-10)
    if family in ("general", "supermodular"):
        np.testing.assert_allclose(pairs, np.tile(means[this.n :], (2, 1)), rtol=0, atol=1e-10)
    else:
        assert pairs is None
    z = torch.from_numpy(this.states)[:, None].expand(-1, 2, -1)
    log_q = np.tile(np.log(probabilities)[:, None], (1, 2))
    np.testing.assert_allclose(q.log_prob(z), log_q, rtol=0, atol=1e-10)
    entropy = -probabilities @ np.log(probabilities)
    np.testing.assert_allclose(q.entropy(), [entropy] * 2, rtol=0, atol=1e-10)
    kl = q.kl()
    np.testing.assert_allclose(kl.value, [kl_by_sum(this)] * 2, rtol=0, atol=1e-10)
    assert kl.valid


@every_family
def test_gradients_are_those_of_the_sums(family):
    this = problem(family)
    h = this.potentials(1, tracked=True)
    leaves, q = leaves_of(h), Gibbs(h)

    def gradient(value):
        found = torch.autograd.grad(value.sum(), leaves, retain_graph=True)
        return torch.cat(found, dim=1)[0].numpy()

    probabilities, statistics = this.probabilities(), this.statistics()
    means = probabilities @ statistics
    covariance = (statistics * probabilities[:, None]).T @ statistics - np.outer(means, means)
    # grad KL is the covariance of statistics and log q, which is h up to a constant.
    np.testing.assert_allclose(gradient(q.log_partition), means, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        gradient(q.kl().value), covariance @ this.parameters, rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(
        gradient(q.entropy()), -covariance @ this.parameters, rtol=0, atol=1e-10
    )
    weights = np.random.default_rng(1).normal(size=len(means))
    unary, pairs = q.marginals
    total = (unary * torch.from_numpy(weights[: this.n])).sum()
    if pairs is not None:
        total = total + (pairs * torch.from_numpy(weights[this.n :])).sum()
    np.testing.assert_allclose(gradient(total), covariance @ weights, rtol=0, atol=1e-10)
    z = torch.from_numpy(this.states)[3:4]
    expected = statistics[3] - means
    np.testing.assert_allclose(gradient(q.log_prob(z)), expected, rtol=0, atol=1e-10)
    kl_of = slopes_of(lambda p: kl_by_sum(this.with_parameters(p)), this.parameters)
    np.testing.assert_allclose(gradient(q.kl().value), kl_of, rtol=0, atol=1e-8)


@structured
def test_gradcheck_of_partition_marginals_and_both_together(family):
    this = latent(family, 4)
    edges = torch.from_numpy(this.edges)

    def outputs(unary, pairwise):
        q = Gibbs(Potentials(unary, pairwise, edges))
        return q.log_partition, *q.marginals, q.entropy()

    inputs = leaves_of(this.potentials(2, tracked=True))
    assert torch.autograd.gradcheck(outputs, inputs)


@structured
def test_host_kernel_and_device_table_agree(family):
    this = problem(family)
    found = []
    for kind in (Gibbs, TableSums.of):
        h = this.potentials(2, tracked=True)
        sums = kind(h)
        log_z = sums.log_partition
        unary, pairs = sums.marginals
        weighted = (
            log_z.sum()
            + (unary * unary.detach().cos()).sum()
            + (pairs * pairs.detach().sin()).sum()
        )
        found.append([log_z, unary, pairs, *torch.autograd.grad(weighted, leaves_of(h))])
    for host, table in zip(*found, strict=True):
        torch.testing.assert_close(host, table, rtol=0, atol=1e-11)


@every_family
def test_float32_scores_give_float32_sums(family):
    this = problem(family)
    h = this.potentials(3)
    if family == "categorical":
        single = CategoricalPotentials(h.unary.float())
    else:
        single = Potentials(
            h.unary.float(), None if h.pairwise is None else h.pairwise.float(), h.edges
        )
    q = Gibbs(single)
    assert q.log_partition.dtype == q.kl().value.dtype == q.sample(seeded()).dtype == torch.float32
    torch.testing.assert_close(q.kl().value.double(), Gibbs(h).kl().value, rtol=0, atol=1e-4)


def test_scores_of_any_size_have_a_finite_kl():
    for family in SIZES:
        this = problem(family)
        huge = this.with_parameters(1e4 * this.parameters)
        kl = Gibbs(huge.potentials()).kl().value.item()
        assert kl == pytest.approx(np.log(len(this.states)), rel=1e-6)


def test_a_gibbs_posterior_has_one_method():
    with pytest.raises(ConfigError, match="one method, exact; got 'ceiling'"):
        Gibbs(latent("general", 3).potentials()).kl("ceiling")


# --- samples ------------------------------------------------------------------------------------


def chi_square(counts, probabilities):
    expected = counts.sum() * probabilities
    return ((counts - expected) ** 2 / expected).sum()


def chi_square_limit(freedom):
    """Exceeded once in a million (Wilson and Hilferty, 1931)."""
    part = 2 / (9 * freedom)
    return freedom * (1 - part + 4.753 * part**0.5) ** 3


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("family", "path"),
    [*((family, "posterior") for family in SIZES), ("general", "table"), ("supermodular", "table")],
)
def test_samples_have_the_probabilities_of_their_states(family, path):
    this = latent(family, min(SIZES[family], 4) if family != "categorical" else 10)
    h = this.potentials(2)
    z = (
        TableSums.of(h).sample(seeded(), 50_000)
        if path == "table"
        else Gibbs(h).sample(seeded(), 50_000)
    )
    assert z.shape == (50_000, 2, this.n)
    counts = np.bincount(this.index(z).ravel(), minlength=len(this.states))
    limit = chi_square_limit(len(this.states) - 1)
    assert chi_square(counts, this.probabilities()) < limit
    wrong = this.with_parameters(1.1 * this.parameters)
    assert chi_square(counts, wrong.probabilities()) > limit
    first, second = this.index(z[:, 0]), this.index(z[:, 1])
    assert abs(np.corrcoef(first, second)[0, 1]) * 50_000**0.5 < LEVEL, "images share their draws"


@every_family
def test_samples_depend_on_the_generator_alone(family):
    q = Gibbs(problem(family).potentials(3, tracked=True))
    first, again, other = (q.sample(seeded(s), 20) for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not first.requires_grad


# --- what posteriors of the same potentials share -------------------------------------------------


def separate(h):
    """The same scores as potentials of their own."""
    return Potentials(
        h.unary.detach().clone().requires_grad_(),
        h.pairwise.detach().clone().requires_grad_(),
        h.edges,
    )


@structured
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shared_sums_change_neither_samples_nor_gradients(family, dtype):
    h = problem(family).potentials(3)
    h = Potentials(h.unary.to(dtype), h.pairwise.to(dtype), h.edges)
    shared, *alone = (separate(h) for _ in range(4))
    found = []
    for drawn, scored, summed in ([shared] * 3, alone):
        z = Gibbs(drawn).sample(seeded(), 5)
        value = (Gibbs(scored).log_prob(z).sum(dim=0) * Gibbs(summed).kl().value).sum()
        leaves = [*leaves_of(scored), *leaves_of(summed)]
        found.append([z, value.detach(), *torch.autograd.grad(value, leaves)])
    (z, value, *both), (alone_z, alone_value, *parts) = found
    assert torch.equal(z, alone_z)
    assert torch.equal(value, alone_value)
    for k in range(2):  # the gradient of a leaf that is used twice comes as a whole
        assert torch.equal(both[k], both[k + 2])
        torch.testing.assert_close(both[k], parts[k] + parts[k + 2])


def test_one_enumeration_serves_the_kl_and_the_samples_of_a_distribution(monkeypatch):
    calls = []
    gibbs = solvers.gibbs
    monkeypatch.setattr(
        solvers, "gibbs", lambda *given, **named: calls.append(0) or gibbs(*given, **named)
    )
    q = Gibbs(problem("general").potentials(2))
    q.kl()
    q.sample(seeded())
    q.completions(seeded())
    assert len(calls) == 1


def test_one_backward_pass_serves_the_kl_and_the_conditionals_of_completions(monkeypatch):
    h = problem("general").potentials(2, tracked=True)
    changes = torch.randn(3, 2, SIZES["general"], generator=seeded(1), dtype=torch.float64)

    def gradients(drawn, summed, weight=0.3):
        completions = drawn.completions(seeded(2), 3)
        value = (completions.conditionals * changes).sum() + weight * summed.kl().value.sum()
        return torch.autograd.grad(value, leaves_of(h))

    calls = []
    derive = Completions.derivative
    monkeypatch.setattr(Completions, "derivative", lambda *given: calls.append(0) or derive(*given))
    monkeypatch.setattr(
        SumsOfBits,
        "covariance_product",
        lambda *given: pytest.fail("another pass over the states"),
    )
    q = Gibbs(h)
    together = gradients(q, q)
    assert len(calls) == 1
    monkeypatch.undo()
    apart = gradients(Gibbs(h), Gibbs(h))
    for k, part in enumerate(together):
        torch.testing.assert_close(part, apart[k], rtol=0, atol=1e-12)


def test_sums_found_without_gradients_do_not_serve_where_gradients_are_wanted():
    h = problem("general").potentials(2, tracked=True)
    q = Gibbs(h)
    with torch.no_grad():
        assert not q.kl().value.requires_grad
    value, expected = (
        torch.autograd.grad(kl.value.sum(), leaves_of(h)) for kl in (q.kl(), Gibbs(h).kl())
    )
    assert all(map(torch.equal, value, expected))


def test_a_new_distribution_follows_scores_that_changed_in_place():
    h = problem("general").potentials(2)
    q = Gibbs(h)
    before = q.log_partition.clone()
    h.unary.data.mul_(2)
    assert torch.equal(q.log_partition, before)
    assert torch.equal(Gibbs(h).log_partition, Gibbs(separate(h)).log_partition)
    assert not torch.equal(Gibbs(h).log_partition, before)


def test_a_distribution_keeps_nothing_alive_after_it():
    h = separate(problem("general").potentials(2))
    q = Gibbs(h)
    completions = q.completions(seeded())
    (q.kl().value.sum() + completions.conditionals.sum()).backward()
    kept = [weakref.ref(kept) for kept in (h, q, q.log_partition, q._solved)]
    gc.disable()  # cycles would keep them until the next collection
    try:
        del h, q, completions
        assert not any(reference() is not None for reference in kept)
    finally:
        gc.enable()


# --- beyond enumeration -------------------------------------------------------------------------


def grid_edges(rows, columns):
    """Bits column by column: those beside each other in a column, and in a row."""
    at = np.arange(rows * columns).reshape(columns, rows)
    down = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    right = np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)
    return np.concatenate([down, right])


def transfer_log_z(unary, pairwise, rows, columns):
    """Log Z of a grid, differentiable: one column after the other, over the 2^rows states of a column."""
    states = torch.from_numpy((np.arange(2**rows)[:, None] >> np.arange(rows) & 1).astype(float))
    cells = unary.reshape(columns, rows)
    down = pairwise[: columns * (rows - 1)].reshape(columns, rows - 1)
    right = pairwise[columns * (rows - 1) :].reshape(columns - 1, rows)
    message = torch.zeros(2**rows, dtype=unary.dtype)
    for c in range(columns):
        own = states @ cells[c] + (states[:, :-1] * states[:, 1:]) @ down[c]
        if c:
            message = (message[:, None] + (states * right[c - 1]) @ states.T).logsumexp(dim=0)
        message = message + own
    return message.logsumexp(dim=0)


@pytest.mark.parametrize(("rows", "columns"), [(1, 12), (3, 4), (1, 40), (3, 9), (4, 8)])
def test_chains_and_grids_of_any_length(rows, columns):
    random = np.random.default_rng(rows + columns)
    edges = grid_edges(rows, columns)
    unary = torch.from_numpy(random.normal(size=rows * columns)).requires_grad_()
    pairwise = torch.from_numpy(2 * random.normal(size=len(edges))).requires_grad_()
    log_z = transfer_log_z(unary, pairwise, rows, columns)
    means = torch.autograd.grad(log_z, [unary, pairwise], create_graph=True)
    entropy = log_z - (unary * means[0]).sum() - (pairwise * means[1]).sum()
    expected = torch.autograd.grad(entropy, [unary, pairwise])

    q = Gibbs(Potentials(unary[None], pairwise[None], torch.from_numpy(edges)))
    torch.testing.assert_close(q.log_partition[0], log_z, rtol=1e-11, atol=0)
    for found, mean in zip(q.marginals, means, strict=True):
        torch.testing.assert_close(found[0], mean, rtol=0, atol=1e-10)
    torch.testing.assert_close(q.entropy()[0], entropy, rtol=0, atol=1e-9)
    for found, slope in zip(
        torch.autograd.grad(q.entropy(), [unary, pairwise]), expected, strict=True
    ):
        torch.testing.assert_close(found, slope, rtol=0, atol=1e-9)


@pytest.mark.statistical
def test_samples_of_a_long_chain_have_its_marginals():
    edges = grid_edges(1, 30)
    random = np.random.default_rng(0)
    unary, pairwise = (torch.from_numpy(random.normal(size=size)) for size in (30, 29))
    tracked = [each.clone().requires_grad_() for each in (unary, pairwise)]
    means = torch.autograd.grad(transfer_log_z(*tracked, 1, 30), tracked)
    z = Gibbs(Potentials(unary[None], pairwise[None], torch.from_numpy(edges))).sample(
        seeded(), 40_000
    )
    z = z[:, 0].numpy()
    drawn = np.concatenate([z, z[:, :-1] * z[:, 1:]], axis=1)
    expected = torch.cat(means).numpy()
    assert away(drawn, expected) < LEVEL
    assert away(drawn, expected, 1.1) > LEVEL


def test_potentials_too_large_to_sum_are_refused():
    n = 40
    edges = torch.triu_indices(n, n, 1).T
    q = Gibbs(Potentials(torch.zeros(1, n), torch.ones(1, len(edges)), edges))
    for call in (lambda: q.log_partition, lambda: q.kl(), lambda: q.sample(seeded())):
        with pytest.raises(UnsupportedProblemError, match=r"n = 40|treewidth"):
            call()


# --- perturb-and-MAP ----------------------------------------------------------------------------


@pytest.mark.spread(1)
@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(3))
def test_histogram_kl_is_an_upper_bound_in_expectation(seed):
    this = latent("general", 2, seed, scale=1.5)
    ones, twos, both = pair_statistics(this.parameters, 20_000)
    q = np.array([1 - ones - twos + both, ones - both, twos - both, both])
    kl = q @ np.log(4 * q)
    values = PerturbAndMAP(this.potentials(4000), draws=25).kl("histogram", seeded(seed))
    assert values.valid
    error = values.value.std().item() / 4000**0.5
    bias = values.value.mean().item() - kl
    assert bias > LEVEL * error
    # (states - 1) / (2 draws), Miller and Madow
    assert bias == pytest.approx(3 / (2 * 25), rel=0.3)
    close = PerturbAndMAP(this.potentials(2), draws=100_000).kl("histogram", seeded(seed)).value
    np.testing.assert_allclose(close, kl, rtol=0, atol=0.008)


def test_kl_of_structured_perturb_and_map_is_not_that_of_gibbs():
    this = latent("general", 2, seed=3, scale=3.0)
    close = PerturbAndMAP(this.potentials(), draws=100_000).kl("histogram", seeded()).value
    assert abs(Gibbs(this.potentials()).kl().value - close).item() > 0.02


@pytest.mark.parametrize("family", ["independent", "categorical"])
def test_unary_kl_is_exact_where_the_posterior_is_gibbs(family):
    this = problem(family)
    kl = PerturbAndMAP(this.potentials(3)).kl("unary")
    assert kl.valid
    np.testing.assert_allclose(kl.value, [kl_by_sum(this)] * 3, rtol=0, atol=1e-12)


def test_methods_of_structured_potentials():
    h = problem("general").potentials(3)
    q = PerturbAndMAP(h)
    unary, ceiling, histogram = (q.kl(m, seeded()) for m in ("unary", "ceiling", "histogram"))
    assert (unary.valid, ceiling.valid, histogram.valid) == (False, True, True)
    entropies = torch.distributions.Bernoulli(logits=h.unary).entropy()
    torch.testing.assert_close(unary.value, (math.log(2) - entropies).sum(dim=-1))
    np.testing.assert_allclose(ceiling.value, 6 * math.log(2))
    assert (histogram.value < ceiling.value).all()
    assert (histogram.value > 0).all()


@pytest.mark.parametrize(
    ("family", "z", "expected"),
    [
        ("independent", [[0, 0], [0, 0], [1, 1], [1, 0]], [0, 0, 3, 1]),
        ("categorical", [[1, 0], [0, 1], [0, 1], [0, 1]], [0, 1, 1, 1]),
    ],
)
def test_histogram_of_given_samples(family, z, expected):
    h = latent(family, 2).potentials()
    shares = np.unique(expected, return_counts=True)[1] / 4
    states = 2 if family == "categorical" else 4
    kl = histogram_kl(h, torch.tensor(z, dtype=torch.float64)[:, None])
    assert kl.value.item() == pytest.approx(shares @ np.log(states * shares))


@pytest.mark.parametrize("n", [62, 63, 100])
def test_histogram_of_more_bits_than_an_integer_has(n):
    random = np.random.default_rng(n)
    rows = np.unique(random.integers(0, 2, (3, n)), axis=0)
    rows[:, -1] = [0, 1, 1]  # states that differ in the last bit alone are different
    rows[1] = rows[0]
    rows[1, -1] = 1
    z = torch.from_numpy(rows[[0, 1, 1, 2]].astype(float))[:, None]
    kl = histogram_kl(Potentials(torch.zeros(1, n, dtype=torch.float64)), z)
    shares = np.array([0.25, 0.5, 0.25])
    assert kl.value.item() == pytest.approx(n * math.log(2) + shares @ np.log(shares))


@every_family
@pytest.mark.statistical
def test_perturb_and_map_samples_are_gibbs_without_pairs(family):
    this = latent(family, 3 if family != "categorical" else 5)
    z = PerturbAndMAP(this.potentials(), "exhaustive").sample(seeded(), 100_000)
    counts = np.bincount(this.index(z).ravel(), minlength=len(this.states))
    far = chi_square(counts, this.probabilities()) > chi_square_limit(len(this.states) - 1)
    assert far == (family in ("general", "supermodular"))


def test_errors_of_perturb_and_map():
    q = PerturbAndMAP(problem("general").potentials())
    with pytest.raises(ConfigError, match="methods ceiling, unary, histogram; got 'exact'"):
        q.kl("exact")
    with pytest.raises(ConfigError, match="pass a generator"):
        q.kl("histogram")
    with pytest.raises(UnsupportedProblemError):
        PerturbAndMAP(problem("general").potentials(), "max_flow").sample(seeded())
