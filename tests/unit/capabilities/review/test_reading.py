"""The summaries of base files in the user's cache: a review reads the files that are new, and those that declare their tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from glacierbase.capabilities.review.results import ReviewResult
from glacierbase.migrations.sandbox import _Worker
from glacierbase.migrations.worker import Examiner
from glacierbase.run.cache import cache_folder
from glacierbase.run.sealed import opened, sealed
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.unit.capabilities.review.copies import FakeCopy
from tests.unit.capabilities.review.test_direct_review import TABLE, reviewed
from tests.unit.capabilities.review.test_review import CATALOG
from tests.unit.capabilities.review.test_review import reviewed as reviewed_on_a_copy

OTHER = "lake.sleep.other"
# The versions and statements of a base. The table `former` is created under another name.
BASE = (
    f"CREATE TABLE {TABLE} (id BIGINT COMMENT 'of it', device STRING) USING iceberg TBLPROPERTIES ('a' = '1')",
    f"CREATE TABLE {OTHER} (id BIGINT, size INT) USING iceberg PARTITIONED BY (bucket(4, id))",
    "CREATE TABLE lake.sleep.first (id BIGINT COMMENT 'first') USING iceberg TBLPROPERTIES ('a' = '2')",
    "ALTER TABLE lake.sleep.first RENAME TO sleep.former",
)


@pytest.fixture
def branch(project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A branch on a base of several tables. The user's cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root.parent / "cache"))
    project.catalog(CATALOG)
    for number, sql in enumerate(BASE, start=1):
        project.file(f"{number:04d}_base.sql", sql)
    commit_all(project.root)
    return project


@contextmanager
def requests() -> Iterator[list[tuple[str, str]]]:
    """Yield what is asked of the sandbox for the summaries, after the rules: the function and the number of each file."""
    asked: list[tuple[str, str]] = []
    compile_ = _Worker.compile

    def noted(worker: _Worker, migration: Any, catalog: Any, dialect: str, examiner: Examiner | None) -> Any:
        function = examiner.function.rpartition(":")[2] if examiner else ""
        if asked or function == "summarize":
            asked.append((function, migration.version))
        return compile_(worker, migration, catalog, dialect, examiner)

    with patch.object(_Worker, "compile", noted):
        yield asked


def read(branch: ProjectFolder) -> list[tuple[str, str]]:
    """Review, and return what was asked of the sandbox."""
    with requests() as asked:
        reviewed(branch)
    return asked


def without_cache(branch: ProjectFolder) -> ReviewResult:
    shutil.rmtree(cache_folder())
    return reviewed(branch)


def test_a_second_review_reads_what_is_new_and_what_declares_its_tables(branch: ProjectFolder) -> None:
    """Among the declaring files is the one that creates the table under a former name."""
    branch.file("0005_new.sql", f"ALTER TABLE {TABLE} ADD COLUMN x INT")
    assert read(branch) == [("summarize", f"{number:04d}") for number in range(1, 6)]
    assert read(branch) == [("summarize", "0005"), ("declare", "0001"), ("summarize", "0005")]
    branch.file("0005_new.sql", "ALTER TABLE lake.sleep.FORMER ADD COLUMN x INT")
    assert read(branch)[1:] == [("declare", "0003"), ("declare", "0004"), ("summarize", "0005")]
    branch.file("0005_new.sql", "CREATE TABLE lake.sleep.fresh (id INT) USING iceberg")
    assert read(branch) == [("summarize", "0005")]


@pytest.mark.parametrize(
    "sql",
    [
        f"ALTER TABLE {OTHER} DROP PARTITION FIELD bucket(4, id); ALTER TABLE {TABLE} SET TBLPROPERTIES ('a' = '3')",
        "ALTER TABLE lake.sleep.former SET TBLPROPERTIES ('a' = '4')",
        f"ALTER TABLE {TABLE} RENAME TO sleep.moved; ALTER TABLE lake.sleep.moved UNSET TBLPROPERTIES ('a')",
    ],
)
def test_the_result_is_that_of_a_review_without_a_cache(branch: ProjectFolder, sql: str) -> None:
    """What undoes a statement follows from what the base declares of its table."""
    branch.file("0005_also.sql", f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('a' = '9')")
    commit_all(branch.root, "more")
    reviewed(branch)
    branch.file("0006_new.sql", sql)
    cached, expected = reviewed(branch), without_cache(branch)
    assert cached.files == expected.files
    assert (cached.findings, cached.warnings) == (expected.findings, expected.warnings)
    assert expected.tables
    for table, other in zip(cached.tables, expected.tables, strict=True):
        assert (table.table, table.diff, table.cost, table.undo) == (other.table, other.diff, other.cost, other.undo)


def test_after_a_statement_that_is_not_understood_nothing_is_known_of_a_table(branch: ProjectFolder) -> None:
    """The former value of a property is not known, with the cache as without."""
    new = f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('a' = '3')"
    branch.file("0005_new.sql", new)
    [undo] = [statement.undo for statement in reviewed(branch).files[0].statements]
    assert undo
    assert undo.sql == f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('a' = '1')"
    branch.file("0005_new.sql", "CALL lake.system.unknown('x')")
    commit_all(branch.root, "more")
    branch.file("0006_new.sql", new)
    for _ in range(2):
        with requests() as asked:
            [result] = reviewed_on_a_copy(branch, FakeCopy())
        [undo] = [statement.undo for statement in result.files[0].statements]
        assert undo
        assert undo.note == "no file before declares the former value"
    assert asked == [("summarize", "0006"), ("declare", "0001"), ("declare", "0005"), ("summarize", "0006")]


def test_the_first_files_of_a_project_are_reviewed_in_every_environment(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process applies the rules and reads the summaries, each with what it knows of the tables."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.root.parent / "cache"))
    sizes = "{dev: {variables: {size: 4}}, test: {variables: {size: 8}}, prod: {variables: {size: 16}}}"
    project.catalog(f"{CATALOG}environments: {sizes}\ndefaultEnvironment: dev\n")
    commit_all(project.root)
    project.file("0001_create.sql", BASE[0].replace("id", "id{{ variables.size }}"))
    project.file("0002_set.sql", f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('a' = '2'); DROP TABLE lake.sleep.absent")
    results = reviewed_on_a_copy(project, FakeCopy())
    for result in results:
        [_, second] = result.files
        [undo, _] = [statement.undo for statement in second.statements]
        assert undo
        assert undo.sql == f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('a' = '1')"
    assert [result.environments for result in results] == [("dev",), ("test",), ("prod",)]


def test_a_file_of_another_branch_is_not_of_the_base(branch: ProjectFolder) -> None:
    """A new file is read each time; after its merge, only it is read, once more."""
    branch.file("0005_new.sql", "CREATE TABLE lake.sleep.fresh (id INT) USING iceberg")
    read(branch)
    commit_all(branch.root, "merged")
    branch.file("0006_next.sql", "CREATE TABLE lake.sleep.later (id INT) USING iceberg")
    assert read(branch) == [("summarize", "0005"), ("summarize", "0006")]
    assert read(branch) == [("summarize", "0006")]


def in_version(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("glacierbase.capabilities.review.reading.__version__", "0.0.0")


def in_variable(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    branch.catalog(CATALOG + "variables: {a: b}\n")


def in_catalogs(branch: ProjectFolder, patch: pytest.MonkeyPatch) -> None:
    branch.catalog(CATALOG.replace("SparkCatalog}", "SparkCatalog, spark.sql.catalog.lake.type: hadoop}"))


@pytest.mark.parametrize("change", [in_version, in_variable, in_catalogs])
def test_a_summary_is_used_for_the_same_rendering_only(
    change: Callable[[ProjectFolder, pytest.MonkeyPatch], None], branch: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version, variable or kind of catalog leads to other summaries; all files are read."""
    branch.file("0005_new.sql", f"ALTER TABLE {TABLE} ADD COLUMN x INT")
    read(branch)
    change(branch, monkeypatch)
    assert len(read(branch)) == 5


def test_an_edited_file_of_the_base_is_read_again(branch: ProjectFolder) -> None:
    """Only that one: what it declares is known too."""
    branch.file("0005_new.sql", "CREATE TABLE lake.sleep.fresh (id INT) USING iceberg")
    read(branch)
    branch.file("0002_base.sql", BASE[1] + " COMMENT 'x'")
    commit_all(branch.root, "edited")
    branch.file("0006_new.sql", "CREATE TABLE lake.sleep.later (id INT) USING iceberg")
    assert [number for _, number in read(branch)] == ["0002", "0005", "0006"]


def test_fixtures_are_files_of_the_base(branch: ProjectFolder) -> None:
    """Fixtures are read without a template, declare tables, and have a summary that is kept."""
    branch.catalog(CATALOG + "review: {fixtures: tables.sql}\n")
    (branch.root / "tables.sql").write_text(
        "CREATE TABLE lake.sleep.fixed (id INT) USING iceberg TBLPROPERTIES ('a' = '{{ no }}')"
    )
    branch.file("0005_new.sql", "ALTER TABLE lake.sleep.fixed SET TBLPROPERTIES ('a' = 'b')")
    expected = reviewed(branch)
    with requests() as asked:
        cached = reviewed(branch)
    assert [function for function, _ in asked] == ["summarize", "declare", "summarize"]
    assert cached.files == expected.files
    [statement] = cached.files[0].statements
    assert "{{ no }}" in str(statement.undo)


SOUND: dict[str, Any] = {"checksum": "x", "steps": []}
STEP: dict[str, Any] = {"index": 1, "line": 1, "column": 1, "text": "x", "summary": {}}


@pytest.mark.parametrize(
    "answer",
    [None, {**SOUND, "checksum": 1}, {**SOUND, "steps": [STEP]}],
)
def test_what_is_no_summary_is_read_again(branch: ProjectFolder, answer: object) -> None:
    """The next review finds the summaries again."""
    check_replaced(branch, lambda document: sealed(json.dumps(dict.fromkeys(document, answer)).encode()))


@pytest.mark.parametrize("content", [b"x" * 200, sealed(b"[" * 100_000), sealed(b"[]")])
def test_an_entry_that_is_damaged_is_ignored(branch: ProjectFolder, content: bytes) -> None:
    """All files are read, and the next review finds their summaries again."""
    check_replaced(branch, lambda _: content)


def check_replaced(branch: ProjectFolder, damage: Callable[[dict[str, Any]], bytes]) -> None:
    """Review on a damaged entry of the cache, and once more."""
    branch.file("0005_new.sql", f"ALTER TABLE {TABLE} ADD COLUMN x INT")
    expected = reviewed(branch)
    [path] = cache_folder("summaries").iterdir()
    path.write_bytes(damage(json.loads(opened(path.read_bytes()))))
    with requests() as asked:
        result = reviewed(branch)
    assert [number for _, number in asked][:5] == ["0001", "0002", "0003", "0004", "0005"]
    assert (result.files, result.error) == (expected.files, None)
    assert len(read(branch)) == 3


def test_a_broken_new_file_is_named_with_the_cache_as_without(branch: ProjectFolder) -> None:
    """Once, and the other new files are reviewed."""
    branch.file("0005_new.sql", f"ALTER TABLE {TABLE} ADD COLUMN x INT")
    reviewed(branch)
    branch.file("0006_broken.sql", "SELECT {{ nothing }}")
    cached, expected = reviewed(branch), without_cache(branch)
    assert cached.error
    assert expected.error
    assert (cached.error.message, cached.error.code) == (expected.error.message, expected.error.code)
    assert cached.files == expected.files
