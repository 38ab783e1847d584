import gzip
import io
import os
import re
import shutil
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from structured_vae.data import ATTRIBUTES, TYPICAL, load_dataset
from structured_vae.data.celeba import decoded
from structured_vae.data.celeba import faces as celeba
from structured_vae.errors import DataDownloadError, DataError, DataNotFoundError

COUNT = 20
NAMES = [f"{number:06d}.jpg" for number in range(1, COUNT + 1)]
COLUMNS = ["Bald", *reversed(ATTRIBUTES), "Chubby"]
"""Of the test's list, in another order than ours, with two that are not used."""

ATTRIBUTES_OF = np.random.default_rng(0).integers(2, size=(COUNT, 10))
PARTITION = [number % 3 for number in range(COUNT)]
BORDER = np.uint8([250, 20, 20])


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "structured-vae" / "celeba"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "celeba").mkdir()
    return tmp_path


def colour(number):
    """That the face of an image has, none like another."""
    return np.uint8([10, 12 * number, 240 - 12 * number])


def jpeg(number, half=False, **options):
    """A face of one colour on the central square, the border of another; or the same with all sides halved."""
    pixels = np.tile(BORDER, (218, 178, 1))
    pixels[35:183, 15:163] = colour(number)
    image = Image.fromarray(pixels)
    if half:
        image = image.resize((89, 109), Image.Resampling.BOX)
    file = io.BytesIO()
    image.save(file, **{"format": "JPEG", "quality": 95, "subsampling": 0, **options})
    return file.getvalue()


def attribute_lines():
    rows = [
        f"{name}  {' '.join(f'{2 * v - 1:2d}' for v in row)}"
        for name, row in zip(NAMES, ATTRIBUTES_OF, strict=True)
    ]
    return [str(COUNT), " ".join(COLUMNS), *rows]


def partition_lines():
    return [f"{name} {split}" for name, split in zip(NAMES, PARTITION, strict=True)]


def save_list(root, lines=None, name="list_attr_celeba.txt"):
    content = ("\n".join(attribute_lines() if lines is None else lines) + "\n").encode()
    (root / "celeba" / name).write_bytes(
        gzip.compress(content) if name.endswith(".gz") else content
    )


def save_partition(root, lines=None):
    save_list(root, partition_lines() if lines is None else lines, "list_eval_partition.txt")


def save_zip(root, name="img_align_celeba.zip", prefix="img_align_celeba/", half=False, **others):
    contents = {f"{prefix}{each}": jpeg(number, half) for number, each in enumerate(NAMES)} | others
    with zipfile.ZipFile(root / "celeba" / name, "w") as archive:
        for member, content in contents.items():
            if content is not None:
                archive.writestr(member, content)


def save_folder(root, folder="img_align_celeba"):
    place = root / "celeba" / folder
    place.mkdir(parents=True)
    for number, name in enumerate(NAMES):
        (place / name).write_bytes(jpeg(number))


def half_size(root):
    save_zip(root, "celeba_89x109_000001-000020.zip", prefix="", half=True)
    save_list(root, name="list_attr_celeba_000001-000020.txt.gz")


def official_zip(root):
    save_zip(root)
    save_list(root)


def official_folder(root):
    save_folder(root, "img_align_celeba/img_align_celeba")
    save_list(root)


def assert_faces(split, places, first=0):
    """The faces of these rows, the central square alone from row and column `first` on, with their attributes."""
    assert split.images.shape == (len(places), 3, 64, 64)
    for image, place in zip(split.images, places, strict=True):
        beside = image.astype(int) - colour(place)[:, None, None]
        assert np.abs(beside[:, first:, first:]).max() <= 12
    expected = [
        [ATTRIBUTES_OF[place][COLUMNS.index(name)] for name in ATTRIBUTES] for place in places
    ]
    assert split.labels.tolist() == expected


def splits(root):
    """Return images `[count, 3, 64, 64]` and labels of each split."""
    dataset = load_dataset("celeba", root)
    return [
        SimpleNamespace(images=split.images.reshape(-1, 3, 64, 64), labels=split.labels)
        for split in (dataset.train, dataset.validation, dataset.test)
    ]


@pytest.mark.parametrize("save", [official_zip, official_folder, half_size])
def test_every_layout_gives_the_central_faces_with_their_attributes(root, save):
    save(root)
    # half sizes are odd, and the square half a pixel off the centre
    first = 1 if save is half_size else 0
    for split, places in zip(splits(root), (range(16), range(16, 18), range(18, 20)), strict=True):
        assert_faces(split, places, first)


def test_faces_stand_upright(root, monkeypatch):
    def bright_above(number, half=False):
        pixels = np.zeros((218, 178, 3), np.uint8)
        pixels[:109] = 255
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, format="JPEG", quality=95)
        return file.getvalue()

    monkeypatch.setitem(globals(), "jpeg", bright_above)
    official_zip(root)
    face = splits(root)[0].images[0]
    assert face[:, :30].min() > 200
    assert face[:, 34:].max() < 55


def test_the_official_partition_goes_before_the_order(root):
    official_zip(root)
    save_partition(root, reversed(partition_lines()))
    for number, split in enumerate(splits(root)):
        assert_faces(split, [place for place in range(COUNT) if PARTITION[place] == number])


def test_celeba_by_name(root):
    half_size(root)
    dataset = load_dataset("celeba", root)
    assert (dataset.channels, dataset.height, dataset.width, dataset.pixels) == (3, 64, 64, 12288)
    assert dataset.train.images.shape == (16, 12288)
    assert dataset.train.images.dtype == np.uint8
    assert isinstance(dataset.train.images, np.memmap)
    assert dataset.binarisation == "none"
    assert dataset.attributes == ATTRIBUTES
    assert len(TYPICAL) == len(ATTRIBUTES) == dataset.train.labels.shape[1]
    assert not dataset.shown
    with pytest.raises(
        DataError, match=r"celeba cannot be binarised: its binarisation is none; got .threshold."
    ):
        load_dataset("celeba", root, "threshold")


# --- the cache ----------------------------------------------------------------------------------


def test_images_are_decoded_once_and_mapped(root, cache, monkeypatch):
    half_size(root)
    first = splits(root)
    monkeypatch.setattr(celeba, "face", None)
    again = splits(root)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.images, other.images)
    (file,) = cache.glob("*.npy")
    before = file.read_bytes()
    assert len(before) == 128 + COUNT * 3 * 64 * 64
    again[0].images[:] = 0  # a change stays in memory
    del again
    assert file.read_bytes() == before


@pytest.mark.parametrize("save", [official_zip, official_folder])
def test_other_images_or_another_order_are_another_cache_file(root, cache, save):
    save(root)
    load_dataset("celeba", root)
    save_partition(root)
    load_dataset("celeba", root)
    if save is official_zip:
        save_zip(root, **{f"img_align_celeba/{NAMES[0]}": jpeg(13)})
    else:
        os.utime(next((root / "celeba").rglob("*.jpg")), ns=(0, 0))
    load_dataset("celeba", root)
    assert len(list(cache.glob("*.npy"))) == 3


def cut(content):
    return content[:-100]


def flipped(content):
    return content[:5000] + bytes([content[5000] ^ 1]) + content[5001:]


@pytest.mark.parametrize(
    "damage", [cut, flipped, lambda content: b"", lambda content: b"x" * len(content)]
)
def test_a_damaged_cache_is_refused_and_made_again_when_deleted(root, cache, damage):
    half_size(root)
    whole = [split.images.copy() for split in splits(root)]
    (file,) = cache.glob("*.npy")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(
        DataError, match=r"faces-\w+.npy is damaged: .*\. Delete it; the next call makes it again"
    ):
        load_dataset("celeba", root)
    file.unlink()
    for images, split in zip(whole, splits(root), strict=True):
        np.testing.assert_array_equal(images, split.images)


def test_a_broken_image_leaves_nothing_in_the_cache(root, cache):
    save_list(root)
    save_zip(root, **{f"img_align_celeba/{NAMES[7]}": jpeg(7)[:600]})
    with pytest.raises(DataError, match=r"the image 000008.jpg is damaged"):
        load_dataset("celeba", root)
    assert list(cache.iterdir()) == []


def test_a_full_disk_is_an_error_before_anything_is_written(root, monkeypatch):
    half_size(root)
    monkeypatch.setattr(
        decoded.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 1000)
    )
    with pytest.raises(
        DataDownloadError, match="cannot be written: it needs 0 MB, and 0 MB are free"
    ):
        load_dataset("celeba", root)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.spread(1)
@pytest.mark.parametrize(
    ("stream", "seconds", "shown"),
    [(Terminal, 1.2, True), (Terminal, 0.0, False), (io.StringIO, 1.2, False)],
)
def test_progress_is_for_long_work_on_a_terminal(
    tmp_path, monkeypatch, limits, stream, seconds, shown
):
    def decode(place):
        time.sleep(seconds)
        return np.full(2, place, np.uint8)

    limits(faces_together=1)
    monkeypatch.setattr("sys.stderr", stream())
    images = decoded.decoded(tmp_path / "faces.npy", (2, 2), decode, "faces decoded")
    assert images.tolist() == [[0, 0], [1, 1]]
    written = sys.stderr.getvalue()
    assert bool(re.search(r"faces decoded: .*/2 \[00:0\d<", written)) == shown
    assert bool(written) == shown


# --- files that are not as they should be --------------------------------------------------------


def lines_with(number, text):
    lines = attribute_lines()
    lines[number] = text
    return lines


ROW = " ".join(["1"] * 10)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "expected the number of images"),
        (lines_with(0, "21"), "line 1 must be the number of rows, 20; found '21'"),
        (lines_with(0, ATTRIBUTES[0]), "line 1 must be the number of rows, 20; found 'Eyeglasses'"),
        (attribute_lines()[:-1], "line 1 must be the number of rows, 19; found '20'"),
        (lines_with(1, " ".join(COLUMNS).replace("Male", "Mail")), "it does not for Male"),
        (lines_with(1, " ".join([*COLUMNS, "Male"])), "it does not for Male"),
        (lines_with(4, f"{NAMES[2]} 1 1"), "line 5 must have a name and 10 values; it has 2"),
        (
            ["20", "", *lines_with(4, f"{NAMES[2]} 1 1")[1:]],
            "line 6 must have a name and 10 values; it has 2",
        ),
        (lines_with(4, f"{NAMES[2]} {ROW[:-1]}0"), "line 5 has '0'"),
        (lines_with(4, f"{NAMES[2]} {ROW[:-1]}nan"), "line 5 has 'nan'"),
        (lines_with(4, f"{NAMES[1]} {ROW}"), "000002.jpg has more than one row"),
        (
            lines_with(4, f"../{NAMES[2]} {ROW}"),
            "line 5 must begin with a file name NAME.jpg; found '../000003.jpg'",
        ),
        (lines_with(4, f"/etc/passwd {ROW}"), "line 5 must begin with a file name"),
        (lines_with(4, f"\u00e9.jpg {ROW}"), "not a list of CelebA: 'ascii' codec"),
        (
            lines_with(4, f"other.jpg {ROW}"),
            "1 images of the list of attributes are missing, the first is other.jpg",
        ),
    ],
)
def test_a_malformed_list_of_attributes_is_refused(root, lines, message):
    save_zip(root)
    save_list(root, lines)
    with pytest.raises(DataError, match=re.escape(message)):
        load_dataset("celeba", root)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "1 images are in only one of the two files, such as 000020.jpg"),
        (
            lambda lines: [*lines, "000021.jpg 1"],
            "1 images are in only one of the two files, such as 000021.jpg",
        ),
        (lambda lines: [*lines, lines[0]], "000001.jpg has more than one row"),
        (lambda lines: [lines[0].replace(" 0", " 3"), *lines[1:]], "line 1 has '3'"),
        (lambda lines: [line.replace(" 2", " 1") for line in lines], "a split has no image"),
        (
            lambda lines: ["000001.jpg", *lines[1:]],
            "line 1 must have a name and 1 values; it has 0",
        ),
    ],
)
def test_a_malformed_partition_is_refused(root, change, message):
    official_zip(root)
    save_partition(root, change(partition_lines()))
    with pytest.raises(DataError, match=re.escape(message)):
        load_dataset("celeba", root)


def encrypted(path):
    content = bytearray(path.read_bytes())
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(signature) + place] |= 1
    path.write_bytes(content)


def test_an_encrypted_zip_is_refused(root):
    official_zip(root)
    encrypted(root / "celeba" / "img_align_celeba.zip")
    with pytest.raises(DataError, match=r"000001.jpg is damaged: .*encrypted"):
        load_dataset("celeba", root)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (
            {f"img_align_celeba/{NAMES[3]}": None},
            "1 images of the list of attributes are missing, the first is 000004.jpg",
        ),
        ({"img_align_celeba/000021.jpg": b""}, "1 images are not in the list of attributes, the first is 000021.jpg"),
        ({f"copy/{NAMES[3]}": jpeg(3)}, "two images are called 000004.jpg"),
        ({f"../../{NAMES[3]}": jpeg(3)}, "the member '../../000004.jpg' points outside the zip"),
        ({"/etc/cron.jpg": jpeg(3)}, "the member '/etc/cron.jpg' points outside the zip"),
        ({"..\\windows.jpg": jpeg(3)}, "points outside the zip"),
        ({f"img_align_celeba/{NAMES[3]}": b"0" * 1_000_001}, "000004.jpg has 1,000,001 bytes"),
        ({f"img_align_celeba/{NAMES[3]}": b"no image"}, "the image 000004.jpg is damaged: cannot identify image"),
        ({f"img_align_celeba/{NAMES[3]}": jpeg(3, format="PNG", quality=None)}, "000004.jpg is damaged: cannot"),
    ],
)  # fmt: skip
def test_a_malformed_zip_is_refused(root, others, message):
    save_list(root)
    save_zip(root, **others)
    with pytest.raises(DataError, match=re.escape(message)):
        load_dataset("celeba", root)


@pytest.mark.parametrize(
    ("mode", "size", "found"),
    [("L", (178, 218), "L of 178 x 218"), ("RGB", (64, 64), "RGB of 64 x 64")],
)
def test_images_of_another_kind_are_refused(root, mode, size, found):
    file = io.BytesIO()
    Image.new(mode, size).save(file, format="JPEG")
    save_list(root)
    save_zip(root, **{f"img_align_celeba/{NAMES[3]}": file.getvalue()})
    with pytest.raises(
        DataError, match=f"expected RGB of 178 x 218 or 89 x 109 pixels, found {found}"
    ):
        load_dataset("celeba", root)


@pytest.mark.parametrize("kept", [0, 10, 2000, -30])
def test_a_truncated_zip_is_refused(root, kept):
    official_zip(root)
    path = root / "celeba" / "img_align_celeba.zip"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(
        DataError, match=r"img_align_celeba.zip is damaged, or is not a zip: .*; replace it"
    ):
        load_dataset("celeba", root)


def test_a_changed_byte_in_a_zip_is_refused(root):
    official_zip(root)
    path = root / "celeba" / "img_align_celeba.zip"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 255
    path.write_bytes(content)
    with pytest.raises(DataError, match="is damaged"):
        load_dataset("celeba", root)


def test_a_truncated_gzip_is_refused(root):
    half_size(root)
    (path,) = (root / "celeba").glob("*.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="not a list of CelebA"):
        load_dataset("celeba", root)


def test_missing_and_ambiguous_files_are_named(root):
    with pytest.raises(DataNotFoundError, match=r"lacks the list of attributes.*--data.root DIR"):
        load_dataset("celeba", root)
    save_list(root)
    with pytest.raises(
        DataNotFoundError, match=r"lacks img_align_celeba, a folder or a zip.*mmlab"
    ):
        load_dataset("celeba", root)
    save_zip(root)
    save_zip(root, name="more.zip")
    with pytest.raises(
        DataError,
        match=r"several files that match .*zip: img_align_celeba.zip, more.zip; keep only",
    ):
        load_dataset("celeba", root)


def test_too_few_images_for_three_splits(root):
    save_list(root, ["2", " ".join(COLUMNS), *attribute_lines()[2:4]])
    with pytest.raises(DataError, match="2 images are too few for three splits"):
        load_dataset("celeba", root)


# --- the faces themselves, where they are ---------------------------------------------------------


@pytest.mark.slow
def test_the_full_data_is_aligned_with_its_attributes():
    where = os.environ.get("STRUCTURED_VAE_DATA", "")
    if not (where and (Path(where) / "celeba").is_dir()):
        pytest.skip("STRUCTURED_VAE_DATA names no folder with celeba/")
    train, _, test = splits(where)
    positives = dict(zip(ATTRIBUTES, train.labels.mean(axis=0), strict=True))
    assert 0.05 < positives["Eyeglasses"] < 0.09
    assert 0.40 < positives["Male"] < 0.45
    assert all(
        (rate > 0.5) == typical for rate, typical in zip(positives.values(), TYPICAL, strict=True)
    )
    small = [
        split.images[:8000, :, ::4, ::4].reshape(len(split.images[:8000]), -1) / 255.0
        for split in (train, test)
    ]
    first, second = (np.c_[each, np.ones(len(each))] for each in small)
    for name in ("Male", "Smiling"):
        column = ATTRIBUTES.index(name)
        ridge = first.T @ first + 10 * np.eye(first.shape[1])
        weights = np.linalg.solve(ridge, first.T @ (2 * train.labels[:8000, column] - 1))
        assert ((second @ weights > 0) == test.labels[:, column]).mean() > 0.75
