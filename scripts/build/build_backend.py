"""The build of the package: scikit-build-core, with a compiler from PyPI where the machine has none.

The kernels are C++20. Where no C++ compiler is found, the build requirements include `ziglang`, a
wheel with clang inside, and `CC` and `CXX` name it. `STRUCTURED_VAE_ZIG=1` asks for it where there
is another compiler, too.

Run as a script, this compiles the kernels of the checkout with a line of progress, as pip shows
none; an editable installation then finds everything compiled.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import compiler
import scikit_build_core.build as backend

IN_PLACE: dict[str, Any] = {
    "wheel.packages": [],
    "cmake.define.IN_PLACE": "ON",
    "cmake.define.WARNINGS_AS_ERRORS": "ON",
    "build-dir": "build/in_place",
}
HINT = (
    "The kernels of structured-vae could not be compiled. They need a C++20 compiler, g++ 12 or clang 16: install one "
    "(Debian, Ubuntu: `apt-get install g++`; Fedora: `dnf install gcc-c++`; macOS: `xcode-select --install`), or set "
    "STRUCTURED_VAE_ZIG=1 to take one from PyPI."
)
ZIG_TOOLS = ("cc", "c++", "ar", "ranlib")


def _write_wrapper(path: Path, tool: str) -> None:
    """Write a command that calls one of zig's tools: CMake wants a compiler to be one file."""
    text = f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {tool} "$@"\n'
    if os.name == "nt":
        text = f'@"{sys.executable}" -m ziglang {tool} %*\n'
    if path.exists() and path.read_text() == text:  # a newer file would be a new compiler to ccache
        return
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def _use_zig() -> None:
    folder = Path("build", "zig").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    suffix = ""
    if os.name == "nt":
        suffix = ".cmd"
    wrappers = {tool: folder / f"zig-{tool}{suffix}" for tool in ZIG_TOOLS}
    for tool, path in wrappers.items():
        _write_wrapper(path, tool)
    os.environ["CC"] = str(wrappers["cc"])
    os.environ["CXX"] = str(wrappers["c++"])
    os.environ["CMAKE_GENERATOR"] = "Ninja"
    given = os.environ.get("CMAKE_ARGS", "")
    archivers = f"-DCMAKE_AR={wrappers['ar']} -DCMAKE_RANLIB={wrappers['ranlib']}"
    os.environ["CMAKE_ARGS"] = f"{given} {archivers}".strip()


def _requirements(requirements: list[str]) -> list[str]:
    if compiler.needs_zig():
        return [*requirements, compiler.ZIG, "ninja"]
    return requirements


def _built(build: Any, *arguments: Any) -> str:
    if compiler.needs_zig():
        _use_zig()
    try:
        name: str = build(*arguments)
    except (Exception, SystemExit) as error:
        if not isinstance(error, SystemExit):
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stdout.flush()
        sys.exit(f"\n{HINT}")
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

    scikit-build-core's own editable wheels have an import hook, which mypy and pyright cannot
    follow.
    """
    settings = {**(config_settings or {}), **IN_PLACE}
    return _built(backend.build_wheel, wheel_directory, settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Write a source distribution."""
    return backend.build_sdist(sdist_directory, config_settings)


if __name__ == "__main__":
    os.environ.setdefault("NINJA_STATUS", "compiling the kernels: %f of %t ")
    with tempfile.TemporaryDirectory() as folder:
        build_editable(folder, {"logging.level": "WARNING", "cmake.args": "--log-level=WARNING"})
