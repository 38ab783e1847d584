from .attributes.evaluation import attribute_columns, evaluate_attributes
from .attributes.training import combinations, switched
from .gaussian.evaluation import evaluate_gaussian, gaussian_columns
from .mixture.evaluation import evaluate_mixture, mixture_columns
from .quantised.evaluation import evaluate_quantised

KINDS: tuple[str, ...]

__all__ = [
    "attribute_columns",
    "combinations",
    "evaluate_attributes",
    "evaluate_gaussian",
    "evaluate_mixture",
    "evaluate_quantised",
    "gaussian_columns",
    "mixture_columns",
    "switched",
]
