"""Checks of the values that callers of the public verbs pass."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.model.command import command
from glacierbase.model.migration import REPEATABLE_NAME, Key, version_number
from glacierbase.model.text import did_you_mean

# The name of a table may end like that of a file, `lake.sql`, and a quoted one may have a slash.
_MIGRATION = re.compile(r"(?s:[^`]*/[^`]*|.*/.*\.sql|[0-9]+_.*\.sql)")


def given(name: str, value: str | Path | None, variable: str) -> str | None:
    """Return the caller's value, else that of the environment variable, else None.

    Raises:
        ConfigurationError: `EMPTY_VALUE`.
    """
    name, value = (name, value) if value is not None else (variable, os.environ.get(variable))
    check_not_empty(name, value)
    return None if value is None else str(value)


def names_given(variable: str) -> tuple[str, ...]:
    """Return the names in an environment variable, which commas separate; none where it is not set.

    Raises:
        ConfigurationError: `EMPTY_VALUE`.
    """
    value = given(variable, None, variable)
    names = tuple(filter(None, map(str.strip, value.split(",")))) if value else ()
    # A list without a name would choose all.
    check_not_empty(variable, "".join(names) if value else None)
    return names


def check_not_empty(name: str, value: str | Path | None) -> None:
    """Refuse an empty value: it usually comes from a variable that is not set."""
    if value is not None and not str(value).strip():
        raise ConfigurationError("EMPTY_VALUE", f"{name} is empty", "give it a value, or leave it out")


def check_one_of(what: str, name: str, known: Collection[str]) -> None:
    """Refuse a name that is none of those known.

    Raises:
        ConfigurationError: `INVALID_VALUE`.
    """
    if name not in known:
        hint = did_you_mean(name, known, f"use one of {', '.join(known)}")
        raise ConfigurationError("INVALID_VALUE", f"unknown {what} {name}", hint)


def option_of(name: str) -> str:
    """Return the option of an argument: `--put-per-second`."""
    return f"--{name.replace('_', '-')}"


def check_reason(reason: str | None) -> None:
    """Refuse to change the history without a reason."""
    if not (reason or "").strip():
        raise ConfigurationError(
            "REASON_MISSING",
            "a reason is required to overrule the history",
            "add --reason 'what was observed, and by whom'",
        )


def check_parallel(parallel: int, *, is_session: bool) -> None:
    """Refuse a number of catalogs at a time that is none, or more than one in the caller's session.

    Raises:
        ConfigurationError: `INVALID_VALUE`, `CONFLICTING_OPTIONS`.
    """
    if parallel < 1:
        raise ConfigurationError("INVALID_VALUE", f"parallel is {parallel}", "use 1 or more")
    if parallel > 1 and is_session:
        raise ConfigurationError(
            "CONFLICTING_OPTIONS",
            f"parallel is {parallel}, but a given Spark session runs one catalog at a time",
            "omit `parallel=`, or omit `spark=` so that each catalog starts its engine",
        )


def check_role(name: str, role: str) -> None:
    """Refuse what is no name of a role: it becomes part of a statement that somebody runs.

    Args:
        name: of the argument.
    """
    check_not_empty(name, role)
    if not role.isprintable():
        raise ConfigurationError(
            "INVALID_NAME", f"{name}: {role!r} cannot be a role's name", "use printable characters"
        )


def version_given(version: str) -> int:
    """Return the number of a version.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`: the text is not a version.
    """
    number = version_number(version)
    if number is None:
        raise unknown_version(f"{version} is not a version")
    return number


def key_given(text: str) -> Key:
    """Return the number of a version, or the name of a repeatable.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`: it is neither.
    """
    return text if REPEATABLE_NAME.fullmatch(text) else version_given(text)


def names_file(text: str) -> bool:
    """Return whether an argument is the version or the path of a migration, where it may also be the name of a table."""
    return bool(_MIGRATION.fullmatch(text)) or version_number(text) is not None


def unknown_version(what: str) -> ConfigurationError:
    """Return the error for a version that does not exist."""
    return ConfigurationError("UNKNOWN_VERSION", what, f"`{command('status')}` lists all versions")
