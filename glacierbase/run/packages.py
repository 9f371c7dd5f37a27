"""Objects that installed packages add to glacierbase by entry points, loaded when they are needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from glacierbase.errors import ConfigurationError

# This import takes as long as reading a project, and most projects need no package.
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# The groups of entry points. The name of an entry point is the name of its object.
DIALECTS, EXECUTORS, STORES = "glacierbase.dialects", "glacierbase.executors", "glacierbase.stores"
T = TypeVar("T")


def names_in(group: str) -> tuple[str, ...]:
    """Return the names that packages add to a group, sorted. No package is imported."""
    return tuple(sorted({entry.name for entry in _entries(group)}))


def offered(group: str, name: str, kind: type[T]) -> T | None:
    """Return the object that a package adds to a group under a name, or None.

    Args:
        kind: the class of the object, whose attribute `name` is the name of the entry point.

    Raises:
        ConfigurationError: `BROKEN_PACKAGE`: the object cannot be loaded or has another class, or several packages add the name.
    """
    entries = [entry for entry in _entries(group) if entry.name == name]
    if len(entries) > 1:
        hint = f"uninstall all but one of them: {', '.join(sorted(map(_package, entries)))}"
        raise _broken(group, name, f"{len(entries)} packages add it", hint)
    for entry in entries:
        where = f"{entry.value} of the package {_package(entry)}"
        try:
            value = entry.load()
        except Exception as error:
            raise _broken(group, name, f"{where}: {type(error).__name__}: {error}") from error
        if not isinstance(value, kind):
            raise _broken(group, name, f"{where} is no {kind.__name__}")
        if getattr(value, "name", None) != name:
            raise _broken(group, name, f"{where} has not that name")
        return value
    return None


def _entries(group: str) -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points

    return entry_points(group=group)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value


def _broken(group: str, name: str, why: str, hint: str = "correct the package, or uninstall it") -> ConfigurationError:
    what = group.rpartition(".")[2].removesuffix("s")
    return ConfigurationError("BROKEN_PACKAGE", f"the {what} {name} cannot be used: {why}", hint, entry_point=name)
