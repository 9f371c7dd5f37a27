"""The fixtures of a test."""

from __future__ import annotations

from typing import Any

import pytest


def name_of(fixture: pytest.FixtureDef[Any]) -> str:
    """Return a name that no other fixture has: its file or folder, and its own."""
    return f"{fixture.baseid}::{fixture.argname}"


def shared_fixtures(item: pytest.Item) -> list[str]:
    """Return the fixtures that an item has in common with others, those that only other fixtures name included."""
    waiting, shared, known = list(fixtures_of(item)), set(), set()
    while waiting:
        name = waiting.pop()
        for fixture in (item.session._fixturemanager.getfixturedefs(name, item) or ())[-1:]:
            waiting += set(fixture.argnames) - known
            known.update(fixture.argnames)
            if fixture.scope != "function":
                shared.add(name_of(fixture))
    return sorted(shared)


def fixtures_of(item: pytest.Item) -> set[str]:
    """Return the fixtures that a test names: by its arguments, its parameters, or its mark `bed`."""
    callspec = getattr(item, "callspec", None)
    values = {value for value in callspec.params.values() if isinstance(value, str)} if callspec else set()
    return {*getattr(item, "fixturenames", ()), *values, *(mark.args[0] for mark in item.iter_markers("bed"))}
