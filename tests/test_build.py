"""The build: where a compiler comes from, and for which level of processors the kernels are compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "scripts" / "build"

LEVEL_3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
LEVEL_4 = LEVEL_3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def required_with(path, **environment):
    """The requirements of a build where only the commands in the folder `path` exist."""
    printed = subprocess.run(
        [sys.executable, BUILD / "compiler.py"],
        env={"PATH": str(path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return printed.stdout


def command(path, status):
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)


def test_build_requires_ziglang_where_there_is_no_compiler(tmp_path):
    assert "ziglang" in required_with(tmp_path)


def test_build_requires_ziglang_where_the_compiler_knows_too_little(tmp_path):
    command(tmp_path / "g++", status=1)
    assert "ziglang" in required_with(tmp_path)


def test_build_uses_the_compiler_that_is_there(tmp_path):
    command(tmp_path / "g++", status=0)
    assert "ziglang" not in required_with(tmp_path)
    assert "ziglang" in required_with(tmp_path, STRUCTURED_VAE_ZIG="1")
    assert "ziglang" not in required_with(tmp_path / "none", CXX="/opt/g++")


def test_the_requirements_of_extras_follow_those_of_the_package():
    command = [sys.executable, BUILD / "requirements.py", "docs", "explorer"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [line.partition(">")[0] for line in printed.splitlines()]
    assert {"numpy", "torch", "sphinx", "streamlit"} <= set(names)
    assert "hypothesis" not in names


@pytest.fixture
def failed_build(tmp_path):
    """Runs Python with arguments that build a project whose configuration fails.

    The error of its CMakeLists.txt shows whether warnings are errors.
    """
    pytest.importorskip("scikit_build_core")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "broken"\nversion = "1"\n')
    (tmp_path / "CMakeLists.txt").write_text(
        'message(FATAL_ERROR "no compiler <${WARNINGS_AS_ERRORS}>")\n'
    )
    return lambda *arguments: subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env={**os.environ, "CXX": "c++"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_warnings_are_no_errors_for_users(failed_build):
    as_users = f"import sys; sys.path.insert(0, {str(BUILD)!r}); import build_backend as b; "
    failed = failed_build("-c", as_users + "b.build_wheel('wheels')")
    assert "no compiler <>" in failed.stdout + failed.stderr


def test_failed_build_of_the_checkout_ends_with_what_to_install(failed_build):
    failed = failed_build(BUILD / "build_backend.py")
    assert failed.returncode == 1
    assert "no compiler <ON>" in failed.stdout + failed.stderr  # warnings are errors
    assert "Traceback" not in failed.stderr
    assert "install one (Debian, Ubuntu: `apt-get install g++`" in failed.stderr.splitlines()[-1]


@pytest.mark.skipif(
    not Path("/proc/cpuinfo").exists(), reason="only Linux lists the features of its processor"
)
def test_level_of_the_processor_agrees_with_the_features_that_linux_lists():
    from solvers.compiled._kernels import _processor

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    features = {word for line in lines if line.startswith("flags") for word in line.split()}
    expected = 0
    if features:  # x86-64
        expected = 2 + (features >= LEVEL_3) + (features >= LEVEL_4)
    assert _processor.level() == expected
