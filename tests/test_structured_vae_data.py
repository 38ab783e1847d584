import gzip
import hashlib
import os
import pickle
import socket
import struct
import tempfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structured_vae import errors
from structured_vae.data import (
    ImageDataset,
    binarisation_names,
    dataset_names,
    load_dataset,
    read_idx,
)
from structured_vae.data.fashion_mnist_mini import mini_file, read_mini
from structured_vae.data.files.idx import write_idx
from structured_vae.data.files.roots import ROOT_VARIABLE, CacheRoot, NamedRoot, data_root
from structured_vae.data.files.sources import FASHION_MNIST, MNIST, DataFile, Source
from structured_vae.data.mnist import read_official
from structured_vae.errors import (
    DataDownloadError,
    DataError,
    DataNotFoundError,
    StructuredVAEError,
    UnknownDataNameError,
)

SPLIT_NAMES = ("train", "validation", "test")
FULL_DATA = os.environ.get(ROOT_VARIABLE)
needs_full_data = pytest.mark.skipif(
    not FULL_DATA, reason=f"needs the official files: set {ROOT_VARIABLE} to their folder"
)


@pytest.fixture(autouse=True)
def no_named_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ROOT_VARIABLE, raising=False)


# --- a dataset of a few tiny images ---------------------------------------------------------


def idx_bytes(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim])
    return header + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@dataclass(frozen=True)
class Tiny:
    """A source with its content: 12 + 4 images of 4 x 3 pixels, of which 8 are to train on."""

    source: Source
    arrays: dict[str, np.ndarray]

    def packed(self) -> dict[str, bytes]:
        return {
            f"{name}.gz": gzip.compress(idx_bytes(array), mtime=0)
            for name, array in self.arrays.items()
        }

    def fill(self, root: Path) -> Path:
        folder = root / self.source.name
        folder.mkdir(parents=True)
        for name, content in self.packed().items():
            (folder / name).write_bytes(content)
        return folder


def data_file(name: str, array: np.ndarray) -> DataFile:
    return DataFile(name, array.shape, hashlib.sha256(idx_bytes(array)).hexdigest())


@pytest.fixture
def tiny() -> Tiny:
    generator = np.random.default_rng(5)
    arrays = {
        "train-images-idx3-ubyte": generator.integers(256, size=(12, 4, 3), dtype=np.uint8),
        "train-labels-idx1-ubyte": generator.integers(10, size=12, dtype=np.uint8),
        "t10k-images-idx3-ubyte": generator.integers(256, size=(4, 4, 3), dtype=np.uint8),
        "t10k-labels-idx1-ubyte": generator.integers(10, size=4, dtype=np.uint8),
    }
    files = (data_file(name, array) for name, array in arrays.items())
    return Tiny(Source("tiny", "http://unused.invalid", *files, train_count=8), arrays)


# --- IDX files ------------------------------------------------------------------------------

ARRAY = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
PLAIN = idx_bytes(ARRAY)
PACKED = gzip.compress(PLAIN, mtime=0)


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (2, 3, 4), (3, 1, 2, 2)])
@pytest.mark.parametrize(("ending", "encode"), [("", bytes), (".gz", gzip.compress)])
def test_idx_gives_the_array_that_was_encoded(tmp_path, shape, ending, encode):
    array = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    path = tmp_path / f"file{ending}"
    path.write_bytes(encode(idx_bytes(array)))
    for expected_shape in (None, shape):
        found = read_idx(path, expected_shape)
        assert found.dtype == np.uint8
        np.testing.assert_array_equal(found, array, strict=True)


def test_idx_is_written_as_it_is_read(tmp_path):
    write_idx(tmp_path / "file", ARRAY[:, ::2])
    assert (tmp_path / "file").read_bytes() == idx_bytes(ARRAY[:, ::2])


def test_idx_in_several_gzip_members_is_one_file(tmp_path):
    (tmp_path / "file.gz").write_bytes(gzip.compress(PLAIN[:20]) + gzip.compress(PLAIN[20:]))
    np.testing.assert_array_equal(read_idx(tmp_path / "file.gz"), ARRAY)


def header(dimension_count: int, *sizes: int, kind: int = 8) -> bytes:
    return bytes([0, 0, kind, dimension_count]) + struct.pack(f">{len(sizes)}I", *sizes)


def with_damaged_checksum(packed: bytes) -> bytes:
    return packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]


DAMAGES = {
    "empty": ("f", b"", r"truncated: expected 4 bytes for the IDX magic number, found 0"),
    "half a magic": ("f", PLAIN[:3], r"expected 4 bytes for the IDX magic number, found 3"),
    "magic": ("f", b"<htm" + PLAIN, r"expected an IDX magic number 00 00 08 .., found 3c 68"),
    "gzip, no .gz": ("f", PACKED, r"found gzip data; rename it so that its name ends in \.gz"),
    "float": ("f", header(1, 3, kind=0x0D), r"type 0x08 \(unsigned byte\), found 0x0d"),
    "no dimension": ("f", header(0) + b"x", r"expected 1 to 64 dimensions, found 0"),
    "dimensions": ("f", header(65, *[1] * 65) + b"x", r"1 to 64 dimensions, found 65"),
    "half dimensions": ("f", PLAIN[:14], r"expected 12 bytes for the IDX dimensions, found 10"),
    "zero": ("f", header(2, 0, 2**32 - 1), r"at least 1, found \(0, 4294967295\)"),
    "truncated": ("f", PLAIN[:-1], r"truncated .*: expected 24 elements .* at most 39 bytes"),
    "trailing": ("f", PLAIN + b"x", r"expected the file to end after 24 elements, found trail"),
    "enormous": ("f", header(3, *[2**32 - 1] * 3), r"at most 1,073,741,824 elements, found a he"),
    "large": ("f", header(2, 2**15, 2**15), r"expected 1,073,741,824 elements"),
    "gz empty": ("f.gz", b"", r"expected gzip data, which starts with 1f 8b, found an empty"),
    "gz is plain": ("f.gz", PLAIN, r"starts with 1f 8b, found 00 00; .* remove \.gz"),
    "gz cut header": ("f.gz", PACKED[:6], r"damaged or truncated gzip data: .* in 6 bytes, fou"),
    "gz cut": ("f.gz", PACKED[:-12], r"damaged or truncated gzip data: .* end-of-stream"),
    "gz cut checksum": ("f.gz", PACKED[:-4], r"damaged or truncated gzip data: .* end-of-strea"),
    "gz checksum": ("f.gz", with_damaged_checksum(PACKED), r"gzip data: .* CRC check failed"),
    "gz garbage after": ("f.gz", PACKED + b"xx", r"damaged or truncated gzip data: .* Not a gz"),
    "gz no deflate": ("f.gz", PACKED[:10] + b"\xff" * 30, r"damaged .* gzip data: .* Error -3"),
    "gz truncated": ("f.gz", gzip.compress(PLAIN[:-1]), r"truncated: expected 24 .*, found 23"),
    "gz trailing": ("f.gz", gzip.compress(PLAIN + b"x"), r"to end after 24 elements, found trai"),
    "gz enormous": ("f.gz", gzip.compress(header(2, 2**31, 2**31)), r"header .* that claims 4,6"),
    "gz large": ("f.gz", gzip.compress(header(2, 2**15, 2**15)), r"holds at most [\d,]+ bytes"),
}


@pytest.mark.parametrize(("name", "content", "message"), DAMAGES.values(), ids=DAMAGES)
def test_idx_damage_is_named_with_its_file(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as raised:
        read_idx(path)
    assert str(raised.value).startswith(f"{path}: ")


@pytest.mark.parametrize(("name", "content"), [("f", PLAIN), ("f.gz", PACKED)])
def test_idx_of_another_shape_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=r"expected shape \(2, 12\), found \(2, 3, 4\)"):
        read_idx(tmp_path / name, (2, 12))


def test_idx_file_that_is_missing_or_a_folder(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"absent: expected an IDX file, found no such"):
        read_idx(tmp_path / "absent")
    with pytest.raises(DataError, match=r"expected a readable file, found: .*directory"):
        read_idx(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(header(3, 1024, 1024, 1024) + b"x" * 1000, id="claims 1 GiB"),
        pytest.param(header(1, 10) + bytes(50_000_000), id="has 50 MB more than it claims"),
    ],
)
def test_idx_reading_is_bounded_in_memory(tmp_path, content):
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(content, compresslevel=1))
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        with pytest.raises(DataError):
            read_idx(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - before < 1_000_000


FUZZ = settings(derandomize=True, database=None, deadline=None, max_examples=120)


def read_or_refuse(name: str, content: bytes) -> np.ndarray | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            return read_idx(path)
        except DataError:
            return None


@FUZZ
@given(name=st.sampled_from(["f", "f.gz"]), content=st.binary(max_size=300))
def test_idx_of_random_bytes_is_refused_or_read_whole(name, content):
    array = read_or_refuse(name, content)
    assert array is None or name == "f.gz" or idx_bytes(array) == content


@FUZZ
@given(
    magic=st.tuples(st.just(0), st.just(0), st.integers(7, 9), st.integers(0, 255)).map(bytes),
    body=st.binary(max_size=300),
    ending=st.sampled_from(["", ".gz"]),
)
def test_idx_of_random_bytes_after_a_magic_is_refused_or_read_whole(magic, body, ending):
    content = magic + body
    array = read_or_refuse(f"f{ending}", gzip.compress(content) if ending else content)
    assert array is None or idx_bytes(array) == content


@FUZZ
@given(place=st.integers(0, len(PACKED) - 1), value=st.integers(0, 255))
def test_idx_with_any_byte_changed_is_refused_or_the_same(place, value):
    array = read_or_refuse("f.gz", PACKED[:place] + bytes([value]) + PACKED[place + 1 :])
    assert array is None or np.array_equal(array, ARRAY)


# --- roots ----------------------------------------------------------------------------------


def test_root_is_the_argument_then_the_variable_then_the_cache(monkeypatch, tmp_path):
    assert isinstance(data_root(), CacheRoot)
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "variable"))
    variable = data_root()
    assert isinstance(variable, NamedRoot)
    assert variable.folder == tmp_path / "variable"
    argument = data_root(tmp_path / "argument")
    assert isinstance(argument, NamedRoot)
    assert argument.folder == tmp_path / "argument"


def test_an_empty_variable_counts_as_unset(monkeypatch):
    monkeypatch.setenv(ROOT_VARIABLE, "")
    assert isinstance(data_root(), CacheRoot)


def test_a_root_is_read_from_the_argument_or_the_variable(monkeypatch, tmp_path, tiny):
    tiny.fill(tmp_path)
    by_argument = read_official(tiny.source, tmp_path)
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    by_variable = read_official(tiny.source)
    for grey in (by_argument, by_variable):
        np.testing.assert_array_equal(grey.test.images, tiny.arrays["t10k-images-idx3-ubyte"])


def test_plain_and_compressed_files_may_stand_side_by_side(tmp_path, tiny):
    folder = tiny.fill(tmp_path)
    name = "train-labels-idx1-ubyte"
    (folder / f"{name}.gz").unlink()
    (folder / name).write_bytes(idx_bytes(tiny.arrays[name]))
    grey = read_official(tiny.source, tmp_path)
    np.testing.assert_array_equal(grey.train.labels, tiny.arrays[name][:8])


def test_full_splits_keep_the_official_order(tmp_path, tiny):
    tiny.fill(tmp_path)
    grey = read_official(tiny.source, str(tmp_path))
    images, labels = tiny.arrays["train-images-idx3-ubyte"], tiny.arrays["train-labels-idx1-ubyte"]
    np.testing.assert_array_equal(grey.train.images, images[:8])
    np.testing.assert_array_equal(grey.train.labels, labels[:8])
    np.testing.assert_array_equal(grey.validation.images, images[8:])
    np.testing.assert_array_equal(grey.validation.labels, labels[8:])
    np.testing.assert_array_equal(grey.test.labels, tiny.arrays["t10k-labels-idx1-ubyte"])


def assert_says_how_to_provide(message: str, name: str) -> None:
    assert f'--data.root DIR`, or load_dataset("{name}", root=DIR)' in message
    assert f"{ROOT_VARIABLE}=DIR" in message
    assert str(Path("structured-vae") / name) in message  # the end of the cache folder's path
    assert '"fashion-mnist-mini" comes with the package and needs no files' in message


def test_missing_files_are_named_with_what_is_there_and_the_ways_out(tmp_path):
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "readme.txt").touch()
    with pytest.raises(DataNotFoundError) as raised:
        load_dataset("mnist", root=tmp_path)
    message = str(raised.value)
    assert f"mnist: 4 of its 4 files are missing under the root {tmp_path}" in message
    assert "named by the argument `root`" in message
    for file in MNIST.files:
        assert f"expected {tmp_path / 'mnist' / file.name}, or the same with .gz" in message
        assert file.sha256 in message
    assert "found a folder with readme.txt" in message
    assert_says_how_to_provide(message, "mnist")


def test_a_missing_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    with pytest.raises(DataNotFoundError, match="found no folder") as raised:
        load_dataset("fashion-mnist")
    assert f"named by the environment variable {ROOT_VARIABLE}" in str(raised.value)


def test_only_the_missing_files_are_named(tmp_path, tiny):
    folder = tiny.fill(tmp_path)
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataNotFoundError, match="tiny: 1 of its 4 files are missing") as raised:
        read_official(tiny.source, tmp_path)
    assert "expected" in str(raised.value)
    assert "train-images-idx3-ubyte, or" not in str(raised.value)


def test_content_that_is_not_official_is_refused(tmp_path, tiny):
    folder = tiny.fill(tmp_path)
    other = tiny.arrays["t10k-images-idx3-ubyte"].copy()
    other[0, 0, 0] ^= 1
    path = folder / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(idx_bytes(other)))
    with pytest.raises(DataError, match="not the official t10k-images-idx3-ubyte") as raised:
        read_official(tiny.source, tmp_path)
    message = str(raised.value)
    assert str(path) in message
    assert f"SHA-256 {tiny.source.test_images.sha256}" in message
    assert f"found {hashlib.sha256(idx_bytes(other)).hexdigest()}" in message
    assert_says_how_to_provide(message, "tiny")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PACKED, r"expected shape \(4, 4, 3\), found \(2, 3, 4\)"),
        (b"<html>", r"expected gzip data"),
    ],
)
def test_damaged_files_are_named_with_the_ways_out(tmp_path, tiny, content, message):
    path = tiny.fill(tmp_path) / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as raised:
        read_official(tiny.source, tmp_path)
    assert str(raised.value).startswith(str(path))
    assert_says_how_to_provide(str(raised.value), "tiny")


# --- downloads ------------------------------------------------------------------------------


@dataclass
class Site:
    """What a web server on this machine serves, and what it was asked for."""

    url: str
    content: dict[str, bytes]
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tiny: Tiny) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.removeprefix("/tiny/")
            served.asked.append(name)
            body = served.content.get(name)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            for key, value in ({"Content-Length": str(len(body))} | served.headers).items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served = Site(f"http://127.0.0.1:{server.server_port}/tiny", tiny.packed())
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield served
        server.shutdown()
        thread.join(timeout=5)


@pytest.fixture
def source(tiny: Tiny, site: Site) -> Source:
    return replace(tiny.source, url=site.url)


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_download_fills_the_cache_once(tmp_path, tiny, site, source):
    first = CacheRoot(tmp_path).paths(source)
    assert site.asked == [f"{file.name}.gz" for file in source.files]
    assert CacheRoot(tmp_path).paths(source) == first
    assert len(site.asked) == 4
    assert files_in(tmp_path) == sorted(str(Path("tiny") / file.name) for file in source.files)
    for path, array in zip(first, tiny.arrays.values(), strict=True):
        np.testing.assert_array_equal(read_idx(path), array)


def test_a_filled_cache_serves_as_a_named_root(tmp_path, tiny, source):
    CacheRoot(tmp_path).paths(source)
    grey = read_official(source, tmp_path)
    np.testing.assert_array_equal(grey.test.images, tiny.arrays["t10k-images-idx3-ubyte"])


def test_a_transfer_that_is_itself_encoded_is_understood(tmp_path, tiny, site, source):
    site.headers["Content-Encoding"] = "gzip"
    paths = CacheRoot(tmp_path).paths(source)
    np.testing.assert_array_equal(read_idx(paths[0]), tiny.arrays["train-images-idx3-ubyte"])


def test_a_named_root_is_never_downloaded_to(tmp_path, site, source):
    with pytest.raises(DataNotFoundError):
        read_official(source, tmp_path)
    assert site.asked == []
    assert files_in(tmp_path) == []


OTHER_CONTENT = gzip.compress(idx_bytes(np.zeros((12, 4, 3), np.uint8)))
BAD_DOWNLOADS = {
    "web page": (b"<!DOCTYPE html>", r"expected an IDX magic number"),
    "truncated": (OTHER_CONTENT[:-9], r"damaged or truncated gzip data"),
    "other shape": (PACKED, r"expected shape \(12, 4, 3\), found \(2, 3, 4\)"),
    "other content": (
        OTHER_CONTENT,
        r"not the official train-images-idx3-ubyte: expected content with SHA-256",
    ),
    "endless": (bytes(3_000_000), r"expected at most 1,048,720 bytes, found more"),
}


@pytest.mark.parametrize(("content", "message"), BAD_DOWNLOADS.values(), ids=BAD_DOWNLOADS)
def test_a_damaged_download_is_refused_and_not_kept(tmp_path, tiny, site, source, content, message):
    name = "train-images-idx3-ubyte.gz"
    site.content[name] = content
    with pytest.raises(DataError, match=message) as raised:
        CacheRoot(tmp_path).paths(source)
    assert f"The download of {site.url}/{name} is damaged and was not kept" in str(raised.value)
    assert_says_how_to_provide(str(raised.value), "tiny")
    assert files_in(tmp_path) == []
    site.content[name] = tiny.packed()[name]
    assert len(CacheRoot(tmp_path).paths(source)) == 4


def test_a_file_damaged_in_the_cache_is_downloaded_again(tmp_path, tiny, source):
    path = CacheRoot(tmp_path).paths(source)[0]
    path.write_bytes(path.read_bytes()[:-1])
    CacheRoot(tmp_path).paths(source)
    np.testing.assert_array_equal(read_idx(path), tiny.arrays["train-images-idx3-ubyte"])


def test_a_download_that_breaks_off_is_named(tmp_path, site, source):
    site.headers["Content-Length"] = "100000"
    with pytest.raises(DataDownloadError, match="Could not download"):
        CacheRoot(tmp_path).paths(source)
    assert files_in(tmp_path) == []


def test_a_file_that_the_server_lacks_is_named(tmp_path, site, source):
    del site.content["t10k-labels-idx1-ubyte.gz"]
    with pytest.raises(DataDownloadError, match=r"t10k-labels-idx1-ubyte\.gz .* 404") as raised:
        CacheRoot(tmp_path).paths(source)
    assert f"expected {tmp_path / 'tiny' / 't10k-labels-idx1-ubyte'}" in str(raised.value)
    assert "found no file there" in str(raised.value)


def test_no_network_is_a_named_error_with_the_ways_out(tmp_path, tiny):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        unreachable = replace(tiny.source, url=url)
        with pytest.raises(DataDownloadError, match=f"Could not download {url}") as raised:
            CacheRoot(tmp_path).paths(unreachable)
        assert_says_how_to_provide(str(raised.value), "tiny")
        (tmp_path / "tiny" / "train-images-idx3-ubyte").write_bytes(b"damaged")
        with pytest.raises(DataDownloadError, match="found a damaged file there"):
            CacheRoot(tmp_path).paths(unreachable)


def test_a_cache_that_cannot_be_written_is_a_named_error(tmp_path, source):
    (tmp_path / "tiny").write_text("a file where the folder should be")
    with pytest.raises(DataDownloadError, match="to the cache: "):
        CacheRoot(tmp_path).paths(source)


# --- datasets -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mini() -> ImageDataset:
    return load_dataset("fashion-mnist-mini", binarisation="none")


def test_mini_sizes_types_and_balance(mini):
    assert (mini.name, mini.height, mini.width, mini.pixels) == ("fashion-mnist-mini", 28, 28, 784)
    for name, count in {"train": 5_000, "validation": 1_000, "test": 1_000}.items():
        split = mini.split(name)
        assert len(split) == count
        assert split.images.shape == (count, 784)
        assert split.images.dtype == np.float32
        assert split.images.flags.c_contiguous
        assert split.labels.dtype == np.int64
        np.testing.assert_array_equal(np.bincount(split.labels), count // 10)


def test_mini_needs_no_root(tmp_path, mini):
    dataset = load_dataset("fashion-mnist-mini", root=tmp_path / "absent", binarisation="none")
    np.testing.assert_array_equal(dataset.test.images, mini.test.images)


def test_mini_splits_lie_in_the_full_ones_without_overlap():
    with mini_file().open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        indices = {name: arrays[f"{name}_indices"] for name in SPLIT_NAMES}
    assert all(len(np.unique(each)) == len(each) for each in indices.values())
    assert 0 <= indices["train"].min() <= indices["train"].max() < 50_000
    assert 50_000 <= indices["validation"].min() <= indices["validation"].max() < 60_000
    assert 0 <= indices["test"].min() <= indices["test"].max() < 10_000


@needs_full_data
def test_mini_images_are_the_official_ones_at_their_indices():
    folder = Path(FULL_DATA) / "fashion-mnist"
    official = {
        kind: next(folder.glob(f"{kind}-ubyte*"))
        for kind in (
            "train-images-idx3",
            "train-labels-idx1",
            "t10k-images-idx3",
            "t10k-labels-idx1",
        )
    }
    with mini_file().open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        for split, prefix in {"train": "train", "validation": "train", "test": "t10k"}.items():
            indices = arrays[f"{split}_indices"]
            images = read_idx(official[f"{prefix}-images-idx3"])
            labels = read_idx(official[f"{prefix}-labels-idx1"])
            np.testing.assert_array_equal(arrays[f"{split}_images"], images[indices])
            np.testing.assert_array_equal(arrays[f"{split}_labels"], labels[indices])


@needs_full_data
@pytest.mark.parametrize("source", [FASHION_MNIST, MNIST], ids=lambda source: source.name)
def test_full_datasets_load_in_official_order(source):
    dataset = load_dataset(source.name, root=FULL_DATA)
    sizes = [len(dataset.split(name)) for name in SPLIT_NAMES]
    assert sizes == [50_000, 10_000, 10_000]
    path = next((Path(FULL_DATA) / source.name).glob("train-labels-idx1-ubyte*"))
    both = np.concatenate([dataset.train.labels, dataset.validation.labels])
    np.testing.assert_array_equal(both, read_idx(path))


def test_threshold_gives_zeros_and_ones_at_one_half(mini):
    binary = load_dataset("fashion-mnist-mini")
    assert binary.binarisation == "threshold"
    for name in SPLIT_NAMES:
        images = binary.split(name).images
        assert images.dtype == np.float32
        np.testing.assert_array_equal(np.unique(images), [0, 1])
        np.testing.assert_array_equal(images, mini.split(name).images > 0.5)


def test_none_gives_the_grey_values(mini):
    assert mini.binarisation == "none"
    with mini_file().open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        grey = arrays["test_images"]
    assert (mini.test.images.min(), mini.test.images.max()) == (0, 1)
    np.testing.assert_array_equal(np.rint(mini.test.images * 255), grey.reshape(1000, 784))


def test_names_are_listed():
    assert {"fashion-mnist-mini", "mnist", "omniglot", "celeba"} <= set(dataset_names())
    assert binarisation_names() == ("threshold", "static", "dynamic", "none")


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (lambda: load_dataset("MNIST"), r"Unknown dataset 'MNIST'\. Did you mean 'mnist'\?"),
        (lambda: load_dataset("fashion_mnist"), r"Did you mean 'fashion-mnist'\? Choose one of"),
        (lambda: load_dataset("zzz"), r"Unknown dataset 'zzz'\. Choose one of: 'fashion-mnist-m"),
        (lambda: load_dataset("mnist", binarisation="treshold"), r"Did you mean 'threshold'\?"),
    ],
)
def test_unknown_names_are_answered_with_a_suggestion(load, message):
    with pytest.raises(UnknownDataNameError, match=message):
        load()


def test_unknown_splits_are_answered_with_a_suggestion(mini):
    with pytest.raises(UnknownDataNameError, match=r"Unknown split 'valid'\. Did you mean 'valida"):
        mini.split("valid")


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez_compressed(path, **arrays)
    return path


def test_a_damaged_mini_file_is_named(tmp_path):
    path = tmp_path / "mini.npz"
    with pytest.raises(DataError, match=r"mini\.npz: expected the images .* Reinstall"):
        read_mini(path)
    whole = mini_file().read_bytes()
    for damaged in (b"", b"PK", whole[:1000], whole[:5000] + b"\0" * 100 + whole[5100:]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="Reinstall"):
            read_mini(path)
    saved(path, train_images=np.zeros((5, 28, 28), np.uint8))
    with pytest.raises(
        DataError, match=r"train_images is uint8 \(5, 28, 28\) instead of uint8 \(5"
    ):
        read_mini(path)
    saved(path, train_images=np.array([{}], object))
    with pytest.raises(DataError, match="allow_pickle=False"):
        read_mini(path)


# --- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "builtin"),
    [
        (DataError, ValueError),
        (DataNotFoundError, FileNotFoundError),
        (DataDownloadError, OSError),
        (UnknownDataNameError, LookupError),
    ],
)
def test_errors_are_ours_and_the_builtin_and_survive_pickling(ours, builtin):
    error = ours("what is wrong")
    assert isinstance(error, StructuredVAEError)
    assert isinstance(error, DataError)
    assert isinstance(error, builtin)
    assert str(pickle.loads(pickle.dumps(error))) == "what is wrong"  # noqa: S301  (our own bytes)


def test_every_error_derives_from_the_base():
    found = [
        each
        for each in vars(errors).values()
        if isinstance(each, type) and not issubclass(each, Warning)
    ]
    assert len(found) >= 5
    assert all(issubclass(each, StructuredVAEError) for each in found)


def own_arrays(height=3, width=5):
    random = np.random.default_rng(0)
    return {
        f"{split}_images": random.integers(0, 256, (count, height, width), np.uint8)
        for split, count in (("train", 7), ("validation", 2), ("test", 3))
    }


def own_labels():
    return {
        "train_labels": np.arange(7),
        "validation_labels": np.array([1, 2]),
        "test_labels": np.arange(3),
    }


def test_images_of_ones_own_come_from_an_npz(tmp_path):
    arrays = own_arrays()
    file = str(tmp_path / "own.npz")
    np.savez(file, **arrays, **own_labels())
    dataset = load_dataset(file, binarisation="none")
    assert (dataset.height, dataset.width, dataset.pixels) == (3, 5, 15)
    for split in ("train", "validation", "test"):
        grey = dataset.split(split).images.reshape(-1, 3, 5) * 255
        assert np.array_equal(grey.round(), arrays[f"{split}_images"])
    assert dataset.train.labels.tolist() == list(range(7))
    assert dataset.test.labels.tolist() == [0, 1, 2]
    np.savez(file, **arrays)
    assert load_dataset(file).test.labels.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"train_images": np.zeros((7, 15), np.uint8)}, r"train_images has the shape \[7, 15\]"),
        ({"test_images": np.zeros((3, 3, 5))}, "different sizes or types"),
        ({"test_images": np.zeros((3, 3, 5), int)}, r"test_images: got int64 \[3, 3, 5\]"),
        (
            {"validation_images": np.zeros((0, 3, 5), np.uint8)},
            r"validation_images: got uint8 \[0, 3, 5\]",
        ),
        ({"test_images": np.zeros((3, 5, 3), np.uint8)}, "different sizes"),
        (
            own_labels() | {"train_labels": np.zeros(6, int)},
            r"the labels of train must be integers \[7\] from 0; got int64 \[6\]",
        ),
        (
            own_labels() | {"train_labels": np.full(7, -1)},
            r"integers \[7\] from 0; got values from -1 to -1",
        ),
        (
            own_labels() | {"test_labels": np.full(3, 2**64 - 1)},
            "got values from 18446744073709551615 to",
        ),
        (
            {"train_labels": np.zeros(7, int)},
            "or none must have labels; missing: validation_labels, test_labels",
        ),
        ({"train_images": np.array([None] * 7)}, "pickle"),
    ],
)
def test_an_npz_that_does_not_fit_is_refused_with_the_way(tmp_path, changed, message):
    file = str(tmp_path / "own.npz")
    np.savez(file, **{**own_arrays(), **changed})
    with pytest.raises(DataError, match=message) as caught:
        load_dataset(file)
    assert "numpy.savez(FILE, train_images=" in str(caught.value)


def test_an_npz_has_as_many_classes_as_it_likes(tmp_path):
    labels = own_labels() | {"train_labels": np.full(7, 1000)}
    np.savez(tmp_path / "own.npz", **own_arrays(), **labels)
    assert set(load_dataset(str(tmp_path / "own.npz")).train.labels) == {1000}


def test_an_npz_without_a_split_or_that_is_missing_is_named(tmp_path):
    arrays = own_arrays()
    del arrays["test_images"]
    np.savez(tmp_path / "own.npz", **arrays)
    with pytest.raises(DataError, match="test_images"):
        load_dataset(str(tmp_path / "own.npz"))
    with pytest.raises(DataNotFoundError, match=r"there is no file .*missing\.npz"):
        load_dataset(str(tmp_path / "missing.npz"))


def claiming(shape, kind="|u1", content=b"", version=1):
    """The bytes of an .npy file whose header says this."""
    header = (
        f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117)
        + b"\n"
    )
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + content


def own_archive(file, **members):
    """An .npz of images of ours, in which some members are these bytes."""
    np.savez(file, **own_arrays())
    with zipfile.ZipFile(file) as archive:
        whole = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**whole, **members}.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (claiming((2**31, 28, 28)), r"claims the shape \[2147483648, 28, 28\], which takes"),
        (claiming((2**31, 28, 28), content=bytes(2**20)), "the archive holds at most 1,048,704"),
        (claiming((2**62, 2**62)), "claims the shape"),
        (claiming((10**30,), "<f8"), "claims the shape"),
        (claiming((3,), "<U99999999"), "claims the shape"),
        (claiming((-1,)), "train_images|negative|shape"),
        (claiming((7, 3, 5), version=2)[:40], "EOF|expected"),
        (claiming((7, 3, 5), version=9), r"version|magic"),
        (b"\x93NUMPY\x01\x00\x76\x00" + b"(" * 118, "own.npz"),
        (b"\x93NUMPY\x01\x00\x76\x00" + b'"""' * 40, "own.npz"),
        (b"no array", "own.npz"),
        (b"", "own.npz"),
    ],
    ids=lambda value: str(value[:60]),
)
def test_an_array_that_claims_what_the_archive_does_not_have(tmp_path, content, message):
    file = str(tmp_path / "own.npz")
    own_archive(file, **{"train_images.npy": content})
    tracemalloc.start()
    with pytest.raises(DataError, match=message) as caught:
        load_dataset(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000
    assert "numpy.savez(FILE, train_images=" in str(caught.value)


def test_a_size_that_the_directory_of_an_archive_makes_up(tmp_path):
    file = tmp_path / "own.npz"
    own_archive(file, **{"train_images.npy": claiming((2**31, 28, 28))})
    size = (2**32 - 2).to_bytes(4, "little")
    content = file.read_bytes()
    place = content.index(b"PK\x01\x02", 0)
    while b"train_images" not in content[place : place + 80]:
        place = content.index(b"PK\x01\x02", place + 4)
    file.write_bytes(content[: place + 24] + size + content[place + 28 :])
    with pytest.raises(DataError, match="claims the shape"):
        load_dataset(str(file))


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"no archive", claiming((1,), content=b"1")], ids=repr
)
def test_what_is_no_archive_is_named(tmp_path, content):
    (tmp_path / "own.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"own\.npz"):
        load_dataset(str(tmp_path / "own.npz"))


@pytest.mark.parametrize(
    "name", [None, 3, ["mnist"], {"mnist"}, b"own.npz", np.array(["mnist", "x"]), "x" * 5000]
)
def test_what_names_no_dataset(name):
    calls = [lambda: load_dataset(name)]
    if name is not None:  # which is the usual one
        calls.append(lambda: load_dataset("mnist", binarisation=name))
    for call in calls:
        with pytest.raises(UnknownDataNameError) as caught:
            call()
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize("root", [3, b"data", {"a": 1}, "x" * 5000, "~nobody-of-that-name"])
def test_what_can_be_no_root(root):
    with pytest.raises(DataError, match="root must be the path of a folder"):
        load_dataset("mnist", root)


@pytest.mark.parametrize("name", ["x" * 5000 + ".npz", "\0.npz"])
def test_names_that_no_file_of_images_has(name):
    with pytest.raises(DataError):
        load_dataset(name)
