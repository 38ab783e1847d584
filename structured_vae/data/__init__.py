"""Image datasets: one that comes with the package, and the full ones from official files.

Stands on the small files of the root; the explorer, runs and training use it, estimators and objectives do not. What
is public of its folders is here.
"""

from .binarisation import binarisation_names
from .celeba.lists import ATTRIBUTES, TYPICAL
from .datasets import (
    CELEBA,
    GIVEN,
    ImageDataset,
    Split,
    dataset_names,
    dataset_of_images,
    given_name,
    load_dataset,
    usual_binarisation,
)
from .files.idx import read_idx

__all__ = [
    "ATTRIBUTES",
    "CELEBA",
    "GIVEN",
    "TYPICAL",
    "ImageDataset",
    "Split",
    "binarisation_names",
    "dataset_names",
    "dataset_of_images",
    "given_name",
    "load_dataset",
    "read_idx",
    "usual_binarisation",
]
