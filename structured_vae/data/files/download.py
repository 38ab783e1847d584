"""Download an official file to the cache, and keep it only if its content is intact."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np
import pooch  # type: ignore[import-untyped]  # pooch has no py.typed
from numpy.typing import NDArray

from ...errors import DataDownloadError, DataError
from .idx import GZIP_MAGIC, decode_gzip_idx, decode_idx, write_idx
from .sources import DataFile, Source, check_content

CHUNK_BYTES: Final = 1 << 16

OVERHEAD_BYTES: Final = 1 << 20
"""Bytes allowed beyond the content; gzip lengthens incompressible data by far less than this."""


def cache_folder() -> Path:
    """Return the per-user folder in which downloads are kept."""
    return Path(pooch.os_cache("structured-vae")).expanduser()


def download(source: Source, file: DataFile, folder: Path, advice: str) -> Path:
    """Return the path of an official file in the cache, and download the file if necessary.

    The file is kept uncompressed. It is written under a temporary name and renamed once its
    checksum is right. A file that has been damaged since then is downloaded again.

    Args:
        source: the dataset.
        file: one of its files.
        folder: the dataset's folder in the cache.
        advice: how else the user can provide the files, for the messages.

    Raises:
        DataDownloadError: the file could not be downloaded or written.
        DataError: the download is damaged; it is deleted.
    """
    url = source.url_of(file)
    try:
        path = pooch.retrieve(
            url, f"sha256:{file.sha256}", file.name, folder, downloader=CheckedDownload(file)
        )
    except DataError as error:
        raise DataError(
            f"The download of {url} is damaged and was not kept. {error}\n{advice}"
        ) from error
    except OSError as error:  # requests' errors are among these
        raise DataDownloadError(_failure(url, file, folder, error, advice)) from error
    return Path(path)


@dataclass(frozen=True)
class CheckedDownload:
    """A downloader for pooch that writes the uncompressed file, if its content is intact.

    Attributes:
        file: the file to expect.
    """

    file: DataFile

    def __call__(self, url: str, output_file: str, _: object) -> None:
        """Download `url`, check its content, and write it uncompressed to `output_file`.

        Raises:
            DataError: the content differs from the official file.
        """
        buffer = BoundedBuffer(url, math.prod(self.file.shape) + OVERHEAD_BYTES)
        with ExitStack() as stack:
            # pooch leaves the connection open if a transfer fails; we close it.
            hooks = {"response": lambda response, **_: stack.enter_context(response)}
            pooch.HTTPDownloader(chunk_size=CHUNK_BYTES, hooks=hooks)(url, buffer, None)
        write_idx(output_file, self._checked(buffer.content, url))

    def _checked(self, content: BytesIO, url: str) -> NDArray[np.uint8]:
        # A server may declare gzip as the encoding of the transfer, which requests then undoes.
        packed = content.getvalue()[:2] == GZIP_MAGIC
        decode = decode_idx
        if packed:
            decode = decode_gzip_idx
        array = decode(content, url, self.file.shape)
        check_content(array, self.file, url)
        return array


@dataclass(frozen=True)
class BoundedBuffer:
    """A file in memory that raises an error when it would grow beyond a limit.

    Attributes:
        url: where the bytes come from, for the message.
        limit: the maximum number of bytes.
        content: the bytes written so far.
    """

    url: str
    limit: int
    content: BytesIO = field(default_factory=BytesIO)

    def write(self, chunk: bytes) -> None:
        """Append a chunk.

        Raises:
            DataError: the content would exceed the limit.
        """
        if self.content.tell() + len(chunk) > self.limit:
            raise DataError(f"{self.url}: expected at most {self.limit:,} bytes, found more.")
        self.content.write(chunk)

    def flush(self) -> None:
        """Do nothing, since `write` stores each chunk at once."""


def _failure(url: str, file: DataFile, folder: Path, error: OSError, advice: str) -> str:
    path = folder / file.name
    content = "no file there"
    if path.is_file():
        content = "a damaged file there"
    return (
        f"Could not download {url} to the cache: {error}"
        f"\n  expected {path}, its content with SHA-256 {file.sha256}"
        f"\n  found {content}\n{advice}"
    )
