"""Images that a caller gives in memory, and folders of image files."""

import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from structured_vae import load_dataset
from structured_vae.data import binarisation_names, dataset_of_images
from structured_vae.data.splits import SPLITS, drawn_splits, refuse_overlap
from structured_vae.errors import DataError

RANDOM = np.random.default_rng(0)
GREY = RANDOM.integers(0, 256, (40, 4, 6), np.uint8)
COLOUR = RANDOM.integers(0, 256, (40, 4, 6, 3), np.uint8)


def all_images(dataset):
    return np.concatenate([dataset.split(name).images for name in SPLITS])


def rows(images):
    return {image.tobytes() for image in images}


# --- splits -------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), min_size=0, max_size=60))
@settings(deadline=None)
def test_drawn_splits_have_every_image_once_and_share_none(values):
    images = np.array(values, np.uint8).reshape(-1, 1, 1)
    different = len(set(values))
    if different < 3:
        with pytest.raises(DataError, match=f"there are {different}"):
            drawn_splits(images)
        return
    places = drawn_splits(images)
    assert sorted(np.concatenate(list(places.values()))) == list(range(len(values)))
    refuse_overlap({name: images[places[name]] for name in SPLITS})
    sizes = {name: len(set(images[places[name]].ravel())) for name in SPLITS}
    part = max(1, different // 10)
    assert sizes == {"train": different - 2 * part, "validation": part, "test": part}


def test_drawn_splits_are_the_same_for_every_run():
    first, second = drawn_splits(GREY), drawn_splits(GREY.copy())
    assert all(np.array_equal(first[name], second[name]) for name in SPLITS)


@pytest.mark.parametrize(
    "pair", [("train", "validation"), ("train", "test"), ("validation", "test")]
)
def test_splits_that_share_an_image_are_refused(pair):
    splits = {"train": GREY[:20].copy(), "validation": GREY[20:30].copy(), "test": GREY[30:].copy()}
    dataset_of_images(splits)
    splits[pair[1]][3] = splits[pair[0]][2]
    with pytest.raises(
        DataError, match=rf"1 of the 10 images of {pair[1]} are also in {pair[0]} \(numbers 3,"
    ):
        dataset_of_images(splits)


def test_an_npz_whose_splits_share_an_image_is_refused(tmp_path):
    file = tmp_path / "own.npz"
    np.savez(file, train_images=GREY[:20], validation_images=GREY[19:30], test_images=GREY[30:])
    with pytest.raises(
        DataError, match=r"own\.npz: the splits overlap: 1 of the 11 images of validation"
    ):
        load_dataset(str(file))


@pytest.mark.parametrize("missing", [("validation",), ("test",), ("validation", "test")])
def test_missing_splits_are_drawn_from_the_training_images(missing):
    splits = {"train": GREY[:20], "validation": GREY[20:30], "test": GREY[30:]}
    kept = {name: images for name, images in splits.items() if name not in missing}
    dataset = dataset_of_images(kept, "none")
    everything = np.concatenate(list(kept.values())).reshape(-1, 24) / np.float32(255)
    assert rows(all_images(dataset)) == rows(everything)
    for name in set(kept) - {"train"}:
        assert rows(dataset.split(name).images) == rows(
            splits[name].reshape(-1, 24) / np.float32(255)
        )
    assert all(len(dataset.split(name)) == 2 for name in missing)


# --- arrays -------------------------------------------------------------------------------------


@pytest.mark.parametrize("binarisation", binarisation_names())
def test_floats_are_what_their_bytes_are(binarisation):
    stored, floats = (
        dataset_of_images(GREY, binarisation),
        dataset_of_images(GREY / 255.0, binarisation),
    )
    np.testing.assert_allclose(stored.train.images, floats.train.images, atol=1e-7)
    assert (stored.name, stored.name[:6]) != (floats.name, floats.name)


def test_floats_are_not_rounded_to_bytes():
    images = RANDOM.random((10, 3, 3))
    assert rows(all_images(dataset_of_images(images, "none"))) == rows(
        images.astype(np.float32).reshape(-1, 9)
    )


def test_colours_lie_one_after_the_other():
    last, first = (
        dataset_of_images(COLOUR, "none"),
        dataset_of_images(COLOUR.transpose(0, 3, 1, 2), "none"),
    )
    assert (last.channels, last.height, last.width, last.pixels) == (3, 4, 6, 72)
    assert np.array_equal(last.train.images, first.train.images)
    assert rows(all_images(last)) == rows(
        (COLOUR.transpose(0, 3, 1, 2) / np.float32(255)).reshape(-1, 72)
    )


def test_features_are_images_of_one_row():
    dataset = dataset_of_images(RANDOM.integers(0, 2, (30, 12)).astype(bool))
    assert (dataset.channels, dataset.height, dataset.width) == (1, 1, 12)


def test_labels_stay_with_their_images():
    images = np.arange(40, dtype=np.uint8)[:, None, None] + np.zeros((1, 2, 2), np.uint8)
    dataset = dataset_of_images((images, np.arange(40)), "none")
    for name in SPLITS:
        split = dataset.split(name)
        assert np.array_equal(np.rint(split.images[:, 0] * 255), split.labels)


class Examples:
    """A dataset as torch has them, of pillow's images and labels."""

    def __len__(self):
        return 12

    def __getitem__(self, place):
        return Image.fromarray(GREY[place]), place % 3


def test_a_dataset_of_examples():
    dataset = dataset_of_images(Examples(), "none")
    assert rows(all_images(dataset)) == rows(GREY[:12].reshape(-1, 24) / np.float32(255))
    assert set(dataset.train.labels) == {0, 1, 2}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((5, 2, 2), int), r"the images: got int64 \[5, 2, 2\]"),
        (np.full((5, 2, 2), 1.5), "floats from 1.5 to 1.5"),
        (np.full((5, 2, 2), -1e300), "floats from -inf to -inf"),
        (np.full((5, 2, 2), np.nan), "floats from nan to nan"),
        (np.zeros((5, 2, 2, 4), np.uint8), "neither one colour nor three"),
        (np.zeros((5,), np.uint8), r"uint8 \[5\]"),
        (np.zeros((5, 2, 2), np.uint8), "there are 1"),
        ((GREY, np.zeros(3, int)), r"must be integers \[40\] from 0"),
        ((GREY, np.full(40, -1)), r"must be integers \[40\] from 0"),
        ({"training": GREY}, "splits are called train, validation, test"),
        ({"train": GREY[:20], "test": COLOUR[:, :, :, 0] / 255.0}, "different sizes or types"),
        (3, "expected an array of images, or a dataset"),
        ([GREY[0], GREY[1, :2]], "no images: all input arrays must have the same shape"),
        ([], r"float64 \[0, 0\]"),
    ],
)
def test_what_are_no_images(data, message):
    with pytest.raises(DataError, match=message):
        dataset_of_images(data)


# --- folders ------------------------------------------------------------------------------------


def save(folder, images):
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{number:03}.png")


@pytest.mark.parametrize("images", [GREY, COLOUR], ids=["grey", "colour"])
def test_a_folder_of_images_is_split(tmp_path, images):
    save(tmp_path, images)
    dataset = load_dataset(str(tmp_path), binarisation="none")
    in_memory = dataset_of_images(images, "none")
    for name in SPLITS:
        assert np.array_equal(dataset.split(name).images, in_memory.split(name).images)
    assert dataset.channels == (1 if images is GREY else 3)


def test_folders_of_classes_and_of_splits(tmp_path):
    for number, folder in enumerate(("train", "val", "test")):
        for label, name in enumerate(("cats", "dogs")):
            start = 10 * number + 5 * label
            save(tmp_path / folder / name, GREY[start : start + 5])
    dataset = load_dataset(str(tmp_path), binarisation="none")
    for number, split in enumerate(SPLITS):
        assert rows(dataset.split(split).images) == rows(
            GREY[10 * number : 10 * number + 10].reshape(-1, 24) / np.float32(255)
        )
        assert dataset.split(split).labels.tolist() == [0] * 5 + [1] * 5


def test_classes_without_splits(tmp_path):
    save(tmp_path / "a", GREY[:10])
    save(tmp_path / "b", GREY[10:25])
    dataset = load_dataset(str(tmp_path))
    labels = np.concatenate([dataset.split(name).labels for name in SPLITS])
    assert np.bincount(labels).tolist() == [10, 15]


def test_one_coloured_image_makes_all_of_them_coloured(tmp_path):
    save(tmp_path, [*GREY[:5], COLOUR[0]])
    assert load_dataset(str(tmp_path)).channels == 3


def test_sixteen_bits_are_cut_to_eight(tmp_path):
    wide = GREY[:5].astype(np.uint16) * 256 + 77
    save(tmp_path, wide)
    assert rows(all_images(load_dataset(str(tmp_path), binarisation="none"))) == rows(
        GREY[:5].reshape(-1, 24) / np.float32(255)
    )


def test_sixteen_bits_are_cut_to_eight_among_coloured_images(tmp_path):
    save(tmp_path, [GREY[0].astype(np.uint16) * 256, *COLOUR[:5]])
    images = all_images(load_dataset(str(tmp_path), binarisation="none"))
    wanted = np.stack([GREY[0]] * 3).reshape(1, -1) / np.float32(255)
    assert rows(wanted) <= rows(images)


@pytest.mark.parametrize("mode", ["LA", "RGBA"])
def test_drawings_on_a_transparent_ground_are_on_white(tmp_path, mode):
    shapes = np.where(GREY[:10] > 128, 255, 0).astype(np.uint8)
    ink = np.zeros((*shapes.shape, len(mode)), np.uint8)
    ink[..., -1] = shapes  # black ink whose shape is in the transparency alone
    save(tmp_path, ink)
    images = all_images(load_dataset(str(tmp_path), binarisation="none"))
    grey = (255 - shapes) / np.float32(255)
    wanted = np.repeat(grey[:, None], images.shape[1] // 24, axis=1)
    assert rows(images) == rows(wanted)


def break_size(folder):
    save(folder, [*GREY[:5], GREY[0, :2]])


def break_file(folder):
    save(folder, GREY[:5])
    (folder / "003.png").write_bytes(b"no image")


def cut_file(folder):
    save(folder, RANDOM.integers(0, 256, (5, 64, 64), np.uint8))
    content = (folder / "003.png").read_bytes()
    (folder / "003.png").write_bytes(content[: len(content) // 2])


def empty(folder):
    folder.mkdir(exist_ok=True)


def half_split(folder):
    save(folder / "train", GREY[:5])
    save(folder / "test", GREY[5:9])


def mixed(folder):
    save(folder, GREY[:5])
    save(folder / "a", GREY[5:9])


def overlapping(folder):
    for name in ("train", "val", "test"):
        save(folder / name, GREY[:5])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (break_size, r"005\.png and .*000\.png differ in size"),
        (break_file, r"003\.png cannot be read as an image"),
        (cut_file, r"003\.png is damaged"),
        (empty, "has no images"),
        (half_split, "none for validation"),
        (mixed, "both in it and in class folders"),
        (overlapping, "the splits overlap: 5 of the 5 images of validation are also in train"),
    ],
)
def test_folders_that_cannot_be_taken(tmp_path, make, message):
    make(tmp_path / "images")
    with pytest.raises(DataError, match=message):
        load_dataset(str(tmp_path / "images"))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        load_dataset(str(tmp_path / "missing"))
    with pytest.raises(DataError, match="Unknown dataset 'missing'"):
        load_dataset("missing")
    with pytest.raises(DataError, match="pass them again"):
        load_dataset("given-0123456789abcdef")


def test_an_archive_that_python_2_wrote_is_read_without_a_warning(tmp_path):
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 2L, 3L), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(tmp_path / "old.npz", "w") as archive:
        for place, split in enumerate(("train", "validation", "test")):
            archive.writestr(
                f"{split}_images.npy", start + bytes(range(12 * place, 12 * place + 12))
            )
    images = load_dataset(str(tmp_path / "old.npz"), binarisation="none").test.images
    np.testing.assert_allclose(images, np.arange(24, 36).reshape(2, 6) / 255)
