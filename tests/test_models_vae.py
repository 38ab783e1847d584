import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models import DiscreteVAE, paper_vae
from models.errors import SettingError

N, PAIRS = 4, 6
ENCODERS = ("independent", "supermodular", "general", "categorical")
network_outputs = arrays(
    np.float32, (3, N + PAIRS), elements=st.floats(-(2.0**100), 2.0**100, width=32)
)


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def images(batch, pixels=9):
    return torch.rand(batch, pixels, generator=torch.Generator().manual_seed(0))


def encoder_of(name, n, hidden=300):
    """Return an encoder of n bits or of n categories."""
    sizes = {"n": n}
    if name == "categorical":
        sizes = {"k": n}
    return paper_vae(name, pixels=9, hidden=hidden, **sizes).encoder


MADE_ONCE = {name: encoder_of(name, N, hidden=5) for name in ("supermodular", "general")}
"""Encoders of the tests with many examples."""


@pytest.mark.parametrize("n", [1, 2, 15])
@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_give_scores_of_every_variable_and_pair(shape_checked, name, n):
    h = shape_checked(encoder_of(name, n, hidden=5).forward, images(3))
    assert h.unary.shape == (3, n)
    if name in ("independent", "categorical"):
        assert h.pairwise is None
        assert h.edges is None
        return
    assert h.pairwise.shape == (3, n * (n - 1) // 2)
    assert sorted(map(tuple, h.edges.tolist())) == [
        (i, j) for i in range(n) for j in range(i + 1, n)
    ]


@given(network_outputs)
def test_supermodular_scores_of_pairs_are_never_negative(outputs):
    pairwise = MADE_ONCE["supermodular"].potentials(torch.from_numpy(outputs)).pairwise
    assert (pairwise >= 0).all()
    assert pairwise.isfinite().all()


@given(arrays(np.float32, (3, 9), elements=st.floats(-1e3, 1e3, width=32)))
def test_supermodular_scores_of_pairs_are_never_negative_for_any_image(x):
    assert (MADE_ONCE["supermodular"](torch.from_numpy(x)).pairwise >= 0).all()


def test_supermodular_scores_of_pairs_start_small_and_those_of_variables_about_zero():
    h = encoder_of("supermodular", 15)(images(20))
    assert 0 < h.pairwise.mean() < 0.1
    assert h.unary.mean().abs() < 0.5


@given(network_outputs)
def test_general_scores_of_pairs_are_the_outputs(outputs):
    h = MADE_ONCE["general"].potentials(torch.from_numpy(outputs))
    np.testing.assert_array_equal(h.unary, outputs[:, :N])
    np.testing.assert_array_equal(h.pairwise, outputs[:, N:])


def test_general_scores_of_pairs_take_both_signs():
    pairwise = encoder_of("general", 15)(images(20)).pairwise
    assert pairwise.min() < 0 < pairwise.max()


@pytest.mark.parametrize("name", ENCODERS)
def test_every_score_trains_the_encoder(name):
    encoder = encoder_of(name, N, hidden=5)
    h = encoder(images(3))
    (h.unary.sum() + (0 if h.pairwise is None else h.pairwise.sum())).backward()
    assert encoder.network[-1].bias.grad.abs().min() > 0


@pytest.mark.parametrize("name", ENCODERS)
def test_checkpoints_of_encoders_hold_weights_alone(name):
    assert set(encoder_of(name, N).state_dict()) == {
        f"network.{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias")
    }


def test_unknown_encoder():
    for options in ({"n": 0}, {"bandwidth": -1}, {"hidden": 0}):
        with pytest.raises(
            SettingError, match=r"must be a whole number of at least .; got|must be at least 0; got"
        ):
            paper_vae("general", **options)
    with pytest.raises(
        SettingError, match=r"'supermodal'.*independent, supermodular, general, categorical"
    ):
        paper_vae("supermodal")


def test_encoder_and_decoder_of_different_n():
    four = paper_vae("independent", pixels=9, n=4)
    five = paper_vae("independent", pixels=9, n=5)
    with pytest.raises(ValueError, match="n = 4 and the decoder n = 5"):
        DiscreteVAE(four.encoder, five.decoder)


def test_paper_architecture():
    vae = paper_vae("general")
    shapes = {
        name: tuple(weight.shape) for name, weight in vae.named_parameters() if "weight" in name
    }
    assert shapes == {
        "encoder.network.0.weight": (300, 784),
        "encoder.network.2.weight": (15 + 105, 300),
        "decoder.first.weight": (300, 30),
        "decoder.last.weight": (784, 300),
    }
    assert vae.n == 15


@pytest.mark.parametrize("count", [0, 1, 7])
def test_samples_are_mean_images(shape_checked, count):
    vae = paper_vae("independent", pixels=9, n=N, hidden=5)
    x = shape_checked(vae.sample, count, torch.Generator().manual_seed(0))
    assert x.shape == (count, 9)
    assert ((x > 0) & (x < 1)).all()
    assert not x.requires_grad


def test_samples_depend_on_the_generator_alone():
    vae = paper_vae("independent", pixels=9, n=N, hidden=5)
    first, second, other = (vae.sample(20, torch.Generator().manual_seed(s)) for s in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_samples_of_a_double_precision_model():
    vae = paper_vae("independent", pixels=9, n=N, hidden=5).double()
    assert vae.sample(3, torch.Generator().manual_seed(0)).dtype == torch.float64


def telling_vae(n=3):
    """Its images show the state: pixel i is white where z_i = 1, black elsewhere."""
    vae = paper_vae("independent", pixels=n, n=n, hidden=2 * n)
    with torch.no_grad():
        vae.decoder.first.weight.copy_(torch.eye(2 * n))
        vae.decoder.last.weight.copy_(100 * torch.cat([torch.eye(n), -torch.eye(n)], dim=1))
        vae.decoder.first.bias.zero_()
        vae.decoder.last.bias.zero_()
    return vae


@pytest.mark.statistical
def test_samples_come_from_the_uniform_prior():
    draws = 80_000
    z = telling_vae().sample(draws, torch.Generator().manual_seed(0)).round().long()
    counts = torch.bincount(z @ torch.tensor([1, 2, 4]), minlength=8)
    statistic = ((counts - draws / 8) ** 2 / (draws / 8)).sum().item()
    assert statistic < 40.5  # chi-square with 7 degrees of freedom exceeds it once in a million
