"""Whether this machine has a C++ compiler, and what the build needs from PyPI.

Run as a script, this prints the requirements of a build without isolation, for `pip install`.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

COMPILERS = ("c++", "g++", "clang++", "cl")
ZIG = "ziglang>=0.13"
"""A wheel with clang inside."""


def needs_zig() -> bool:
    """Whether to compile with `ziglang`: there is no other compiler, or `STRUCTURED_VAE_ZIG=1` asks for it."""
    if os.environ.get("STRUCTURED_VAE_ZIG") == "1":
        return True
    return "CXX" not in os.environ and not any(shutil.which(name) for name in COMPILERS)


def requirements() -> list[str]:
    """What a build without isolation needs: `build-system.requires`, CMake, ninja, and perhaps a compiler."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    listed: list[str] = tomllib.loads(project.read_text())["build-system"]["requires"]
    compiler = [ZIG] if needs_zig() else []
    return [*listed, "cmake>=3.26", "ninja", *compiler]


if __name__ == "__main__":
    print(*requirements())
