"""Image datasets: one that comes with the package, and the full ones from official files.

This package imports only the small modules of the root. The explorer, runs and training import
it; estimators and objectives do not. The public names of its subfolders are listed here.
"""

from .binarisation import binarisation_names
from .celeba.lists import ATTRIBUTES, TYPICAL
from .datasets import (
    CELEBA,
    IN_MEMORY,
    ImageDataset,
    Split,
    dataset_names,
    dataset_of_images,
    is_shown,
    load_dataset,
    name_in_memory,
    usual_binarisation,
)
from .files.idx import read_idx
from .reader import Reader, StoredDataset, StoredSplit

__all__ = [
    "ATTRIBUTES",
    "CELEBA",
    "IN_MEMORY",
    "TYPICAL",
    "ImageDataset",
    "Reader",
    "Split",
    "StoredDataset",
    "StoredSplit",
    "binarisation_names",
    "dataset_names",
    "dataset_of_images",
    "is_shown",
    "load_dataset",
    "name_in_memory",
    "read_idx",
    "usual_binarisation",
]
