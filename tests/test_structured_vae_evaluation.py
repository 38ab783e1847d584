"""The evaluation of a model against numpy sums over all of its latent states."""

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from drawn_examples import examples
from enumeration import LEVEL, all_bits, pair_statistics, seeded, sigmoid, softmax
from hypothesis import given
from hypothesis import strategies as st

from models import DiscreteVAE, paper_vae
from structured_vae import ConfigError, Gibbs, PerturbAndMAP, evaluate
from structured_vae.distributions import Autoregressive, SequentialBits
from structured_vae.evaluation import evaluate_bound, refined_bound
from structured_vae.evaluation.refinement import TENURE
from structured_vae.vaes.discrete import evaluation

SIZES = {"independent": 4, "general": 5, "supermodular": 5, "categorical": 7}
every_family = pytest.mark.parametrize("family", SIZES)
every_family_of_bits = pytest.mark.parametrize("family", ["independent", "general", "supermodular"])
PIXELS, IMAGES = 6, 8


def weights_at_random(module, seed=0, scale=0.8):
    for parameter in module.parameters():
        values = torch.randn(parameter.shape, generator=seeded(seed), dtype=torch.float64)
        parameter.data = scale * values
        seed += 1
    return module


def vae_of(family, n=None, seed=0):
    n = SIZES[family] if n is None else n
    sizes = {"n": n}
    if family == "categorical":
        sizes = {"k": n}
    encoder = paper_vae(family, pixels=PIXELS, hidden=9, **sizes).encoder
    decoder = paper_vae(family, pixels=PIXELS, hidden=5, **sizes).decoder
    return weights_at_random(DiscreteVAE(encoder, decoder).double(), seed)


def images(count=IMAGES, seed=0):
    return torch.rand(count, PIXELS, generator=seeded(seed), dtype=torch.float64).round()


@dataclass(frozen=True)
class Reference:
    """Numpy's view of a model on images: `[images, states]` each."""

    states: np.ndarray
    costs: np.ndarray
    q: np.ndarray

    @property
    def minus_log_p(self):
        return -np.log(np.exp(-self.costs).mean(axis=1))

    @property
    def reconstruction(self):
        return (self.q * self.costs).sum(axis=1)

    @property
    def kl(self):
        return (self.q * np.log(self.q * len(self.states))).sum(axis=1)

    @property
    def kl_to_posterior(self):
        """KL(q || p(z | x)), term by term."""
        p = np.stack([softmax(-row) for row in self.costs])
        return (self.q * np.log(self.q / p)).sum(axis=1)


def reference(vae, x):
    weights = {name: value.detach().numpy() for name, value in vae.state_dict().items()}
    x = x.numpy()
    hidden = np.maximum(
        x @ weights["encoder.network.0.weight"].T + weights["encoder.network.0.bias"], 0
    )
    outputs = hidden @ weights["encoder.network.2.weight"].T + weights["encoder.network.2.bias"]
    n = vae.n
    if vae.categorical:
        states, features = np.eye(n), np.eye(n)
        inputs = states
    else:
        states = all_bits(n)
        first, second = np.triu_indices(n, 1)
        pairs = states[:, first] * states[:, second] if outputs.shape[1] > n else states[:, :0]
        features = np.concatenate([states, pairs], axis=1)
        inputs = np.concatenate([states, 1 - states], axis=1)
        if vae.encoder.nonnegative_pairs:
            outputs[:, n:] = np.logaddexp(0, outputs[:, n:])
    units = np.maximum(
        inputs @ weights["decoder.first.weight"].T + weights["decoder.first.bias"], 0
    )
    logits = units @ weights["decoder.last.weight"].T + weights["decoder.last.bias"]
    costs = np.logaddexp(0, logits).sum(axis=1) - x @ logits.T
    return Reference(states, costs, np.stack([softmax(row) for row in outputs @ features.T]))


def assert_column(quantity, expected):
    """An average over the images and its standard error."""
    assert quantity.value == pytest.approx(expected.mean(), abs=1e-9)
    assert quantity.standard_error == pytest.approx(expected.std() / len(expected) ** 0.5, abs=1e-9)


# --- exact --------------------------------------------------------------------------------------


@every_family
def test_a_gibbs_posterior_is_evaluated_exactly(family):
    vae, x = vae_of(family), images()
    found = evaluate(vae, [(x[:5],), (x[5:],)], Gibbs, seeded())
    expected, quantities = reference(vae, x), found.quantities
    assert found.images == IMAGES
    assert_column(quantities["reconstruction"], expected.reconstruction)
    assert_column(quantities["kl"], expected.kl)
    assert_column(quantities["bound"], expected.reconstruction + expected.kl)
    assert_column(quantities["minus_log_p"], expected.minus_log_p)
    assert_column(quantities["gap"], expected.kl_to_posterior)
    assert expected.kl_to_posterior.min() > 0.01
    kinds = {name: each.kind for name, each in quantities.items()}
    assert {kinds[name] for name in ("reconstruction", "kl", "minus_log_p", "gap", "active")} == {
        "exact"
    }
    assert kinds["bound"] == "bound"
    structured = family in ("general", "supermodular")
    assert kinds["kl_surrogate"] == ("not a bound" if structured else "exact")
    assert kinds["bound_surrogate"] == ("not a bound" if structured else "bound")
    assert not any(name.startswith("gibbs") for name in quantities)


class HalfUniform(Gibbs):
    """The mean of the Gibbs distribution and the uniform one, which knows its sums."""

    def log_prob_of_all(self, states):
        uniform = torch.full((len(states),), 1 / len(states), dtype=self.potentials.unary.dtype)
        return ((super().log_prob_of_all(states).exp() + uniform) / 2).log()

    def tightest_kl(self, z=None):
        states = self.potentials.states()
        log_q = self.log_prob_of_all(states)
        value = (log_q.exp() * (log_q + math.log(len(states)))).sum(dim=-1)
        return replace(super().tightest_kl(), value=value)


def test_a_posterior_that_is_not_gibbs_is_evaluated_by_its_own_probabilities():
    vae, x = vae_of("general"), images()
    quantities = evaluate(vae, [(x,)], HalfUniform, seeded()).quantities
    gibbs = reference(vae, x)
    expected = replace(gibbs, q=(gibbs.q + 1 / len(gibbs.states)) / 2)
    assert_column(quantities["reconstruction"], expected.reconstruction)
    assert_column(quantities["bound"], expected.reconstruction + expected.kl)
    assert abs(expected.reconstruction - gibbs.reconstruction).mean() > 0.01


class Bounded(Gibbs):
    """A tractable posterior that knows only a bound on its KL."""

    def tightest_kl(self, z=None):
        return PerturbAndMAP(self.potentials).kl("ceiling")


class Unsure(Gibbs):
    """A tractable posterior that does not call its KL exact, or a bound."""

    def tightest_kl(self, z=None):
        return replace(super().tightest_kl(), kind="neither")


class AfterAOne(SequentialBits):
    """Bits that depend on the bits before them, of scores without pairs."""

    def logits(self, z):
        return self.potentials.unary + torch.nn.functional.pad(z, (1, 0))[..., :-1]


@pytest.mark.parametrize(
    ("posterior", "kl", "surrogate", "bound", "gap"),
    [
        (Gibbs, "exact", "exact", "bound", "exact"),
        (Autoregressive, "sampled", "exact", "bound", "estimate"),
        (HalfUniform, "exact", "not a bound", "bound", "exact"),
        (Bounded, "bound", "not a bound", "bound", "estimate"),
        (Unsure, "not a bound", "not a bound", "not a bound", "estimate"),
        (AfterAOne, "sampled", "not a bound", "bound", "estimate"),
    ],
)
def test_a_kl_is_labelled_as_the_posterior_labels_it(posterior, kl, surrogate, bound, gap):
    vae, x = vae_of("independent"), images()
    quantities = evaluate(vae, [(x,)], posterior, seeded(), samples=5).quantities
    kinds = {name: each.kind for name, each in quantities.items()}
    assert (kinds["kl"], kinds["kl_surrogate"]) == (kl, surrogate)
    assert (kinds["bound"], kinds["gap"]) == (bound, gap)
    assert kinds["bound_surrogate"] == ("not a bound" if surrogate == "not a bound" else "bound")


@pytest.mark.parametrize("family", ["independent", "general", "supermodular"])
def test_surrogate_kl_is_that_of_the_unary_scores(family):
    vae, x = vae_of(family), images()
    quantities = evaluate(vae, [(x,)], Gibbs, seeded()).quantities
    p = sigmoid(vae.encoder(x).unary.detach().numpy())
    kl = (p * np.log(2 * p) + (1 - p) * np.log(2 * (1 - p))).sum(axis=1)
    expected = reference(vae, x)
    assert_column(quantities["kl_surrogate"], kl)
    assert_column(quantities["bound_surrogate"], expected.reconstruction + kl)
    assert (np.abs(kl - expected.kl).max() > 0.01) == (family != "independent")


@pytest.mark.parametrize("family", ["independent", "categorical"])
def test_perturb_and_map_without_pairs_is_gibbs(family):
    vae, x = vae_of(family), images()
    first, second = (
        evaluate(vae, [(x,)], each, seeded()).to_dict() for each in (Gibbs, PerturbAndMAP)
    )
    assert first == second


# --- refined ------------------------------------------------------------------------------------


@every_family_of_bits
@pytest.mark.parametrize("moves", [2, 9])
def test_a_search_that_meets_all_states_gives_the_likelihood(family, moves):
    vae, x = vae_of(family, n=2), images()
    quantities = evaluate(vae, [(x,)], PerturbAndMAP, seeded(), 2, refine=moves).quantities
    assert quantities["refined_bound"].value == pytest.approx(
        quantities["minus_log_p"].value, abs=1e-9
    )
    assert quantities["bound"].value > quantities["minus_log_p"].value + 0.05
    assert quantities["refined_bound"].kind == "bound"


def test_one_move_counts_the_start_and_its_neighbours():
    vae, x = vae_of("general"), images()
    expected = reference(vae, x)
    start = torch.from_numpy(expected.states[:IMAGES]).double()
    near = np.abs(expected.states[:, None] - expected.states[:IMAGES]).sum(axis=2).T <= 1
    p = np.where(near, np.exp(-expected.costs), 0.0).sum(axis=1) / len(expected.states)
    assert refined_bound(vae.decoder, x, start, 1).numpy() == pytest.approx(-np.log(p), abs=1e-9)


def met_by_search(costs, start, moves, tenure):
    """The states of a search by the definition: numbers of states, one image."""
    n, state, lowest = len(costs).bit_length() - 1, start, math.inf
    met, barred_until = set(), [0] * n
    for move in range(moves):
        near = [state ^ (1 << i) for i in range(n)]
        free = [i for i in range(n) if barred_until[i] <= move or costs[near[i]] < lowest]
        met |= {state, *near}
        lowest = min(costs[s] for s in met)
        best = min(free, key=lambda i: costs[near[i]])
        state, barred_until[best] = near[best], move + 1 + tenure
    return sorted(met)


def test_a_tabu_search_leaves_the_optima_that_it_meets():
    vae, x = vae_of("independent", n=7), images()
    costs, start = reference(vae, x).costs, torch.zeros((IMAGES, 7), dtype=torch.float64)

    def bounds(moves, tenure):
        met = [met_by_search(row, 0, moves, tenure) for row in costs]
        return np.array(
            [-np.log(np.exp(-row[each]).sum() / 2**7) for row, each in zip(costs, met, strict=True)]
        )

    few, many = (refined_bound(vae.decoder, x, start, moves).numpy() for moves in (4, 12))
    assert few == pytest.approx(bounds(4, TENURE), abs=1e-9)
    stuck = bounds(12, 0)
    assert (many <= stuck + 1e-9).all()
    assert (many < stuck - 1e-2).any()


@examples(20)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 6))
def test_more_moves_never_hurt(seed, n):
    vae, x = vae_of("independent", n=n, seed=seed), images(3, seed)
    start = torch.randint(2, (3, n), generator=seeded(seed)).to(x.dtype)
    bounds = [refined_bound(vae.decoder, x, start, moves).numpy() for moves in (1, 2, 5, 20)]
    first = vae.decoder.cost(x, start).detach().numpy() + n * np.log(2)
    for higher, lower in pairwise([first, *bounds, reference(vae, x).minus_log_p]):
        assert (lower <= higher + 1e-9).all()


def test_what_cannot_be_refined():
    for family, n, these in (("categorical", 3, "categories"), ("independent", 63, "63 bits")):
        message = (
            "a posterior of up to 62 bits can be refined, "
            f"and this one has {these}; set refine to 0"
        )
        with pytest.raises(ConfigError, match=message):
            evaluate(vae_of(family, n=n), [(images(),)], Gibbs, seeded(), refine=1)


def test_an_evaluation_prints_as_a_table():
    evaluation = evaluate(vae_of("general"), [(images(),)], Gibbs, seeded())
    lines = str(evaluation).splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == list(evaluation.quantities)
    assert f"{evaluation.quantities['bound'].value:.3f}" in lines[3]
    assert lines[-1] == f"averages over {evaluation.images} images, in nats"


def test_plain_values_go_in_a_file():
    values = evaluate(vae_of("general"), [(images(),)], PerturbAndMAP, seeded(), 10).to_dict()
    assert set(values) == {"quantities", "images"}
    for quantity in values["quantities"].values():
        assert {type(each) for each in quantity.values()} <= {float, int, str}
        assert quantity["standard_error"] >= 0


@pytest.mark.parametrize(
    ("family", "means", "expected"),
    [
        ("independent", [[0.5, 0.1, 0.0], [0.5, 0.9, 0.15]], 1),  # variances 0, 0.16 and 0.0056
        ("independent", [[0.5, 0.1, 0.0], [0.5, 0.9, 0.21]], 2),
        ("categorical", [[0.0, 0.04, 0.96], [0.0, 0.03, 0.97]], 2),  # at least a tenth of a third
        ("categorical", [[0.0, 0.02, 0.98], [0.0, 0.03, 0.97]], 1),
    ],
)
def test_active_variables(family, means, expected):
    found = evaluation._active(torch.tensor(means), family == "categorical", "exact")
    assert (found.value, found.standard_error, found.kind) == (expected, 0, "exact")


def test_active_bits_of_a_model():
    vae, x = vae_of("general"), images()
    found = evaluate(vae, [(x,)], Gibbs, seeded()).quantities["active"]
    expected = reference(vae, x)
    assert found.value == ((expected.q @ expected.states).var(axis=0) > 0.01).sum()
    with torch.no_grad():
        for parameter in vae.encoder.parameters():
            parameter.zero_()
    assert evaluate(vae, [(x,)], Gibbs, seeded()).quantities["active"].value == 0


# --- sampled ------------------------------------------------------------------------------------


@pytest.mark.statistical
def test_a_structured_perturb_and_map_posterior_is_sampled():
    vae, x, samples = vae_of("general", n=2), images(3), 40_000
    quantities = evaluate(vae, [(x,)], PerturbAndMAP, seeded(), samples).quantities
    expected = reference(vae, x)
    h = vae.encoder(x)
    scores = torch.cat([h.unary, h.pairwise], dim=1).detach().numpy()
    ones, twos, both = np.stack([pair_statistics(row, 20_000) for row in scores]).T
    q = np.stack([1 - ones - twos + both, ones - both, twos - both, both], axis=1)
    true = Reference(expected.states, expected.costs, q.clip(1e-15))
    spread = np.sqrt((q * expected.costs**2).sum(axis=1) - true.reconstruction**2)
    error = np.sqrt((spread**2).sum() / samples) / len(x)
    assert abs(quantities["reconstruction"].value - true.reconstruction.mean()) < LEVEL * error
    assert (
        abs(1.1 * quantities["reconstruction"].value - true.reconstruction.mean()) > LEVEL * error
    )
    assert quantities["kl"].value == pytest.approx(true.kl.mean(), abs=0.01)
    assert_column(quantities["minus_log_p"], expected.minus_log_p)
    assert_column(quantities["gibbs_reconstruction"], expected.reconstruction)
    assert_column(quantities["gibbs_kl"], expected.kl)
    assert_column(quantities["gibbs_bound"], expected.reconstruction + expected.kl)
    values = {name: each.value for name, each in quantities.items()}
    assert values["bound"] == pytest.approx(values["reconstruction"] + values["kl"])
    assert values["gap"] == pytest.approx(values["bound"] - values["minus_log_p"])
    assert values["gap"] == pytest.approx(true.kl_to_posterior.mean(), abs=0.01 + LEVEL * error)
    kinds = {name: each.kind for name, each in quantities.items()}
    assert (kinds["reconstruction"], kinds["kl"], kinds["gap"]) == ("sampled", "bound", "estimate")
    assert (kinds["minus_log_p"], kinds["kl_surrogate"]) == ("exact", "not a bound")


@pytest.mark.statistical
@pytest.mark.parametrize("family", ["independent", "general"])
def test_importance_weights_bound_the_likelihood_where_states_are_too_many(family, limits):
    vae, x = vae_of(family), images(1)
    expected, copies = reference(vae, x), 1500
    limits(enumerated_bits=2)
    many = evaluate(vae, [(x.repeat(copies, 1),)], Gibbs, seeded(), samples=5).quantities
    exact = expected.minus_log_p[0]
    likelihood, reconstruction = many["minus_log_p"], many["reconstruction"]
    assert likelihood.value > exact + LEVEL * likelihood.standard_error
    assert likelihood.value < many["bound"].value
    error = LEVEL * reconstruction.standard_error
    assert abs(reconstruction.value - expected.reconstruction[0]) < error
    assert abs(1.1 * reconstruction.value - expected.reconstruction[0]) > error
    assert many["kl"].value == pytest.approx(expected.kl[0], abs=1e-9)
    close = evaluate(vae, [(x.repeat(20, 1),)], Gibbs, seeded(), samples=800).quantities[
        "minus_log_p"
    ]
    assert abs(close.value - exact) < LEVEL * close.standard_error + 0.05 * (
        likelihood.value - exact
    )
    kinds = [many[name].kind for name in ("minus_log_p", "reconstruction", "kl", "gap")]
    assert kinds == ["bound", "sampled", "exact", "estimate"]
    assert "importance-weighted, 5 samples" in likelihood.meaning


def test_perturb_and_map_beyond_enumeration_claims_no_likelihood(limits):
    vae, x = vae_of("general"), images()
    with_table = evaluate(vae, [(x,)], PerturbAndMAP, seeded(), 50).quantities
    limits(enumerated_bits=2)
    without = evaluate(vae, [(x,)], PerturbAndMAP, seeded(), 50).quantities
    assert set(with_table) - set(without) == {
        *("minus_log_p", "gap", "gibbs_kl", "gibbs_reconstruction", "gibbs_bound")
    }
    for name in without:
        assert without[name].value == pytest.approx(with_table[name].value, abs=1e-9)


def test_evaluation_draws_what_its_generator_says():
    run = partial(evaluate, vae_of("general"), [(images(),)], PerturbAndMAP)
    first, same, other = (run(seeded(seed), 20).to_dict() for seed in (0, 0, 1))
    assert first == same != other


# --- the table of decoded states ----------------------------------------------------------------


@pytest.mark.parametrize("grey", [False, True], ids=["binary", "grey"])
@pytest.mark.parametrize("family", ["general", "categorical"])
def test_the_table_holds_the_cost_of_every_state(family, grey):
    vae, x = vae_of(family), images()
    x = 0.2 + 0.5 * x if grey else x
    states = vae.encoder(x).states()
    expected = torch.stack(
        [vae.decoder.cost(x, state.expand(len(x), -1)) for state in states], dim=1
    )
    torch.testing.assert_close(vae.decoder.table(x, states), expected, rtol=1e-12, atol=1e-11)
    if not grey:
        np.testing.assert_allclose(
            expected.detach(), reference(vae, x).costs, rtol=1e-12, atol=1e-11
        )


@pytest.mark.parametrize("chunk", [1, 3, 5, 1000])
def test_a_table_in_chunks_has_the_same_values_and_gradients(chunk, monkeypatch, limits):
    vae, x = vae_of("general"), images()
    states, weights = (
        vae.encoder(x).states(),
        torch.randn(IMAGES, 32, generator=seeded(), dtype=torch.float64),
    )

    def table_and_gradients():
        table = vae.decoder.table(x, states)
        return table.detach(), torch.autograd.grad(
            (table * weights).sum(), list(vae.decoder.parameters())
        )

    whole = table_and_gradients()
    decoded, plain = [], type(vae.decoder)._volume

    def counted(self, hidden):
        decoded.append(len(hidden))
        return plain(self, hidden)

    monkeypatch.setattr(type(vae.decoder), "_volume", counted)
    limits(decoded_together=chunk * PIXELS)
    parts = table_and_gradients()
    assert max(decoded) <= max(chunk, 1) or chunk >= 32
    # once more for the gradient, where there are parts
    assert sum(decoded) == (64 if chunk < 32 else 32)
    torch.testing.assert_close(parts, whole, rtol=1e-12, atol=1e-12)
    with torch.no_grad():
        torch.testing.assert_close(vae.decoder.table(x, states), whole[0], rtol=1e-12, atol=1e-12)


def test_few_and_many_states_are_decoded_alike():
    """Where there are no more states than hidden units the logits are kept."""
    vae, x = vae_of("general"), images()
    states = vae.encoder(x).states()
    assert vae.decoder.decoded(states[:5]).logits is not None
    assert vae.decoder.decoded(states).logits is None
    few, many = vae.decoder.table(x, states[:5]), vae.decoder.table(x, states)
    torch.testing.assert_close(few, many[:, :5], rtol=1e-12, atol=1e-12)


def test_categories_are_all_around_a_category():
    vae, x = vae_of("categorical"), images()
    z = torch.eye(7, dtype=torch.float64)[torch.arange(2 * IMAGES) % 7].reshape(2, IMAGES, 7)
    around = vae.decoder.around(x, z)
    costs = reference(vae, x).costs
    chosen = z.argmax(dim=-1).numpy()
    np.testing.assert_allclose(around.cost.detach(), costs[np.arange(IMAGES), chosen], atol=1e-11)
    np.testing.assert_allclose(around.slope, np.broadcast_to(costs, (2, IMAGES, 7)), atol=1e-11)
    assert not around.slope.requires_grad
    torch.testing.assert_close(around.cost, vae.decoder.cost(x, z), rtol=1e-12, atol=1e-11)


def test_costs_of_categories_are_exact_while_they_train():
    vae, x = vae_of("categorical"), images()
    expected = reference(vae, x)
    for i, image in enumerate(x):
        found = evaluate_bound(vae, [(image[None],)], Gibbs, seeded())
        for name in ("reconstruction", "kl", "minus_log_p"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name)[i], rel=1e-9)


def test_likelihoods_of_all_images_add_up_to_one():
    every = torch.from_numpy(all_bits(PIXELS).astype(float))
    vae = vae_of("general")
    each = [
        evaluate(vae, [(x[None],)], Gibbs, seeded()).quantities["minus_log_p"].value for x in every
    ]
    assert sum(math.exp(-value) for value in each) == pytest.approx(1)
