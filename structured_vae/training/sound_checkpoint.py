"""Check every value of a checkpoint before torch or Lightning uses it.

The fused Adam of torch does not compare the shapes of its state with those of the weights: it reads
and writes memory outside of them. Lightning looks keys up without checking that they
exist. So this file has to detect a damaged checkpoint.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch import nn

from ..errors import shortened

VERSION: Final = re.compile(
    r"[0-9]{1,6}(\.[0-9]{1,6}){1,3}((a|b|rc)[0-9]{1,6})?(\.post[0-9]{1,6})?(\.dev[0-9]{1,6})?"
    r"(\+[a-z0-9]+(\.[a-z0-9]+)*)?"
)
"""A version number of Lightning, as `packaging` reads it."""

LARGEST: Final = 1 << 53
"""The largest count; a training of one microsecond per step would take 285 years to reach it."""

MOMENTS: Final = frozenset({"step", "exp_avg", "exp_avg_sq"})
"""The state that Adam keeps for each weight."""

SAME: Final = ("amsgrad", "maximize", "differentiable", "capturable", "decoupled_weight_decay")
"""Options of Adam that decide which state it needs, and that the training sets itself."""

PLAIN_TYPES: Final = frozenset(
    {
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
    }
)
"""Types of numbers that torch can compute with; it cannot test the others for nan."""


class UnsoundError(ValueError):
    """A value of a checkpoint cannot be right; the message names its place."""


class UnfitError(UnsoundError):
    """The weights of a checkpoint have other names or shapes than those of the networks."""


def require_sound_content(content: Any, file_size: int) -> None:
    """Check the content that every checkpoint of this package has.

    Args:
        content: tensors and plain values, from `torch.load`.
        file_size: bytes of the file. No tensor may be larger, whatever its strides are.

    Raises:
        UnsoundError: a value is missing, of another type, or larger than the file; or a tensor is
            not a dense array of numbers in memory.
    """
    _require(isinstance(content, dict), "the file", "hold a dictionary", content)
    _require_sound_tensors(content, file_size)
    epoch = _part(content, "epoch")
    _require(
        _is_count(epoch) or (type(epoch) is int and epoch == -1),
        "epoch",
        "be a count of epochs",
        epoch,
    )
    weights = _part(content, "state_dict")
    _require(isinstance(weights, dict), "state_dict", "hold the weights by name", weights)
    for name, value in weights.items():
        _require(isinstance(name, str), "state_dict", "have names as keys", name)
        _require(isinstance(value, torch.Tensor), f"state_dict[{name!r}]", "be a tensor", value)


def require_sound_weights(weights: Mapping[str, torch.Tensor], module: nn.Module) -> None:
    """Check that weights have the names, shapes and kinds of a module's, and that all are finite.

    Args:
        weights: the weights of a checkpoint.
        module: the module that gets them. Where its buffer is not finite, such as a mask, the
            weights need not be finite either.

    Raises:
        UnfitError: the weights have other names or shapes.
        UnsoundError: a weight is of another kind of number, or nan or infinite.
    """
    expected = module.state_dict()
    missing = sorted(set(expected) - set(weights))
    unexpected = sorted(set(weights) - set(expected))
    if missing or unexpected:
        raise UnfitError(
            f"the weights lack {missing or 'nothing'} and have {unexpected or 'nothing'} besides"
        )
    for name, value in weights.items():
        current = expected[name]
        place = f"state_dict[{name!r}]"
        if value.shape != current.shape:
            raise UnfitError(
                f"{place} has the shape {list(value.shape)}, and the network {list(current.shape)}"
            )
        # `load_state_dict` would convert another kind silently.
        same_kind = (
            value.is_floating_point() == current.is_floating_point()
            and value.is_complex() == current.is_complex()
        )
        _require(same_kind, place, f"be of the kind of {current.dtype}", value.dtype)
        # A mask of the module is infinite by design.
        masked = not current.is_meta and not current.isfinite().all()
        if not (masked or value.isfinite().all()):
            raise UnsoundError(f"{place} has values that are nan or infinite")


def require_sound_training(
    content: Mapping[str, Any],
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    loop: Mapping[str, Any],
) -> None:
    """Check all values from which a training resumes.

    Args:
        content: the result of `read_checkpoint`.
        module: the module whose weights are trained.
        optimizer: a new one for this module.
        loop: the state of a new loop of Lightning.

    Raises:
        UnsoundError: a value is missing, of another type or shape, or out of its range.
    """
    _require(
        _is_count(content["epoch"]),
        "epoch",
        "be the number of the last epoch, from 0",
        content["epoch"],
    )
    version = _part(content, "pytorch-lightning_version")
    valid = isinstance(version, str) and VERSION.fullmatch(version) is not None
    _require(valid, "pytorch-lightning_version", "be a version number", version)
    require_sound_weights(content["state_dict"], module)
    _require_sound_optimizer(_part(content, "optimizer_states"), optimizer)
    schedulers = _part(content, "lr_schedulers")
    _require(isinstance(schedulers, list), "lr_schedulers", "be a list", schedulers)
    _require_sound_loops(content, loop)
    _require_sound_callbacks(_part(content, "callbacks"))


def _require_sound_optimizer(states: Any, optimizer: torch.optim.Optimizer) -> None:
    one = isinstance(states, list) and len(states) == 1 and isinstance(states[0], dict)
    _require(one, "optimizer_states", "be a list of one state", states)
    groups = states[0].get("param_groups")
    moments = states[0].get("state")
    one = isinstance(groups, list) and len(groups) == 1 and isinstance(groups[0], dict)
    _require(one, "optimizer_states[0]['param_groups']", "be a list of one group", groups)
    _require_sound_group(groups[0], optimizer.state_dict()["param_groups"][0])
    place = "optimizer_states[0]['state']"
    _require(isinstance(moments, dict), place, "be a dictionary", moments)
    parameters = optimizer.param_groups[0]["params"]
    for number, state in moments.items():
        valid = type(number) is int and 0 <= number < len(parameters)
        _require(valid, place, f"have numbers from 0 to {len(parameters) - 1} as keys", number)
        _require_sound_moments(state, parameters[number], f"{place}[{number}]")


def _require_sound_group(group: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    place = "optimizer_states[0]['param_groups'][0]"
    numbers = _part(group, "params")
    counts = isinstance(numbers, list) and all(type(number) is int for number in numbers)
    _require(
        counts and numbers == current["params"],
        f"{place}['params']",
        "number the weights in order",
        numbers,
    )
    betas = _part(group, "betas")
    pair = isinstance(betas, tuple | list) and len(betas) == 2
    below_one = pair and all(_is_number(beta) and 0 <= beta < 1 for beta in betas)
    _require(below_one, f"{place}['betas']", "be two numbers from 0 to 1", betas)
    for name in ("lr", "eps", "weight_decay"):
        value = _part(group, name)
        _require(
            _is_number(value) and value >= 0,
            f"{place}[{name!r}]",
            "be a finite number, at least 0",
            value,
        )
    for name in SAME:
        value = _part(group, name, current.get(name))
        _require(value is current.get(name), f"{place}[{name!r}]", f"be {current.get(name)}", value)
    for name in ("foreach", "fused"):
        value = _part(group, name)
        _require(
            value is None or type(value) is bool,
            f"{place}[{name!r}]",
            "be a truth value or None",
            value,
        )


def _require_sound_moments(state: Any, parameter: torch.Tensor, place: str) -> None:
    keys = isinstance(state, dict) and set(state) == MOMENTS
    _require(keys, place, f"have the keys {', '.join(sorted(MOMENTS))}", state)
    step = state["step"]
    scalar = isinstance(step, torch.Tensor) and step.dtype == torch.float32 and step.shape == ()
    _require(
        scalar and 0 <= step.item() <= LARGEST, f"{place}['step']", "be a number of steps", step
    )
    for name in ("exp_avg", "exp_avg_sq"):
        value = state[name]
        where = f"{place}[{name!r}]"
        _require(isinstance(value, torch.Tensor), where, "be a tensor", value)
        same = value.shape == parameter.shape and value.dtype == parameter.dtype
        wanted = f"be {parameter.dtype} {list(parameter.shape)}"
        _require(same, where, wanted, f"{value.dtype} {list(value.shape)}")
        # Moments in another layout would make the resumed training compute in another order.
        aligned = value.stride() == parameter.stride() or (
            value.is_contiguous() and parameter.is_contiguous()
        )
        _require(aligned, where, "lie in memory as its weight does", value.stride())
        _require(bool(value.isfinite().all()), where, "be finite", "nan or an infinite value")
    _require(
        bool((state["exp_avg_sq"] >= 0).all()), f"{place}['exp_avg_sq']", "be at least 0", "less"
    )


def _require_sound_loops(content: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    steps = _part(content, "global_step")
    loops = _part(content, "loops")
    _require(_is_count(steps), "global_step", "be a count of steps", steps)
    whole = isinstance(loops, dict) and isinstance(_part(loops, "fit_loop"), dict)
    _require(whole, "loops", "have the key fit_loop", loops)
    loop = loops["fit_loop"]
    _require_alike(loop, new, "loops['fit_loop']")
    _require_sound_progress(loop, content["epoch"], steps)


def _require_alike(value: Any, new: Any, place: str) -> None:
    """Check that the state of a loop has the keys of a new one, and counts in the same places."""
    if isinstance(new, dict):
        _require(isinstance(value, dict), place, "be a dictionary", value)
        for name, inner in new.items():
            _require(name in value, place, f"have the key {name}", sorted(map(str, value)))
            _require_alike(value[name], inner, f"{place}[{name!r}]")
    elif isinstance(new, bool):
        _require(type(value) is bool, place, "be a truth value", value)
    else:
        _require(_is_count(value), place, "be a count", value)


def _require_sound_progress(loop: Mapping[str, Any], epoch: int, steps: int) -> None:
    """Check that the loop stands at the end of its last epoch."""
    epochs = loop["epoch_progress"]
    batches = loop["epoch_loop.batch_progress"]
    done = {"ready": epoch + 1, "started": epoch + 1, "processed": epoch + 1, "completed": epoch}
    for name in ("current", "total"):
        place = f"loops['fit_loop']['epoch_progress'][{name!r}]"
        _require(epochs[name] == done, place, f"be at the end of epoch {epoch + 1}", epochs[name])
    place = "loops['fit_loop']['epoch_loop.batch_progress']"
    ended = batches["is_last_batch"] and len(set(batches["current"].values())) == 1
    _require(ended, place, "be at the end of an epoch", batches)
    optimizer = loop["epoch_loop.automatic_optimization.optim_progress"]["optimizer"]
    taken = optimizer["step"]["total"]["completed"]
    _require(taken == steps, "global_step", f"be {taken}, the steps of the optimizer", steps)


def _require_sound_callbacks(callbacks: Any) -> None:
    needed = ("RunRecord", "EpochCheckpoints")
    whole = isinstance(callbacks, dict) and all(
        isinstance(callbacks.get(name), dict) for name in needed
    )
    _require(whole, "callbacks", f"have the keys {' and '.join(needed)}", callbacks)
    _require_sound_record(callbacks["RunRecord"])
    best = callbacks["EpochCheckpoints"].get("best")
    number = type(best) in (int, float) and not math.isnan(best)
    _require(number, "callbacks['EpochCheckpoints']['best']", "be a number", best)
    for name, state in callbacks.items():
        _require(isinstance(name, str), "callbacks", "have names as keys", name)
        if name.startswith("EarlyStopping{"):
            _require_sound_stopping(state, f"callbacks[{name!r}]")


def _require_sound_record(record: Mapping[str, Any]) -> None:
    place = "callbacks['RunRecord']"
    rows = _part(record, "rows")
    commits = _part(record, "commits", [None])  # older checkpoints have neither this nor the next
    seconds = _part(record, "seconds", 0.0)
    _require(isinstance(rows, list), f"{place}['rows']", "be a list of rows", rows)
    for row in rows:
        valid = isinstance(row, dict) and _is_count(row.get("epoch"))
        _require(valid, f"{place}['rows']", "have rows with an epoch", row)
        for name, value in row.items():
            number = isinstance(name, str) and type(value) in (int, float)
            _require(number, f"{place}['rows']", "hold numbers by name", {name: value})
    texts = isinstance(commits, list) and all(isinstance(name, str | None) for name in commits)
    _require(texts, f"{place}['commits']", "be a list of texts", commits)
    _require(
        _is_number(seconds) and seconds >= 0,
        f"{place}['seconds']",
        "be a number of seconds",
        seconds,
    )


def _require_sound_stopping(state: Any, place: str) -> None:
    _require(isinstance(state, dict), place, "be a dictionary", state)
    for name in ("wait_count", "stopped_epoch", "patience"):
        _require(
            _is_count(_part(state, name)), f"{place}[{name!r}]", "be a count", _part(state, name)
        )
    best = _part(state, "best_score")
    scalar = isinstance(best, torch.Tensor) and best.is_floating_point() and best.shape == ()
    _require(scalar, f"{place}['best_score']", "be a number", best)
    reason = _part(state, "stopping_reason", 0)
    _require(
        type(reason) is int and 0 <= reason <= 3, f"{place}['stopping_reason']", "be 0 to 3", reason
    )


def _require_sound_tensors(content: Any, file_size: int) -> None:
    """Check every tensor, at any depth.

    Most operations of torch fail for a tensor that is sparse, quantised, nested or without memory.
    A tensor with strides of 0 may claim any number of values.
    """
    waiting = [content]
    seen = set()
    while waiting:
        value = waiting.pop()
        # A value may be reached in two ways, or contain itself.
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            kind = f"{type(value).__name__} of {value.dtype}, {value.layout}, on {value.device}"
            _require(
                _is_plain_tensor(value), "a tensor", "be a dense array of numbers in memory", kind
            )
            size = value.numel() * value.element_size()
            _require(
                size <= file_size,
                "a tensor",
                f"be no larger than the file of {file_size:,} bytes",
                size,
            )
        elif isinstance(value, Mapping):
            waiting.extend([*value.keys(), *value.values()])
        elif isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes):
            waiting.extend(value)


def _part(values: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """Return an unchecked value, or the default if there is none."""
    return values.get(name, default)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_plain_tensor(value: torch.Tensor) -> bool:
    """Return whether a tensor is a dense array whose memory holds its values as they are."""
    elsewhere = value.is_meta or value.is_nested or value.layout != torch.strided
    encoded = value.is_quantized or value.is_conj() or value.is_neg()
    return not (elsewhere or encoded) and value.dtype in PLAIN_TYPES


def _require(holds: bool, place: str, what: str, value: Any) -> None:
    if not holds:
        raise UnsoundError(f"{place} must {what}; got {shortened(value)}")
