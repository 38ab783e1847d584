"""The readers of data sets by name, ours and those that other packages plug in.

A reader is imported when its data set is requested.
"""

from __future__ import annotations

from typing import Final

from models.named_classes import NamedObjects

from ..errors import DataError
from .reader import Reader

BUILT_IN: Final = {
    "fashion-mnist-mini": "fashion_mnist_mini:READER",
    "fashion-mnist": "mnist:FASHION_MNIST_READER",
    "mnist": "mnist:MNIST_READER",
    "omniglot": "omniglot:READER",
    "celeba": "celeba.faces:READER",
}
"""File of this folder and `Reader` in it, by name. A new data set is a file and a line here."""

READERS: Final[NamedObjects[Reader]] = NamedObjects(
    noun="data set",
    folder="structured_vae.data",
    built_in=BUILT_IN,
    group="structured_vae.data",
    base="reader:Reader",
    error=DataError,
)
"""All data sets that have a name; any other name is the path of the user's own images.

Example:
    >>> READERS["celeba"].shown
    False
"""
