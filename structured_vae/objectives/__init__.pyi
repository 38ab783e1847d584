from .costs import (
    Cost,
    CostFunction,
    CostOfBits,
    CostOfCategories,
    CostOfStates,
    CostsOfImages,
    Hamming,
    Reconstruction,
    WithKL,
    WithPrior,
)
from .label_losses import ArgmaxLoss, LabelLoss, RelaxedLoss, exact_loss
from .recipes import RECIPES, KLTerm, Objective, Recipe, elbo_recipe, paper_recipe, whole_bound
from .sleep import sleep_loss

__all__ = [
    "RECIPES",
    "ArgmaxLoss",
    "Cost",
    "CostFunction",
    "CostOfBits",
    "CostOfCategories",
    "CostOfStates",
    "CostsOfImages",
    "Hamming",
    "KLTerm",
    "LabelLoss",
    "Objective",
    "Recipe",
    "Reconstruction",
    "RelaxedLoss",
    "WithKL",
    "WithPrior",
    "elbo_recipe",
    "exact_loss",
    "paper_recipe",
    "sleep_loss",
    "whole_bound",
]
