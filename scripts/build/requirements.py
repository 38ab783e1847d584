"""Prints what the package and some of its extras require, one requirement a line, for pip.

python scripts/build/requirements.py dev docs
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def requirements(extras: list[str]) -> list[str]:
    """Return the requirements of the package and of these extras."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    listed: list[str] = list(project["dependencies"])
    for extra in extras:
        listed += project["optional-dependencies"][extra]
    return listed


if __name__ == "__main__":
    print(*requirements(sys.argv[1:]), sep="\n")
