"""Values that nobody should pass, and arrays made into what somebody might."""

from __future__ import annotations

import datetime
from array import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import array_api_strict
import networkx as nx
import numpy as np
import scipy.sparse
import torch

from .draws import Draw

NAN, INF = float("nan"), float("inf")

NUMBERS: Final[tuple[Callable[[], Any], ...]] = (
    *(
        lambda number=number: number
        for number in (True, 0, -1, 1, 3, 2**31, 2**63, -(2**63) - 1, 10**400)
    ),
    *(lambda number=number: number for number in (0.5, -0.0, NAN, INF, -INF, 1e308, 5e-324, 1j)),
    lambda: Decimal("0.5"),
    lambda: Decimal("nan"),
    lambda: Fraction(1, 3),
    lambda: np.float32(2),
    lambda: np.float64("nan"),
    lambda: np.longdouble(2),
    lambda: np.int8(3),
    lambda: np.uint64(2**64 - 1),
    lambda: np.bool_(True),
    lambda: np.array(2.0),
    lambda: torch.tensor(2.0),
    lambda: torch.tensor(3, device="meta"),
)
"""Of every kind."""

OTHERS: Final[tuple[Callable[[], Any], ...]] = (
    *(
        lambda text=text: text
        for text in ("", "auto", "max_flow", "maxflow", "\0", "é" * 50, "x" * 5000)
    ),
    *(lambda name=name: name for name in ("..", "/", "/dev/null", "no-such-folder/file.npz", "*")),
    lambda: None,
    lambda: b"bytes",
    lambda: b"",
    lambda: bytearray(b"abc"),
    lambda: memoryview(b"abc"),
    lambda: array("d", [1.0, 2.0]),
    lambda: Path("nowhere"),
    lambda: ...,
    lambda: NotImplemented,
    lambda: object(),
    lambda: int,
    lambda: len,
    lambda: lambda: 1,
    lambda: np,
    lambda: set(),
    lambda: {1.0, 2.0},
    lambda: frozenset({1}),
    dict,
    lambda: {"a": 1.0},
    lambda: {(0, 1): 2.0},
    lambda: {(0, 1): "x", (1, 0): None},
    lambda: {(0,): 1.0, 3: 2.0},
    lambda: (),
    list,
    lambda: [None],
    lambda: [[]],
    lambda: [[1.0], [1.0, 2.0]],
    lambda: ["a", 1],
    lambda: [10**400, 1],
    lambda: [[[[[[1.0]]]]]],
    lambda: range(3),
    lambda: iter([1.0]),
    lambda: (number for number in (1.0, 2.0)),
    lambda: slice(1, 2),
    lambda: ValueError("a value"),
    lambda: datetime.date(2020, 1, 1),
    lambda: np.datetime64("2020-01-01"),
    lambda: np.dtype("f8"),
    lambda: np.random.default_rng(0),
    lambda: np.array(None),
    lambda: np.zeros(3, [("a", "f8"), ("b", "i4")]),
    lambda: np.void(b"abc"),
    lambda: nx.Graph([(0, 1)]),
    lambda: torch.float32,
    lambda: torch.device("meta"),
    lambda: torch.nn.Linear(2, 2),
    lambda: torch.ones(2, 3, device="meta"),
    lambda: torch.Generator(),
)
"""No numbers."""


def odd(draw: Draw) -> Any:
    """Anything at all."""
    return draw.of((*NUMBERS, *OTHERS))()


def _with(value: float) -> Callable[[Draw, np.ndarray], Any]:
    def changed(draw: Draw, values: np.ndarray) -> np.ndarray:
        copy = values.astype(np.float64)
        copy.flat[draw.whole(0, max(copy.size - 1, 0)) : 1 + copy.size // 2] = value
        return copy

    return changed


def _structured(draw: Draw, values: np.ndarray) -> np.ndarray:
    return np.zeros(values.shape, [("a", "f8"), ("b", "i4")])


def _nested(draw: Draw, values: np.ndarray) -> torch.Tensor:
    layout = draw.of((torch.strided, torch.jagged))
    rows = [torch.ones(draw.whole(1, 3)) for _ in range(draw.whole(1, 3))]
    return torch.nested.nested_tensor(rows, layout=layout)


def _ragged(draw: Draw, values: np.ndarray) -> Any:
    rows = np.atleast_1d(values).tolist()
    return [*rows, [1.0]] if draw.chance(0.5) else [*rows[:-1], [rows[-1:], None]]


def _sparse(draw: Draw, values: np.ndarray) -> Any:
    tensor = torch.from_numpy(np.atleast_2d(values).astype(np.float32))
    kinds = ("coo", "csr", "csc") if tensor.ndim == 2 else ("coo",)
    kind = draw.of(kinds)
    return {"coo": tensor.to_sparse, "csr": tensor.to_sparse_csr, "csc": tensor.to_sparse_csc}[
        kind
    ]()


def _quantised(draw: Draw, values: np.ndarray) -> torch.Tensor:
    return torch.quantize_per_tensor(
        torch.from_numpy(values.astype(np.float32)), 0.1, 0, torch.qint8
    )


def _typed(draw: Draw, values: np.ndarray) -> Any:
    kind = draw.of(
        (*"?bBhHiIlLqQefdgFDGSUOMm", ">f8", ">i4", "S3", "V5")
    )  # every type of numpy, and both orders of bytes
    with np.errstate(all="ignore"):
        return np.zeros(values.shape, kind) if kind[0] in "MmV" else values.astype(kind)


def _tensor_typed(draw: Draw, values: np.ndarray) -> torch.Tensor:
    kinds = (
        torch.bfloat16,
        torch.float16,
        torch.float8_e4m3fn,
        torch.uint8,
        torch.uint16,
        torch.int64,
    )
    kind = draw.of((*kinds, torch.bool, torch.complex64, torch.complex32))
    return torch.from_numpy(values.astype(np.float32)).to(kind)


def _shaped(draw: Draw, values: np.ndarray) -> np.ndarray:
    shape = draw.of(
        ((), (0,), (0, 0), (1,), (3, 0), (0, 3), (2, 3), (7,), (5, 5), (1,) * 40, (2, 3, 3))
    )
    return np.ones(shape)


REMADE: Final[tuple[Callable[[Draw, np.ndarray], Any], ...]] = (
    lambda draw, values: values.tolist(),
    lambda draw, values: tuple(values.tolist()) if values.ndim else (),
    lambda draw, values: torch.from_numpy(values.copy()),
    lambda draw, values: torch.from_numpy(values.copy()).to("meta"),
    lambda draw, values: torch.nn.Parameter(torch.from_numpy(values.astype(np.float32))),
    lambda draw, values: torch.from_numpy(values.astype(np.complex64)).conj(),
    _sparse,
    _nested,
    _quantised,
    _typed,
    _typed,
    _tensor_typed,
    _tensor_typed,
    _structured,
    _ragged,
    _shaped,
    _shaped,
    *(_with(number) for number in (NAN, INF, -INF, 1e308, -1e308, 5e-324, 1e30)),
    lambda draw, values: values[None],
    lambda draw, values: values[..., None],
    lambda draw, values: values[..., :-1] if values.ndim else values,
    lambda draw, values: values.T,
    lambda draw, values: np.repeat(values, 2, axis=-1) if values.ndim else values,
    lambda draw, values: -values if values.dtype.kind == "f" else values - 1,
    lambda draw, values: values.reshape(-1)[0] if values.size else values,
    lambda draw, values: np.asfortranarray(values)[::-1] if values.ndim else values,
    lambda draw, values: (
        np.broadcast_to(values.reshape(-1)[:1], (2**44, 3)) if values.size else values
    ),
    lambda draw, values: np.ma.masked_less(values, 0),
    lambda draw, values: np.asmatrix(np.atleast_2d(values).reshape(1, -1)),
    lambda draw, values: np.rec.fromarrays([values.reshape(-1)]),
    lambda draw, values: (
        scipy.sparse.csr_array(np.atleast_2d(values)) if values.ndim < 3 else values
    ),
    lambda draw, values: array_api_strict.asarray(values),
    lambda draw, values: array_api_strict.asarray(
        values, device=array_api_strict.Device("device1")
    ),
    lambda draw, values: memoryview(np.ascontiguousarray(values)),
    lambda draw, values: values.tobytes(),
    lambda draw, values: set(np.ravel(values).tolist()),
    lambda draw, values: dict(enumerate(np.ravel(values).tolist())),
    lambda draw, values: iter(np.atleast_1d(values)),
    lambda draw, values: str(values),
)
"""An array as something else: another kind, place, type, shape or content."""


def perhaps(draw: Draw, good: Any, share: float = 0.2) -> Any:
    """`good`, or with this probability something in its place."""
    if not draw.chance(share):
        return good
    if isinstance(good, torch.Tensor):
        good = good.detach().double().numpy()
    if isinstance(good, np.ndarray) and draw.chance(0.8):
        return draw.of(REMADE)(draw, good)
    return odd(draw)


def shown(error: BaseException) -> str:
    """What an error says, in a line of the report."""
    return repr(" ".join(str(error).split())[:90])
