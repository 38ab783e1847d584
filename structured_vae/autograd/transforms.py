"""Our operators under the transforms of `torch.func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.autograd import forward_ad

from models.traced import is_transformed

from ..errors import EstimatorError

Dims: TypeAlias = tuple[int | None, ...]
"""For each argument of an operator, the dimension that `vmap` maps over; None for none."""


def transformable(
    operator: Any,
    keep: Callable[..., None],
    differentiate: Callable[..., Any],
    rule: Callable[..., tuple[Any, Any]],
    what: str,
) -> Callable[..., Any]:
    """Return a function that calls a differentiable operator, also under `torch.func`.

    Custom operators of torch have no gradient under `torch.func`, where an `autograd.Function` of
    the same passes takes their place. The operator itself gets the gradient for all other calls.

    Args:
        operator: a custom operator, without a gradient yet.
        keep: what it keeps for the backward pass, as `setup_context` of torch.
        differentiate: its backward pass.
        rule: how `vmap` calls it.
        what: the name of the operator's result, for messages.
    """
    operator.register_autograd(differentiate, setup_context=keep)

    class Transformed(torch.autograd.Function):
        forward = staticmethod(lambda *args: operator(*args))
        setup_context = staticmethod(keep)
        backward = staticmethod(differentiate)
        vmap = staticmethod(rule)

    def call(*args: Any) -> Any:
        if torch.compiler.is_compiling():
            return operator(*args)
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        refuse_forward_mode(what, *tensors)
        if is_transformed():
            return Transformed.apply(*args)  # type: ignore[no-untyped-call]  # torch's
        return operator(*args)

    return call


def refuse_forward_mode(what: str, *tensors: torch.Tensor) -> None:
    """Raise if a derivative in forward mode is asked for, as by `torch.func.jvp` or `hessian`.

    Args:
        what: the name of the layer, loss or distribution, for the message.
        tensors: the scores, which may be dual numbers of `torch.autograd.forward_ad`.

    Raises:
        EstimatorError: a derivative in forward mode is asked for.
    """
    if has_tangent(*tensors):
        raise EstimatorError(
            f"{what} has derivatives in reverse mode only, and jvp, jacfwd and hessian of "
            "torch.func ask for those of forward mode: use grad, vjp or jacrev"
        )


def has_tangent(*tensors: torch.Tensor) -> bool:
    """Return whether a derivative in forward mode is asked for.

    Args:
        tensors: the scores, which may be dual numbers of `torch.autograd.forward_ad`.
    """
    if torch.compiler.is_compiling() or forward_ad._current_level < 0:
        return False
    functorch = torch._C._functorch
    stack = functorch.get_interpreter_stack() or ()
    if stack:
        return any(interpreter.key() == functorch.TransformType.Jvp for interpreter in stack)
    unpack: Callable[..., Any] = forward_ad.unpack_dual
    return any(unpack(tensor).tangent is not None for tensor in tensors)


def refuse_vectorised(what: str, *gradients: torch.Tensor | None) -> None:
    """Raise if the backward pass of a solver gets a batch of gradients at once.

    Args:
        what: the name of the distribution, for the message.
        gradients: the incoming gradients; None is left out.

    Raises:
        EstimatorError: `vectorize=True` of `torch.autograd.functional`, or `is_grads_batched=True`
            of `torch.autograd.grad`, is set.
    """
    batched = torch._C._functorch.is_legacy_batchedtensor
    if any(gradient is not None and batched(gradient) for gradient in gradients):
        raise EstimatorError(
            f"the sums of {what} are those of a solver, which takes one gradient at a time: leave "
            "out vectorize=True and is_grads_batched=True, or use torch.func.jacrev"
        )


def refuse_transforms(what: str, instead: str, because: str = "leaves torch") -> None:
    """Raise if a transform of `torch.func` reaches a call that it cannot transform.

    Args:
        what: the method that is called, for the message.
        instead: what to call.
        because: what the method does that cannot be transformed.

    Raises:
        EstimatorError: the call is inside of `torch.func`.
    """
    if is_transformed():
        raise EstimatorError(f"{what} {because}, so torch.func cannot transform it: {instead}")


def leading(values: torch.Tensor | None, dim: int | None, size: int) -> torch.Tensor | None:
    """Return a tensor with the mapped dimension in front, expanded where it is not mapped.

    Args:
        values: an argument of an operator; None for none.
        dim: the dimension that is mapped; None for none.
        size: the number of instances.
    """
    if values is None:
        return None
    if dim is None:
        return values.expand(size, *values.shape)
    return values.movedim(dim, 0)


def writable_zeros(like: torch.Tensor, *written: torch.Tensor | None) -> torch.Tensor:
    """Return zeros of the shape of `like`, into which values of these tensors can be written.

    Under `vmap`, values of each instance need zeros of each instance.

    Args:
        like: gives shape, type and device.
        written: the tensors that the values depend on; None is left out.
    """
    zeros = torch.zeros_like(like)
    if is_transformed():
        for values in written:
            if values is not None:
                zeros = zeros + values.new_zeros((), dtype=like.dtype)
    return zeros


def refuse_mapped_edges(dim: int | None) -> None:
    """Raise if `vmap` maps over edges, which all instances have to share.

    Raises:
        EstimatorError: it does.
    """
    if dim is not None:
        raise EstimatorError(
            "vmap cannot map over edges, which the instances share: pass in_dims=None for them"
        )


def flat_rows(
    operator: Callable[..., Any], shared: tuple[int, ...]
) -> Callable[[Any, Dims, Any], tuple[Any, Any]]:
    """Return the rule of `vmap` for an operator over rows: instances become rows of one call.

    Args:
        operator: takes tensors whose first dimension is the batch, and returns a tuple of such.
        shared: the places of the arguments that all instances share, such as edges.
    """

    def rule(info: Any, in_dims: Dims, *args: Any) -> tuple[Any, Any]:
        for place in shared:
            refuse_mapped_edges(in_dims[place])
        size = info.batch_size
        rows = list[Any]()
        batch = 0
        for place, (value, dim) in enumerate(zip(args, in_dims, strict=True)):
            if place in shared or not isinstance(value, torch.Tensor):
                rows.append(value)
                continue
            # Mapped instances become rows: the operator sees one larger batch.
            moved: Any = leading(value, dim, size)
            batch = moved.shape[1]
            rows.append(moved.flatten(0, 1))
        outputs = operator(*rows)
        by_instance = tuple(value.reshape(size, batch, *value.shape[1:]) for value in outputs)
        return by_instance, (0,) * len(by_instance)

    return rule
