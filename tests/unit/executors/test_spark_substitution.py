"""The setting of a session is read before each statement, and no statement is sent while it is on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from glacierbase.errors import StatementRefused
from glacierbase.executors.spark.session import SparkSessionPort
from glacierbase.sql.dialects import SUBSTITUTES


class Conf(dict[str, str]):
    """The settings of a session; some ignore what is set."""

    ignores = False

    def set(self, key: str, value: str) -> None:
        if not self.ignores:
            self[key] = value


class Spark:
    """A session that notes each statement, with the setting at that time; RESET restores the default of Spark."""

    def __init__(self) -> None:
        self.conf = Conf({SUBSTITUTES: "true"})
        self.sent: list[tuple[str, str]] = []

    def sql(self, text: str) -> Any:
        self.sent.append((text, self.conf[SUBSTITUTES]))
        if text == "RESET":
            self.conf[SUBSTITUTES] = "true"
        return SimpleNamespace(isLocal=lambda: True, collect=list)


def test_it_is_off_for_each_statement_whatever_the_one_before_did() -> None:
    """As on Spark Connect and in a session of the caller, where RESET turns it on."""
    spark = Spark()
    port = SparkSessionPort(spark)
    for sql in ("SELECT 1", "RESET", "SELECT 2"):
        port.execute(sql)
    port.execute("RESET")
    port.query("SELECT 3")
    assert spark.sent == [(sql, "false") for sql in ("SELECT 1", "RESET", "SELECT 2", "RESET", "SELECT 3")]


def test_no_statement_is_sent_in_a_session_that_keeps_it_on() -> None:
    """The error proves that the statement had no effect."""
    spark = Spark()
    spark.conf.ignores = True
    for run in (SparkSessionPort(spark).execute, SparkSessionPort(spark).query):
        with pytest.raises(StatementRefused) as caught:
            run("SELECT 1")
        assert caught.value.error_class == "SUBSTITUTION_ON"
    assert spark.sent == []
