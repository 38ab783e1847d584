"""Files and folders that are almost right."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml
from PIL import Image

from .draws import Draw
from .values import perhaps

OLDER: Final = Path(__file__).parents[2] / "tests" / "older"
"""A small run and an exported model."""

PROBLEMS: Final = {
    "a.sparse": b"3 4\n1 1 1\n1 2 -3\n2 3 2\n3 3 -1\n",
    "a.qubo": b"p qubo 0 3 2 2\n0 0 1\n2 2 -1\n0 1 2\n1 2 -2\n",
    "a.mc": b"3 3\n1 2 1\n2 3 1\n1 3 5\n",
    "a.uai": b"MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n\n2\n 0.5 1\n4\n 1 2 3 4\n",
    "a.max": b"p max 4 5\nn 1 s\nn 4 t\na 1 2 3\na 1 3 2\na 2 3 1\na 2 4 2\na 3 4 4\n",
}
"""Small problems in every format that is text; the name says which."""

WORDS: Final = (
    *(
        b"-1",
        b"0",
        b"1e308",
        b"1e400",
        b"nan",
        b"inf",
        b"0x10",
        b"1_000",
        b"9" * 18,
        b"9" * 30,
        b"9" * 6000,
    ),
    *(
        b"",
        b"\n",
        b"\0",
        b"\xff\xfe",
        b"1.5",
        b"1,5",
        b"#",
        b"c",
        b"p",
        b"MARKOV",
        "١٢".encode(),
        b"'",
    ),
)
"""In the place of a word."""

PLAIN: Final = (
    *(None, True, -1, 0, 3, 10**12, 10**30, 0.5, 1e308, -1e-300, float("nan"), float("inf")),
    *("", "x", "x" * 5000, "categorical", "float16", "general", "cosine"),
    *([], [1], {}, {"a": 1}, {"class_path": "os.system"}, [[[]]]),
)
"""What JSON and YAML can hold."""


def damaged(draw: Draw, content: bytes) -> bytes:
    """Bytes with one or two faults."""
    for _ in range(draw.whole(1, 2)):
        content = draw.of(FAULTS)(draw, content)
    return content


def _flipped(draw: Draw, content: bytes) -> bytes:
    values = bytearray(content)
    for _ in range(draw.whole(1, 4) if values else 0):
        values[draw.whole(0, len(values) - 1)] = draw.whole(0, 255)
    return bytes(values)


def _spliced(draw: Draw, content: bytes) -> bytes:
    start, end = sorted((draw.whole(0, len(content)), draw.whole(0, len(content))))
    return content[:start] + draw.of(WORDS) + content[end if draw.chance(0.3) else start :]


def _worded(draw: Draw, content: bytes) -> bytes:
    words = content.split(b" ")
    words[draw.whole(0, len(words) - 1)] = draw.of(WORDS)
    return b" ".join(words)


def _relined(draw: Draw, content: bytes) -> bytes:
    lines = content.split(b"\n")
    place = draw.whole(0, len(lines) - 1)
    return b"\n".join(
        lines[:place] + draw.of(([], [lines[place]] * 2, [b""] * 50)) + lines[place + 1 :]
    )


@cache
def _blank_lines() -> bytes:
    return gzip.compress(b"\n" * 2**27, 9)


FAULTS: Final[tuple[Callable[[Draw, bytes], bytes], ...]] = (
    *(_flipped, _flipped, _spliced, _worded, _worded, _relined),
    lambda draw, content: content[: draw.whole(0, len(content))],
    lambda draw, content: b"\xef\xbb\xbf" + content,
    lambda draw, content: content.decode("latin1").encode("utf-16"),
    lambda draw, content: content.replace(b"\n", draw.of((b"\r", b"\r\n", b"\n\n", b" "))),
    lambda draw, content: gzip.compress(content),
    lambda draw, content: gzip.compress(content)[: draw.whole(0, 60)],
    lambda draw, content: gzip.compress(content) + content,
    lambda draw, content: content * draw.whole(0, 3),
    lambda draw, content: draw.random.bytes(draw.whole(0, 200)),
    lambda draw, content: _blank_lines() if draw.chance(0.02) else content + b"\n" * 1000,
)


def problem_file(draw: Draw, folder: Path) -> Path:
    """A file that `read_problem` may be given."""
    if draw.chance(0.25):
        arrays = {
            "unary": np.ones(3),
            "pairwise": np.array([1.0, -2.0]),
            "edges": np.array([[0, 1], [1, 2]]),
        }
        name, content = "a.npz", archive(draw, arrays)
    else:
        name = draw.of(tuple(PROBLEMS))
        content = PROBLEMS[name]
    if draw.chance(0.2):
        name = draw.of(("a", "a.txt", "a.sparse", "a.gz", "é.mc", "a.mc.gz"))
    path = folder / name
    path.write_bytes(content if draw.chance(0.2) else damaged(draw, content))
    return path


def archive(draw: Draw, arrays: Mapping[str, np.ndarray]) -> bytes:
    """An .npz of these arrays, some of them changed or gone, or with headers that lie."""
    stream = io.BytesIO()
    with zipfile.ZipFile(
        stream, "w", draw.of((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as target:
        for name, array in arrays.items():
            if draw.chance(0.05):
                continue
            values = perhaps(draw, array)
            content = _npy(draw, values if isinstance(values, np.ndarray) else array)
            target.writestr(f"{name}.npy", content if draw.chance(0.95) else damaged(draw, content))
    return stream.getvalue()


def _npy(draw: Draw, array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    if array.nbytes > 1 << 16 or draw.chance(0.1):
        claimed = draw.of(((2**31, 28, 28), (2**62, 2**62), (10**30,), (-1,), (2**40, 0, 3), ()))
        kind = draw.of(("|u1", "<f8", "|O", "<U9999999", "|V8", "<M8[s]"))
        header = {"descr": kind, "fortran_order": draw.chance(0.5), "shape": claimed}
        np.lib.format.write_array_header_1_0(stream, header)
        return stream.getvalue() + b"\0" * draw.whole(0, 100)
    np.lib.format.write_array(stream, array, allow_pickle=True)
    return stream.getvalue()


def images_file(draw: Draw, folder: Path) -> Path:
    """An .npz of images that `load_dataset` may be given."""
    splits = ("train", "validation", "test")
    arrays = {f"{split}_images": np.full((4, 5, 6), 200, np.uint8) for split in splits}
    if draw.chance(0.5):
        arrays |= {f"{split}_labels": np.arange(4) for split in splits}
    content = archive(draw, arrays)
    path = folder / "images.npz"
    path.write_bytes(content if draw.chance(0.7) else damaged(draw, content))
    return path


DATA_FILES: Final = (
    *(
        f"mnist/{part}-{kind}-ubyte"
        for part in ("train", "t10k")
        for kind in ("images-idx3", "labels-idx1")
    ),
    *("omniglot/chardata.mat", "omniglot/a.npz", "celeba/list_attr_celeba.txt", "celeba/a.zip"),
    *("celeba/list_eval_partition.txt", "celeba/img_align_celeba/000001.jpg"),
)


def data_root(draw: Draw, folder: Path) -> Path:
    """A folder with files of the names that datasets have."""
    idx = b"\0\0\x08\x03" + (60_000).to_bytes(4, "big") + (28).to_bytes(4, "big") * 2
    attributes = b"1\n5_o_Clock_Shadow Male\n000001.jpg -1 1\n"
    for name in DATA_FILES:
        path = folder / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = draw.of((idx, attributes, PROBLEMS["a.mc"], archive(draw, {"train": np.ones(3)})))
        content = damaged(draw, whole)
        if draw.chance(0.8):
            path.with_name(path.name + draw.of(("", "", ".gz"))).write_bytes(content)
    return folder / "data"


def model_folder(draw: Draw, folder: Path, kind: str) -> Path:
    """A copy of the small run, or of the exported model, with a fault."""
    target = Path(shutil.copytree(OLDER / kind, folder / kind))
    for _ in range(draw.whole(0, 2)):
        file = draw.of(
            sorted(path for path in target.rglob("*") if path.is_file()) or [target / "none"]
        )
        draw.of(FOLDER_FAULTS)(draw, file)
    return target


def _changed_values(draw: Draw, file: Path) -> None:
    """Another value somewhere in a configuration."""
    if file.suffix not in (".json", ".yaml"):
        return _damaged_file(draw, file)
    read, write = (
        (json.loads, json.dumps) if file.suffix == ".json" else (yaml.safe_load, yaml.safe_dump)
    )
    try:
        values = read(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, yaml.YAMLError):
        return None  # it has a fault already
    if not isinstance(values, dict):
        return None
    change(draw, values)
    file.write_text(write(values), encoding="utf-8")
    return None


def change(draw: Draw, values: dict[Any, Any]) -> None:
    """Puts a foreign value, or takes one away, at any depth."""
    inner = [value for value in values.values() if isinstance(value, dict)]
    if inner and draw.chance(0.4):
        return change(draw, draw.of(inner))
    keys = [*values, "foreign"]
    values[draw.of(keys)] = deepcopy(draw.of(PLAIN))
    if draw.chance(0.2):
        values.pop(draw.of(keys), None)
    return None


def _damaged_file(draw: Draw, file: Path) -> None:
    file.write_bytes(damaged(draw, file.read_bytes()) if file.is_file() else b"")


def _gone(draw: Draw, file: Path) -> None:
    file.unlink(missing_ok=True)
    if draw.chance(0.3):
        file.mkdir(parents=True)


FOLDER_FAULTS: Final = (_changed_values, _changed_values, _damaged_file, _gone)


def picture(draw: Draw, folder: Path) -> bytes:
    """An image file, or almost."""
    stream = io.BytesIO()
    size = draw.of(((5, 7), (1, 1), (1, 30_000), (28, 28), (3000, 3)))
    kind = draw.of(("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"))
    mode = draw.of(("L", "RGB") if kind in ("JPEG", "WEBP") else ("1", "L", "RGB", "P"))
    if kind == "WEBP":
        size = (min(size[0], 1000), min(size[1], 1000))
    Image.new(mode, size).save(stream, kind)
    content = stream.getvalue()
    return content if draw.chance(0.3) else damaged(draw, content)
