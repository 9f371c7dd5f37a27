"""`drift adopt` that is killed, or whose record is refused: no moment leaves a file that would run here."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.crash.adopting import MOMENTS
from tests.support.project_folder import ProjectFolder
from tests.support.recorded import RecordedTables
from tests.unit.capabilities.tables.test_drift_files import change, made

RECORDED = {"after the record", "before the name", "after the name"}


@pytest.fixture
def tables(project: ProjectFolder) -> RecordedTables:
    """The table `lake.a.t`, changed outside of migrations."""
    tables = made(project)
    change(tables)
    return tables


def end_at(tables: RecordedTables, moment: str, how: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.crash.adopting", str(tables.project.root), moment, how]
    return subprocess.run(command, capture_output=True, text=True)


def names(tables: RecordedTables) -> set[str]:
    """Return how the files end that are not the first migration."""
    files = {each.name for each in (tables.project.root / "migrations" / "shop").iterdir()} - {"1_make.sql"}
    return {name.partition(".")[2] for name in files}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_leaves_nothing_that_would_run_here(tables: RecordedTables, moment: str) -> None:
    """Either nothing is recorded and adopt can be repeated, or the version is recorded and its file is there or named."""
    assert end_at(tables, moment, "SIGKILL").returncode == -signal.SIGKILL
    pending = tables.run("pending", "--exit-code")
    assert pending.code == 0, pending.stdout
    is_recorded = tables.run("drift").code == 0
    assert is_recorded == (moment in RECORDED)
    expected = {"after the name": "sql", "before the file": None}.get(moment, "sql.draft")
    assert names(tables) == {expected} - {None}
    if not is_recorded:
        again = tables.run("drift", "adopt", "--reason", "why", "--author", "Ann", "--yes")
        assert again.code == 0, again.stderr
        assert "sql" in names(tables)
        assert tables.run("drift").code == 0
    elif expected == "sql.draft":
        [printed] = [line for line in pending.stdout.splitlines() if " restore it: mv " in line]
        subprocess.run(printed.partition("restore it: ")[2], shell=True, check=True)
    assert tables.run("pending", "--exit-code").code == 0
    assert "restore it" not in tables.run("pending").stdout


def test_a_record_that_is_refused_names_the_draft(tables: RecordedTables) -> None:
    """The file is not pending, the error says where it is and that nothing is recorded, and adopt can be repeated."""
    refused = end_at(tables, "before the record", "refused")
    assert refused.returncode == 6
    [draft] = (tables.project.root / "migrations" / "shop").glob("*.draft")
    assert f"what it adopts is in migrations/shop/{draft.name}, which no command reads" in refused.stderr
    assert "adopt again if `glacierbase drift" in refused.stderr
    assert tables.run("pending", "--exit-code").code == 0
    assert tables.run("drift", "adopt", "--reason", "why", "--author", "Ann", "--yes").code == 0
    assert tables.run("drift").code == 0
