import hashlib

import numpy as np
import pytest

from structured_vae.data import load_dataset
from structured_vae.data.omniglot import VALIDATION, read_omniglot
from structured_vae.errors import DataError, DataNotFoundError

COUNT = 40


def arrays(seed=0):
    random = np.random.default_rng(seed)
    return {
        "train": random.integers(256, size=(COUNT, 28, 28), dtype=np.uint8),
        "test": random.integers(256, size=(7, 28, 28), dtype=np.uint8),
        "train_alphabet": random.integers(50, size=COUNT, dtype=np.uint8),
        "test_alphabet": random.integers(50, size=7, dtype=np.uint8),
    }


@pytest.fixture
def root(tmp_path):
    (tmp_path / "omniglot").mkdir()
    return tmp_path


def save_npz(root, content, name="omniglot_28x28.npz"):
    np.savez_compressed(root / "omniglot" / name, **content)


def save_mat(root, content):
    """As the official file has it: images as columns, each stored column by column."""
    scipy_io = pytest.importorskip("scipy.io")
    columns = {}
    for name, prefix in (("train", ""), ("test", "test")):
        images = content[name].astype(float) / 255
        columns[f"{prefix}data"] = np.stack(
            [image.reshape(-1, order="F") for image in images], axis=1
        )
        columns[f"{prefix}target"] = np.eye(50)[:, content[f"{name}_alphabet"]]
    scipy_io.savemat(root / "omniglot" / "chardata.mat", columns)


@pytest.mark.parametrize("save", [save_npz, save_mat])
def test_both_files_give_the_same_images_upright(root, save):
    content = arrays()
    save(root, content)
    found = read_omniglot(root, validation=10)
    np.testing.assert_array_equal(found.test.images, content["test"])
    np.testing.assert_array_equal(found.test.labels, content["test_alphabet"])
    assert (len(found.train.images), len(found.validation.images)) == (COUNT - 10, 10)
    rows = {
        image.tobytes(): label
        for image, label in zip(content["train"], content["train_alphabet"], strict=True)
    }
    for split in (found.train, found.validation):
        assert [rows[image.tobytes()] for image in split.images] == split.labels.tolist()


def test_train_and_validation_share_no_image_and_are_always_the_same(root):
    save_npz(root, arrays())
    first, second = (read_omniglot(root, validation=10) for _ in range(2))
    keys = [
        {image.tobytes() for image in split.images} for split in (first.train, first.validation)
    ]
    assert len(keys[0] | keys[1]) == COUNT
    np.testing.assert_array_equal(first.validation.images, second.validation.images)
    in_order = arrays()["train"]
    # the seed of all published splits
    drawn = np.sort(np.random.default_rng(2015).permutation(COUNT)[:10])
    np.testing.assert_array_equal(first.validation.images, in_order[drawn])


def test_the_official_file_goes_first(root):
    save_npz(root, arrays(seed=1))
    save_mat(root, arrays(seed=2))
    np.testing.assert_array_equal(
        read_omniglot(root, validation=1).test.images, arrays(seed=2)["test"]
    )


def test_other_archives_beside_it_are_passed_over(root):
    save_npz(root, {"images_packed": np.zeros(3, np.uint8)}, "packed.npz")
    (root / "omniglot" / "broken.npz").write_bytes(b"PK")
    save_npz(root, arrays())
    assert len(read_omniglot(root, validation=1).test.images) == 7


def test_alphabets_may_be_missing(root):
    save_npz(root, {name: arrays()[name] for name in ("train", "test")})
    assert read_omniglot(root, validation=1).test.labels.tolist() == [0] * 7
    save_npz(root, {name: arrays()[name] for name in ("train", "test", "test_alphabet")})
    with pytest.raises(DataError, match="only one of train_alphabet and test_alphabet; add"):
        read_omniglot(root, validation=1)


def test_a_missing_file_is_named_with_the_ways_to_get_it(root):
    with pytest.raises(
        DataNotFoundError,
        match=r"chardata\.mat, or one \.npz .* there: none\. structured-vae does not downl",
    ):
        load_dataset("omniglot", root)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": np.zeros((5, 28, 28))}, "expected uint8 .*found float64"),
        ({"train": np.zeros((5, 27, 28), np.uint8)}, r"found uint8 \[5, 27, 28\]"),
        (
            {"test_alphabet": np.zeros(3, np.uint8)},
            r"one alphabet for each of 7 images, found \[3\]",
        ),
        ({"train": arrays()["train"][:1], "train_alphabet": [0]}, "only 1 training images"),
    ],
    ids=["type", "size", "labels", "few"],
)
def test_other_arrays_are_refused(root, change, message):
    save_npz(root, arrays() | change)
    with pytest.raises(DataError, match=message):
        read_omniglot(root, validation=1)


@pytest.mark.parametrize(
    "content",
    [
        b"no mat file" * 100,
        b"",
        b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM",
        b"\0\0\x08\x03" + bytes(20),
        b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"\x0f\0\0\0\xff\xff\0\0junk",
    ],
    ids=["text", "empty", "version 7.3", "an IDX file", "cut off"],
)
def test_a_mat_file_that_cannot_be_read_is_named(root, content):
    pytest.importorskip("scipy.io")
    (root / "omniglot" / "chardata.mat").write_bytes(content)
    with pytest.raises(DataError, match=r"chardata\.mat does not hold the images of Omniglot"):
        read_omniglot(root)


def test_scipy_is_asked_for_where_it_is_missing(root, hide_packages):
    (root / "omniglot" / "chardata.mat").write_bytes(b"")
    hide_packages()
    with pytest.raises(
        DataError, match=r"chardata\.mat needs scipy: pip install 'structured-vae\[omniglot\]'$"
    ):
        read_omniglot(root)


def test_the_official_counts_leave_23000_to_train_on():
    assert 24_345 - VALIDATION == 23_000


# --- binarisations ------------------------------------------------------------------------------


def test_the_static_draw_is_one_data_set():
    found = load_dataset("fashion-mnist-mini", binarisation="static")
    digest = hashlib.sha256(np.packbits(found.test.images.astype(np.uint8)).tobytes()).hexdigest()
    assert digest[:16] == "ab11c363ec5a8a69"
    assert found.train.grey is None


def test_the_static_draw_has_the_grey_values_as_probabilities():
    grey = load_dataset("fashion-mnist-mini", binarisation="none").train.images
    drawn = load_dataset("fashion-mnist-mini", binarisation="static").train.images
    assert set(np.unique(drawn)) == {0, 1}
    assert (drawn[grey == 0] == 0).all()
    assert (drawn[grey == 1] == 1).all()
    deviation = (drawn - grey).sum() / np.sqrt((grey * (1 - grey)).sum())
    assert abs(deviation) < 4.5


def test_dynamic_evaluates_on_the_static_draw_and_keeps_the_grey_values_to_train_on():
    dynamic, static, none = (
        load_dataset("fashion-mnist-mini", binarisation=name)
        for name in ("dynamic", "static", "none")
    )
    for name in ("train", "validation", "test"):
        np.testing.assert_array_equal(dynamic.split(name).images, static.split(name).images)
    for name in ("train", "validation"):
        np.testing.assert_array_equal(dynamic.split(name).grey, none.split(name).images)
    assert dynamic.test.grey is None


@pytest.mark.parametrize("binarisation", ["threshold", "dynamic"])
def test_all_images_but_those_of_the_test_can_be_trained_on(binarisation):
    dataset = load_dataset("fashion-mnist-mini", binarisation=binarisation)
    joined = dataset.all_for_training()
    for values in ("images", "labels", "grey"):
        parts = [getattr(split, values) for split in (dataset.train, dataset.validation)]
        if parts[0] is not None:
            np.testing.assert_array_equal(getattr(joined.train, values), np.concatenate(parts))
    assert (joined.train.grey is None) == (binarisation == "threshold")
    assert (joined.validation, joined.test) == (dataset.validation, dataset.test)
