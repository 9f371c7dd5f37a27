"""What a table's commits suggest about a statement whose answer was lost."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from glacierbase.executors import Evidence, InFlight
from glacierbase.executors.spark.evidence import Commit, assess

SINCE = datetime(2026, 11, 20, 10, 30, tzinfo=timezone.utc)
SECOND, MINUTES = timedelta(seconds=1), timedelta(minutes=10)
STATEMENT = InFlight(("t",), SINCE, "glacierbase;run;1;1", "INSERT INTO t VALUES (1)", "local-1")
OWN, OTHER, NO_SPARK = "local-1", "local-2", ""


def commit(seconds: int, application: str | None = None, tag: str | None = None) -> Commit:
    return Commit("t", SINCE + seconds * SECOND, "append", application, tag)


@pytest.mark.parametrize(
    ("commits", "margin", "took_effect"),
    [
        ([], 0 * SECOND, None),
        ([commit(-1, OWN)], 0 * SECOND, False),
        ([commit(-1, OWN), commit(1, OWN)], 0 * SECOND, True),
        ([commit(1, OTHER), commit(2, OWN)], 0 * SECOND, True),
        ([commit(1, OTHER)], 0 * SECOND, None),
        ([commit(1, NO_SPARK)], 0 * SECOND, None),
        ([commit(1)], 0 * SECOND, None),
        ([commit(1, tag="another")], 0 * SECOND, None),
        ([commit(1, tag=STATEMENT.tag)], 0 * SECOND, True),
        ([commit(1, OWN)], MINUTES, None),
        ([commit(-599, OWN)], MINUTES, None),
        ([commit(-601, OWN)], MINUTES, False),
        ([commit(-601, tag=STATEMENT.tag)], MINUTES, True),
    ],
)
def test_only_its_own_commit_suggests_done_and_only_no_commit_suggests_not_done(
    commits: list[Commit], margin: timedelta, took_effect: bool | None
) -> None:
    """A commit of the statement suggests done, no commit suggests not done; a log is never proof."""
    evidence = assess(commits, STATEMENT, margin)
    assert (evidence.took_effect, evidence.is_proof) == (took_effect, False)


def test_no_application_is_not_an_application() -> None:
    """A statement without a recorded application does not match a commit without one."""
    unnamed = InFlight(("t",), SINCE, "tag", "", None)
    assert assess([commit(1), commit(1, NO_SPARK)], unnamed).took_effect is None


def test_each_line_names_the_author_of_the_commit() -> None:
    """The application is named if the log contains one."""
    commits = [commit(1, OWN), commit(2, OTHER), commit(3, NO_SPARK), commit(4), commit(5, tag=STATEMENT.tag)]
    at = "t: append of 2026-11-20 10:30:0{}.000000 UTC{}"
    assert assess(commits, STATEMENT) == Evidence(
        (
            at.format(1, " by this run's application"),
            at.format(2, " by application local-2"),
            at.format(3, " by no Spark application"),
            at.format(4, ""),
            at.format(5, " by this statement"),
        ),
        took_effect=True,
    )
