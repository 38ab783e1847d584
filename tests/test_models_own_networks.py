"""Networks of one's own in a VAE, held against sums that numpy makes of their outputs."""

import numpy as np
import pytest
import torch
from enumeration import all_bits, seeded
from own_networks import (
    Categories,
    ConvolutionalDecoder,
    ConvolutionalEncoder,
    Scores,
    convolutional_vae,
)
from torch import nn

import models.networks.decoder
import models.networks.own_networks
from models import DiscreteVAE, load_pretrained, paper_vae
from models.errors import NetworkError, PretrainedError, SettingError
from models.networks import Flips

PIXELS, N, IMAGES = 6, 4, 3


@pytest.fixture(autouse=True)
def same_weights():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def images(count=IMAGES, pixels=PIXELS):
    return torch.rand(count, pixels, generator=seeded(0), dtype=torch.float64).round()


def network(inputs=N, pixels=PIXELS):
    return nn.Sequential(nn.Linear(inputs, 5), nn.Tanh(), nn.Linear(5, pixels)).double()


def decoder_of(layers, likelihood="bernoulli"):
    """Return the decoder that a VAE makes of layers from states to pixels."""
    return DiscreteVAE(Scores(PIXELS, N), layers, likelihood).decoder


def by_numpy(decoder, x, z):
    """[images, states]: -log p(x | z), value by value."""
    outputs = decoder.network(torch.as_tensor(z)).detach().numpy()[None]
    x = x.numpy()[:, None]
    if decoder.likelihood.__class__.__name__ == "BernoulliLikelihood":
        ones = 1 / (1 + np.exp(-outputs))
        return -np.log(np.where(x == 1, ones, 1 - ones)).sum(axis=-1)
    scale = decoder.likelihood.scale.item()
    density = np.exp(-(((x - outputs) / scale) ** 2) / 2) / (scale * np.sqrt(2 * np.pi))
    return -np.log(density).sum(axis=-1)


@pytest.fixture(params=["bernoulli", "gaussian", "bernoulli, as one layer"])
def decoder(request):
    likelihood, *nested = request.param.split(", ")
    layers = network()
    if nested:
        layers = nn.Sequential(layers)
    return decoder_of(layers, likelihood).double()


def test_tables_are_the_costs_of_all_states(decoder):
    states = all_bits(N).astype(float)
    expected = by_numpy(decoder, images(), states)
    states = torch.as_tensor(states)
    np.testing.assert_allclose(decoder.table(images(), states).detach(), expected, rtol=1e-9)
    np.testing.assert_allclose(
        decoder.decoded(states).costs(images()).detach(), expected, rtol=1e-9
    )
    costs = torch.stack([decoder.cost(images(), z.expand(IMAGES, -1)) for z in states], dim=-1)
    np.testing.assert_allclose(costs.detach(), expected, rtol=1e-9)


@pytest.mark.parametrize("together", [1, 20, 1 << 22])
@pytest.mark.parametrize("leading", [(), (2,)])
def test_around_a_state_are_the_costs_of_its_flips(decoder, limits, together, leading):
    limits(decoded_together=together)
    z = torch.randint(2, (*leading, IMAGES, N), generator=seeded(1)).double()
    expected = np.stack(
        [by_numpy(decoder, images(), row).diagonal() for row in z.reshape(-1, IMAGES, N)]
    )
    flips, near = decoder.flips(images(), z), decoder.around(images(), z)
    np.testing.assert_allclose(flips.cost, expected.reshape(z.shape[:-1]), rtol=1e-9)
    np.testing.assert_allclose(near.cost.detach(), expected.reshape(z.shape[:-1]), rtol=1e-9)
    for i in range(N):
        zero, one = z.clone(), z.clone()
        zero[..., i], one[..., i] = 0, 1
        change = [
            by_numpy(decoder, images(), b).diagonal() - by_numpy(decoder, images(), a).diagonal()
            for a, b in zip(zero.reshape(-1, IMAGES, N), one.reshape(-1, IMAGES, N), strict=True)
        ]
        np.testing.assert_allclose(
            near.slope[..., i], np.reshape(change, z.shape[:-1]), rtol=1e-6, atol=1e-9
        )
    assert near.cost.requires_grad
    assert not near.slope.requires_grad


def test_a_table_in_parts_has_the_gradient_of_one(decoder, limits):
    states = torch.as_tensor(all_bits(N)).double()
    gradients = []
    for together in (1 << 22, 2 * PIXELS):
        limits(own_decoded_together=together)
        table = decoder.table(images(), states)
        gradients.append(
            torch.autograd.grad(table.logsumexp(dim=-1).sum(), list(decoder.parameters()))
        )
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_states_whose_outputs_are_too_many_are_decoded_again(decoder, limits):
    states = torch.as_tensor(all_bits(N)).double()
    kept = decoder.decoded(states).costs(images())
    limits(kept_outputs=10)
    assert decoder.decoded(states).outputs is None
    torch.testing.assert_close(decoder.decoded(states).costs(images()), kept)


def test_categories_have_a_table_for_every_change():
    vae = DiscreteVAE(Categories(PIXELS, 3), nn.Linear(3, PIXELS), pixels=PIXELS).double()
    z = torch.eye(3).double()
    near = vae.decoder.around(images(), z)
    expected = by_numpy(vae.decoder, images(), np.eye(3))
    np.testing.assert_allclose(near.slope, expected, rtol=1e-9)
    np.testing.assert_allclose(near.cost.detach(), expected.diagonal(), rtol=1e-9)
    assert vae.categorical
    assert vae.sample(5, seeded(0)).shape == (5, PIXELS)


class Affine(nn.Linear):
    """Might as well do something else than a linear layer."""


def hooked(layers):
    layers[0].register_forward_pre_hook(lambda layer, inputs: (inputs[0] + 1,))
    return layers


def with_convolution():
    return nn.Sequential(
        nn.Linear(N, 8),
        nn.Unflatten(1, (2, 4)),
        nn.Conv1d(2, 2, 3),
        nn.Flatten(),
        nn.Linear(4, PIXELS),
    )


@pytest.mark.parametrize(
    "layers",
    [
        nn.Sequential(
            nn.Linear(N, 5),
            nn.Dropout(),
            nn.LeakyReLU(),
            nn.Linear(5, 5),
            nn.SiLU(),
            nn.Linear(5, PIXELS),
        ),
        nn.Sequential(nn.Linear(N, 5), nn.ReLU(inplace=True), nn.Linear(5, PIXELS, bias=False)),
        nn.Sequential(nn.Linear(N, 5, bias=False), nn.Linear(5, PIXELS)),
        nn.Sequential(nn.Linear(N, PIXELS)),
        nn.Sequential(Affine(N, 5), nn.ReLU(), nn.Linear(5, PIXELS)),
        hooked(network()),
        with_convolution(),
        nn.Sequential(nn.Linear(N, 5), nn.utils.parametrizations.weight_norm(nn.Linear(5, PIXELS))),
        nn.utils.parametrizations.weight_norm(nn.Linear(N, PIXELS)),
    ],
    ids=repr,
)
def test_the_costs_of_flips_are_those_of_the_flipped_states(layers):
    decoder = decoder_of(layers).double()
    z = torch.randint(2, (2, IMAGES, N), generator=seeded(1)).double()
    flips = decoder.flips(images(), z)
    assert all(layer.training for layer in decoder.modules())
    decoder.eval()
    torch.testing.assert_close(flips.cost, decoder.cost(images(), z).detach())
    for i, moved in enumerate(torch.eye(N, dtype=torch.float64)):
        torch.testing.assert_close(
            flips.flipped[..., i], decoder.cost(images(), (z - moved).abs()).detach()
        )


def test_what_acts_in_training_alone_does_not_act_between_flips():
    vae = convolutional_vae()
    x, z = torch.rand(5, 784), torch.zeros(5, 4)
    before = {name: value.clone() for name, value in vae.state_dict().items()}
    flips = vae.decoder.flips(x, z)
    assert all(torch.equal(before[name], value) for name, value in vae.state_dict().items())
    assert all(layer.training for layer in vae.modules())
    vae.eval()
    torch.testing.assert_close(flips.cost, vae.decoder.cost(x, z).detach())


def test_a_layer_that_was_frozen_stays_so():
    vae = convolutional_vae()
    vae.decoder.network.layers[1].eval()
    vae.decoder.flips(torch.rand(5, 784), torch.zeros(5, 4))
    assert not vae.decoder.network.layers[1].training
    assert vae.decoder.network.layers[0].training


class Fast(nn.Linear):
    """Has every fast path, and says so in its values."""

    def cost(self, x, z):
        return z.sum(dim=-1) + 100

    def flips(self, x, z):
        return Flips(self.cost(x, z), self.cost(x, z)[..., None] + 1 - 2 * z, z)

    def table(self, x, states):
        return (states.sum(dim=-1) + 200).expand(len(x), -1)


def test_fast_paths_of_ones_own_are_taken():
    decoder = decoder_of(Fast(N, PIXELS))
    z, x = torch.zeros(IMAGES, N), torch.zeros(IMAGES, PIXELS)
    assert decoder.cost(x, z).tolist() == [100] * IMAGES
    assert decoder.around(x, z).slope.tolist() == [[1] * N] * IMAGES
    assert decoder.table(x, z[:1]).tolist() == [[200]] * IMAGES
    assert decoder.decoded(z[:1]).costs(x).tolist() == [[200]] * IMAGES


def test_a_cost_of_ones_own_makes_the_tables():
    decoder = decoder_of(network())
    decoder.network.cost = lambda x, z: (x.sum(dim=-1) + 1) * z.sum(dim=-1)
    states = torch.as_tensor(all_bits(N)).double()
    expected = np.outer(images().sum(dim=-1) + 1, all_bits(N).sum(axis=1))
    np.testing.assert_allclose(decoder.table(images(), states), expected)
    np.testing.assert_allclose(decoder.decoded(states).costs(images()), expected)


def test_n_is_read_from_the_first_image():
    vae = DiscreteVAE(Scores(PIXELS, N), network().float())
    with pytest.raises(NetworkError, match="has not seen an image"):
        _ = vae.n
    vae.encoder(torch.zeros(2, PIXELS))
    assert (vae.n, vae.pixels, vae.categorical, vae.own) == (N, PIXELS, False, True)


def test_ours_beside_ones_own():
    ours = paper_vae("general", pixels=PIXELS, n=N, hidden=5)
    one = DiscreteVAE(ours.encoder, network().float())
    other = DiscreteVAE(Scores(PIXELS, N), ours.decoder)
    assert one.n == other.n == N
    assert one.pixels == other.pixels == PIXELS
    with pytest.raises(ValueError, match="n = 4 and the decoder n = 5"):
        DiscreteVAE(Scores(PIXELS, N), paper_vae("general", pixels=PIXELS, n=5).decoder)
    with pytest.raises(ValueError, match=r"the encoder is of .* and .* is of .*; they must agree"):
        DiscreteVAE(Scores(PIXELS, N), paper_vae("categorical", pixels=PIXELS, k=N).decoder)
    with pytest.raises(ValueError, match="its likelihood is bernoulli"):
        DiscreteVAE(Scores(PIXELS, N), ours.decoder, "gaussian")


@pytest.mark.parametrize(
    ("encoder", "decoder", "message"),
    [
        (nn.Linear(PIXELS, N), network().float(), "Linear must return models.Potentials"),
        (Scores(PIXELS + 1, N), network().float(), "the encoder cannot take an image of 6 pixels"),
        (Scores(PIXELS, N), network(N + 1).float(), "the decoder cannot take a state of"),
        (
            Scores(PIXELS, N),
            network(N, 5).float(),
            "the decoder gives 5 pixels, and the images have 6",
        ),
        (Scores(PIXELS, N), nn.Flatten(0), r"must return a tensor \[1, pixels\]"),
    ],
)
def test_networks_that_do_not_fit_are_named(encoder, decoder, message):
    with pytest.raises(NetworkError, match=message):
        DiscreteVAE(encoder, decoder, pixels=PIXELS)


@pytest.mark.parametrize("name", ["gaussian", "bernouli"])
def test_a_decoder_keeps_its_likelihood(name):
    ready = decoder_of(network().float())
    assert DiscreteVAE(Scores(PIXELS, N), ready, "bernoulli").decoder is ready
    with pytest.raises(ValueError, match=f"its likelihood is bernoulli, not '{name}'"):
        DiscreteVAE(Scores(PIXELS, N), ready, name)
    other = decoder_of(network().float(), "gaussian")
    for given in ("gaussian", other.likelihood):
        assert DiscreteVAE(Scores(PIXELS, N), other, given).decoder is other


def test_an_unknown_likelihood():
    with pytest.raises(
        ValueError, match="no likelihood is called 'poisson'; there are: bernoulli, gaussian"
    ):
        decoder_of(network(), "poisson")


# --- folders ------------------------------------------------------------------------------------


def sized(seed):
    vae = convolutional_vae(seed)
    vae.fit_to(784)
    return vae


def test_a_folder_has_weights_and_no_name_of_code_that_would_be_run(tmp_path):
    vae, other = sized(0), sized(1)
    vae.save_pretrained(tmp_path)
    loaded = load_pretrained(tmp_path, other)
    assert loaded is other
    for name, value in vae.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value)
    assert not any(layer.training for layer in loaded.modules())
    assert "model=networks" in (tmp_path / "README.md").read_text()


def test_a_folder_with_ones_own_networks_asks_for_them(tmp_path):
    sized(0).save_pretrained(tmp_path)
    for load in (load_pretrained, DiscreteVAE.from_pretrained):
        with pytest.raises(PretrainedError, match=r"'ConvolutionalEncoder'.*pass a DiscreteVAE"):
            load(tmp_path)
    with pytest.raises(PretrainedError, match="contradicts its"):
        load_pretrained(tmp_path, DiscreteVAE(ConvolutionalEncoder(4), ConvolutionalDecoder(5)))


def test_a_folder_with_ours_takes_no_others(tmp_path):
    paper_vae("independent", pixels=9, n=N, hidden=5).save_pretrained(tmp_path)
    with pytest.raises(PretrainedError, match="needs no model"):
        load_pretrained(tmp_path, convolutional_vae())


def test_a_step_moves_the_scores_of_the_convolutional_encoder_no_further_than_those_of_the_other():
    x = (torch.rand((50, 784), generator=torch.Generator().manual_seed(0)) < 0.3).float()
    moved = []
    for make in (paper_vae, models.convolutional_vae):
        torch.manual_seed(0)
        encoder = make("general", n=5).encoder
        adam, before = torch.optim.Adam(encoder.parameters(), lr=0.003), encoder(x).unary.detach()
        (-encoder(x).unary.sum()).backward()
        adam.step()
        moved.append((encoder(x).unary - before).abs().mean().item())
    assert moved[1] < 2 * moved[0], moved


@pytest.mark.parametrize("size", [(1, 10, 8), (1, 8, 10)])
def test_height_and_width_of_the_convolutional_model_are_halved_twice(size):
    with pytest.raises(SettingError, match=f"multiples of 4; got {size[1]} x {size[2]}"):
        models.convolutional_vae(size=size)
