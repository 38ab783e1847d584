"""A training deletes its own temporary files, and no file of the user's."""

import errno
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from few_images import on_few_images  # noqa: F401  # used by itself

from structured_vae import DataConfig, TrainConfig, resume, train
from structured_vae.atomic import remove_leftovers, temporary_path, whole_file
from structured_vae.errors import RunError

TINY = TrainConfig(
    n=2, hidden=2, epochs=1, picture_every=0, logger="none", data=DataConfig(batch_size=20)
)


@pytest.fixture(scope="module")
def ended():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def hidden_names(number):
    """Names that a user may give, some of them near to ours."""
    ours = f"{number}-0123456789abcdef.structured-vae-tmp"
    return [
        ".2019-notes.txt",
        f".{number}-x",
        f".{number}-last.ckpt",
        f".{number}-metrics.csv",
        ".structured-vae-tmp",
        f".notes.txt.{ours}",
        f"metrics.csv.{ours}",
        f".metrics.csv.{ours}.bak",
        f".metrics.csv.{number}-0123456789ABCDEF.structured-vae-tmp",
        f".metrics.csv.{number}-012345678.structured-vae-tmp",
        f".metrics.csv.{number}x-0123456789abcdef.structured-vae-tmp",
    ]


def test_hidden_files_of_the_user_stay(tmp_path, ended):
    folder = tmp_path / "run"
    folders = (folder, folder / "checkpoints", folder / "pictures", folder / "tensorboard")
    files = [place / name for place in folders for name in hidden_names(ended)]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("precious")
    train(TINY, folder, progress=False)
    resume(folder, 2, progress=False)
    assert [file.read_text() for file in files] == ["precious"] * len(files)


@pytest.mark.parametrize("linked", ["checkpoints", "pictures"])
def test_nothing_is_deleted_through_a_symbolic_link(tmp_path, ended, linked):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "run"
    elsewhere.mkdir()
    folder.mkdir()
    (folder / linked).symlink_to(elsewhere)
    names = {"checkpoints": "last.ckpt", "pictures": "samples-0001.png"}
    ours = f".{names[linked]}.{ended}-0123456789abcdef.structured-vae-tmp"
    files = [elsewhere / name for name in (*hidden_names(ended), ours)]
    for file in files:
        file.write_text("precious")
    train(TINY, folder, progress=False)
    resume(folder, 2, progress=False)
    assert [file.read_text() for file in files] == ["precious"] * len(files)
    assert (elsewhere / "last.ckpt").exists() == (linked == "checkpoints")


def test_links_and_folders_with_our_names_stay(tmp_path, ended):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    names = [f".metrics.csv.{ended}-{digit * 16}.structured-vae-tmp" for digit in "012"]
    (tmp_path / names[0]).symlink_to(precious)
    (tmp_path / names[1]).mkdir()
    (tmp_path / names[2]).write_text("half of it")
    remove_leftovers(tmp_path, ("metrics.csv",))
    assert precious.read_text() == "precious"
    assert [os.path.lexists(tmp_path / name) for name in names] == [True, True, False]


def test_a_temporary_file_is_recognised_after_its_process_has_ended(tmp_path, monkeypatch, ended):
    monkeypatch.setattr("os.getpid", lambda: ended)
    temporary_path(tmp_path / "metrics.csv").write_text("half of it")
    temporary_path(tmp_path / "evaluation.json").write_text("half of it")
    remove_leftovers(tmp_path, ("metrics.csv",))
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".evaluation.json.")


def test_a_long_name_is_written_and_leaves_nothing(tmp_path):
    target = tmp_path / ("x" * 250)
    with whole_file(target) as part:
        part.write_text("all of it")
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_file_with_the_former_temporary_name_is_not_overwritten(tmp_path):
    precious = tmp_path / f".{os.getpid()}-note.txt"
    precious.write_text("precious")
    with whole_file(tmp_path / "note.txt") as part:
        part.write_text("all of it")
    assert precious.read_text() == "precious"


def test_files_of_another_program_are_not_replaced_by_a_training(tmp_path):
    (tmp_path / "metrics.csv").write_text("precious")
    with pytest.raises(ValueError, match=r"metrics\.csv.*--run FOLDER"):
        train(replace(TINY, seed=1), tmp_path, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.csv"]
    assert (tmp_path / "metrics.csv").read_text() == "precious"


def test_a_pipe_is_written_into_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(pipe) as part:
        part.write_text("all of it")
    assert os.read(reader, 100) == b"all of it"
    os.close(reader)
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_link_to_a_file_stays_and_the_file_is_replaced(tmp_path):
    target = tmp_path / "target.txt"
    target.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    with whole_file(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_the_error_of_a_full_disk_names_the_file_and_the_earlier_file_stays(tmp_path):
    target = tmp_path / "note.txt"
    target.write_text("earlier")
    for number in (errno.ENOSPC, errno.EDQUOT):
        with pytest.raises(OSError, match=r"note\.txt'") as caught, whole_file(target):
            raise OSError(number, os.strerror(number))
        assert caught.value.errno == number
    with pytest.raises(FileNotFoundError, match="other"), whole_file(target):
        raise FileNotFoundError("other")
    assert target.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_cannot_be_written_to_at_the_start_says_what_to_do(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "checkpoints").write_text("a file in the place of the folder")
    with pytest.raises(
        RunError, match=r"cannot be written to: .* make room, or allow writing, and repeat the call"
    ):
        train(TINY, folder, progress=False)
