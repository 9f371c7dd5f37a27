"""State files: the JSON document of `export-state`, written to a file, and read again by `compare`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.inspect.compare.state import StateResult
from glacierbase.model.arguments import check_not_empty
from glacierbase.model.codec import InvalidDocument, from_json, parsed
from glacierbase.model.command import command
from glacierbase.model.migration import version_number
from glacierbase.model.result import document, json_text
from glacierbase.run.files import FileRefused, check_replaceable, read_anywhere, replace_file, writing

_SCHEMA = "glacierbase/export-state/1"
_FORMAT = re.compile(r"glacierbase/export-state/[0-9]{1,9}")
# 5,000 versions and 500 tables of 100 columns are a quarter of it.
_LARGEST = 64 * 2**20


def check_output(path: str | Path) -> None:
    """Refuse a path that cannot be written, or that `compare` would not take for that of a state file. Writes nothing.

    Raises:
        ConfigurationError: `EMPTY_VALUE`, `INVALID_VALUE`, `UNREADABLE_FILE`.
    """
    check_not_empty("output", path)
    if not str(path).endswith(".json"):
        hint = f"`{command('export-state', '--output', 'state.json')}` writes one that `compare` reads"
        raise ConfigurationError("INVALID_VALUE", f"output is {path}, which does not end in .json", hint)
    with writing(path):
        check_replaceable(Path(path))


def write_states(path: str | Path, states: Sequence[StateResult]) -> None:
    """Write a state file. An existing one is replaced as a whole.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`.
    """
    with writing(path):
        replace_file(Path(path), json_text(document("export-state", states, None)) + "\n")


def read_states(path: str | Path) -> tuple[StateResult, ...]:
    """Read a state file: a state for each catalog in it.

    Raises:
        ConfigurationError: `STATE_INVALID`: it is no state file, or not whole; `UNREADABLE_FILE`.
    """
    hint = f"`{command('export-state', '--output', str(path))}` writes it, in a job that reaches the environment"
    try:
        return _states(parsed(read_anywhere(Path(path), _LARGEST)))
    except FileRefused as error:
        raise ConfigurationError(error.code, f"{path}: {error.what}", hint, path=str(path)) from error
    except (ValueError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else _reason(error)
        message = f"{path} is not a state file of glacierbase: {what}; nothing was compared"
        raise ConfigurationError("STATE_INVALID", message, hint, path=str(path)) from error


def _reason(error: ValueError) -> str:
    return str(error) if isinstance(error, InvalidDocument) else f"it is no JSON ({error})"


def _states(content: object) -> tuple[StateResult, ...]:
    """Return the states in a document.

    Raises:
        InvalidDocument: it is not the document of an `export-state` that succeeded.
    """
    schema = content.get("schema") if isinstance(content, dict) else None
    if isinstance(schema, str) and _FORMAT.fullmatch(schema) and schema != _SCHEMA:
        raise InvalidDocument(f"another version of glacierbase wrote it ({schema}); this one reads {_SCHEMA}")
    if not isinstance(content, dict) or schema != _SCHEMA:
        raise InvalidDocument(f"its schema is not {_SCHEMA}")
    if content.get("ok") is not True or not isinstance(content.get("catalogs"), list):
        raise InvalidDocument("it is the document of an export that failed")
    states = tuple(from_json(StateResult, each, f"catalogs[{i}]") for i, each in enumerate(content["catalogs"]))
    if not states:
        raise InvalidDocument("it holds no catalog")
    if len({(each.catalog, each.environment) for each in states}) < len(states):
        raise InvalidDocument("a catalog and an environment are listed twice")
    for state in states:
        _check(state)
    return states


def _check(state: StateResult) -> None:
    """Check what the types do not say.

    Raises:
        InvalidDocument: a name is empty, a time is missing, a version is none, or a version or a table is listed twice.
    """
    if not state.catalog.strip() or not state.environment.strip():
        raise InvalidDocument("a catalog or an environment has no name")
    if state.read_at is None and not state.skipped:
        raise InvalidDocument(f"catalog {state.catalog} has no time at which it was read")
    if not all(each.table.strip() for each in state.tables):
        raise InvalidDocument(f"catalog {state.catalog}: a table has no name")
    numbers = [version_number(each.version) for each in state.versions]
    if None in numbers or len(set(numbers)) < len(numbers):
        raise InvalidDocument(f"catalog {state.catalog}: a version is none, or listed twice")
    if len({each.table for each in state.tables}) < len(state.tables):
        raise InvalidDocument(f"catalog {state.catalog}: a table is listed twice")
