"""The explorer shows autoregressive posteriors as enumeration finds them."""

from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest
import torch

from models import paper_vae
from structured_vae import TrainConfig
from structured_vae.explorer import Explored

N = 4
STATES = np.array(list(product((0, 1), repeat=N)))
AUTOREGRESSIVE = TrainConfig(n=N, estimator="score_function", posterior="autoregressive")


@pytest.fixture
def model():
    torch.manual_seed(0)
    vae = paper_vae("general", pixels=9, n=N, hidden=5).eval()
    for weight in vae.encoder.parameters():
        torch.nn.init.normal_(weight, std=1.5)
    return Explored(vae, AUTOREGRESSIVE, (3, 3))


def image(seed=0):
    return np.random.default_rng(seed).random(9, dtype=np.float32)


def log_density(scored):
    """The sum of the log conditionals `[2^n]` of all states, bit by bit in numpy."""
    h = scored.potentials
    unary = h.unary[0].double().numpy()
    weights = dict(zip(map(tuple, h.edges.tolist()), h.pairwise[0].double().tolist(), strict=True))
    totals = []
    for z in STATES:
        total = 0.0
        for j in range(N):
            logit = unary[j] + sum(weights.get((i, j), 0.0) * z[i] for i in range(j))
            total -= np.log1p(np.exp(-logit if z[j] else logit))
        totals.append(total)
    return np.array(totals)


@pytest.mark.parametrize("fixed", [{}, {1: 1}, {0: 0, 3: 1}, {0: 1, 1: 0, 2: 1, 3: 0}], ids=str)
def test_best_states_and_marginals_with_fixed_bits_are_those_of_enumeration(model, fixed):
    scored = model.score(image())
    log_q = log_density(scored)
    allowed = np.all([STATES[:, i] == value for i, value in fixed.items()] or [log_q == log_q], 0)
    encoded = model.encode(scored, fixed, 3)
    best = np.sort(log_q[allowed])[::-1][:3]
    conditioned = np.exp(log_q) * allowed
    np.testing.assert_allclose(encoded.best.scores, best)
    np.testing.assert_allclose(encoded.best.log_probability, best, atol=1e-12)
    np.testing.assert_allclose(np.exp(encoded.best.log_given), np.exp(best) / conditioned.sum())
    np.testing.assert_allclose(encoded.marginals, conditioned @ STATES / conditioned.sum())
    for state, score in zip(encoded.best.states, encoded.best.scores, strict=True):
        assert log_q[STATES.tolist().index(state.tolist())] == pytest.approx(score)


def test_the_best_state_of_an_autoregressive_posterior_has_no_certificate(model):
    encoded = model.encode(model.score(image()), {2: 1})
    assert not encoded.best.optimal.any()
    assert encoded.best.bound is None
    assert encoded.best.note == "the highest score of all 8 states, without a certificate"
    assert encoded.how == "autoregressive, exact sums over all 16 states"


@pytest.mark.statistical
def test_samples_with_a_fixed_bit_have_the_conditional_probabilities(model):
    scored = model.score(image())
    log_q = log_density(scored)
    given = np.exp(log_q) * (STATES[:, 3] == 1)
    given /= given.sum()
    draws = 20_000
    z = scored.posterior.draws({3: 1}, draws, torch.Generator().manual_seed(0))
    codes = z.long().numpy() @ (2 ** np.arange(N)[::-1])
    shares = np.bincount(codes, minlength=2**N) / draws
    error = np.sqrt(given * (1 - given) / draws)
    assert (np.abs(shares - given) < 5 * error + 1e-9).all()


def test_a_path_between_images_has_their_mean_log_densities(model):
    first, second = model.score(image(0)), model.score(image(1))
    states, scores = model.path(first, second, (1, 1, 1, 1), (0, 0, 0, 0))
    mean = (log_density(first) + log_density(second)) / 2
    places = states @ (2 ** np.arange(N)[::-1])
    np.testing.assert_allclose(scores, mean[places])


@pytest.mark.skipif(find_spec("streamlit") is None, reason="needs the extra explorer")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_says_that_no_state_is_certified(tmp_path, monkeypatch, on_tiny_images):
    from streamlit.testing.v1 import AppTest

    torch.manual_seed(0)
    vae = paper_vae("general", pixels=on_tiny_images.pixels, n=N, hidden=5)
    vae.save_pretrained(tmp_path, training=AUTOREGRESSIVE.to_dict())
    monkeypatch.setattr("sys.argv", ["page.py", str(tmp_path)])
    file = find_spec("structured_vae.explorer.page").origin
    page = AppTest.from_file(file, default_timeout=60).run()
    assert not page.exception
    page.session_state["bit 0"] = "1"
    page.run()
    assert not page.exception
    shown = "\n".join(element.proto.body for element in page.get("html"))
    texts = [text.value for text in page.text]
    assert "the highest score of all 8 states, without a certificate" in shown
    assert "the product of the conditionals" in shown
    assert "proved" not in shown
    assert "bound on scores" not in shown
    assert "Posterior: autoregressive, exact sums over all 16 states." in texts
    assert any("the lower bit being 1 makes the higher bit more probable" in text for text in texts)
