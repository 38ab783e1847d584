"""The folders where the files of a dataset may lie: a named one, or the per-user cache."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from ...errors import DataError, DataNotFoundError, shortened
from .download import cache_folder, download
from .sources import DataFile, Source

ROOT_VARIABLE: Final = "STRUCTURED_VAE_DATA"


class DataRoot(Protocol):
    """A place that has the files of datasets."""

    @property
    def folder(self) -> Path:
        """The folder that holds one folder per dataset."""
        ...

    def paths(self, source: Source) -> tuple[Path, ...]:
        """Return the paths of the files of `source`, in the order of `source.files`."""
        ...


@dataclass(frozen=True)
class NamedRoot:
    """A folder that the user named, which must have the files; nothing is downloaded to it.

    Attributes:
        folder: holds `<dataset>/<file name>`, or the same with `.gz`.
        named_by: how the user named it, for the messages.
    """

    folder: Path
    named_by: str

    def paths(self, source: Source) -> tuple[Path, ...]:
        """Return the paths of the files of `source`, in the order of `source.files`.

        Raises:
            DataNotFoundError: a file is missing; the message says how to provide it.
        """
        folder = self.folder / source.name
        paths = {file: _existing(folder, file) for file in source.files}
        missing = tuple(file for file, path in paths.items() if path is None)
        if missing:
            raise DataNotFoundError(self._missing_message(source, missing))
        return tuple(path for path in paths.values() if path is not None)

    def _missing_message(self, source: Source, missing: tuple[DataFile, ...]) -> str:
        folder = self.folder / source.name
        expected = "".join(
            f"\n  expected {folder / file.name}, or the same with .gz, "
            f"its uncompressed content with SHA-256 {file.sha256}"
            for file in missing
        )
        return (
            f"{source.name}: {len(missing)} of its {len(source.files)} files are missing under "
            f"the root {self.folder}, which is named by {self.named_by}.{expected}"
            f"\n  found {_contents(folder)}\n{ways_to_provide(source)}"
        )


@dataclass(frozen=True)
class CacheRoot:
    """The per-user cache, to which missing and damaged files are downloaded.

    Attributes:
        folder: holds `<dataset>/<file name>`, uncompressed.
    """

    folder: Path

    def paths(self, source: Source) -> tuple[Path, ...]:
        """Return the paths of the files of `source`, in the order of `source.files`.

        Raises:
            DataDownloadError: a file could not be downloaded or written.
            DataError: a download is damaged; it is deleted.
        """
        folder = self.folder / source.name
        advice = ways_to_provide(source)
        return tuple(download(source, file, folder, advice) for file in source.files)


def data_root(root: str | Path | None = None) -> DataRoot:
    """Return where to look for data: `root`, else the environment variable, else the cache.

    Args:
        root: a folder; None means the one in `STRUCTURED_VAE_DATA`, which counts as unset if
            empty.

    Raises:
        DataError: `root` is not a valid path.

    Example:
        >>> data_root("/data").folder.as_posix()
        '/data'
    """
    if root is not None:
        return NamedRoot(_folder(root), "the argument `root`")
    if from_environment := os.environ.get(ROOT_VARIABLE):
        return NamedRoot(_folder(from_environment), f"the environment variable {ROOT_VARIABLE}")
    return CacheRoot(cache_folder())


def _folder(root: str | Path) -> Path:
    try:
        folder = Path(root).expanduser()
        folder.exists()
    # pathlib raises RuntimeError if `~` names a user without a home folder
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error  # strerror lacks the path, maybe long
        raise DataError(
            f"root must be the path of a folder; got {shortened(root)}: {reason}"
        ) from error
    return folder


def ways_to_provide(source: Source) -> str:
    """Return the sentences of a message that say how the user can provide the files."""
    return (
        "To provide the files, do one of these:\n"
        f"  - name a folder DIR that has them in DIR/{source.name}: `--data.root DIR`, or "
        f'load_dataset("{source.name}", root=DIR);\n'
        f"  - name it in the environment: {ROOT_VARIABLE}=DIR;\n"
        f"  - name no folder: they are then downloaded from {source.url} to the cache "
        f"{cache_folder() / source.name}.\n"
        'The dataset "fashion-mnist-mini" comes with the package and needs no files.'
    )


def _existing(folder: Path, file: DataFile) -> Path | None:
    candidates = (folder / file.name, folder / f"{file.name}.gz")
    return next((path for path in candidates if path.is_file()), None)


def _contents(folder: Path) -> str:
    if not folder.is_dir():
        return f"no folder {folder}"
    names = sorted(path.name for path in folder.iterdir())
    shown = ", ".join(names[:8])
    if len(names) > 8:
        shown += ", ..."
    return f"a folder with {shown or 'nothing in it'}"
