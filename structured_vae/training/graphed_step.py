"""Record the loss of a training step and its backward pass as a CUDA graph, and replay it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import torch

Stats: TypeAlias = dict[str, torch.Tensor]
"""Values to log, by name."""

LossFunction: TypeAlias = Callable[..., tuple[torch.Tensor, Stats]]
"""Batch -> the loss to minimise, and values to log."""

Constants: TypeAlias = tuple[float, ...]
"""The numbers that Python puts into a step, such as a temperature."""


class GraphedStep:
    """A training step whose kernels a GPU starts by itself.

    A step of small networks starts hundreds of short kernels, and the host takes longer to start
    one than the GPU takes to run it. A CUDA graph records the kernels once, and then starts all of
    them at once. The results are the same.

    A graph repeats kernels, not Python. So a step is recorded again when the shape of the batch
    changes, or a number that Python puts into the step. A step that waits for the GPU cannot be
    recorded. The first call finds this out.

    Args:
        loss_function: computes the loss of a batch. Its backward pass is recorded with it.
        module: has the parameters that get gradients, and the buffers that a step changes.
        noise: draws the random numbers of a step, on the GPU.
    """

    def __init__(
        self, loss_function: LossFunction, module: torch.nn.Module, noise: torch.Generator
    ):
        self._loss_function = loss_function
        self._module = module
        self._noise = noise
        self._recorded: _Recording | None = None
        self._never_waits: bool | None = None

    def __call__(
        self, batch: Sequence[torch.Tensor], constants: Constants
    ) -> tuple[torch.Tensor, Stats] | None:
        """Put the gradients of a batch into the parameters, and return its loss.

        Args:
            batch: tensors on the GPU.
            constants: the numbers that Python puts into this step.

        Returns:
            The loss, without gradient, and values to log; None where the step cannot be recorded.
            Then nothing has changed, but the generator `noise` may not be used again.
        """
        if self._never_waits is None:
            self._never_waits = self._is_free_of_waiting(batch)
        if not self._never_waits:
            return None
        key = (constants, *(tensor.shape for tensor in batch))
        if self._recorded is None or self._recorded.key != key:
            self._recorded = None  # its memory serves the next recording
            try:
                self._recorded = _Recording(self, batch, key)
            except RuntimeError:  # CUDA's own errors among them
                return None
        return self._recorded.replay(batch)

    def compute(self, batch: Sequence[torch.Tensor]) -> tuple[torch.Tensor, Stats]:
        """Compute the loss of a batch, and new gradients."""
        for parameter in self._module.parameters():
            parameter.grad = None
        loss, stats = self._loss_function(*batch)
        torch.autograd.backward(loss)
        return loss.detach(), {name: value.detach() for name, value in stats.items()}

    @property
    def module(self) -> torch.nn.Module:
        """The module that gets gradients."""
        return self._module

    @property
    def noise(self) -> torch.Generator:
        """The source of the random numbers."""
        return self._noise

    def _is_free_of_waiting(self, batch: Sequence[torch.Tensor]) -> bool:
        """Return whether a step never waits for the GPU, by steps whose effects are undone.

        CUDA's libraries set themselves up in the first of them, which a recording does not allow.
        """
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch's
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), self._undone():
            self.compute(batch)
            with _waiting_refused():
                try:
                    self.compute(batch)
                except RuntimeError as error:
                    if "synchroniz" not in str(error):
                        raise
                    return False
        torch.cuda.current_stream().wait_stream(stream)
        return True

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Restore gradients, buffers and random numbers at the end."""
        gradients = [(parameter, parameter.grad) for parameter in self._module.parameters()]
        buffers = [(buffer, buffer.clone()) for buffer in self._module.buffers()]
        noise = self._noise.get_state()
        global_noise = torch.cuda.get_rng_state()
        try:
            yield
        finally:
            for parameter, gradient in gradients:
                parameter.grad = gradient
            for buffer, value in buffers:
                buffer.copy_(value)
            self._noise.set_state(noise)
            torch.cuda.set_rng_state(global_noise)


class _Recording:
    """A graph of a step, with the places that its replays read and write.

    Args:
        step: the step to record. Nothing of it is executed.
        batch: tensors of the shapes to record.
        key: what the graph keeps, so that it serves no other step.
    """

    def __init__(self, step: GraphedStep, batch: Sequence[torch.Tensor], key: tuple[object, ...]):
        self.key = key
        self._batch = [tensor.clone() for tensor in batch]
        self._graph = torch.cuda.CUDAGraph()
        # Each replay then goes on where the generator is, and moves it as an ordinary step does.
        self._graph.register_generator_state(step.noise)
        with torch.cuda.graph(self._graph):
            self._loss, self._stats = step.compute(self._batch)
        self._gradients = [(parameter, parameter.grad) for parameter in step.module.parameters()]

    def replay(self, batch: Sequence[torch.Tensor]) -> tuple[torch.Tensor, Stats]:
        """Run the step for a batch, and return its loss and values to log."""
        for place, tensor in zip(self._batch, batch, strict=True):
            place.copy_(tensor)
        self._graph.replay()
        for parameter, gradient in self._gradients:
            parameter.grad = gradient
        return self._loss.clone(), {name: value.clone() for name, value in self._stats.items()}


@contextmanager
def _waiting_refused() -> Iterator[None]:
    """Make operations that wait for the GPU raise a RuntimeError."""
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        # It says that some operations are not detected; the recording itself would refuse those.
        warnings.filterwarnings("ignore", "Synchronization debug mode")
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)
