"""Perturbations that turn an argmax into a sample: the one place that draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from models.arguments import of_kind, whole_number

from .errors import ConfigError, EstimatorError, shortened


def checked_draws(samples: object) -> int:
    """Return the number of noise draws that a layer or a loss averages.

    Raises:
        ConfigError: it is not a whole number of at least 1.
    """
    return whole_number(samples, "samples", ConfigError)


def gumbel(like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Independent standard Gumbel variables, by inversion.

    Added to the scores of exclusive choices they make the argmax an exact sample: choice i has the
    probability exp(score[i]) / sum_j exp(score[j]).

    Args:
        like: gives shape, type and device.
        generator: on the same device; None for the noise of torch, which `torch.manual_seed` seeds.
    """
    return -(-uniform(like, generator).log()).log()


def gumbel_differences(like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Independent differences of two standard Gumbel variables, that is logistic noise.

    Added to unary scores h_i(1) - h_i(0) it perturbs both values of every variable. Without
    pairwise scores the argmax is then an exact sample: P(z_i = 1) = sigmoid(unary[i]). Added to a -
    b it is positive with probability sigmoid(a - b).

    Args:
        like: gives shape, type and device.
        generator: on the same device; None for the noise of torch, which `torch.manual_seed` seeds.
    """
    drawn = uniform(like, generator)
    return drawn.log() - (-drawn).log1p()


def gaussian(like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Independent standard normal variables.

    Args:
        like: gives shape, type and device.
        generator: on the same device; None for the noise of torch, which `torch.manual_seed` seeds.
    """
    return _drawn(like, generator, normal=True)


def uniform(like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Independent uniform variables in the open interval (0, 1).

    Args:
        like: gives shape, type and device.
        generator: on the same device; None for the noise of torch, which `torch.manual_seed` seeds.
    """
    drawn = _drawn(like, generator, normal=False)
    limits = torch.finfo(like.dtype)
    inside: torch.Tensor = drawn.clamp(min=limits.tiny, max=1 - limits.eps / 2)
    return inside


def _drawn(like: torch.Tensor, generator: torch.Generator | None, normal: bool) -> torch.Tensor:
    """Draw normal or uniform variables, other ones in each process that trains."""
    if generator is None and process_rank():
        return _of_rank(like, normal)
    draw = torch.rand
    if normal:
        draw = torch.randn
    return random_numbers(
        draw, like.shape, generator=generator, device=like.device, dtype=like.dtype
    )


def random_numbers(draw: Callable[..., torch.Tensor], *sizes: Any, **options: Any) -> torch.Tensor:
    """Return random numbers of torch.

    Args:
        draw: a function that draws, such as `torch.rand`.
        sizes: its arguments.
        options: its options, such as `generator`.

    Raises:
        EstimatorError: a `vmap` of torch allows no random numbers here.
    """
    if torch.compiler.is_compiling():
        return draw(*sizes, **options)
    try:
        return draw(*sizes, **options)
    except RuntimeError as error:
        if "random operation" not in str(error):
            raise
        raise EstimatorError(
            "noise inside of vmap has to be the same for all instances, or different: pass "
            "randomness= to vmap, or to the jacfwd of jacfwd(jacrev(f)) in place of hessian; leave "
            "out vectorize=True of torch.autograd.functional; or draw no noise, by eval() or "
            "seed=None"
        ) from error


def check_generator(generator: torch.Generator | None, device: torch.device) -> None:
    """Raise if the generator cannot generate noise on this device.

    Raises:
        ConfigError: it is not a torch generator, or belongs to another device.
    """
    if not isinstance(generator, torch.Generator | None):
        raise ConfigError(
            f"generator must be a torch.Generator or None; got {shortened(generator)}"
        )
    if generator is not None and generator.device.type != device.type:
        raise ConfigError(
            f"generator is on {generator.device} and the scores are on {device}: make it with "
            f"torch.Generator('{device}')"
        )


def check_draw(generator: object, samples: object, name: str = "samples") -> None:
    """Raise unless a distribution can be drawn from so often.

    Args:
        generator: what a caller passed.
        samples: the number of draws that a caller passed.
        name: the name of the number, for the message.

    Raises:
        ConfigError: `generator` is not a torch generator, or the number is not a whole number of at
            least 1.
    """
    of_kind(generator, "generator", ConfigError, torch.Generator, "a torch.Generator")
    whole_number(samples, name, ConfigError)


def process_rank() -> int:
    """Return the number of this process among those that train together; 0 for one alone."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return 0


def seed_of_rank(seed: int, rank: int) -> int:
    """Return the seed of a process, which for the first one is the seed itself."""
    if not rank:
        return seed
    words = np.random.SeedSequence([seed, rank]).generate_state(2, np.uint32)
    return int(words[0]) << 31 ^ int(words[1])


def _of_rank(like: torch.Tensor, normal: bool) -> torch.Tensor:
    """Draw other noise than processes whose generators of torch have the same state.

    The seed is drawn outside the custom operation. Transforms of `torch.func` and compilers treat
    a draw of torch as random, and the operation as a function of its arguments.
    """
    seed = random_numbers(torch.randint, 2**62, ())
    drawn: torch.Tensor = _of_seed(like.detach(), seed, process_rank(), normal)
    return drawn


@torch.library.custom_op("structured_vae::noise_of_rank", mutates_args=())
def _of_seed(like: torch.Tensor, seed: torch.Tensor, rank: int, normal: bool) -> torch.Tensor:
    """Draw the noise of a seed in one process."""
    generator = torch.Generator(like.device).manual_seed(seed_of_rank(int(seed), rank))
    if normal:
        return gaussian(like, generator)
    return torch.rand(like.shape, generator=generator, device=like.device, dtype=like.dtype)


@_of_seed.register_fake
def _(like: torch.Tensor, seed: torch.Tensor, rank: int, normal: bool) -> torch.Tensor:
    return torch.empty_like(like, memory_format=torch.contiguous_format)


@_of_seed.register_vmap
def _(
    info: Any,
    in_dims: tuple[int | None, ...],
    like: torch.Tensor,
    seed: torch.Tensor,
    rank: int,
    normal: bool,
) -> tuple[torch.Tensor, int | None]:
    """Draw noise for each seed; instances that share a seed get the same noise."""
    if in_dims[0] is not None:
        like = like.movedim(in_dims[0], 0)
        like = like.new_empty(like.shape[1:])
    if in_dims[1] is None:
        return _of_seed(like, seed, rank, normal), None
    drawn = like.new_empty((info.batch_size, *like.shape))
    for instance, seed_of_instance in zip(drawn, seed.unbind(in_dims[1]), strict=True):
        instance.copy_(_of_seed(like, seed_of_instance, rank, normal))
    return drawn, 0
