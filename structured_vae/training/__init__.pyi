from .labelled import balanced_labels, drawn_labels
from .prior_fit import fit_to_codes

__all__ = [
    "balanced_labels",
    "drawn_labels",
    "fit_to_codes",
]
