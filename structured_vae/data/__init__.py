"""Image datasets: one that comes with the package, and the full ones from official files."""

from .binarisation import binarisation_names
from .idx import read_idx
from .images import ImageDataset, Split, dataset_names, load_dataset

__all__ = [
    "ImageDataset",
    "Split",
    "binarisation_names",
    "dataset_names",
    "load_dataset",
    "read_idx",
]
