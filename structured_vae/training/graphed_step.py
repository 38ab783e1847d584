"""Record the loss of a training step and its backward pass as one CUDA graph, and replay it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import torch

Stats: TypeAlias = dict[str, torch.Tensor]
"""Values to log, by name."""

LossFunction: TypeAlias = Callable[..., tuple[torch.Tensor, Stats]]
"""Batch -> the loss to minimise, and values to log."""

Key: TypeAlias = tuple[object, ...]
"""What a recorded step keeps: shapes of the batch, and numbers that change with schedules."""


class GraphedStep:
    """A training step that a GPU repeats by itself.

    A step of small networks starts hundreds of short kernels, and the host takes longer to start
    one than the GPU to run it. A CUDA graph records the kernels once. A replay starts all of them
    at once, with the same results.

    A graph repeats kernels, not Python. So the step is recorded again when a number changes that
    Python puts into it, such as a temperature. A step that waits for the GPU cannot be recorded:
    the first attempt finds this, and the step runs as usual from then on.

    Args:
        loss_function: computes the loss of a batch, whose backward pass is recorded with it.
        module: has the parameters that get gradients, and the buffers that a step changes.
        noise: draws the random numbers of a step.
    """

    def __init__(
        self, loss_function: LossFunction, module: torch.nn.Module, noise: torch.Generator
    ):
        self._loss_function = loss_function
        self._module = module
        self._noise = noise
        self._key: Key | None = None
        self._works: bool | None = None

    def __call__(
        self, batch: Sequence[torch.Tensor], constants: Key
    ) -> tuple[torch.Tensor, Stats] | None:
        """Put the gradients of a batch into the parameters, and return its loss.

        Args:
            batch: tensors on the GPU.
            constants: the numbers that Python puts into this step.

        Returns:
            The loss, without gradient, and values to log; None where the step cannot be recorded,
            and then nothing has changed.
        """
        if self._works is None:
            self._works = self._can_be_recorded(batch)
        if not self._works:
            return None
        key = (constants, *(tensor.shape for tensor in batch))
        if key != self._key:
            self._record(batch, key)
        for place, tensor in zip(self._batch, batch, strict=True):
            place.copy_(tensor)
        self._graph.replay()
        for parameter, gradient in self._gradients:
            parameter.grad = gradient
        return self._loss.clone(), {name: value.clone() for name, value in self._stats.items()}

    def _can_be_recorded(self, batch: Sequence[torch.Tensor]) -> bool:
        """Return whether a step never waits for the GPU, by a step without consequences.

        CUDA's libraries also set themselves up in this step, which a recording does not allow.
        """
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), self._undone():
            self._compute(batch)
            with _waiting_refused():
                try:
                    self._compute(batch)
                except RuntimeError as error:
                    if "synchroniz" not in str(error):
                        raise
                    return False
        torch.cuda.current_stream().wait_stream(stream)
        return True

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Restore gradients, buffers and random numbers at the end."""
        buffers = [(buffer, buffer.clone()) for buffer in self._module.buffers()]
        gradients = [(parameter, parameter.grad) for parameter in self._module.parameters()]
        states = self._noise.get_state(), torch.cuda.get_rng_state()
        try:
            yield
        finally:
            for buffer, before in buffers:
                buffer.copy_(before)
            for parameter, gradient in gradients:
                parameter.grad = gradient
            self._noise.set_state(states[0])
            torch.cuda.set_rng_state(states[1])

    def _compute(self, batch: Sequence[torch.Tensor]) -> tuple[torch.Tensor, Stats]:
        """Compute loss and new gradients."""
        for parameter in self._module.parameters():
            parameter.grad = None
        loss, stats = self._loss_function(*batch)
        loss.backward()
        return loss, stats

    def _record(self, batch: Sequence[torch.Tensor], key: Key) -> None:
        """Record the step; nothing of it is executed."""
        self._key = None
        self._batch = [tensor.clone() for tensor in batch]
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._noise)
        with torch.cuda.graph(graph):
            loss, stats = self._compute(self._batch)
        self._graph = graph
        self._loss = loss.detach()
        self._stats = {name: value.detach() for name, value in stats.items()}
        self._gradients = [(each, each.grad) for each in self._module.parameters()]
        self._key = key


@contextmanager
def _waiting_refused() -> Iterator[None]:
    """Make operations that wait for the GPU raise a RuntimeError."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)
