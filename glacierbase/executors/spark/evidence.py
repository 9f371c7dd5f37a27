"""Evidence of a statement's outcome in the commits to its tables. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from glacierbase.executors import Evidence, InFlight


@dataclass(frozen=True, slots=True)
class Commit:
    """An entry of a table's own log.

    Attributes:
        what: operation and number.
        application: the Spark application that committed; empty where it was no Spark, None where the log names no application.
        tag: the tag of the statement, where the log holds one.
    """

    table: str
    at: datetime
    what: str
    application: str | None = None
    tag: str | None = None


def assess(commits: Sequence[Commit], statement: InFlight, margin: timedelta = timedelta(0)) -> Evidence:
    """Return what the commits suggest: done if the statement committed, not done if there was no commit since its start.

    Args:
        commits: all commits in the logs.
        margin: how far the clocks of the run and the engine may differ; zero on one machine. With a margin the engine is a
            server, which is one application for all its clients: its name proves nothing.
    """
    own = [commit for commit in commits if _is_own(commit, statement, margin)]
    since = statement.since - margin
    recent = [commit for commit in commits if commit.at >= since or commit in own]
    found = tuple(
        _line(commit, statement) for commit in sorted(recent, key=lambda each: (each.table, each.at, each.what))
    )
    if own:
        return Evidence(found, took_effect=True)
    return Evidence(found, took_effect=False if commits and not recent else None)


def _is_own(commit: Commit, statement: InFlight, margin: timedelta) -> bool:
    if commit.tag == statement.tag:
        return True
    same = commit.application == statement.application
    return bool(commit.application) and same and not margin and commit.at >= statement.since


def _line(commit: Commit, statement: InFlight) -> str:
    return f"{commit.table}: {commit.what} of {commit.at:%Y-%m-%d %H:%M:%S.%f} UTC{_author(commit, statement)}"


def _author(commit: Commit, statement: InFlight) -> str:
    if commit.tag == statement.tag:
        return " by this statement"
    if commit.application is None:
        return ""
    if not commit.application:
        return " by no Spark application"
    if commit.application == statement.application:
        return " by this run's application"
    return f" by application {commit.application}"
