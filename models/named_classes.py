"""Look up classes and objects by the names that configurations and stored models give them."""

from __future__ import annotations

import reprlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

ClassT = TypeVar("ClassT")
ObjectT = TypeVar("ObjectT")


@dataclass(frozen=True, eq=False)
class Named(Mapping[str, ObjectT], Generic[ObjectT]):
    """Classes of a folder by name, and classes that other packages plug in.

    An object is imported when its name is looked up, so a table of names loads no torch.

    Attributes:
        noun: what the objects are, such as "estimator", for messages.
        folder: the package that the modules of `built_in` and `base` belong to.
        built_in: "module:object" by name. A new object is a file and a line here.
        group: the entry points by which other packages plug in theirs.
        base: "module:class" of the class or protocol that a plug-in is checked against.
        error: the class of errors.
    """

    noun: str
    folder: str
    built_in: Mapping[str, str]
    group: str
    base: str
    error: type[Exception]

    @abstractmethod
    def _why_not(self, loaded: object, base: type) -> str:
        """Return what a plug-in should be to follow `base`; empty if it does."""

    def __getitem__(self, name: str) -> ObjectT:
        """Import and return the object with this name.

        Raises:
            KeyError: nothing has this name.
            Exception: of the class `error`: a plug-in cannot be imported, or does not
                follow `base`.
        """
        if name in self.built_in:
            loaded: ObjectT = self._import(self.built_in[name])
            return loaded
        return self._load(self._plug_ins()[name])

    def __contains__(self, name: object) -> bool:
        """Return whether something has this name, without importing it."""
        return isinstance(name, str) and (name in self.built_in or name in self._plug_ins())

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, those of this package first."""
        yield from self.built_in
        yield from self._plug_ins()

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self.built_in) + len(self._plug_ins())

    def named(self, name: str) -> ObjectT:
        """Import and return the object with this name.

        Raises:
            Exception: of the class `error`: nothing has this name, and the message
                suggests the nearest; or as for `[name]`.
        """
        if isinstance(name, str) and name in self:
            return self[name]
        near = get_close_matches(str(name), self, n=1)
        hint = ""
        if near:
            hint = f"did you mean {near[0]}? "
        raise self.error(
            f"no {self.noun} is called {reprlib.repr(name)}; {hint}there are: {', '.join(self)}"
        )

    def _plug_ins(self) -> dict[str, EntryPoint]:
        """Return the entry points of other packages; a name in `built_in` is never a plug-in."""
        points = entry_points(group=self.group)
        return {point.name: point for point in points if point.name not in self.built_in}

    def _load(self, point: EntryPoint) -> ObjectT:
        """Import and return the object of an entry point.

        Raises:
            Exception: of the class `error`: it cannot be imported, or does not follow `base`.
        """
        plug_in = f"the plug-in {self.noun} {point.name} ({point.value})"
        try:
            loaded = point.load()
        except (ImportError, AttributeError) as error:
            raise self.error(f"{plug_in} cannot be imported: {error}") from error
        base = self._import(self.base)
        if reason := self._why_not(loaded, base):
            raise self.error(f"{plug_in} must be {reason}")
        checked: ObjectT = loaded
        return checked

    def _import(self, address: str) -> Any:
        """Import and return what "module:name" of the folder stands for."""
        module, _, attribute = address.partition(":")
        return getattr(import_module(f"{self.folder}.{module}"), attribute)


class NamedClasses(Named[type[ClassT]], Generic[ClassT]):
    """Classes by name. `structured_vae` has tables of them too."""

    def _why_not(self, loaded: object, base: type) -> str:
        is_protocol = getattr(base, "_is_protocol", False)
        if not is_protocol:
            if isinstance(loaded, type) and issubclass(loaded, base):
                return ""
            return f"a class that derives from {base.__name__}"
        if not isinstance(loaded, type):
            return f"a class with the methods of {base.__name__}"
        missing = [name for name in _methods(base) if not hasattr(loaded, name)]
        if missing:
            return f"a class with the methods of {base.__name__}; it lacks {', '.join(missing)}"
        return ""


class NamedObjects(Named[ObjectT], Generic[ObjectT]):
    """Objects by name, such as the readers of data sets."""

    def _why_not(self, loaded: object, base: type) -> str:
        if isinstance(loaded, base):
            return ""
        return f"an object of {base.__name__}"


def _methods(protocol: type) -> list[str]:
    """Return the names of the public methods of a protocol and of the protocols it extends."""
    return [
        name
        for cls in reversed(protocol.__mro__)
        for name, value in vars(cls).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, staticmethod))
    ]
