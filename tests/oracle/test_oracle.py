"""The direct engine does what real Spark did when the oracle was recorded: the same metadata, and the same error classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest

from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.sql import read
from tests.oracle.cases import groups
from tests.oracle.records import names, recorded
from tests.oracle.replay import Replay
from tests.oracle.spark import USER
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder, only_catalog

# How many statements of a case one test replays: those that change one table many times take longer.
LENGTHS = {"tables": 24, "alters": 6, "chains": 11, "alter chains": 11}
# Chains of statements with several clauses.
CLAUSES = "alter chains"
PARTS = {
    group: [
        pytest.param(group, name, begin, id=f"{name} from {begin + 1}")
        for name, statements in cases.items()
        for begin in range(0, len(statements), LENGTHS[group])
    ]
    for group, cases in groups().items()
}
# How many of a hundred statements of a group are plain.
PLAIN = {"tables": 50, "alters": 90, "chains": 95, "alter chains": 95}
# Why the direct engine leaves a plain statement to Spark when it sees the table.
OF_THE_TABLE = re.compile(
    r"REPLACE from format version (?!2 to 2|3 to 3)|a branch of an empty table of format version 3|.* is a part of a table"
    r"|the table has no column `nope`, and one whose name holds a backtick|the value of commit\.retry\.num-retries is no number"
)


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """A catalog on SQLite for all cases, with files in a new folder."""
    folder = tmp_path_factory.mktemp("oracle")
    project = ProjectFolder(folder / "project")
    (folder / "tables").mkdir()
    project.catalog(LAKE.replace("WAREHOUSE", str(folder)))
    with pytest.MonkeyPatch.context() as patch, closing(Replay(only_catalog(project.root))) as replay:
        patch.setenv("SPARK_USER", USER)
        yield replay


@pytest.mark.parametrize(
    ("group", "name", "begin"), [part for group, parts in PARTS.items() for part in parts if group != CLAUSES]
)
def test_the_direct_engine_does_what_spark_did(replay: Replay, group: str, name: str, begin: int) -> None:
    """Each statement has the recorded error class, and leaves the recorded metadata."""
    check(replay, group, name, begin)


@pytest.mark.parametrize(("group", "name", "begin"), PARTS[CLAUSES])
def test_the_direct_engine_does_in_chains_of_clauses_what_spark_did(
    replay: Replay, group: str, name: str, begin: int
) -> None:
    """The clauses of one statement change the table together, or not at all."""
    check(replay, group, name, begin)


def check(replay: Replay, group: str, name: str, begin: int) -> None:
    """Compare a part of a case with its record."""
    replayed = replay.run(recorded(group, name), begin, begin + LENGTHS[group])
    assert replayed.differences == ()
    assert [why for sql, why in replayed.not_plain.items() if is_plain(sql) and not OF_THE_TABLE.match(why)] == []


@pytest.mark.parametrize("group", groups())
def test_most_statements_are_plain(group: str) -> None:
    """A statement that is not plain is left to Spark: nothing of this engine is compared with its record."""
    statements = [one.sql for name in names(group)[:20] for one in recorded(group, name).statements]
    assert sum(map(is_plain, statements)) >= len(statements) * PLAIN[group] / 100 > 0


@pytest.mark.parametrize("group", groups())
def test_each_case_is_recorded_as_it_is_written(group: str) -> None:
    """`python -m tests.oracle` renews the record after a change of the cases."""
    statements = {name: [one.sql for one in recorded(group, name).statements] for name in names(group)}
    assert statements == {name: list(listed) for name, listed in groups()[group].items()}


def is_plain(sql: str) -> bool:
    """Return whether a statement needs no Spark, whatever its table is."""
    return why_not_plain(read(sql, "spark")) is None
