"""What a build has made and may keep: whether files are those of the build before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

SUFFIXES = (".py", ".md", ".json", ".yaml", ".csv", ".png", ".npz", ".toml")


def digest(sources: Iterable[Path]) -> str:
    """Of the contents and names of files, and of those in folders."""
    found = hashlib.sha256()
    for source in sources:
        inside = (
            [source]
            if source.is_file()
            else sorted(each for each in source.rglob("*") if each.suffix in SUFFIXES)
        )
        for file in inside:
            found.update(f"{file.relative_to(source.parent)}\0".encode() + file.read_bytes())
    return found.hexdigest()


def changed(mark: Path, sources: Iterable[Path]) -> bool:
    """Whether files are others than those that the mark was kept for."""
    return not mark.exists() or mark.read_text(encoding="utf-8") != digest(sources)


def keep(mark: Path, sources: Iterable[Path]) -> None:
    """Marks what was made of these files as made."""
    mark.parent.mkdir(exist_ok=True)
    mark.write_text(digest(sources), encoding="utf-8")
