import math
from itertools import product

import numpy as np
import pytest
import torch

from models import paper_vae

SIZES = [(1, 1, 1), (6, 3, 4), (30, 5, 8), (100, 12, 20)]
every_size = pytest.mark.parametrize(("pixels", "n", "hidden"), SIZES)
every_image = pytest.mark.parametrize("grey", [False, True], ids=["binary", "grey"])


def drawn_decoder(pixels, n, hidden, dtype=torch.float64, scale=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    decoder = paper_vae("independent", pixels=pixels, n=n, hidden=hidden).decoder
    for parameter in decoder.parameters():
        parameter.data = scale * torch.randn(
            parameter.shape, generator=generator, dtype=torch.float64
        )
    return decoder.to(dtype)


def drawn_images(batch, pixels, grey=False, dtype=torch.float64):
    x = torch.rand(batch, pixels, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return (x if grey else x.round()).to(dtype)


def drawn_states(batch, n, dtype=torch.float64):
    return torch.randint(2, (batch, n), generator=torch.Generator().manual_seed(2)).to(dtype)


def weights_of(decoder):
    """First and last layer as float64 numpy arrays: A, a, W, b."""
    layers = (decoder.first.weight, decoder.first.bias, decoder.last.weight, decoder.last.bias)
    return [layer.detach().double().numpy() for layer in layers]


def logits_by_numpy(decoder, z):
    A, a, W, b = weights_of(decoder)
    hidden = np.maximum(A @ np.concatenate([z, 1 - z]) + a, 0)
    return W @ hidden + b


def cost_by_numpy(decoder, x, z):
    """-sum_p x_p log sigmoid(l_p) + (1 - x_p) log(1 - sigmoid(l_p)) of one image and one state."""
    logits = logits_by_numpy(decoder, z)
    return np.sum(x * np.logaddexp(0, -logits) + (1 - x) * np.logaddexp(0, logits))


def flipped(z, i):
    other = z.copy()
    other[i] = 1 - other[i]
    return other


def rounding_bound(decoder, x, epsilon):
    """How far the two ways to compute a cost can be apart: (operations in a row) * epsilon * magnitudes.

    A sum of k terms is off by at most k * epsilon/2 times the sum of their absolute values. A logit
    is a sum over hidden units of sums over columns, of which a flip touches each at most twice;
    softplus does not enlarge errors. Both ways round, hence twice that.
    """
    A, a, W, b = map(np.abs, weights_of(decoder))
    hidden = 2 * A.sum(axis=1) + a
    logits = W @ hidden + b
    magnitude = np.sum(2 * (1 + x) * (logits + 1), axis=-1)
    operations = 2 * A.shape[1] + W.shape[1] + W.shape[0] + 10
    return operations * epsilon * magnitude


def check_flips(decoder, x, z):
    """The flips of a decoder against one decode of ours for each state."""
    flips = decoder.flips(x, z)
    epsilon = torch.finfo(x.dtype).eps
    for b, (image, state) in enumerate(zip(x.double().numpy(), z.double().numpy(), strict=True)):
        slack = rounding_bound(decoder, image, epsilon)
        assert abs(flips.cost[b].item() - cost_by_numpy(decoder, image, state)) <= slack
        for i in range(len(state)):
            expected = cost_by_numpy(decoder, image, flipped(state, i))
            assert abs(flips.flipped[b, i].item() - expected) <= slack


@every_size
def test_logits_are_those_of_the_two_layers(pixels, n, hidden):
    decoder, z = drawn_decoder(pixels, n, hidden), drawn_states(4, n)
    expected = np.stack([logits_by_numpy(decoder, state) for state in z.numpy()])
    np.testing.assert_allclose(decoder(z).detach(), expected, rtol=1e-12, atol=1e-12)


@every_image
@every_size
def test_cost_is_minus_log_likelihood(pixels, n, hidden, grey):
    decoder = drawn_decoder(pixels, n, hidden, scale=0.3)
    x, z = drawn_images(4, pixels, grey), drawn_states(4, n)
    cost = decoder.cost(x, z)
    for b in range(4):
        expected = 0.0
        for logit, value in zip(decoder(z)[b].tolist(), x[b].tolist(), strict=True):
            p = 1 / (1 + math.exp(-logit))
            expected -= value * math.log(p) + (1 - value) * math.log(1 - p)
        assert cost[b].item() == pytest.approx(expected, rel=1e-9)


def test_likelihoods_of_all_images_add_up_to_one():
    decoder, z = drawn_decoder(6, 3, 4), drawn_states(1, 3)
    images = torch.tensor(list(product([0.0, 1.0], repeat=6)), dtype=torch.float64)
    total = torch.exp(-decoder.cost(images, z.expand(64, 3))).sum()
    assert total.item() == pytest.approx(1, abs=1e-12)


@every_image
@every_size
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_flips_are_the_costs_of_full_decodes(pixels, n, hidden, grey, dtype):
    decoder = drawn_decoder(pixels, n, hidden, dtype)
    check_flips(decoder, drawn_images(4, pixels, grey, dtype), drawn_states(4, n, dtype))


def test_tolerance_of_float64_sees_an_error_of_a_millionth():
    decoder, x = drawn_decoder(100, 12, 20), drawn_images(1, 100)
    assert rounding_bound(decoder, x[0].numpy(), torch.finfo(torch.float64).eps) < 1e-6


@pytest.mark.parametrize("scale", [1e-6, 100.0])
def test_flips_of_extreme_weights(scale):
    decoder = drawn_decoder(30, 5, 8, torch.float32, scale)
    check_flips(
        decoder, drawn_images(4, 30, dtype=torch.float32), drawn_states(4, 5, torch.float32)
    )


def test_flips_of_a_batch_are_those_of_its_images_one_by_one():
    decoder, x, z = drawn_decoder(30, 5, 8), drawn_images(4, 30), drawn_states(4, 5)
    together = decoder.flips(x, z)
    for b in range(4):
        alone = decoder.flips(x[b : b + 1], z[b : b + 1])
        torch.testing.assert_close(together.flipped[b], alone.flipped[0], rtol=1e-13, atol=0)
        torch.testing.assert_close(together.cost[b], alone.cost[0], rtol=1e-13, atol=0)


def test_slope_is_cost_with_one_less_cost_with_zero():
    decoder, x, z = drawn_decoder(30, 5, 8), drawn_images(4, 30), drawn_states(4, 5)
    slope = decoder.flips(x, z).slope
    for b in range(4):
        for i in range(5):
            one, zero = z[b].numpy().copy(), z[b].numpy().copy()
            one[i], zero[i] = 1, 0
            image = x[b].numpy()
            expected = cost_by_numpy(decoder, image, one) - cost_by_numpy(decoder, image, zero)
            assert abs(slope[b, i].item() - expected) <= 2 * rounding_bound(
                decoder, image, 2.0**-52
            )


def test_flips_build_no_graph_and_leave_their_inputs_alone():
    decoder = drawn_decoder(30, 5, 8)
    x, z = drawn_images(4, 30).requires_grad_(), drawn_states(4, 5).requires_grad_()
    before = [tensor.detach().clone() for tensor in (x, z, *decoder.parameters())]
    flips = decoder.flips(x, z)
    assert not flips.cost.requires_grad
    assert not flips.flipped.requires_grad
    after = (x, z, *decoder.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_flips_decode_each_state_once():
    decoder, x, z = drawn_decoder(30, 5, 8), drawn_images(4, 30), drawn_states(4, 5)
    rows = {decoder.first: 0, decoder.last: 0}

    def count(layer, inputs, output):
        rows[layer] += output.numel() // output.shape[-1]

    for layer in rows:
        layer.register_forward_hook(count)
    decoder.flips(x, z)
    assert rows[decoder.last] == 4 * (5 + 1)
    assert rows[decoder.first] == 4


def test_cost_trains_every_weight():
    decoder, x, z = drawn_decoder(6, 3, 4), drawn_images(4, 6), drawn_states(4, 3)
    decoder.cost(x, z).sum().backward()
    W_gradient = decoder.last.bias.grad
    expected = (decoder(z).sigmoid() - x).sum(dim=0)
    torch.testing.assert_close(W_gradient, expected.detach(), rtol=1e-12, atol=1e-12)
    assert all(parameter.grad.abs().sum() > 0 for parameter in decoder.parameters())


@every_size
def test_declared_shapes_hold(shape_checked, pixels, n, hidden):
    decoder, x, z = drawn_decoder(pixels, n, hidden), drawn_images(4, pixels), drawn_states(4, n)
    assert shape_checked(decoder.forward, z).shape == (4, pixels)
    assert shape_checked(decoder.cost, x, z).shape == (4,)
    assert shape_checked(decoder.flips, x, z).flipped.shape == (4, n)
