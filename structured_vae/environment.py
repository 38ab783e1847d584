"""The environment of a result: commit, package versions, hardware."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
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
"""The packages whose versions go into a record, if they are installed."""


def environment() -> dict[str, Any]:
    """Return the commit of the code, the versions of the packages that it uses, and the hardware.

    Commit and versions are those at the first call in this process.
    """
    hardware = {"machine": platform.machine(), "cores": os.cpu_count(), "processor": _processor()}
    if torch.cuda.is_available():
        hardware["gpu"] = torch.cuda.get_device_name()
    return {
        "commit": _commit(Path(__file__).resolve()),
        "versions": dict(_versions()),
        "hardware": hardware,
    }


@cache
def _commit(source: Path) -> str | None:
    """Return the commit of the source tree that tracks this file; None if git tracks none.

    The result is cached, since the tree may change while a process runs the code it has imported.
    """
    try:
        _git(source.parent, "ls-files", "--error-unmatch", source.name)
        return _git(source.parent, "describe", "--always", "--dirty", "--abbrev=40")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    answer = subprocess.run(  # noqa: S603  # fixed commands
        command, capture_output=True, text=True, timeout=10, check=True
    )
    return answer.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


@cache
def _versions() -> Mapping[str, str]:
    """Return the versions of the packages that are installed.

    The result is cached, since pip may change a package that the process has imported.
    """
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
