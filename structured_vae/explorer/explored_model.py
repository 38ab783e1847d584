"""The content of the page for a trained model: images of states, posteriors of images, samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, cast

import numpy as np
import torch
from numpy.typing import NDArray

from models import AttributeVAE, DiscreteVAE, MixtureVAE
from models.potentials import AnyPotentials

from ..data import is_shown
from ..distributions import Distribution, Gibbs
from ..errors import RunError
from ..image_grids import grid
from ..runs.assembly import dataset_of
from ..runs.export import exported_training
from ..runs.folder import Run
from ..runs.networks import load_vae
from ..vaes.config import EstimatorConfig, TrainConfig
from ..vaes.fitting import fitting_estimator, fitting_solver
from ..vaes.registry import AnyVAE, kind_of_networks, load_exported
from ..vaes.shown import Shown
from .posteriors.choice import shown_posterior
from .posteriors.listed_states import PriorStates
from .posteriors.shown_posterior import Fixed, Ranked, ShownPosterior
from .state_paths import best_path

COLUMNS: Final = 10
"""The number of samples side by side."""


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of an image by the encoder; without an image, those of the prior.

    Attributes:
        pixels: `[pixels]`; None for the prior.
        potentials: one row.
        posterior: the states with these scores.
        style: `[c]`, the mean of a continuous code; for attributes, minus the prior's mean given
            the best state. None if there is no code.
    """

    pixels: NDArray[np.float32] | None
    potentials: AnyPotentials
    posterior: ShownPosterior
    style: NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class Encoded:
    """The posterior of one image given some fixed bits.

    Attributes:
        best: the best states with the fixed bits.
        marginals: `[n]`, P(z_i = 1) given the fixed bits; for categories, their probabilities.
        how: how the marginals were computed, in words.
        couplings: `[n, n]`, the pairwise scores, symmetric, NaN on the diagonal; None where there
            are none.
        cost: -log p(x, z) of the best state in nats, a bound on -log p(x); None where that is not
            known.
    """

    best: Ranked
    marginals: NDArray[np.float64]
    how: str
    couplings: NDArray[np.float64] | None
    cost: float | None = None

    @property
    def state(self) -> tuple[int, ...]:
        """The most probable state `[n]` with the fixed bits."""
        return tuple(map(int, self.best.states[0]))


@dataclass(frozen=True, eq=False)
class Explored:
    """A trained model, on the host.

    Attributes:
        vae: the networks.
        training: how they were trained; None where that is not known.
        size: height and width of an image.
    """

    vae: DiscreteVAE | MixtureVAE | AttributeVAE
    training: TrainConfig | None
    size: tuple[int, int]

    @cached_property
    def parts(self) -> Shown:
        """The states, scores, styles and images that the kind of the model shows.

        Raises:
            RunError: the explorer cannot show it.
        """
        return kind_of_networks(self.vae).shown(self.vae)

    @property
    def bits(self) -> bool:
        """Whether the latent state is n bits, rather than one of n categories."""
        return self.parts.bits

    @property
    def has_style(self) -> bool:
        """Whether there is a continuous style or code beside the state."""
        return self.parts.has_style

    @property
    def colours(self) -> int:
        """The number of colours: 3 where images are red, green and blue, else 1."""
        return self.parts.colours

    @property
    def names(self) -> list[str]:
        """The names of bits or categories: their places in z, or the attributes of the data."""
        return self.parts.names

    @property
    def passed_on(self) -> bool:
        """Whether the terms of the images let pictures of them leave this machine."""
        return self.training is None or is_shown(self.training.data.name)

    def state(self, category: int) -> tuple[int, ...]:
        """Return the one-hot vector `[n]` of a category."""
        return tuple(int(place == category) for place in range(self.vae.n))

    @torch.no_grad()
    def decode(
        self, state: tuple[int, ...], style: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return the mean image of a state, `[height, width]`, in colour `[height, width, 3]`.

        Args:
            state: `[n]`, bits or a one-hot vector.
            style: `[c]`, as `Scored` has it; None for the mean of the prior.
        """
        return self._decoded(self._rows([state]), style)[0]

    @torch.no_grad()
    def decode_all(
        self, states: NDArray[np.int8], style: NDArray[np.float32] | None = None
    ) -> list[NDArray[np.float32]]:
        """Return the mean images of `states [m, n]`."""
        return self._decoded(self._rows(states), style)

    @torch.no_grad()
    def score(self, pixels: NDArray[np.float32] | None) -> Scored:
        """Return the scores of an image `[pixels]`; without an image, those of the prior."""
        if pixels is None:
            return self._scored_prior()
        x = torch.from_numpy(pixels)[None].to(self._weight.dtype)
        potentials, style = self.parts.score(x)
        mean_style = None
        if style is not None:
            mean_style = style.float().numpy()
        posterior = shown_posterior(potentials, self._posterior)
        return Scored(pixels, potentials, posterior, mean_style)

    def _scored_prior(self) -> Scored:
        """Return the scores of the prior: its potentials, or the log density of all states."""
        potentials = self.parts.prior_scores()
        density = self.parts.prior_density()
        if density is None:
            return Scored(None, potentials, shown_posterior(potentials, Gibbs))
        return Scored(None, potentials, PriorStates.of_density(potentials, density))

    @torch.no_grad()
    def encode(
        self, scored: Scored, fixed: Fixed | None = None, count: int = 1, seed: int = 0
    ) -> Encoded:
        """Return the posterior given fixed bits, with its `count` best states.

        It depends only on the scores and the seed.
        """
        fixed = fixed or {}
        best = scored.posterior.ranked(fixed, count)
        generator = torch.Generator().manual_seed(seed)
        probabilities, how = scored.posterior.marginals(fixed, generator)
        couplings = _couplings(scored.potentials)
        return Encoded(best, probabilities, how, couplings, self._cost(scored, best))

    @torch.no_grad()
    def samples(
        self, count: int, seed: int, fixed: Fixed | None = None, scored: Scored | None = None
    ) -> NDArray[np.float32]:
        """Return mean images of states with the fixed bits side by side.

        The picture is `[rows * height, columns * width]`, with a last dimension for colours.

        A row of a mixture from the prior is one style under every class.

        Args:
            count: number of images; for a mixture from the prior, number of rows.
            seed: the seed of the draws.
            fixed: the fixed bits, or a category.
            scored: an image, for states of its posterior; for perturb-and-MAP, of the Gibbs
                distribution of its scores. None for the prior.
        """
        generator = torch.Generator().manual_seed(seed)
        columns = COLUMNS
        fixed = fixed or {}
        rows = None
        if scored is None:
            rows = self.parts.grid(count, generator)
        if rows is None:
            z = self._drawn(scored, fixed, count, generator)
            images = self.parts.means(z, self._styles(count, generator, scored))
        else:
            images, columns = rows
            if fixed:  # a single category
                images = images.reshape(count, columns, -1)[:, next(iter(fixed))]
                columns = COLUMNS
        tiles = grid(images.float(), min(columns, len(images)), self.colours, *self.size)
        if self.colours > 1:
            return tiles
        return tiles[..., 0]

    def _drawn(
        self,
        scored: Scored | None,
        fixed: Mapping[int, int],
        count: int,
        generator: torch.Generator,
    ) -> torch.Tensor:
        """Return states `[count, n]` of an image's posterior, or of the prior for None."""
        if scored is None:
            scored = self._scored_prior()
        return scored.posterior.draws(fixed, count, generator).to(self._weight.dtype)

    def drawn_style(self, number: int) -> NDArray[np.float32]:
        """Return a style `[c]` of the prior, the same for the same number."""
        generator = torch.Generator().manual_seed(number)
        style: NDArray[np.float32] = torch.randn(self.parts.style_size, generator=generator).numpy()
        return style

    @torch.no_grad()
    def path(
        self, scored: Scored, other: Scored, end: tuple[int, ...], start: tuple[int, ...]
    ) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Return the flips from `start` to `end` through states of high mean score of both images.

        `[flips + 1, n]`, and the mean score of each.
        """

        def mean_scores(states: torch.Tensor) -> torch.Tensor:
            return (scored.posterior.scores(states) + other.posterior.scores(states)) / 2

        return best_path(mean_scores, np.array(start, dtype=np.int8), np.array(end, dtype=np.int8))

    @cached_property
    def test_images(self) -> NDArray[np.float32 | np.uint8]:
        """The test images `[count, pixels]` of the data set, in [0, 1], or as mapped bytes.

        Raises:
            RunError: the folder does not say which images the model was trained on.
            DataError: the images are missing or damaged.
        """
        if self.training is None:
            raise RunError("config.json does not say which images this model was trained on")
        return dataset_of(self.training).test.images

    def test_image(self, number: int) -> NDArray[np.float32]:
        """Return a test image `[pixels]`, in [0, 1]."""
        stored = np.array(self.test_images[number])
        pixels = stored.astype(np.float32)
        if stored.dtype == np.uint8:
            pixels /= np.float32(255)
        return pixels

    def shown(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return an image as `[height, width]`, with a last dimension for colours."""
        planes = pixels.reshape(self.colours, *self.size)
        image: NDArray[np.float32] = planes[0]
        if self.colours > 1:
            image = planes.transpose(1, 2, 0)
        return image

    @cached_property
    def _posterior(self) -> Callable[[AnyPotentials], Distribution]:
        """Return the posterior of the training with a fast solver; Gibbs where it is unknown."""
        if self.training is None or not self.parts.has_estimator:
            return Gibbs
        solver = fitting_solver("auto", self.vae)
        config = cast("EstimatorConfig", self.training)
        return fitting_estimator(config, self.vae, solver).posterior

    def _cost(self, scored: Scored, best: Ranked) -> float | None:
        """Return -log p(x, z) of the best state; None for grey images and for styles.

        The cost of grey images is not a likelihood.
        """
        binarised = self.training is None or self.training.data.binarisation != "none"
        if scored.pixels is None or not binarised:
            return None
        x = torch.from_numpy(scored.pixels)[None].to(self._weight.dtype)
        return self.parts.joint_cost(x, self._rows(best.states[:1]))

    def _styles(
        self, count: int, generator: torch.Generator, scored: Scored | None
    ) -> torch.Tensor:
        """Return styles `[count, c]`: that of the image, or samples of the prior."""
        if scored is not None and scored.style is not None:
            return torch.from_numpy(scored.style).expand(count, -1).to(self._weight.dtype)
        return torch.randn((count, self.parts.style_size), generator=generator).to(
            self._weight.dtype
        )

    def _decoded(
        self, z: torch.Tensor, style: NDArray[np.float32] | None
    ) -> list[NDArray[np.float32]]:
        if style is None:
            styles = torch.zeros(self.parts.style_size)
        else:
            styles = torch.from_numpy(style)
        means = self.parts.means(z, styles.expand(len(z), -1).to(z.dtype)).float().numpy()
        return [self.shown(image) for image in means]

    @property
    def _weight(self) -> torch.Tensor:
        return next(self.vae.parameters())

    def _rows(self, values: NDArray[np.int8] | list[tuple[int, ...]]) -> torch.Tensor:
        return torch.from_numpy(np.asarray(values)).to(self._weight.dtype)


def open_model(folder: str | Path, model: DiscreteVAE | None = None) -> Explored:
    """Return the model of a run, or of a folder that `save_pretrained` wrote.

    Args:
        folder: the folder of the run or of the exported model.
        model: custom networks; the weights of the run replace theirs.

    Raises:
        RunError: the folder is neither a run nor an exported model, or it is damaged; or the page
            cannot show its model.
        models.errors.PretrainedError: an exported folder is damaged.
        DataError: a run's images are missing or damaged.
    """
    run = Run.at(folder)
    if run.config_file.exists():
        training: TrainConfig | None = run.config()
        vae: AnyVAE = load_vae(folder, model=model)
    elif (run.folder / "config.json").exists():
        training = exported_training(folder)
        vae = load_exported(folder, model)
    else:
        raise RunError(
            f"{folder} is neither a run folder (it has no config.yaml) "
            "nor an exported one (no config.json)"
        )
    if reason := not_shown(vae):
        raise RunError(f"the model of {folder} {reason}")
    shown = cast("DiscreteVAE | MixtureVAE | AttributeVAE", vae)
    size = kind_of_networks(shown).shown(shown).size
    if size is None:
        pixels = cast("DiscreteVAE | MixtureVAE", shown).pixels
        size = _size(pixels, training, folder)
    return Explored(shown, training, size)


def not_shown(vae: AnyVAE) -> str:
    """Return why the page cannot show a model; empty where it can."""
    try:
        kind_of_networks(vae).shown(vae)
    except RunError as error:
        return str(error)
    return ""


def _size(pixels: int, training: TrainConfig | None, folder: str | Path) -> tuple[int, int]:
    """Return height and width; the data are loaded only if images cannot be square."""
    side = math.isqrt(pixels)
    if side * side == pixels:
        return side, side
    if training is None:
        raise RunError(
            f"nothing in {folder} says the height and width of its images of {pixels} pixels"
        )
    images = dataset_of(training)
    if images.channels > 1:
        raise RunError(
            f"the images of {folder} have {images.channels} colours; the explorer shows grey ones"
        )
    return images.height, images.width


def _couplings(h: AnyPotentials) -> NDArray[np.float64] | None:
    """Return the pairwise scores of one image as a matrix `[n, n]`."""
    if h.pairwise is None or h.edges is None:
        return None
    n = h.unary.shape[-1]
    couplings = np.zeros((n, n))
    np.fill_diagonal(couplings, np.nan)
    first, second = h.edges.numpy().T
    couplings[first, second] = couplings[second, first] = h.pairwise[0].detach().double().numpy()
    return couplings
