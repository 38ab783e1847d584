"""Image datasets: one that comes with the package, and the full ones from official files.

Stands on the small files of the root; the explorer, runs and training use it, estimators and objectives do not. What
is public of its folders is here.
"""

from .binarisation import binarisation_names
from .celeba.lists import ATTRIBUTES, TYPICAL
from .datasets import CELEBA, ImageDataset, Split, dataset_names, load_dataset, usual_binarisation
from .files.idx import read_idx

__all__ = [
    "ATTRIBUTES",
    "CELEBA",
    "TYPICAL",
    "ImageDataset",
    "Split",
    "binarisation_names",
    "dataset_names",
    "load_dataset",
    "read_idx",
    "usual_binarisation",
]
