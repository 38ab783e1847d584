"""Features of nodes as dictionaries of names and values."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from numbers import Number
from typing import Any

from ..errors import DataError, shortened


def are_dictionaries(features: Any) -> bool:
    """Return whether the features of an instance are a list of dictionaries."""
    is_list = isinstance(features, list | tuple)
    return is_list and len(features) > 0 and isinstance(features[0], Mapping)


def vectorizer_of(instances: list[Any]) -> Any:
    """Return a fitted `DictVectorizer` of lists of dictionaries; None for no lists.

    Raises:
        DataError: a value is neither a number, a text, nor a list of texts.
    """
    if not instances:
        return None
    for number, instance in enumerate(instances):
        check_dictionaries(instance, f"X[{number}]")
    vectorizer = importlib.import_module("sklearn.feature_extraction").DictVectorizer()
    return vectorizer.fit([features for instance in instances for features in instance])


def check_dictionaries(instance: Any, name: str) -> None:
    """Raise unless the features of an instance are dictionaries from names to usable values.

    Args:
        instance: one dictionary for each node.
        name: name of the instance, for messages.

    Raises:
        DataError: a node has no dictionary, or a value is neither a number, a text, nor a list of
            texts.
    """
    for node, features in enumerate(instance):
        if not isinstance(features, Mapping):
            raise DataError(f"{name}[{node}] must be a dictionary; got {shortened(features)}")
        for key, value in features.items():
            texts = isinstance(value, list | tuple | set) and all(
                isinstance(text, str) for text in value
            )
            if not isinstance(key, str) or not (texts or isinstance(value, str | Number)):
                raise DataError(
                    f"{name}[{node}] must be a dictionary from names to numbers, texts or lists of "
                    f"texts; got {shortened(key)}: {shortened(value)}"
                )
