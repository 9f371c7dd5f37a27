"""What installed packages add to glacierbase: objects that entry points name, loaded when they are needed."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from glacierbase.errors import ConfigurationError

# Their groups, in which the name of an entry point is that of its object.
DIALECTS, EXECUTORS, STORES = "glacierbase.dialects", "glacierbase.executors", "glacierbase.stores"
T = TypeVar("T")


def names_in(group: str) -> tuple[str, ...]:
    """Return the names that packages add to a group, sorted. Imports none of them."""
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def offered(group: str, name: str, kind: type[T]) -> T | None:
    """Return the object that a package adds to a group under a name; None where no package does.

    Args:
        kind: the class of the object, whose attribute `name` is the name of the entry point.

    Raises:
        ConfigurationError: `BROKEN_PACKAGE`: it cannot be loaded or is something else, or several packages add one of this name.
    """
    found = tuple(entry_points(group=group, name=name))
    if len(found) > 1:
        hint = f"uninstall all but one of them: {', '.join(sorted(map(_package, found)))}"
        raise _broken(group, name, f"{len(found)} packages add it", hint)
    for entry in found:
        where = f"{entry.value} of the package {_package(entry)}"
        try:
            value = entry.load()
        except Exception as error:
            raise _broken(group, name, f"{where}: {type(error).__name__}: {error}") from error
        if not isinstance(value, kind):
            raise _broken(group, name, f"{where} is no {kind.__name__}")
        if value.name != name:  # type: ignore[attr-defined]
            raise _broken(group, name, f"{where} has the name {value.name!r}")  # type: ignore[attr-defined]
        return value
    return None


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value


def _broken(group: str, name: str, why: str, hint: str = "correct the package, or uninstall it") -> ConfigurationError:
    what = group.rpartition(".")[2].removesuffix("s")
    return ConfigurationError("BROKEN_PACKAGE", f"the {what} {name} cannot be used: {why}", hint, entry_point=name)
