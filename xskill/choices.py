"""A table of named choices: what stands behind each name, its traits, and what other packages add to it.

A table is light. An entry names its implementation as ``module:attribute``, which is imported when it is used, so that
a command can show all names in its help and import nothing. Entries of other packages come from an entry-point group;
the installed packages are searched only for a name that is not built in, and to list all names in an error.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Protocol, TypeVar, dataclass_transform

from xskill.errors import BadPlugIn, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Named(Protocol):
    """What an entry of a table must have."""

    @property
    def name(self) -> str:
        """What the user writes to choose it."""


@dataclass_transform(frozen_default=True)
class Entry:
    """A class whose fields are its annotations, as in a frozen dataclass.

    Every command imports tables at start-up, and ``dataclass`` takes half a millisecond a class.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__annotations__)

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self._fields, values, strict=False)) | named
        lacking = [name for name in self._fields if name not in given and not hasattr(type(self), name)]
        unknown = sorted(given.keys() - set(self._fields))
        if lacking or unknown or len(values) > len(self._fields):
            extra = unknown or values[len(self._fields) :]
            raise TypeError(f"{type(self).__name__}: lacks {lacking}, does not take {extra}")
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"


class Choice(Entry):
    """One entry of a table. A table whose entries have traits has a subclass of its own, a field a trait."""

    name: str
    """What the user writes."""
    help: str
    """One line, shown by ``--help``."""
    implementation: Any = None
    """The function or object behind the name, or where it is: ``module:attribute``."""

    def load(self) -> Any:
        """What stands behind the name, imported if need be."""
        return resolve(self.implementation)


C = TypeVar("C", bound=Named)


class ChoiceTable(Generic[C]):
    """The entries of one choice: those built in, in the order in which they are shown, then those of other packages."""

    def __init__(self, option: str, kind: type[C], built_in: Iterable[C], *, group: str | None = None) -> None:
        """Make a table.

        Args:
            option: how the user makes the choice, for errors: ``--policy``.
            kind: type of the entries.
            built_in: the entries of this package.
            group: entry-point group of the entries of other packages; None: there are none. The entry point has the
                name of the choice, and its object is the entry.
        """
        self.option = option
        self.group = group
        self._kind = kind
        self._built_in = {entry.name: entry for entry in built_in}
        self._loaded: dict[str, C] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names that are built in, in order."""
        return tuple(self._built_in)

    def __iter__(self) -> Iterator[C]:
        """Entries that are built in, in order."""
        return iter(self._built_in.values())

    def __contains__(self, name: object) -> bool:
        """Whether a name is built in."""
        return name in self._built_in

    def __getitem__(self, name: str) -> C:
        """The entry of a name.

        Raises:
            UsageError: no such name; the text lists all names and suggests the nearest.
            BadPlugIn: the name belongs to another package, and that entry cannot be used.
        """
        if name in self._built_in:
            return self._built_in[name]
        points = self._entry_points()
        if name not in points:
            self.refuse(name, [*self._built_in, *points])
        return self._load(points[name])

    def all_names(self) -> tuple[str, ...]:
        """Names that are built in, then those of other packages; searches the installed packages, imports none.

        Raises:
            BadPlugIn: another package claims a name that is taken.
        """
        return (*self._built_in, *self._entry_points())

    def sources(self) -> dict[str, str]:
        """Names of other packages → the package; imports none."""
        return {name: _place(point) for name, point in self._entry_points().items()}

    def outside(self) -> tuple[C, ...]:
        """Entries of other packages, by name.

        Raises:
            BadPlugIn: one of them cannot be used.
        """
        return tuple(self._load(point) for point in self._entry_points().values())

    def refuse(self, name: str, names: Iterable[str]) -> NoReturn:
        """Raise the :class:`UsageError` of a name that is none of ``names``."""
        from difflib import get_close_matches

        names = list(names)
        near = get_close_matches(name, names, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"{self.option} {name}: expected one of {', '.join(names)}{hint}")

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self.group is None or not any(may_offer(folder, self.group) for folder in dict.fromkeys(sys.path)):
            return {}
        from importlib.metadata import entry_points

        points: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=self.group), key=lambda point: (point.name, point.value)):
            if point.name in self._built_in:
                raise BadPlugIn(f"{_place(point)} adds {self.option} {point.name}, a name that xskill has itself")
            if points.setdefault(point.name, point) != point:
                raise BadPlugIn(f"{_place(point)} and {_place(points[point.name])} both add {self.option} {point.name}")
        return points

    def _load(self, point: EntryPoint) -> C:
        if point.name not in self._loaded:
            try:
                entry: Any = point.load()
            except Exception as error:  # whatever the other package's module does
                reason = f"{type(error).__name__}: {error}"
                raise BadPlugIn(f"{_place(point)} adds {self.option} {point.name}, but fails: {reason}") from error
            if not isinstance(entry, self._kind) or entry.name != point.name:
                raise BadPlugIn(
                    f"{_place(point)} adds {self.option} {point.name}, but {point.value} is no "
                    f"{self._kind.__module__}.{self._kind.__qualname__} of that name"
                )
            self._loaded[point.name] = entry
        return self._loaded[point.name]


def resolve(reference: Any) -> Any:
    """The object that ``module:attribute`` names; any other object is itself."""
    if not isinstance(reference, str):
        return reference
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


def may_offer(folder: str, group: str) -> bool:
    """Whether a package that is installed in a folder may have entry points of a group.

    Asking :mod:`importlib.metadata` takes 10 to 30 ms of a start; looking into the few files, 1 ms.
    """
    try:
        names = os.listdir(folder or ".")
    except NotADirectoryError:
        return True  # a ZIP file: let importlib look
    except OSError:
        return False
    for name in names:
        if name.endswith(".egg"):
            return True
        if name.endswith((".dist-info", ".egg-info")):
            try:
                with open(os.path.join(folder or ".", name, "entry_points.txt"), "rb") as file:
                    if group.encode() in file.read():
                        return True
            except OSError:
                continue
    return False


def _place(point: EntryPoint) -> str:
    """The distribution that an entry point belongs to, for errors."""
    return f"the installed package {point.dist.name if point.dist else '?'}"
