"""The arguments of a network's constructor as one dataclass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar, cast, get_type_hints

P = ParamSpec("P")
Arguments = TypeVar("Arguments")
Model = TypeVar("Model")


def with_fields_of(
    kind: Callable[P, Arguments],
) -> Callable[[Callable[[type[Model], Arguments], Model]], Callable[Concatenate[Any, P], Model]]:
    """Let a class method that takes a dataclass take the fields of the dataclass instead.

    `checked_arguments` and `help` see the fields in the signature, with their types and defaults.

    Args:
        kind: the dataclass. The method may take other keywords after it, as `**others`.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Sizes:
        ...     inputs: int
        ...     outputs: int = 1
        >>> class Line:
        ...     @classmethod
        ...     @with_fields_of(Sizes)
        ...     def of_arguments(cls, sizes):
        ...         return sizes
        >>> Line.of_arguments(inputs=3)
        Sizes(inputs=3, outputs=1)
    """
    stated: Any = kind
    names = {field.name for field in fields(stated)}

    def decorate(
        make: Callable[[type[Model], Arguments], Model],
    ) -> Callable[Concatenate[Any, P], Model]:
        method: Any = make

        @wraps(method)
        def make_with_fields(cls: Any, *values: Any, **named: Any) -> Model:
            of_kind = {name: value for name, value in named.items() if name in names}
            others = {name: value for name, value in named.items() if name not in names}
            model: Model = method(cls, stated(*values, **of_kind), **others)
            return model

        first, _, *keywords = signature(method).parameters.values()
        parameters = [first, *signature(stated).parameters.values(), *keywords]
        shown: Any = make_with_fields
        shown.__signature__ = signature(method).replace(parameters=parameters)
        shown.__annotations__ = get_type_hints(stated)
        return cast("Callable[Concatenate[Any, P], Model]", make_with_fields)

    return decorate
