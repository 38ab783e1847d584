"""What the explorer reads from image files, and what it draws for images and classes."""

from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from models import MixtureVAE, paper_vae
from structured_vae import DataConfig, TrainConfig
from structured_vae.explorer import Explored
from structured_vae.explorer.upload import read_upload


def png(values):
    file = BytesIO()
    Image.fromarray(np.asarray(values, dtype=np.uint8)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("paper", [255, 0], ids=["white paper", "black paper"])
def test_ink_is_what_differs_from_the_border_even_where_it_fills_most_of_the_image(paper):
    drawing = np.full((8, 8), paper)
    drawing[1:7, 1:7] = 255 - paper
    found = read_upload(png(drawing), (8, 8), "threshold").reshape(8, 8)
    assert found.sum() == 36
    assert found[1:7, 1:7].all()


def test_an_upload_gets_the_height_and_width_of_the_model():
    drawing = np.zeros((2, 4))
    drawing[0, 1] = 255
    found = read_upload(png(drawing), (2, 4), "threshold")
    assert found.reshape(2, 4).tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]


def trained_on(binarisation):
    torch.manual_seed(0)
    training = TrainConfig(n=4, estimator="exact", data=DataConfig(binarisation=binarisation))
    return Explored(paper_vae("general", pixels=9, n=4, hidden=5).eval(), training, (3, 3))


def test_grey_images_have_no_cost_in_nats():
    x = np.random.default_rng(0).random(9, dtype=np.float32)
    binary, grey = trained_on("threshold"), trained_on("none")
    assert binary.encode(binary.score(x)).cost > 0
    assert grey.encode(grey.score(x)).cost is None


def test_a_path_has_the_mean_scores_of_both_images():
    model = trained_on("threshold")
    for weight in model.vae.encoder.parameters():
        torch.nn.init.normal_(weight, std=2)
    random = np.random.default_rng(0)
    first, second = (model.score(random.random(9, dtype=np.float32)) for _ in range(2))
    states, scores = model.path(first, second, (1, 1, 1, 1), (0, 0, 0, 0))
    z = torch.from_numpy(states).float()
    both = [each.potentials.score(z.unsqueeze(1)).squeeze(1) for each in (first, second)]
    assert np.allclose(scores, ((both[0] + both[1]) / 2).detach().numpy(), atol=1e-5)


@pytest.mark.parametrize("category", range(3))
def test_samples_of_a_mixture_are_of_the_class_that_is_chosen(category):
    torch.manual_seed(0)
    vae = MixtureVAE(9, k=3, c=2).eval()
    model = Explored(vae, None, (3, 3))
    found = model.samples(4, 7, {category: 1})
    style = torch.randn((4, 2), generator=torch.Generator().manual_seed(7))
    z = torch.eye(3)[category].expand(4, -1)
    wanted = vae.decoder(z, style).sigmoid().detach().reshape(4, 3, 3).numpy()
    for number in range(4):
        assert np.allclose(found[:3, 3 * number : 3 * number + 3], wanted[number], atol=1e-6)
