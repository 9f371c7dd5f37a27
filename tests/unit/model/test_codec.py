"""Dataclasses to documents and back: which fields may be missing, which values are refused, and what the error says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from glacierbase.model.codec import (
    OMITTED,
    InvalidDocument,
    from_json,
    from_stored,
    parsed,
    to_json,
    to_stored,
)
from glacierbase.model.migration import Event, Squashed, State
from glacierbase.secrets import MASK, Secrets

NOON = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Inner:
    """A value inside another."""

    id: int | None = field(metadata=OMITTED)
    name: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Outer:
    """A value with a field of each kind."""

    state: State
    at: datetime | None
    inner: tuple[Inner, ...] = ()
    as_: str | None = None
    fence: int | None = None
    more: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Squashed, ...] = ()
    later: str | None = None


WHOLE = Outer(
    State.APPLIED, NOON, (Inner(1, "a", True), Inner(None, "b")), "x", 7, {"k": "v"}, (Squashed("1", "c", True),), "y"
)
SPARSE = Outer(State.FAILED, None)


@pytest.mark.parametrize("value", [WHOLE, SPARSE])
def test_a_value_is_read_as_it_was_written(value: Outer) -> None:
    """As a command writes it, and as the history does."""
    assert from_json(Outer, to_json(value), "value") == value
    assert from_stored(Outer, to_stored(value)) == value


def test_the_history_stores_no_default_and_nothing_empty_that_is_marked() -> None:
    """A null that is neither is stored."""
    assert to_stored(SPARSE) == {"state": "failed", "at": None}
    assert to_stored(WHOLE) == {
        "state": "applied", "at": "2026-11-01T12:00:00+00:00",
        "inner": [{"id": 1, "name": "a", "is_new": True}, {"name": "b"}], "as": "x", "fence": 7,
        "more": {"k": "v"}, "files": [["1", "c", True]], "later": "y",
    }  # fmt: skip


def test_a_document_of_a_command_has_every_field() -> None:
    """A missing field is no default: somebody removed it."""
    document = to_json(SPARSE)
    assert from_json(Outer, {**document, "unknown": [1]}, "value") == SPARSE
    for key in document:
        with pytest.raises(InvalidDocument, match=f"value: object missing required field `{key}`"):
            from_json(Outer, {name: value for name, value in document.items() if name != key}, "value")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fence": True}, "value.fence: expected `int | null`, got `bool`"),
        ({"fence": 1.5}, "value.fence: expected `int | null`, got `float`"),
        ({"inner": [{"id": 1, "name": 2, "is_new": False}]}, "value.inner[0].name: expected `str`, got `int`"),
        ({"inner": {}}, "value.inner: expected `array`, got `object`"),
        ({"more": {"k": 1}}, "value.more[...]: expected `str`, got `int`"),
        ({"state": "nope"}, "value.state: invalid enum value 'nope'"),
        ({"files": [["1", "c"]]}, "value.files[0]: expected `array` of length 3, got 2"),
        ({"at": "2026-11-01T12:00:00"}, "value.at: expected `datetime` with a timezone component"),
        ({"at": "noon"}, "value.at: invalid RFC3339 encoded datetime"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "value: a time is out of range"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(change: dict[str, Any], message: str) -> None:
    """The message is one line."""
    for read in (
        lambda document: from_json(Outer, document, "value"),
        lambda document: from_stored(Outer, document, "value"),
    ):
        with pytest.raises(InvalidDocument) as caught:
            read({**to_json(WHOLE), **change})
        assert str(caught.value) == message


def test_a_time_is_read_in_utc() -> None:
    """Whatever zone it was written in."""
    read = from_stored(Outer, {"state": "applied", "at": "2026-11-01T14:00:00+02:00"}).at
    assert read == NOON
    assert read is not None
    assert read.utcoffset() == timedelta(0)


def test_what_is_no_document_is_named_without_a_path() -> None:
    """A list, where the history holds an object."""
    with pytest.raises(InvalidDocument, match=r"^the document: expected `object`, got `array`$"):
        from_stored(Outer, [])


@pytest.mark.parametrize(
    ("text", "value"), [('"\\udcff"', "\udcff"), (b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]})]
)
def test_a_text_is_parsed_also_where_it_is_no_unicode(text: str | bytes, value: object) -> None:
    """Half a surrogate pair stands for a byte in the name of a file."""
    assert parsed(text) == value


@pytest.mark.parametrize("text", ["", "{"])
def test_a_text_that_is_no_json_is_refused(text: str) -> None:
    """The error is that of the standard library."""
    with pytest.raises(ValueError, match="Expecting"):
        parsed(text)


# Without a guard, msgspec 0.22 ends such a process by a segmentation fault nearly each time.
TOGETHER = """\
import sys, threading
from glacierbase.history.details import Details
from glacierbase.model.codec import from_stored

sys.setswitchinterval(1e-6)
document = {"process": {"pid": 1}, "before": {"table": "t", "uuid": "u", "metadata": "m", "sequence": 1}}
document |= {"session": {"statements": [1]}, "allows": [{"statement_index": 1, "code": "A", "reason": "r"}]}
ready, read = threading.Barrier(8), []

def convert():
    ready.wait()
    read.append(from_stored(Details, document))

threads = [threading.Thread(target=convert) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(read), len(set(map(repr, read))))
"""


def test_threads_may_read_the_first_document_of_a_process_together() -> None:
    """`compare` reads the history of each environment in a thread."""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", TOGETHER], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "8 1\n", "")


def test_a_text_that_is_json_is_a_value_of_the_document() -> None:
    """Values inside it are masked one by one. A damaged text stays a text."""
    event = Event(
        1, 1, "run", "shop", "dev", "started", details='{"plan": "a \\"quoted\\" word"}', tables='["lake.a.t"'
    )
    document = to_json(event)
    assert (document["details"], document["tables"]) == ({"plan": 'a "quoted" word'}, '["lake.a.t"')
    secrets = Secrets()
    with secrets.in_use():
        secrets.register("quoted")
        assert to_json(event)["details"] == {"plan": f'a "{MASK}" word'}
