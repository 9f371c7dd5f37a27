"""Reading many tables at once, from a catalog that answers, refuses or says nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from glacierbase.errors import ConfigurationError, OutcomeUnknown, StatementRefused
from glacierbase.secrets import Secrets
from glacierbase.stores import live
from glacierbase.stores.live import LiveTables, Reading
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


def read(names: Sequence[str]) -> Mapping[str, Reading]:
    with LiveTables(None) as found:  # type: ignore[arg-type]
        return found.read(names)


def raising(error: Exception) -> Callable[[str], Any]:
    def answer(_: str) -> Any:
        raise error

    return staticmethod(answer)  # type: ignore[return-value]


def test_tables_are_read_by_several_readers_and_no_more_than_four(tables: type[Tables]) -> None:
    """Each table once. A few tables need one reader."""
    assert read(NAMES) == dict.fromkeys(NAMES, Reading(SHAPE))
    assert sorted(tables.asked) == sorted(NAMES)
    assert len(tables.threads) <= 4
    tables.threads.clear()
    read(NAMES[:3])
    assert len(tables.threads) == 1


def test_what_only_an_engine_reads_is_not_asked_for(tables: type[Tables]) -> None:
    """No engine is started for it."""
    assert read(["far.a.t"]) == {"far.a.t": Reading(unread="only its engine can read it")}
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
    found = read(NAMES)
    assert len(tables.asked) == asked
    assert set(found) == set(NAMES)
    assert all(each.unread == str(error) for each in found.values())


def test_a_catalog_that_was_unreachable_is_asked_for_nothing_more(
    tables: type[Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog that does not answer delays a command once for each reader, not once for each kind of question."""
    monkeypatch.setattr(tables, "answer", raising(OutcomeUnknown("NoAnswer", "no answer")))
    with LiveTables(None) as found:  # type: ignore[arg-type]
        found.read(NAMES)
        tables.asked.clear()
        assert found.past(dict.fromkeys(NAMES)) == {}
    assert tables.asked == []


def test_the_secrets_of_the_caller_are_masked_in_what_readers_report(
    tables: type[Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error is masked with the secrets that are in use where it is made: in the thread of a reader, too."""

    def answer(_: str) -> Any:
        raise StatementRefused("Forbidden", "denied to hunter2-and-more")

    monkeypatch.setattr(tables, "answer", staticmethod(answer))
    secrets = Secrets()
    secrets.register("hunter2-and-more")
    with secrets.in_use():
        assert {each.unread for each in read(NAMES).values()} == {"denied to ***"}
