"""Evaluate a trained run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from models import DiscreteVAE

from ..errors import ConfigError
from ..estimators import Estimator
from ..evaluation.quantities import Evaluation
from ..vaes.kind import Question
from ..vaes.registry import kind_of
from .assembly import dataset_of
from .custom_objects import custom_objects_for
from .folder import Run, Which
from .networks import load_vae


def evaluate_run(
    folder: str | Path,
    split: str = "test",
    which: Which = "best",
    samples: int | None = None,
    refine: int = 0,
    *,
    appearance: bool = False,
    importance: Sequence[int] = (),
    model: DiscreteVAE | None = None,
    data: Any = None,
    estimator: Estimator | None = None,
) -> Evaluation:
    """Return every metric of a run on a split, with the posterior that the run was trained with.

    Args:
        folder: the run's folder.
        split: train, validation or test.
        which: the best epoch on the validation split, or the last.
        samples: posterior samples per image, for terms without an exact sum; default: 1000, a
            mixture and attributes 10, a Gaussian 200.
        refine: moves of a search per image that tightens the bound of a model of bits; 0 for none.
        appearance: whether to train a network that recognises attributes, and to apply it to
            decoded faces; for the model attributes with labels, see `vaes.attributes.appearance`.
        importance: numbers K of samples; each gives one importance-weighted bound.
        model: the custom networks that the run trained; their weights are replaced.
        data: the images in memory that the run was trained on.
        estimator: the estimator object that the run was trained with.

    Raises:
        RunError: the folder is not a run, or its checkpoint is missing or damaged.
        ConfigError: `samples` is not positive, or the model does not allow a refinement, an
            appearance or importance-weighted bounds; or an object that was passed to `train` is
            missing or differs.
        DataError: images are missing or damaged.
    """
    # All options are checked before weights and data are loaded.
    if samples is not None and samples < 1:
        raise ConfigError(f"samples must be at least 1; got {samples}")
    if refine < 0:
        raise ConfigError(f"refine must be at least 0; got {refine}")
    if not all(count >= 1 for count in importance):
        raise ConfigError(f"importance takes numbers of at least 1; got {list(importance)}")
    config = Run.at(folder).config()
    kind = kind_of(config)
    if importance and kind.why_unweighted:
        raise ConfigError(
            f"the model {config.model} has no importance-weighted bounds: {kind.why_unweighted}. "
            "Leave importance out"
        )
    kind.check_evaluation(config, refine, appearance)
    custom = custom_objects_for(config, model, data, estimator)
    question = Question(
        config,
        load_vae(folder, which, custom.model),
        dataset_of(config, custom),
        split,
        samples,
        refine,
        appearance,
        custom.estimator,
        tuple(importance),
    )
    return kind.evaluate(question)
