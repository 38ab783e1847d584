"""The build of the package: scikit-build-core, with a compiler from PyPI where the machine has none.

The kernels are C++20. Where no C++ compiler is found, the build requirements include `ziglang`, a wheel with clang
inside, and `CC` and `CXX` name it. `STRUCTURED_VAE_ZIG=1` asks for it where there is another compiler, too.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import compiler
import scikit_build_core.build as backend

IN_PLACE: dict[str, Any] = {
    "wheel.packages": [],
    "cmake.define.IN_PLACE": "ON",
    "build-dir": "build/in_place",
}
HINT = (
    "\nThe kernels of structured-vae could not be compiled. Install a C++20 compiler (Debian, Ubuntu: "
    "`apt-get install g++`; Fedora: `dnf install gcc-c++`; macOS: `xcode-select --install`) and try again.\n"
)


def _wrappers() -> Path:
    """A folder with commands `zig-cc` and `zig-c++`: CMake wants a compiler to be one file."""
    folder = Path("build", "zig").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in (("zig-cc", "cc"), ("zig-c++", "c++"), ("zig-ar", "ar"), ("zig-ranlib", "ranlib")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {command} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


def _use_zig() -> None:
    folder = _wrappers()
    os.environ["CC"] = str(folder / "zig-cc")
    os.environ["CXX"] = str(folder / "zig-c++")
    os.environ["CMAKE_ARGS"] = (
        f"{os.environ.get('CMAKE_ARGS', '')} -DCMAKE_AR={folder / 'zig-ar'} -DCMAKE_RANLIB={folder / 'zig-ranlib'}"
    )


def _requirements(requirements: list[str]) -> list[str]:
    return [*requirements, compiler.ZIG] if compiler.needs_zig() else requirements


def _built(build: Any, *arguments: Any) -> str:
    if compiler.needs_zig():
        _use_zig()
    try:
        name: str = build(*arguments)
    except BaseException:
        sys.stderr.write(HINT)
        raise
    return name


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return the build requirements, with a compiler where the machine has none."""
    return _requirements(backend.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return the build requirements, with a compiler where the machine has none."""
    return get_requires_for_build_wheel(config_settings)


def get_requires_for_build_sdist(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return the requirements of a source distribution, which compiles nothing."""
    return backend.get_requires_for_build_sdist(config_settings)


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Compile the kernels and write a wheel."""
    return _built(backend.build_wheel, wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build in the checkout, and return a wheel of one path entry.

    scikit-build-core's own editable wheels have an import hook, which mypy and pyright cannot follow.
    """
    settings = {**(config_settings or {}), **IN_PLACE}
    return _built(backend.build_wheel, wheel_directory, settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Write a source distribution."""
    return backend.build_sdist(sdist_directory, config_settings)
