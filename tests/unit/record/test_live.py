"""Reading many tables at once, from a catalog that answers, refuses or says nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from glacierbase.errors import ConfigurationError, OutcomeUnknown, StatementRefused
from glacierbase.record import live
from glacierbase.record.live import LiveTables, TableRead
from glacierbase.secrets import Secrets
from tests.unit.capabilities.tables.test_verdicts import SHAPE

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


def read(names: Sequence[str]) -> Mapping[str, TableRead]:
    with LiveTables(None) as found:  # type: ignore[arg-type]
        return found.read(names)


def test_tables_are_read_by_several_readers_and_no_more_than_four(tables: type[Tables]) -> None:
    """Each table once. A few tables need one reader."""
    assert read(NAMES) == dict.fromkeys(NAMES, TableRead(SHAPE))
    assert sorted(tables.asked) == sorted(NAMES)
    assert len(tables.threads) <= 4
    tables.threads.clear()
    read(NAMES[:3])
    assert len(tables.threads) == 1


def test_what_only_an_engine_reads_is_not_asked_for(tables: type[Tables]) -> None:
    """No engine is started for it."""
    assert read(["far.a.t"]) == {"far.a.t": TableRead(unread="only its engine can read it")}
    assert tables.asked == []


def failing_after(seconds: float, error: Exception, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Return what raises the error, after so many seconds by the clock of its reader."""
    now = threading.local()
    monkeypatch.setattr(live, "monotonic", lambda: getattr(now, "at", 0.0))

    def answer(_: str) -> Any:
        now.at = getattr(now, "at", 0.0) + seconds
        raise error

    return staticmethod(answer)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("error", "seconds", "asked"),
    [
        (OutcomeUnknown("NoAnswer", "no answer"), 300, 4),
        (OutcomeUnknown("ConnectTimeout", "no connection"), 10, 12),
        (OutcomeUnknown("ServerError", "500"), 0.01, 40),
        (StatementRefused("Forbidden", "not yours"), 30, 40),
        (ConfigurationError("STORE_NOT_ICEBERG", "not here"), 0, 40),
    ],
)
def test_a_catalog_that_is_unreachable_is_not_asked_for_every_table(
    error: Exception, seconds: float, asked: int, tables: type[Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long waits end a reader, and the tables that it did not ask for say so; quick errors and answers are about their tables."""
    monkeypatch.setattr(tables, "answer", failing_after(seconds, error, monkeypatch))
    found = read(NAMES)
    assert len(tables.asked) == asked
    assert set(found) == set(NAMES)
    for name, each in found.items():
        not_asked = f"not read, because the catalog did not answer for another table: {error}"
        assert each.unread == (str(error) if name in tables.asked else not_asked)


def refused(_: str) -> Any:
    raise StatementRefused("Forbidden", "not yours")


@pytest.mark.parametrize("refuses", [False, True])
def test_an_answer_ends_the_count_of_slow_failures(
    refuses: bool, tables: type[Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog that answers between slow failures is reachable, a refusal included: they may be hours apart."""
    fail = failing_after(20, OutcomeUnknown("NoAnswer", "no answer"), monkeypatch)
    with LiveTables(None) as found:  # type: ignore[arg-type]
        for _ in range(3):
            monkeypatch.setattr(tables, "answer", fail)
            assert found.read(["lake.a.slow"]) == {"lake.a.slow": TableRead(unread="no answer")}
            monkeypatch.setattr(tables, "answer", staticmethod(refused if refuses else lambda _: SHAPE))
            answer = TableRead(unread="not yours") if refuses else TableRead(SHAPE)
            assert found.read(["lake.a.t"]) == {"lake.a.t": answer}


def test_a_catalog_that_was_unreachable_is_asked_for_nothing_more(
    tables: type[Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog that does not answer delays a command once for each reader, not once for each kind of question."""
    monkeypatch.setattr(tables, "answer", failing_after(300, OutcomeUnknown("NoAnswer", "no answer"), monkeypatch))
    with LiveTables(None) as found:  # type: ignore[arg-type]
        found.read(NAMES)
        tables.asked.clear()
        assert found.past(dict.fromkeys(NAMES)) == {}
    assert tables.asked == []


def test_readers_end_with_the_command(tables: type[Tables], monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupt no further table is asked for, and the threads end."""
    begun, goes_on = threading.Semaphore(0), threading.Event()

    def answer(_: str) -> Any:
        begun.release()
        goes_on.wait(30)
        return SHAPE

    def interrupted(*_: object) -> Any:
        for _each in range(4):
            begun.acquire()
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, "answer", staticmethod(answer))
    monkeypatch.setattr(live, "result", interrupted)
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        read(NAMES)
    goes_on.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
        assert not thread.is_alive()
    assert len(tables.asked) == 4


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
