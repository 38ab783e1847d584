"""The labels of training instances, some of them known in part, and the weights of instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ConfigError, DataError, shortened
from .inputs import is_missing
from .instances import Instances


@dataclass(frozen=True, eq=False)
class Truth:
    """The labels of training instances.

    Attributes:
        classes: `[k]`, the labels, sorted.
        labels: `[nodes]`, numbers from 0 to k - 1; of a set of labels the first one.
        possible: `[nodes, k]`, False where a node cannot have a label; None if every label is
            known.
    """

    classes: np.ndarray
    labels: np.ndarray
    possible: np.ndarray | None

    @classmethod
    def of(cls, labels: np.ndarray) -> Truth:
        """Make the truth from labels `[nodes]`, some of which may be sets of labels.

        Raises:
            DataError: a label is None or nan, labels cannot be sorted, or all sets are empty.
        """
        _refuse_missing(labels)
        if labels.dtype != object:
            classes, numbers = np.unique(labels, return_inverse=True)
            return cls(classes, numbers.reshape(-1).astype(np.int64), None)
        sets = [_as_set(label) for label in labels]
        every = sorted_labels(set().union(*sets))
        if not len(every):
            raise DataError("y must have some labels; it has only empty sets")
        number = {label: place for place, label in enumerate(every.tolist())}
        possible = np.zeros((len(sets), len(every)), bool)
        for node, labels_of_node in enumerate(sets):
            chosen = [number[label] for label in labels_of_node]
            # An empty set says nothing of its node: every label is possible.
            possible[node, chosen or slice(None)] = True
        numbers = possible.argmax(axis=1).astype(np.int64)
        if bool((possible.sum(axis=1) == 1).all()):
            return cls(every, numbers, None)
        return cls(every, numbers, possible)

    @property
    def allowed(self) -> np.ndarray:
        """Which labels each node may have, `[nodes, k]`."""
        if self.possible is not None:
            return self.possible
        return np.asarray(self.labels[:, None] == np.arange(len(self.classes)))

    def weights(
        self, instances: Instances, sample_weight: Any, class_weight: Any
    ) -> np.ndarray | None:
        """Return the weight of each instance, `[instances]`; None where all weigh the same.

        It is the weight of the sample, times the mean weight of the classes of its nodes.

        Args:
            instances: the instances.
            sample_weight: `[instances]`; None for ones.
            class_weight: as for `class_weights`.

        Raises:
            DataError: the sample weights have another shape, or one is out of range.
            ConfigError: `class_weight` has another form.
        """
        weights = sample_weights(sample_weight, instances.count)
        of_classes = self.class_weights(class_weight)
        if of_classes is None:
            return weights
        sums = np.add.reduceat(self.node_weights(of_classes), instances.offsets[:-1])
        means = sums / np.diff(instances.offsets)
        if weights is None:
            return means
        return weights * means

    def node_weights(self, of_classes: np.ndarray) -> np.ndarray:
        """Return the class weight of each node, `[nodes]`; the mean over a set of labels."""
        if self.possible is None:
            return np.asarray(of_classes[self.labels])
        return np.asarray(self._shares @ of_classes)

    @property
    def _shares(self) -> np.ndarray:
        """The share of each label in each node, `[nodes, k]`; the labels of a set share evenly."""
        return np.asarray(self.allowed / self.allowed.sum(axis=1, keepdims=True))

    def class_weights(self, class_weight: Any) -> np.ndarray | None:
        """Return the weight of each class, `[k]`; None where all weigh the same.

        Args:
            class_weight: {label: weight}, with 1 for other labels; "balanced" for weights inversely
                proportional to the counts of the labels; or None.

        Raises:
            ConfigError: `class_weight` has another form, or names a label that does not occur.
        """
        if class_weight is None:
            return None
        if isinstance(class_weight, str) and class_weight == "balanced":
            counts = self._shares.sum(axis=0)
            return np.asarray(len(self.labels) / (len(self.classes) * counts))
        weights = np.ones(len(self.classes))
        place = {label: number for number, label in enumerate(self.classes.tolist())}
        if not isinstance(class_weight, Mapping) or not set(class_weight) <= set(place):
            raise ConfigError(
                "class_weight must be 'balanced', None or {label: weight} of labels "
                f"{shortened(self.classes.tolist())}; got {shortened(class_weight)}"
            )
        for label, weight in class_weight.items():
            is_number = isinstance(weight, int | float | np.number)
            if not is_number or not 0 <= weight < np.inf:
                raise ConfigError(
                    f"class_weight of {label!r} must be a finite number of at least 0; "
                    f"got {shortened(weight)}"
                )
            weights[place[label]] = weight
        return weights


def agreements(predicted: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which predicted labels `[nodes]` are possible, and of which nodes anything is known.

    Args:
        predicted: `[nodes]`.
        labels: `[nodes]`, true labels or sets of possible labels; an empty set where nothing is
            known.

    Raises:
        DataError: a label is None or nan.
    """
    _refuse_missing(labels)
    if labels.dtype != object:
        return np.asarray(predicted == labels), np.ones(len(labels))
    sets = [_as_set(label) for label in labels]
    possible = [label in of_node for label, of_node in zip(predicted.tolist(), sets, strict=True)]
    return np.array(possible), np.array([float(bool(of_node)) for of_node in sets])


def sample_weights(values: Any, count: int) -> np.ndarray | None:
    """Return checked weights `[count]`, or None for None.

    Raises:
        DataError: the weights have another shape, or one is negative or not finite.
    """
    if values is None:
        return None
    try:
        weights = np.asarray(values, np.float64)
    except (ValueError, TypeError) as error:
        raise DataError(f"sample_weight must be numbers; got {shortened(values)}") from error
    if weights.ndim == 0:
        weights = np.full(count, float(weights))
    if weights.shape != (count,):
        # scikit-learn's checks look for these words
        raise DataError(
            f"sample_weight.shape == {weights.shape}, expected {(count,)}: one number for each "
            "instance"
        )
    if not (weights != 0).any():
        raise DataError("sample_weight is zero for all instances: one weight must be positive")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError(f"sample_weight must be finite and not negative; got {shortened(values)}")
    return weights


def possible_labels(fix: Any, lengths: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return which labels nodes may have, `[nodes, k]`, where some nodes keep their labels.

    Args:
        fix: {node: label} for each instance; a set of labels allows each of them, and an empty set
            all labels.
        lengths: the number of nodes of each instance.
        classes: `[k]`, all labels.

    Raises:
        DataError: `fix` has another form, or names a node or a label that does not exist.
    """
    if not isinstance(fix, list | tuple) or len(fix) != len(lengths):
        raise DataError(
            f"fix must be a list of {{node: label}} for {len(lengths)} instances; "
            f"got {shortened(fix)}"
        )
    place = {label: number for number, label in enumerate(classes.tolist())}
    possible = np.ones((int(lengths.sum()), len(classes)), bool)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    for number, (fixed, length) in enumerate(zip(fix, lengths, strict=True)):
        if not isinstance(fixed, Mapping):
            raise DataError(f"fix[{number}] must be {{node: label}}; got {shortened(fixed)}")
        for node, label in fixed.items():
            is_node = isinstance(node, int | np.integer) and 0 <= node < length
            if not is_node or not _are_known(label, place):
                raise DataError(
                    f"fix[{number}] has {shortened(node)}: {shortened(label)}; nodes are 0 to "
                    f"{length - 1}, and labels {shortened(classes.tolist())}"
                )
            chosen = [place[kept] for kept in _as_set(label)]
            if chosen:
                possible[offsets[number] + node] = np.isin(np.arange(len(classes)), chosen)
    return possible


def _are_known(label: Any, place: Mapping[Any, int]) -> bool:
    """Return whether a label, or each label of a set, is one of the classes."""
    try:
        return _as_set(label) <= place.keys()
    except TypeError:  # a list or another value that no set can contain
        return False


def sorted_labels(labels: set[Any]) -> np.ndarray:
    """Return the labels in order, as an array.

    Raises:
        DataError: they have types that do not compare.
    """
    try:
        return np.array(sorted(labels))
    except TypeError as error:
        raise DataError(
            f"labels must be of one sortable type, such as texts; got {shortened(list(labels))}"
        ) from error


def _is_set(label: object) -> bool:
    return isinstance(label, set | frozenset)


def _as_set(label: Any) -> set[Any] | frozenset[Any]:
    if isinstance(label, set | frozenset):
        return label
    return {label}


def _refuse_missing(labels: np.ndarray) -> None:
    """Raise if a label is missing, or a label of a set.

    Raises:
        DataError: a label is None or nan.
    """
    if labels.dtype.kind not in "fO":
        return
    for node, label in enumerate(labels):
        if _is_set(label):
            missing = any(is_missing(possible) for possible in label)
        else:
            missing = is_missing(label)
        if missing:
            raise DataError(
                f"y has {shortened(label)} as the label of node {node} of all nodes in order. Pass "
                "the set of its possible labels, or an empty set where nothing is known"
            )
