"""Quantisers against their formulas in numpy, and how a codebook is learnt."""

import numpy as np
import pytest
import torch

from models import quantised_vae
from models.errors import SettingError
from models.potentials import CategoricalPotentials
from models.quantisers import BSQ, FSQ, LFQ, VQ, codebook_use
from models.quantisers.clusters import k_means

DEAD = 0.03
DECAY = 0.99
SMOOTHING = 1e-5


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def features(count, width, seed=0, scale=1.0):
    return scale * torch.randn(count, width, generator=seeded(seed), dtype=torch.float64)


def labels_of(quantiser, z):
    return z.reshape(len(z), quantiser.variables, quantiser.k).argmax(dim=-1).numpy()


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_fsq_rounds_a_bounded_feature_to_a_level(k):
    quantiser = FSQ(variables=4, k=k).double()
    f = features(200, 4, scale=3.0)
    half = (k - 1) * 1.001 / 2
    offset = 0.5 if k % 2 == 0 else 0.0
    bounded = half * np.tanh(f.numpy() + np.arctanh(offset / half)) - offset
    integers = np.rint(bounded)
    z = quantiser.code(f)
    np.testing.assert_array_equal(labels_of(quantiser, z), integers + k // 2)
    np.testing.assert_allclose(quantiser.embed(z), integers / (k // 2), rtol=1e-12)
    assert set(np.unique(integers + k // 2)) == set(range(k))


def test_vq_takes_the_nearest_vector_of_the_codebook():
    quantiser = VQ(variables=3, k=5, dimensions=2).double()
    f = features(50, 6)
    vectors = f.numpy().reshape(50, 3, 2)
    codebook = quantiser.codebook.numpy()
    distances = ((vectors[:, :, None] - codebook) ** 2).sum(axis=-1)
    z = quantiser.code(f)
    np.testing.assert_array_equal(labels_of(quantiser, z), distances.argmin(axis=-1))
    np.testing.assert_allclose(
        quantiser.embed(z).numpy(), codebook[distances.argmin(axis=-1)].reshape(50, 6)
    )


def test_lfq_takes_signs():
    quantiser = LFQ(variables=6).double()
    f = features(20, 6)
    z = quantiser.code(f)
    np.testing.assert_array_equal(z, f.numpy() > 0)
    np.testing.assert_array_equal(quantiser.embed(z), np.sign(f.numpy()))


def test_bsq_takes_signs_on_the_sphere():
    quantiser = BSQ(variables=6, tokens=2).double()
    f = features(20, 6)
    z = quantiser.code(f)
    np.testing.assert_array_equal(z, f.numpy() > 0)
    embedded = quantiser.embed(z).numpy().reshape(20, 2, 3)
    np.testing.assert_allclose(np.linalg.norm(embedded, axis=-1), 1.0)
    tokens = f.numpy().reshape(20, 2, 3)
    spherical = tokens / np.linalg.norm(tokens, axis=-1, keepdims=True)
    commitment = quantiser(f, seeded()).commitment
    assert float(commitment) == pytest.approx(((spherical - embedded) ** 2).mean(), rel=1e-12)
    # The distance from the nearest code is bounded, as the paper says.
    distances = np.linalg.norm(spherical - embedded, axis=-1)
    assert distances.max() <= np.sqrt(2 - 2 / np.sqrt(3))


@pytest.mark.parametrize(("quantiser", "logits_over"), [(LFQ(10), "f"), (BSQ(10, tokens=5), "u")])
def test_the_entropy_term_is_that_of_all_soft_codes(quantiser, logits_over):
    f = features(7, 10)
    size = quantiser.bits_of_token
    vectors = f.numpy().reshape(-1, size)
    if logits_over == "u":
        vectors = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    groups = [vectors] if size <= 8 else [vectors[:, :8], vectors[:, 8:]]
    expected = 0.0
    for group in groups:
        bits = group.shape[1]
        signs = 2.0 * ((np.arange(2**bits)[:, None] >> np.arange(bits)) & 1) - 1
        # LFQ: exp(-|f - c|^2); BSQ: exp(t u . c / sqrt(L)) with t = 2 L.
        scores = 2 * group @ signs.T
        if logits_over == "u":
            scores = 2 * size * group @ signs.T / np.sqrt(size)
        q = np.exp(scores - scores.max(axis=1, keepdims=True))
        q /= q.sum(axis=1, keepdims=True)
        mean = q.mean(axis=0)
        expected += -(q * np.log(q)).sum(axis=1).mean() + (mean * np.log(mean)).sum()
    found = quantiser.double()(f, seeded()).entropy
    assert float(found) == pytest.approx(expected / size, rel=1e-9)


def test_the_entropy_term_is_least_for_certain_bits_that_are_equally_frequent():
    states = 2.0 * torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]) - 1
    quantiser = LFQ(variables=2)
    assert float(quantiser(25 * states, seeded()).entropy) == pytest.approx(-np.log(2), abs=1e-6)
    assert float(quantiser(0 * states, seeded()).entropy) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", ["fsq", "vq", "lfq", "bsq"])
def test_the_code_is_the_argmax_of_the_potentials(name):
    quantiser = quantised_vae(name, size=(1, 4, 4), n=4, dimensions=2 if name == "vq" else 1)
    f = features(30, quantiser.quantiser.features).float()
    potentials = quantiser.quantiser.potentials(f)
    z = quantiser.quantiser.code(f)
    if isinstance(potentials, CategoricalPotentials):
        best = potentials.apart(potentials.unary).argmax(dim=-1)
        np.testing.assert_array_equal(labels_of(quantiser.quantiser, z), best)
    else:
        np.testing.assert_array_equal(z, potentials.unary > 0)


@pytest.mark.parametrize(
    "quantiser", [FSQ(4, 5), VQ(2, 3, 2), LFQ(4), BSQ(4)], ids=["fsq", "vq", "lfq", "bsq"]
)
def test_the_gradient_goes_straight_through_to_the_encoder(quantiser):
    quantiser = quantiser.double().eval()
    f = features(3, 4).requires_grad_()
    weights = features(3, 4, seed=1)
    quantised = quantiser(f, seeded())
    torch.testing.assert_close(quantised.vectors, quantiser.embed(quantised.z))
    (found,) = torch.autograd.grad((weights * quantised.vectors).sum(), f)
    # As if the decoder saw the encoder's own vectors: identity, a tanh or a sphere.
    (expected,) = torch.autograd.grad((weights * quantiser._bounded(f)).sum(), f)
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(quantised.vectors, quantiser._bounded(f))


def test_the_commitment_pulls_the_encoder_and_not_the_codebook():
    quantiser = VQ(variables=2, k=3, dimensions=2).double().eval()
    f = features(5, 4).requires_grad_()
    quantised = quantiser(f, seeded())
    (gradient,) = torch.autograd.grad(quantised.commitment, f)
    embedded = quantiser.embed(quantised.z)
    torch.testing.assert_close(gradient, 2 * (f - embedded).detach() / f.numel())
    assert not list(quantiser.parameters())


def started(k=3, counts=(4.0, 4.0, 4.0)):
    quantiser = VQ(variables=1, k=k, dimensions=2).double()
    quantiser.codebook.copy_(torch.tensor([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]]))
    quantiser.counts.copy_(torch.tensor(counts))
    quantiser.sums.copy_(quantiser.codebook * quantiser.counts[:, None])
    quantiser.started.fill_(True)
    return quantiser


def test_the_codebook_is_a_moving_average_of_its_members():
    quantiser = started()
    rows = np.array([[0.5, 0.0], [0.0, -0.5], [5.0, 1.0]])
    quantiser(torch.from_numpy(rows), seeded())
    counts = DECAY * np.array([4.0, 4.0, 4.0]) + (1 - DECAY) * np.array([2.0, 1.0, 0.0])
    sums = DECAY * 4.0 * np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    sums += (1 - DECAY) * np.array([[0.5, -0.5], [5.0, 1.0], [0.0, 0.0]])
    smoothed = (counts + SMOOTHING) * counts.sum() / (counts.sum() + 3 * SMOOTHING)
    np.testing.assert_allclose(quantiser.counts, counts)
    np.testing.assert_allclose(quantiser.sums, sums)
    np.testing.assert_allclose(quantiser.codebook, sums / smoothed[:, None])


def test_evaluation_leaves_the_codebook_as_it_is():
    quantiser = started().eval()
    before = quantiser.codebook.clone()
    quantiser(torch.ones(4, 2, dtype=torch.float64), seeded())
    assert torch.equal(quantiser.codebook, before)


def test_a_dead_vector_is_put_at_a_vector_of_the_batch():
    rows = features(12, 2, seed=3)
    equal = 12 / 3
    quantiser = started(counts=(4.0, 4.0, 0.9 * DEAD * equal))
    quantiser.codebook[2] = 100.0  # no vector is near it
    quantiser(rows, seeded())
    assert float(quantiser.counts[2]) == equal
    distances = (rows - quantiser.codebook[2]).norm(dim=-1)
    assert float(distances.min()) < 1e-4
    # The others, with enough members, are where their averages put them.
    assert all(
        float((rows - vector).norm(dim=-1).min()) > 1e-4 for vector in quantiser.codebook[:2]
    )


def test_the_first_batch_starts_the_codebook_by_k_means():
    centres = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    rows = centres.repeat(25, 1) + 0.1 * features(100, 2).float()
    quantiser = VQ(variables=1, k=8, dimensions=2)
    assert not quantiser.started
    quantiser(rows, seeded())
    assert quantiser.started
    assert float(torch.cdist(rows, quantiser.codebook).min(dim=-1).values.max()) < 0.5
    first = quantiser.codebook.clone()
    quantiser(rows + 1, seeded())
    assert float((quantiser.codebook - first).abs().max()) < 0.5  # no second start


def test_k_means_ends_where_each_centre_is_the_mean_of_its_members():
    rows = features(60, 2).float()
    centres = k_means(rows, 3, seeded())
    for _ in range(20):
        nearest = torch.cdist(rows, centres).argmin(dim=-1)
        centres = torch.stack([rows[nearest == j].mean(dim=0) for j in range(3)])
    again = torch.cdist(rows, centres).argmin(dim=-1)
    assert torch.equal(nearest, again)
    few = k_means(rows[:2], 3, seeded())
    assert few.isfinite().all()


def test_perplexity_is_the_number_of_values_that_are_equally_frequent():
    assert codebook_use(torch.full((3, 4), 0.25), shared=False) == pytest.approx((1.0, 4.0))
    one = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert codebook_use(one, shared=False) == pytest.approx((0.5, 1.0))
    assert codebook_use(one, shared=True) == pytest.approx((1.0, 2.0))
    skewed = np.array([0.7, 0.2, 0.1])
    expected = np.exp(-(skewed * np.log(skewed)).sum())
    assert codebook_use(torch.from_numpy(skewed)[None], shared=True)[1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LFQ(7, tokens=2), "multiple of tokens"),
        (lambda: FSQ(3, 1), "k must be a whole number of at least 2"),
        (lambda: VQ(3, 4, 0), "dimensions must be a whole number of at least 1"),
        (lambda: quantised_vae("pq"), "quantiser must be one of"),
        (lambda: quantised_vae("lfq", codes=4), "lfq has 2 values"),
        (lambda: quantised_vae("fsq", dimensions=4), "vectors of 1"),
        (lambda: quantised_vae(networks="convolutional", n=50), "a multiple of 49"),
        (lambda: quantised_vae(networks="convolutional", size=(1, 7, 7), n=49), "at least once"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(make, message):
    with pytest.raises(SettingError, match=message):
        make()
