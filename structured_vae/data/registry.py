"""The readers of datasets by name, each imported when its dataset is requested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from .reader import Reader

BUILT_IN: Final = {
    "fashion-mnist-mini": "fashion_mnist_mini:READER",
    "fashion-mnist": "mnist:FASHION_MNIST_READER",
    "mnist": "mnist:MNIST_READER",
    "omniglot": "omniglot:READER",
    "celeba": "celeba.faces:READER",
}
"""File of this folder and `Reader` in it, by name. A new data set is a file and a line here."""


class Readers(Mapping[str, Reader]):
    """The readers by the names of their data sets.

    Example:
        >>> READERS["celeba"].shown
        False
    """

    def __getitem__(self, name: str) -> Reader:
        """Return the reader of a name, imported now.

        Raises:
            KeyError: no data set has that name.
        """
        module, _, attribute = BUILT_IN[name].partition(":")
        reader: Reader = getattr(import_module(f"{__package__}.{module}"), attribute)
        return reader

    def __contains__(self, name: object) -> bool:
        """Return whether a data set has that name, without importing its reader."""
        return name in BUILT_IN

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(BUILT_IN)

    def __len__(self) -> int:
        """Return the number of names."""
        return len(BUILT_IN)


READERS: Final = Readers()
"""The data sets that have a name; any other name is the path of the user's own images."""
