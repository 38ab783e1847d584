"""Where a result was made: commit, versions, hardware."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

PACKAGES = (
    "structured-vae",
    "torch",
    "lightning",
    "numpy",
    "PyMaxflow",
    "pytoulbar2",
    "ortools",
    "highspy",
    "cplex",
    "scipy",
    "scikit-learn",
    "pytorch-crf",
    "torch-struct",
    "sklearn-crfsuite",
    "python-crfsuite",
)
"""Those whose versions a record has, where they are installed."""


def environment() -> dict[str, Any]:
    """The code's commit when it was first asked for, the versions of what it stands on, and the hardware."""
    hardware = {"machine": platform.machine(), "cores": os.cpu_count(), "processor": _processor()}
    if torch.cuda.is_available():
        hardware["gpu"] = torch.cuda.get_device_name()
    return {
        "commit": _commit(Path(__file__).resolve()),
        "versions": _versions(),
        "hardware": hardware,
    }


@cache
def _commit(source: Path) -> str | None:
    """The commit of the source tree of a file of this package; None if it is in no such tree.

    It is asked for once: the tree may change while a process runs the code that it has imported.
    """
    try:
        _git(source.parent, "ls-files", "--error-unmatch", source.name)
        return _git(source.parent, "describe", "--always", "--dirty", "--abbrev=40")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603  # fixed commands
    return answer.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
