"""What the tests of rendering share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glacierbase.errors import GlacierbaseError, MigrationFileError, SeveralErrors
from glacierbase.migrations.compiled import Compiled, split_file
from glacierbase.migrations.render import Rendered, render
from glacierbase.model.migration import Migration

LOCATION = "migrations/shop/1_a.sql"
VARIABLES: dict[str, Any] = {
    "table": {"name": "events", "size": 16, "ratio": 0.5, "on": True, "off": False, "none": None},
    "shop": {"items": "i", "keys_": "k", "in": {"x": 1}},
    "names": ["b", "a"],
    "flags": [True, False],
    "holes": ["a", None],
    "columns": [{"name": "id", "type": "bigint"}, {"name": "at", "type": "date", "comment": "when"}],
    "multi": "1\n2\r\n3",
}


def rendered(text: str, variables: dict[str, Any] = VARIABLES, dialect: str = "spark") -> Rendered:
    migration = Migration("1", "a", "d", "a", Path("1_a.sql"), LOCATION, text, "v1:sha256:0")
    return render(migration, variables, "prod", "lake", dialect)


def sql(text: str, variables: dict[str, Any] = VARIABLES, dialect: str = "spark") -> str:
    return rendered(text, variables, dialect).text


def split(text: str, dialect: str) -> Compiled:
    """Return a file with this text, which is no template."""
    return split_file(Migration("1", "a", "d", "a", Path("1_a.sql"), LOCATION, text, "v1:sha256:0"), dialect)


def errors(text: str, variables: dict[str, Any] = VARIABLES, dialect: str = "spark") -> list[GlacierbaseError]:
    """Return the errors of a template, after checking the attributes that every error has."""
    with pytest.raises((MigrationFileError, SeveralErrors)) as caught:
        rendered(text, variables, dialect)
    found = list(caught.value.errors) if isinstance(caught.value, SeveralErrors) else [caught.value]
    for error in found:
        assert isinstance(error, MigrationFileError)
        assert error.data["path"] == LOCATION
        assert error.message.startswith(f"{LOCATION}, line {error.data['line']}: ")
        assert error.hint
    return found


def told(text: str) -> list[tuple[str, int, str]]:
    """Return code, line and message of each error."""
    return [(e.code, e.data["line"], e.message.partition(": ")[2]) for e in errors(text)]


def missing(text: str) -> list[str]:
    """Return the names that a template lacks; it has no other errors."""
    assert {error.code for error in errors(text)} == {"UNDEFINED_VARIABLE"}
    return [what.removesuffix(" is not defined") for _, _, what in told(text)]
