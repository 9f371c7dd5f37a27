"""The state after the base in the user's cache: when it is used, and what is done with one that is none."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glacierbase.capabilities.review import base_states
from glacierbase.capabilities.review.base_states import BaseState, BaseStates
from glacierbase.capabilities.review.results import ReviewResult
from glacierbase.errors import OutcomeUnknown, StatementRefused, TableNotFound
from glacierbase.executors import CopyState
from glacierbase.run import sealed as sealing
from glacierbase.run.cache import cache_folder
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.unit.capabilities.review.copies import TABLE, FakeCopy
from tests.unit.capabilities.review.test_review import CATALOG, reviewed

FIRST = f"CREATE TABLE {TABLE} (id STRING, device STRING) USING iceberg"
SECOND = f"ALTER TABLE {TABLE} ADD COLUMN second INT"
NEW = f"ALTER TABLE {TABLE} ADD COLUMN x INT"
STATE = CopyState({("lake", "sleep"): {"a": "b"}}, {("lake", "sleep", "event"): "s3://x"}, {}, {"s3://x": b"\x00{}"})


@pytest.fixture
def branch(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A branch with one new migration on a base of two. The user's cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root.parent / "cache"))
    project.catalog(CATALOG)
    project.file("0001_create.sql", FIRST)
    project.file("0002_second.sql", SECOND)
    commit_all(project.root)
    project.file("0003_new.sql", NEW)
    return project


def review(branch: ProjectFolder, **attributes: Any) -> tuple[FakeCopy, ReviewResult]:
    """Review on a copy that holds `STATE` after the base."""
    copy = FakeCopy()
    copy.held = STATE
    for name, value in attributes.items():
        setattr(copy, name, value)
    [result] = reviewed(branch, copy)
    return copy, result


def is_cached(result: ReviewResult) -> bool:
    assert result.replay
    return result.replay.cached


def kept() -> list[Path]:
    return sorted(cache_folder("replays").iterdir())


def test_the_second_review_runs_only_what_is_new(branch: ProjectFolder) -> None:
    """The copy holds the state that the first one left after the base, with all files, properties and locations."""
    first, result = review(branch)
    assert (first.ran, first.restored, is_cached(result)) == ([FIRST, SECOND, NEW], None, False)
    second, again = review(branch)
    assert (second.ran, second.restored, is_cached(again)) == ([NEW], STATE, True)
    assert again.files == result.files
    assert again.tables == result.tables


def test_a_base_that_grew_is_run_from_where_the_cache_ends(branch: ProjectFolder) -> None:
    """The chain of checksums finds the state after the most files; the state after the new base is then kept too."""
    review(branch)
    commit_all(branch.root, "merged")
    branch.file("0004_next.sql", "SELECT 4")
    copy, result = review(branch)
    assert (copy.ran, copy.restored, is_cached(result)) == ([NEW, "SELECT 4"], STATE, True)
    copy, _ = review(branch)
    assert copy.ran == ["SELECT 4"]
    assert len(kept()) == 2


def in_version(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("glacierbase.capabilities.review.base_states.__version__", "0.0.0")


def in_file(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    branch.file("0001_create.sql", FIRST + " COMMENT 'x'")


def in_order(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    branch.file("0001_create.sql", SECOND)
    branch.file("0002_second.sql", FIRST)


def in_setting(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    branch.catalog(CATALOG.replace("SparkCatalog}", "SparkCatalog, spark.sql.ansi.enabled: 'false'}"))


def in_engine(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    branch.file("0002_second.sql", "SELECT 2")
    review(branch)
    patch.setattr(FakeCopy, "engine", "spark 4.1.5")


def in_jar(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    jar = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.1"
    branch.catalog(CATALOG.replace("conf:\n", f"conf:\n    dependencies: [{jar}]\n"))


def in_fixtures(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    branch.catalog(CATALOG + "review: {fixtures: tables.sql}\n")
    (branch.root / "tables.sql").write_text("SELECT 'fixture'")


@pytest.mark.parametrize(
    "change",
    [
        *(in_file, in_setting, in_fixtures),
        *(change for change in (in_version, in_order, in_engine, in_jar)),
    ],
)
def test_a_state_is_used_for_the_same_base_only(
    change: Callable[[ProjectFolder, pytest.MonkeyPatch], None], branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files in another order or with another content, fixtures, settings, jars and versions lead to another state."""
    review(branch)
    change(branch, monkeypatch)
    copy, result = review(branch)
    assert (copy.restored, is_cached(result)) == (None, False)
    assert copy.ran[-1] == NEW
    assert len(copy.ran) > 2


def test_the_state_after_plain_files_does_not_depend_on_the_engine(
    branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After another file, a state belongs to the engine that made it."""
    branch.file("0003_new.sql", f"SELECT 3; {NEW}")
    review(branch)
    monkeypatch.setattr(FakeCopy, "engine", "pyiceberg 0.12.0")
    copy, result = review(branch)
    assert (copy.restored, is_cached(result)) == (STATE, True)
    commit_all(branch.root, "merged")
    branch.file("0004_next.sql", "SELECT 4")
    review(branch)
    monkeypatch.setattr(FakeCopy, "engine", "spark 4.1.4")
    copy, _ = review(branch)
    assert copy.ran == ["SELECT 3", NEW, "SELECT 4"]


def sealed(document: object) -> bytes:
    """Return the content of a file of the cache, with the right digest."""
    return sealing.sealed(json.dumps(document).encode())


VALID: dict[str, Any] = {"namespaces": [], "tables": [], "views": [], "files": {}, "problems": []}
BOMB = zlib.compress(b" " * (sealing.MOST_BYTES + 1))
NO_STATES = [
    b"", b"x" * 64, b"\x00" * 200, sealed([]), sealed(None), sealed({}), sealed({**VALID, "tables": [["lake", "t"]]}),
    sealed({**VALID, "tables": [[["lake", "a", 1], "s3://x"]]}), sealed({**VALID, "tables": [[["lake"], "s3://x"]]}),
    sealed({**VALID, "files": {"s3://x": "no base64"}}), sealed({**VALID, "files": ["s3://x"]}),
    sealed({**VALID, "namespaces": [[["lake", "a"], {"key": ["list"]}]]}),
    sealed({**VALID, "problems": [[7, 1, "REPLAY_REFUSED", True, "x"]]}),
    sealed({**VALID, "problems": [[0, 9, "REPLAY_REFUSED", True, "x"]]}),
    sealed({**VALID, "problems": [[0, 1, "REPLAY_REFUSED", True, {"a": 1}]]}), sealed({**VALID, "problems": [[]]}),
    sealing.sealed(b"[" * 100_000), sealing.sealed(b"\xff"),
    hashlib.sha256(BOMB).hexdigest().encode() + BOMB, hashlib.sha256(b"no zlib").hexdigest().encode() + b"no zlib",
]  # fmt: skip


@pytest.mark.parametrize("content", [NO_STATES[0], NO_STATES[6]])
def test_what_is_no_state_is_ignored_and_replaced(content: bytes, branch: ProjectFolder) -> None:
    """With a damaged state file, the review is that without a cache."""
    review(branch)
    [path] = kept()
    before = path.read_bytes()
    path.write_bytes(content)
    copy, result = review(branch)
    assert (copy.ran, copy.restored, is_cached(result), result.error) == ([FIRST, SECOND, NEW], None, False, None)
    assert path.read_bytes() == before


def test_each_kind_of_file_that_is_no_state_is_ignored(branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged, cut, too large when unpacked, of another shape, nested without end, or with the digest of something else."""
    opened: list[BaseStates] = []
    latest = BaseStates.latest
    monkeypatch.setattr(BaseStates, "latest", lambda states: opened.append(states) or latest(states))
    review(branch)
    [path] = kept()
    content = path.read_bytes()
    assert opened[0].latest() == BaseState(2, (), STATE)
    changed = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(0, len(content), 7)]
    for no_state in (*NO_STATES, *changed, content[:-1], content + b"x"):
        path.write_bytes(no_state)
        assert opened[0].latest() is None, no_state[:100]


def test_a_file_that_others_may_write_or_that_is_no_file_is_ignored(branch: ProjectFolder) -> None:
    """The state decides what a reviewer sees; only this user may write it."""
    review(branch)
    [path] = kept()
    path.chmod(0o666)
    assert review(branch)[0].restored is None
    path.unlink()
    os.mkfifo(path)
    assert review(branch)[0].restored is None


def test_a_state_that_the_engine_refuses_costs_a_second_start(branch: ProjectFolder) -> None:
    """A new copy runs the whole base, because the first one holds a part of the state."""
    review(branch)
    copy, result = review(branch, invalid_state=OutcomeUnknown("X", "cannot parse metadata"))
    assert (copy.starts, copy.ran, is_cached(result), result.error) == (2, [FIRST, SECOND, NEW], False, None)


def test_the_problems_of_the_base_are_those_of_a_review_without_a_cache(branch: ProjectFolder) -> None:
    """Warnings stay, and a table that the base could not make may exist all the same."""
    branch.file("0003_new.sql", "VACUUM lake.a.b; SELECT 2; CREATE TABLE lake.a.other (a INT) USING iceberg")
    commit_all(branch.root, "more")
    branch.file("0004_new.sql", "ALTER TABLE lake.a.other ADD COLUMN x INT; ALTER TABLE lake.a.typo ADD COLUMN x INT")
    refusals = {
        "CREATE TABLE lake.a": StatementRefused("X", "refused"),
        "SELECT 2": StatementRefused("X", "refused"),
        "ALTER": TableNotFound("X", "no such table"),
    }
    _, first = review(branch, refusals=refusals)
    copy, second = review(branch, refusals=refusals)
    assert copy.restored == STATE
    assert [(each.code, str(each.severity)) for each in second.findings] == [
        ("REPLAY_UNKNOWN_TABLE", "warning"),
        ("REPLAY_UNKNOWN_TABLE", "error"),
    ]
    assert (second.warnings, second.findings) == (first.warnings, first.findings)


@pytest.mark.parametrize("held", [None, CopyState({}, {}, {}, {"s3://x": b"x" * (sealing.MOST_BYTES // 2 + 1)})])
def test_a_state_that_cannot_be_kept_is_a_warning(held: CopyState | None, branch: ProjectFolder) -> None:
    """A function or a table of Spark's own catalog would be missing; a large state would cost more than the replay."""
    for _ in range(2):
        copy, result = review(branch, held=held)
        assert copy.ran == [FIRST, SECOND, NEW]
        assert "the state after the base is not cached: " in result.warnings[0]
    assert not cache_folder("replays").exists()


def test_a_cache_that_cannot_be_written_is_no_error(branch: ProjectFolder) -> None:
    """The review is the same without."""
    cache_folder().parent.write_text("a file in the place of the folder")
    _, result = review(branch)
    assert (result.error, result.warnings) == (None, ())


def test_the_newest_states_are_kept(branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder does not grow with each merge."""
    monkeypatch.setattr(base_states, "_MOST_KEPT", 2)
    review(branch)
    [oldest] = kept()
    os.utime(oldest, (0, 0))
    for number in (3, 4):
        commit_all(branch.root, "merged")
        branch.file(f"000{number + 1}_next.sql", f"SELECT {number}")
        review(branch)
    assert len(kept()) == 2
    assert oldest not in kept()


def test_a_namespace_is_made_where_no_file_up_to_there_creates_it(branch: ProjectFolder) -> None:
    """The state after a file depends on no later one, so that a longer chain begins with the same states."""
    branch.file("0003_new.sql", "CREATE NAMESPACE lake.sleep")
    copy, _ = review(branch)
    assert copy.namespaces == [("lake", "sleep")] * 2
