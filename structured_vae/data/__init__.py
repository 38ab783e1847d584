"""Image datasets: one that comes with the package, and the full ones from official files."""

from .binarisation import binarisation_names
from .datasets import CELEBA, ImageDataset, Split, dataset_names, load_dataset, usual_binarisation
from .files.idx import read_idx

__all__ = [
    "CELEBA",
    "ImageDataset",
    "Split",
    "binarisation_names",
    "dataset_names",
    "load_dataset",
    "read_idx",
    "usual_binarisation",
]
