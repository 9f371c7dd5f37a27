"""Whose change it is while another client commits to the same table, at every boundary of a run.

The oracle is the client that made each commit (`tests.support.witnessed`), which reads no statement. The tables are real ones of
Iceberg, without an engine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply.plan import Selection
from glacierbase.apply.progress import Progress
from glacierbase.capabilities.tables.blame import BlamedLine, BlameResult, blame
from glacierbase.capabilities.tables.drift import DriftResult, drift
from glacierbase.errors import GlacierbaseError, MigrationFailed
from glacierbase.record.live import TableShapes
from glacierbase.record.shapes import ChangeOrigin
from glacierbase.record.table_search import TableSearch
from glacierbase.record.tables import TableChoice
from tests.support.project_folder import ProjectFolder
from tests.support.witnessed import HAND, Witness

T = "ALTER TABLE lake.a.t"
FIRST = f"CREATE TABLE lake.a.t (id BIGINT) USING iceberg; {T} ADD COLUMN a STRING; {T} SET TBLPROPERTIES ('p1'='0')"
# What the second file does, and what the other client does meanwhile: same parts, other parts, both.
OWN = [
    f"{T} ADD COLUMN b STRING", f"{T} SET TBLPROPERTIES ('p1'='1')", f"{T} RENAME COLUMN a TO c", f"{T} DROP COLUMN a",
    f"{T} ALTER COLUMN id COMMENT 'ours'", f"{T} SET TBLPROPERTIES ('p2'='1')", "INSERT INTO lake.a.t VALUES (1)",
    f"{T} ALTER COLUMN a COMMENT 'ours'", f"{T} ADD COLUMN d STRING", "INSERT INTO lake.a.missing VALUES (1)",
]  # fmt: skip
FOREIGN = [
    f"{T} ADD COLUMN x STRING", f"{T} SET TBLPROPERTIES ('p1'='9')", f"{T} SET TBLPROPERTIES ('p3'='9')",
    f"{T} RENAME COLUMN a TO y", f"{T} RENAME COLUMN b TO z", f"{T} RENAME COLUMN c TO w", f"{T} DROP COLUMN id",
    f"{T} ALTER COLUMN id COMMENT 'theirs'", f"{T} ALTER COLUMN b COMMENT 'theirs'", f"{T} SET TBLPROPERTIES ('p2'='9')",
    f"{T} ADD COLUMN b STRING",
]  # fmt: skip
_MANY = 60


def a_run(folder: Path, own: str, foreign: str, step: int) -> tuple[Witness, Progress, bool]:
    """Apply two files while another client commits at a step of the second. Return whether there was such a step."""
    world, progress = Witness(ProjectFolder(folder)), Progress()
    world.file("1_a.sql", FIRST)
    world.run(world.migrate)
    world.file("2_b.sql", own)
    world.others = {world.steps + step: foreign}
    with suppress(MigrationFailed):
        world.run(lambda: migrated(world, progress))
    return world, progress, not world.others


def migrated(world: Witness, progress: Progress) -> None:
    world.migrator().migrate(Selection(), progress)


def lines(world: Witness) -> Iterator[tuple[BlamedLine, str, Any]]:
    """Yield the lines of `blame` on columns and properties, each with who made it in truth, and when if it was by hand."""
    found = blame(world.target(), BlameResult("shop", "default"), TableSearch("lake.a.t"))
    shape = world.shape("t")
    assert shape
    ids = {each.name: each.id or 0 for each in shape.columns}
    assert {*ids} <= {line.name for line in found.lines_ if line.kind == "column"}
    for line in found.lines_:
        part: tuple[str, int | str] = (
            ("column", ids.get(line.name, 0)) if line.kind == "column" else (line.kind, line.name)
        )
        if part in world.made["t"]:
            yield line, world.made["t"][part], world.times.get(("t", part))


def check(world: Witness, progress: Progress, told: str) -> None:
    """Each part is said to be by who made it, with the time at which another client did; `migrate` or `drift` tells that."""
    drifts = drift(world.target(), DriftResult("shop", "default"), TableChoice()).drifts
    for line, who, at in lines(world):
        said = HAND if line.outside else line.version
        assert said == who, f"{told}: {line.kind} {line.name} is by {who}, not by {said} ({line.since.origin})"
        if who == HAND:
            assert (line.at, line.since.at_most) == (at, False), f"{told}: {line.name}"
            is_told = any(f" {line.name}" in each for each in progress.warnings)
            is_drift = any(line.name in (each.actual or "") + each.what for each in drifts)
            assert is_told or is_drift, f"{told}: nobody was told of {line.name}: {progress.warnings}"
            assert line.since.origin in (ChangeOrigin.OUTSIDE, ChangeOrigin.DURING)


def stories(seed: int) -> tuple[str, str]:
    chance = random.Random(seed)
    return ";\n".join(chance.sample(OWN, chance.randint(1, 3))), chance.choice(FOREIGN)


@pytest.mark.parametrize("seed", [5, *range(5), *range(6, _MANY)])
def test_a_change_of_another_client_is_never_that_of_the_file_that_ran(seed: int, tmp_path: Path) -> None:
    """At each step of a run, and after it: before the first statement, between two; on parts of the file, and on others."""
    own, foreign = stories(seed)
    step, was_there = 0, True
    while was_there:
        step += 1
        world, progress, was_there = a_run(tmp_path / str(step), own, foreign, step)
        check(world, progress, f"{own} | {foreign} at {step}")
    assert step > 8


@pytest.mark.parametrize("seed", [6, *range(6), *range(7, _MANY)])
def test_without_a_list_of_commits_no_file_gets_a_part_that_it_does_not_name(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as in Delta and Snowflake, or after the metadata expired. Which of two changes of a part was later is not known."""
    monkeypatch.setattr(TableShapes, "past", lambda *_: None)
    own, foreign = stories(seed)
    step, was_there = 0, True
    while was_there:
        step += 1
        world, _, was_there = a_run(tmp_path / str(step), own, foreign, step)
        for line, who, _ in lines(world):
            said = HAND if line.outside else line.version
            is_named = any(f" {line.name} " in f"{each} " or f"'{line.name}'" in each for each in own.split(";\n"))
            assert said == who or (is_named and foreign.split()[-1] != line.name), (
                f"{own} | {foreign} at {step}: {line.name}"
            )


def test_a_file_that_only_writes_rows_has_changed_no_shape(tmp_path: Path) -> None:
    """`INSERT` is about no column; `blame`, `show` and the warning of `migrate` agree."""
    world, progress, _ = a_run(tmp_path, "INSERT INTO lake.a.t VALUES (1)", f"{T} ADD COLUMN x STRING", 7)
    [line] = [each for each, _, _ in lines(world) if each.name == "x"]
    assert (line.version, line.author, line.outside) == (None, None, True)
    assert any("+ column x: string" in each for each in progress.warnings), progress.warnings


def test_nothing_is_said_of_a_run_without_others(tmp_path: Path) -> None:
    """The warning is of others' changes only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableShapes, "past", lambda *_: pytest.fail("no commit has to be looked up"))
        for number, own in enumerate(OWN[:-1]):
            try:
                _, progress, _ = a_run(tmp_path / str(number), own, "", 10**6)
            except GlacierbaseError as error:
                pytest.fail(error.message)
            assert progress.warnings == (), own
