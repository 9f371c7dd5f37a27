"""What the commits to a statement's tables say of its outcome. Pure: values in, values out."""

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
        application: the Spark application that made it; empty where it was none, None where the log names nobody.
        tag: that the statement left in it.
    """

    table: str
    at: datetime
    what: str
    application: str | None = None
    tag: str | None = None


def assess(commits: Sequence[Commit], statement: InFlight, margin: timedelta = timedelta(0)) -> Evidence:
    """Return what the commits suggest: done by a commit of the statement's own, not done where there is none at all.

    Args:
        commits: all that the logs still hold.
        margin: how far the clocks of the run and of its engine may differ; zero where both are one machine's. An engine
            elsewhere is one application for all its clients, and its name proves nothing.
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
