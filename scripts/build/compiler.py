"""Whether this machine has a C++ compiler, and what the build needs from PyPI.

Run as a script, this prints the requirements of a build without isolation, for `pip install`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

COMPILERS = ("c++", "g++", "clang++")
"""In the order in which CMake looks for them. Microsoft's lacks the vector types of the kernels."""

ZIG = "ziglang>=0.13"
"""A wheel with clang inside."""

SOURCES = "setuptools>=70.1"
"""docplex comes as source alone, and older versions build no wheel without the package `wheel`."""

PROBE = """
#include <concepts>
#include <span>
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#error "g++ 12 is the first that compiles the kernels"
#endif
"""


def _compiles(compiler: str) -> bool:
    """Whether the compiler knows enough of C++20."""
    command = [compiler, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"]
    result = subprocess.run(command, input=PROBE, text=True, capture_output=True)  # noqa: S603
    return result.returncode == 0


def needs_zig() -> bool:
    """Whether to compile with `ziglang`.

    It is used where the compiler that CMake would take is missing or too old, and where
    `STRUCTURED_VAE_ZIG=1` asks for it.
    """
    if os.environ.get("STRUCTURED_VAE_ZIG") == "1":
        return True
    if "CXX" in os.environ:
        return False
    paths = [path for name in COMPILERS if (path := shutil.which(name))]
    return not paths or not _compiles(paths[0])


def requirements() -> list[str]:
    """Return what an installation without isolation needs.

    The requirements of pyproject.toml, CMake, ninja, setuptools, and zig where there is no
    compiler.
    """
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    listed: list[str] = tomllib.loads(project.read_text())["build-system"]["requires"]
    compiler = [ZIG] if needs_zig() else []
    return [*listed, "cmake>=3.26", "ninja", SOURCES, *compiler]


if __name__ == "__main__":
    print(*requirements())
