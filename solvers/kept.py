"""Compute attributes once, when they are first read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Type checkers treat this class as a property, and so match protocols with it.
    from functools import cached_property as kept
else:

    class kept:  # noqa: N801  # a decorator
        """`functools.cached_property` without a lock, as since Python 3.12: threads may race."""

        def __init__(self, compute):
            self._compute = compute
            self._name = compute.__name__
            self.__doc__ = compute.__doc__

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._compute(instance)
            return value


__all__ = ["kept"]
