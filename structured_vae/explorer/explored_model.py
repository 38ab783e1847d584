"""What the page shows of a trained model: images of states, posteriors of images, samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from models import MOST_BITS, AnyPotentials, DiscreteVAE, MixtureVAE, Potentials, load_pretrained

from ..errors import RunError
from ..image_grids import grid
from ..posteriors import Gibbs, PerturbAndMAP, Posterior
from ..posteriors.argmax import argmax
from ..runs.assembly import dataset_of
from ..runs.config import TrainConfig
from ..runs.export import exported_training
from ..runs.fitting import fitting_estimator, fitting_solver, posterior_of
from ..runs.folder import Run
from ..runs.networks import AnyVAE, load_vae

DRAWS: Final = 2000
"""Of a perturb-and-MAP posterior: its marginals are then known to about 0.01."""

SHOWN: Final = ("DiscreteVAE", "MixtureVAE")
COLUMNS: Final = 10
"""Of samples side by side."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """The posterior of one image.

    Attributes:
        marginals: `[n]`, P(z_i = 1); of categories their probabilities.
        how: where the marginals come from, in words.
        couplings: `[n, n]`, the pairwise scores, symmetric, NaN on the diagonal; None where there are none.
        state: `[n]`, the most probable state.
        reconstruction: `[height, width]`, its mean image; of a mixture with the mean style.
        every_class: `[height, k * width]`, the mean style under every class of a mixture; else None.
    """

    marginals: NDArray[np.float64]
    how: str
    couplings: NDArray[np.float64] | None
    state: tuple[int, ...]
    reconstruction: NDArray[np.float32]
    every_class: NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class Explored:
    """A trained model, on the host.

    Attributes:
        vae: the networks.
        training: how they were trained; None where that is not known.
        size: height and width of an image.
    """

    vae: DiscreteVAE | MixtureVAE
    training: TrainConfig | None
    size: tuple[int, int]

    @property
    def bits(self) -> bool:
        """Whether the latent state is n bits, rather than one of n categories."""
        return isinstance(self.vae, DiscreteVAE) and not self.vae.categorical

    @property
    def has_style(self) -> bool:
        """Whether there is a continuous style beside the category."""
        return isinstance(self.vae, MixtureVAE)

    def state(self, category: int) -> tuple[int, ...]:
        """`[n]`: the one-hot vector of a category."""
        return tuple(int(place == category) for place in range(self.vae.n))

    @torch.no_grad()
    def decode(self, state: tuple[int, ...], style: int = 0) -> NDArray[np.float32]:
        """`[height, width]`: the mean image of a state.

        Args:
            state: `[n]`, bits or a one-hot vector.
            style: of a mixture: 0 for the mean of the prior, any other number for a draw of its own.
        """
        z = self._row(state)
        if isinstance(self.vae, MixtureVAE):
            return self._image(self.vae.decoder(z, self._style(style)).sigmoid())
        return self._image(self.vae.decoder.mean(z))

    @torch.no_grad()
    def encode(self, pixels: NDArray[np.float32], seed: int = 0) -> Encoded:
        """The posterior of an image `[pixels]`, the same for the same seed."""
        x = torch.from_numpy(pixels)[None].to(self._weight.dtype)
        if isinstance(self.vae, MixtureVAE):
            return self._encode_with_style(self.vae, x)
        h = self.vae.encoder(x)
        z = argmax(h)
        marginals, how = self._marginals(h, seed)
        return Encoded(
            marginals,
            how,
            _couplings(h),
            tuple(map(int, z[0].tolist())),
            self._image(self.vae.decoder.mean(z)),
        )

    def samples(self, rows: int, seed: int) -> NDArray[np.float32]:
        """`[rows * height, columns * width]`: mean images of states from the prior, side by side.

        A row of a mixture is one style under every class.
        """
        generator = torch.Generator().manual_seed(seed)
        if isinstance(self.vae, MixtureVAE):
            images, columns = self.vae.grid(rows, generator), self.vae.n
        else:
            images, columns = self.vae.sample(rows * COLUMNS, generator), COLUMNS
        return grid(images.float(), columns, 1, *self.size)[..., 0]

    @cached_property
    def test_images(self) -> NDArray[np.float32]:
        """`[count, pixels]`: the test split of what the model was trained on.

        Raises:
            RunError: it is not known what that was.
            DataError: the images are missing or damaged.
        """
        if self.training is None:
            raise RunError("config.json does not say which images this model was trained on")
        return dataset_of(self.training).test.images.astype(np.float32, copy=False)

    @cached_property
    def _posterior(self) -> Callable[[AnyPotentials], Posterior]:
        """That of the training, by whichever solver is fast here; Gibbs where it is not known."""
        if self.training is None:
            return Gibbs
        solver = fitting_solver("auto", self.vae)
        return posterior_of(fitting_estimator(self.training, self.vae, solver), solver)

    def _marginals(self, h: AnyPotentials, seed: int) -> tuple[NDArray[np.float64], str]:
        """`[n]`, and where they come from."""
        q = self._posterior(h)
        if h.pairwise is not None and isinstance(q, PerturbAndMAP):
            draws = q.sample(torch.Generator().manual_seed(seed), DRAWS)[:, 0]
            return draws.double().mean(dim=0).numpy(), f"perturb-and-MAP, {DRAWS} draws"
        return Gibbs(h).marginals[0][0].double().numpy(), "exact"

    def _encode_with_style(self, vae: MixtureVAE, x: torch.Tensor) -> Encoded:
        h, style = vae.encoder(x)
        category = int(h.unary.argmax())
        images = vae.decoder.every_class(style.mean)[0].sigmoid().float().reshape(vae.n, *self.size)
        return Encoded(
            h.unary[0].softmax(dim=-1).double().numpy(),
            "exact",
            None,
            self.state(category),
            images[category].numpy(),
            images.permute(1, 0, 2).reshape(self.size[0], -1).numpy(),
        )

    @property
    def _weight(self) -> torch.Tensor:
        return next(self.vae.parameters())

    def _row(self, values: tuple[int, ...]) -> torch.Tensor:
        return torch.tensor([values], dtype=self._weight.dtype)

    def _style(self, number: int) -> torch.Tensor:
        style = torch.zeros(1, self.vae.decoder.c) if isinstance(self.vae, MixtureVAE) else torch.zeros(1, 0)
        if number:
            style.normal_(generator=torch.Generator().manual_seed(number))
        return style.to(self._weight.dtype)

    def _image(self, means: torch.Tensor) -> NDArray[np.float32]:
        image: NDArray[np.float32] = means[0].float().reshape(self.size).numpy()
        return image


def open_model(folder: str | Path, model: DiscreteVAE | None = None) -> Explored:
    """The model of a run, or of a folder that `save_pretrained` wrote.

    Args:
        folder: of either.
        model: networks of one's own that it has the weights of; they are replaced.

    Raises:
        RunError: the folder is neither, or it is damaged; or the page cannot show its model.
        models.PretrainedError: an exported folder is damaged.
        DataError: a run's images are missing or damaged.
    """
    run = Run.at(folder)
    if run.config_file.exists():
        training: TrainConfig | None = run.config()
        vae: AnyVAE = load_vae(folder, model=model)
    elif (run.folder / "config.json").exists():
        training, vae = exported_training(folder), load_pretrained(folder, model)
    else:
        raise RunError(
            f"{folder} is neither a run folder (it has no config.yaml) nor an exported one (no config.json)"
        )
    if not isinstance(vae, DiscreteVAE | MixtureVAE):
        raise RunError(f"{folder} holds a {type(vae).__name__}; the explorer shows {' and '.join(SHOWN)}")
    if isinstance(vae, DiscreteVAE) and vae.categorical and vae.variables > 1:
        raise RunError(
            f"the model of {folder} has {vae.variables} variables of several values; the explorer shows one"
        )
    if isinstance(vae, DiscreteVAE) and not vae.categorical and vae.n > MOST_BITS:
        raise RunError(f"the model of {folder} has {vae.n} bits; the explorer shows up to {MOST_BITS}")
    return Explored(vae, training, _size(vae.pixels, training, folder))


def _size(pixels: int, training: TrainConfig | None, folder: str | Path) -> tuple[int, int]:
    """Height and width; the images are asked only where they cannot be square."""
    side = math.isqrt(pixels)
    if side * side == pixels:
        return side, side
    if training is None:
        raise RunError(f"nothing in {folder} says the height and width of its images of {pixels} pixels")
    images = dataset_of(training)
    if images.channels > 1:
        raise RunError(f"the images of {folder} have {images.channels} colours; the explorer shows grey ones")
    return images.height, images.width


def _couplings(h: AnyPotentials) -> NDArray[np.float64] | None:
    """`[n, n]`: the pairwise scores of one image."""
    if not isinstance(h, Potentials) or h.pairwise is None or h.edges is None:
        return None
    n = h.unary.shape[-1]
    couplings = np.zeros((n, n))
    np.fill_diagonal(couplings, np.nan)
    first, second = h.edges.numpy().T
    couplings[first, second] = couplings[second, first] = h.pairwise[0].double().numpy()
    return couplings
