"""The base class of modules that ask for argmaxes: the layer and the losses."""

from __future__ import annotations

import secrets
import warnings
from abc import ABC
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, Literal, Self, TypeAlias
from weakref import WeakValueDictionary

import torch
from torch import nn

from models import Potentials
from models.traced import is_traced, is_transformed
from solvers import ArgmaxSolver, Problem, UnknownSolverError, UnsupportedProblemError
from solvers.constraints import Constraint
from solvers.solving.selection import resolve

from ..autograd.recording import construct_between_graphs, refuse_recording
from ..autograd.transforms import Dims, leading, refuse_mapped_edges
from ..errors import ConfigError, StalledWarning, StructureError, shortened
from ..noise import gumbel_differences, process_rank, seed_of_rank
from ..spaces import Structure, as_space, is_structure, refuse_pairs
from ..spaces.checks.scores import EdgesLike, potentials_of
from ..spaces.constrained import constrained
from ..spaces.of_potentials import unary_noise
from .argmax import argmax

Seed: TypeAlias = int | Literal["torch"] | None
"""Source of a module's noise: a seed, torch's generator, or none."""

OF_TORCH: Final = "torch"
"""The seed that stands for the noise of torch."""

ONE_VARIABLE: Final = Problem.from_arrays([0.0])
"""A problem with which to check a solver before there are scores."""

NUMBER_BITS: Final = 62
"""Bits of the random number of a module: as many as an integer of an operator holds."""

_MODULES: WeakValueDictionary[int, ArgmaxModule] = WeakValueDictionary()
"""Living modules by number: a torch operator takes numbers and tensors, but not objects."""


class ArgmaxModule(nn.Module, ABC):
    """A module that calls a solver through an operator that `torch.compile` leaves whole.

    Args:
        solver: name or object of `solvers`, or a `Structure`.
        seed: seed of the noise that the module draws in training; "torch" for the noise of torch,
            which `torch.manual_seed` seeds; None for no noise.
        constraints: linear constraints over z, made by `solvers.constraints` and shared by all
            instances. States are then those that satisfy them.

    Raises:
        ConfigError: the seed is neither "torch" nor a whole number from 0 to 2^63 - 1, or
            `constraints` are no constraints, or go with a structure.
        solvers.UnknownSolverError: no solver has that name.
        solvers.SolverUnavailableError: the solver needs a package that is not installed.
    """

    def __init__(
        self,
        solver: str | ArgmaxSolver | Structure = "auto",
        seed: Seed = None,
        constraints: Iterable[Constraint] = (),
    ):
        construct_between_graphs()
        super().__init__()
        if not _is_seed(seed):
            raise ConfigError(
                "seed must be 'torch', a whole number from 0 to 2^63 - 1, or None; "
                f"got {shortened(seed)}"
            )
        if not is_structure(solver):
            _check_solver(solver)
        self.solver = constrained(solver, constraints)
        self.seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}
        self._enter()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, which draws noise from the start of its seed."""
        return {**self.__dict__, "_generators": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]  # torch's
        self._enter()

    def _enter(self) -> None:
        """Give this module a random number of its own; a copy gets another one.

        A program that was exported from another process has numbers too. They must not lead to
        modules of this process, so numbers are random.
        """
        self._number = secrets.randbits(NUMBER_BITS)
        _MODULES[self._number] = self

    def checked_potentials(
        self,
        unary: torch.Tensor,
        pairwise: torch.Tensor | None,
        edges: EdgesLike | None,
        mask: torch.Tensor | None,
    ) -> Potentials:
        """Return the checked potentials of a call; the arguments are those of `potentials_of`.

        Raises:
            StructureError: the structure takes no pairwise scores.
            solvers.ProblemError: the scores do not describe a problem.

        Warns:
            StalledWarning: the structure has a single state, so nothing can be learnt.
        """
        if not is_structure(self.solver):
            return potentials_of(unary, pairwise, edges, mask)
        refuse_pairs(self.solver, pairwise)
        potentials = potentials_of(unary, pairwise, edges, mask)
        _warn_of_one_state(self.solver, potentials.unary.shape[-1])
        return potentials

    def over(self, structure: Structure) -> Self:
        """Return this module over another structure, for one batch.

        It draws from the same noise, and shares step size and counters, so a training loop may ask
        for a structure that differs from batch to batch: `layer.over(KOfN(counts))(scores)`.
        `torch.compile` makes the call between two graphs.

        Args:
            structure: a `Structure`, such as `KOfN` with a k for each instance.

        Raises:
            StructureError: this is not a structure.
        """
        construct_between_graphs()
        if not is_structure(structure):
            raise StructureError(
                "a structure must be a StateSpace, or an object with argmax(scores); got "
                f"{shortened(structure)}"
            )
        # A shallow copy shares counters, buffers and noise; only the dictionary of modules is new.
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._modules = dict(self._modules)
        copy.solver = structure
        copy._enter()
        return copy

    def __prepare_scriptable__(self) -> None:
        raise ConfigError(
            f"{type(self).__name__} cannot be compiled by torch.jit.script, which takes no solver "
            "along: script the network that gives the scores, and call "
            f"{type(self).__name__} on its output"
        )

    def maximise(self, potentials: Potentials) -> torch.Tensor:
        """Return the states of highest score `[..., batch, n]`, without gradient.

        Raises:
            solvers.SolverError: the solver cannot take these potentials.
            ConfigError: an export or a trace records the call.
        """
        refuse_recording(self)
        free = potentials.detach()
        if is_traced():
            best: torch.Tensor = _argmax(*free.scores(), free.edges, self._number)
            return best
        return argmax(free, self.solver)

    def perturbed(self, potentials: Potentials, generator: torch.Generator | None) -> Potentials:
        """Return the potentials with the noise of one draw on every unary score, see `noise`.

        Raises:
            ConfigError: a backward pass runs the forward pass again, which would draw new noise.
        """
        noise = self.noise(potentials, generator)
        if noise is None:
            return potentials
        return potentials.shifted(noise[0])

    def noise(
        self, potentials: Potentials, generator: torch.Generator | None, samples: int = 1
    ) -> torch.Tensor | None:
        """Return differences of two Gumbel variables `[samples, ..., batch, n]`; None for no noise.

        Without a generator, the noise comes from the module's seed, in training. Processes that
        train together draw different noise.

        Raises:
            ConfigError: a backward pass runs the forward pass again, which would draw new noise.
        """
        if generator is not None:
            _refuse_second_forward()
            return unary_noise(potentials, generator, samples)
        # Without training or gradients the answer is the argmax itself.
        if self.seed is None or not self.training or not torch.is_grad_enabled():
            return None
        # Under `torch.func`, tensors do not say whether they require a gradient.
        learns = is_transformed() or potentials.unary.requires_grad
        if potentials.pairwise is not None:
            learns = learns or potentials.pairwise.requires_grad
        if not learns:
            return None
        _refuse_second_forward()
        like = potentials.unary.detach().expand(samples, *potentials.unary.shape)
        if self.seed == OF_TORCH:
            return gumbel_differences(like, None)
        noise: torch.Tensor = _noise(like, self._number)
        return noise

    def generator_on(self, device: torch.device) -> torch.Generator:
        """Return the generator of the module's seed on a device."""
        if device not in self._generators:
            seed = seed_of_rank(int(self.seed or 0), process_rank())
            self._generators[device] = torch.Generator(device).manual_seed(seed)
        return self._generators[device]


def _refuse_second_forward() -> None:
    """Raise if a backward pass runs the forward pass again, as activation checkpointing does.

    It restores only the generators of torch; and a reentrant one runs the first forward pass
    without gradients, and so without noise. Gradients would be those of other states.
    """
    if not torch.compiler.is_compiling() and torch._C._current_graph_task_id() != -1:
        raise ConfigError(
            "a backward pass runs this module again, as activation checkpointing does, and would "
            "draw new noise: leave the module out of the checkpointed part, or make it with "
            "seed=None and call it without a generator"
        )


def _warn_of_one_state(structure: Structure, n: int) -> None:
    """Warn if a structure has a single state for scores `[..., n]`.

    This is no error, since a k that grows to n, for example, has a correct answer there.
    """
    if torch.compiler.is_compiling() or not as_space(structure).has_one_state(n):
        return
    advice = ""
    if n == 1:
        advice = "; if the last dimension is one too many, pass scores.squeeze(-1)"
    warnings.warn(
        f"{structure!r} has a single state for scores [..., {n}], whose last dimension counts the "
        f"variables: every answer is the same, and no gradient can change it{advice}",
        StalledWarning,
        stacklevel=2,
    )


def _check_solver(solver: Any) -> None:
    """Raise unless `solver` is the name or the object of a solver that can be used now."""
    try:
        with suppress(UnsupportedProblemError):  # a plug-in may want more variables
            resolve(solver, ONE_VARIABLE).check(ONE_VARIABLE)
    except UnknownSolverError as error:
        if isinstance(solver, str):
            raise
        raise UnknownSolverError(
            f"{error}. A structure is an object too, such as KOfN(2) of structured_vae.spaces, or "
            "your own object with a method argmax(scores)"
        ) from error


def module_of(number: int) -> Any:
    """Return the living module of that number.

    Raises:
        ConfigError: no living module has this number, as in a program that was exported.
    """
    module = _MODULES.get(number)
    if module is None:
        raise ConfigError(
            "this program was exported with a layer or a loss inside, whose solver it does not "
            "have: export the network that gives the scores, and call the layer on its output"
        )
    return module


@torch.library.custom_op("structured_vae::argmax", mutates_args=())
def _argmax(
    unary: torch.Tensor, pairwise: torch.Tensor | None, edges: torch.Tensor | None, module: int
) -> torch.Tensor:
    return argmax(Potentials.of_scores(unary, pairwise, edges), module_of(module).solver)


@_argmax.register_fake
def _(
    unary: torch.Tensor, pairwise: torch.Tensor | None, edges: torch.Tensor | None, module: int
) -> torch.Tensor:
    return torch.empty_like(unary, memory_format=torch.contiguous_format)


@_argmax.register_vmap
def _(info: Any, in_dims: Dims, *args: Any) -> tuple[torch.Tensor, int]:
    unary, pairwise, edges, module = args
    refuse_mapped_edges(in_dims[2])
    size = info.batch_size
    rows = leading(unary, in_dims[0], size)
    return _argmax(rows, leading(pairwise, in_dims[1], size), edges, module), 0


@torch.library.custom_op("structured_vae::noise", mutates_args=())
def _noise(like: torch.Tensor, module: int) -> torch.Tensor:
    return gumbel_differences(like, module_of(module).generator_on(like.device))


@_noise.register_fake
def _(like: torch.Tensor, module: int) -> torch.Tensor:
    return torch.empty_like(like, memory_format=torch.contiguous_format)


@_noise.register_vmap
def _(info: Any, in_dims: Dims, *args: Any) -> tuple[torch.Tensor, int | None]:
    like, module = args
    if info.randomness == "error":
        raise ConfigError(
            "vmap over a module that draws noise: say torch.func.vmap(..., "
            "randomness='different') or 'same', or make the module without noise"
        )
    if info.randomness == "same":
        return _noise(like.select(in_dims[0], 0), module), None
    return _noise(like.movedim(in_dims[0], 0), module), 0


def _is_seed(seed: object) -> bool:
    """Return whether an argument says where noise comes from."""
    if isinstance(seed, str):
        return seed == OF_TORCH
    return seed is None or (isinstance(seed, int) and 0 <= seed < 2**63)
