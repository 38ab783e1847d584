from .bound import Bound, evaluate_bound
from .gradients import GradientReport, gradient_report, gradient_variance
from .quantities import Evaluation, Quantity
from .refinement import refined_bound

__all__ = [
    "Bound",
    "Evaluation",
    "GradientReport",
    "Quantity",
    "evaluate_bound",
    "gradient_report",
    "gradient_variance",
    "refined_bound",
]
