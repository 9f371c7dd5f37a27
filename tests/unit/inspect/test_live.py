"""Reading many tables at once, from a catalog that answers, refuses or says nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from glacierbase.errors import ConfigurationError, OutcomeUnknown, StatementRefused
from glacierbase.inspect import live
from glacierbase.inspect.live import Reading, read_tables
from tests.unit.inspect.test_verdicts import SHAPE

NAMES = [f"lake.a.t{number}" for number in range(40)]


class Tables:
    """Replaces the reader of tables in a test.

    Attributes:
        asked: the names that were read.
        answer: returns what a read returns, or raises it.
    """

    asked: list[str] = []  # noqa: RUF012 (of the class)
    threads: set[int] = set()  # noqa: RUF012
    answer: Callable[[str], Any] = staticmethod(lambda _: SHAPE)

    def __init__(self, _: object) -> None: ...

    def needs_engine(self, table: str) -> bool:
        return table.startswith("far")

    def read(self, table: str) -> Any:
        Tables.asked.append(table)
        Tables.threads.add(threading.get_ident())
        return Tables.answer(table)

    def close(self) -> None: ...


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> type[Tables]:
    """The reader, asked for nothing yet."""
    monkeypatch.setattr(live, "TableShapes", Tables)
    monkeypatch.setattr(Tables, "asked", [])
    monkeypatch.setattr(Tables, "threads", set())
    return Tables


def raising(error: Exception) -> Callable[[str], Any]:
    def answer(_: str) -> Any:
        raise error

    return staticmethod(answer)  # type: ignore[return-value]


def test_tables_are_read_by_several_readers_and_no_more_than_four(tables: type[Tables]) -> None:
    """Each table once. A few tables need one reader."""
    assert read_tables(None, NAMES) == dict.fromkeys(NAMES, Reading(SHAPE))  # type: ignore[arg-type]
    assert sorted(tables.asked) == sorted(NAMES)
    assert len(tables.threads) <= 4
    tables.threads.clear()
    read_tables(None, NAMES[:3])  # type: ignore[arg-type]
    assert len(tables.threads) == 1


def test_what_only_an_engine_reads_is_not_asked_for(tables: type[Tables]) -> None:
    """No engine is started for it."""
    assert read_tables(None, ["far.a.t"]) == {"far.a.t": Reading(unread="only its engine reads it")}  # type: ignore[arg-type]
    assert tables.asked == []


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (OutcomeUnknown("NoAnswer", "no answer"), 4),
        (OutcomeUnknown("ConnectionError", "refused"), 12),
        (StatementRefused("Forbidden", "not yours"), 40),
        (ConfigurationError("STORE_NOT_ICEBERG", "not here"), 40),
    ],
)
def test_a_catalog_that_is_unreachable_is_not_asked_for_every_table(
    error: Exception, asked: int, tables: type[Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait to the time limit ends a reader at once, three lost connections in a row do; an answer is one about its table."""
    monkeypatch.setattr(tables, "answer", raising(error))
    found = read_tables(None, NAMES)  # type: ignore[arg-type]
    assert len(tables.asked) == asked
    assert set(found) == set(NAMES)
    assert all(each.unread == str(error) for each in found.values())
