"""Writes the source tree of `structured-vae-solvers`: the same code, without the packages that train networks.

    python scripts/solvers_alone.py build/solvers && pip install build/solvers

`solvers` works whole, and so do `structured-vae solve`, `convert` and `solvers`. Both distributions
hold the same files: an environment has one of them.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LEFT_OUT = {
    "lightning",
    "matplotlib",
    "ortools",
    "pillow",
    "safetensors",
    "scipy",
    "tensorboard",
    "torch",
}
"""What `solvers` and its commands do not need; OR-Tools is an extra."""

NOT_COPIED = ("__pycache__", "*.npz", "*.so", "*.pyd", "LICENSE-fashion-mnist")
"""Embedded images, and kernels that were compiled in the checkout: the build compiles its own."""

EXTRAS = ("cplex", "pymaxflow", "toulbar2", "opengm")


def name_of(requirement: str) -> str:
    """The package that a requirement is about.

    Example:
        >>> name_of("jsonargparse[signatures]>=4.53")
        'jsonargparse'
    """
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def project_file() -> str:
    """The pyproject.toml of the distribution, made of this tree's."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = whole["project"]
    build = whole["tool"]["scikit-build"]
    needed = [each for each in project["dependencies"] if name_of(each) not in LEFT_OUT]
    extras = {name: project["optional-dependencies"][name] for name in EXTRAS}
    extras["ortools"] = [each for each in project["dependencies"] if name_of(each) == "ortools"]
    values = {
        "build-system": whole["build-system"],
        "project": {
            "name": "structured-vae-solvers",
            "version": project["version"],
            "description": "Exact argmax solvers for pairwise binary problems",
            "requires-python": project["requires-python"],
            "license": project["license"],
            "dependencies": needed,
        },
        "project.optional-dependencies": extras,
        "project.scripts": project["scripts"],
        "tool.scikit-build": {
            key: value for key, value in build.items() if not isinstance(value, dict)
        },
        "tool.scikit-build.wheel": build["wheel"],
        "tool.scikit-build.cmake": build["cmake"],
    }
    return "\n".join(
        f"[{table}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in rows.items())
        for table, rows in values.items()
    )


def main() -> None:
    """Copies the packages and what compiles their kernels, and writes the project's file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="for the source tree; an older one is replaced")
    folder = parser.parse_args().folder
    if folder.exists():
        shutil.rmtree(folder)
    for package in ("solvers", "models", "structured_vae"):
        unwanted = shutil.ignore_patterns(*NOT_COPIED)
        shutil.copytree(ROOT / package, folder / package, ignore=unwanted)
    shutil.copytree(ROOT / "scripts" / "build", folder / "scripts" / "build", ignore=unwanted)
    for file in ("LICENSE", "CMakeLists.txt"):
        shutil.copy2(ROOT / file, folder)
    (folder / "pyproject.toml").write_text(project_file(), encoding="utf-8")
    print(folder)


if __name__ == "__main__":
    main()
