"""Compiled kernels where neither the installation nor the home can be written to."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[1] / "solvers" / "compiled" / "cache.py"
KERNEL = """
from numba import njit
from .cache import keeps_kernels
@njit(cache=keeps_kernels())
def doubled(x):
    return 2 * x
print(keeps_kernels(), doubled(21))
"""
COMPILE = "import installed.kernel"
WITHOUT_FOLDER = """
import tempfile
def none():
    raise FileNotFoundError("no usable folder")
tempfile.gettempdir = none
import installed.kernel
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="the user's cache is found otherwise there")


@pytest.fixture
def run(tmp_path):
    """What a process that compiles a kernel prints; no one, not even root, can write beside the kernel."""
    package, folder = tmp_path / "installed", tmp_path / "temporary"
    package.mkdir()
    folder.mkdir()
    shutil.copyfile(CACHE, package / CACHE.name)
    (package / "kernel.py").write_text(KERNEL)
    (package / "__pycache__").touch()  # a file in the place of the folder
    own = {"PYTHONPATH": str(tmp_path), "HOME": "/dev/null", "TMPDIR": str(folder)}
    elsewhere = "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"
    inherited = {name: value for name, value in os.environ.items() if name not in elsewhere}

    def start(program):
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, env=inherited | own, cwd=folder, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.split(), ended.stderr.splitlines()

    return start


def test_kernels_are_kept_in_a_temporary_folder_and_that_is_said_once(run, tmp_path):
    folder = tmp_path / "temporary"
    for _ in range(2):
        printed, said = run(COMPILE)
        assert printed == ["True", "42"]
        assert [f"compiled kernels are kept in {folder}" in line for line in said] == [True]
    (kept,) = folder.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert len(list(kept.rglob("*.nbc"))) == 1


def test_a_temporary_folder_that_others_can_write_to_is_not_trusted(run, tmp_path):
    others = tmp_path / "temporary" / f"structured-vae-kernels-{os.getuid()}"
    others.mkdir()
    others.chmod(0o777)
    assert run(COMPILE)[0] == ["True", "42"]
    assert not list(others.iterdir())
    (own,) = set(others.parent.iterdir()) - {others}
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert len(list(own.rglob("*.nbc"))) == 1


def test_without_any_folder_kernels_are_compiled_for_the_process(run):
    printed, said = run(WITHOUT_FOLDER)
    assert printed == ["False", "42"]
    assert said == [
        "kernels are compiled anew in every process, as no folder can be written to (no usable folder)"
    ]
