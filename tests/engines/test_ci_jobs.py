"""The jobs that `init --ci` writes, run step by step with the real Spark: a review with its comment, and a deployment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.capabilities.authoring.init import init
from tests.support.ci import COMMIT, Machine, workflow
from tests.support.project_folder import migration
from tests.support.repository import commit_all

pytestmark = pytest.mark.spark
# Added, dropped, and made the source of a partition.
CHANGE = """\
ALTER TABLE lake.web.events ADD COLUMN quality INT;
ALTER TABLE lake.web.events DROP COLUMN kind;
ALTER TABLE lake.web.events ADD PARTITION FIELD bucket(4, quality)"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A checkout of a new project with the workflows of GitHub."""
    work = tmp_path / "work"
    init(str(work), "web", "spark", "github", COMMIT)
    commit_all(work)
    return Machine(work, tmp_path / "machine")


def test_a_pull_request_shows_what_its_migration_does_to_the_table(machine: Machine) -> None:
    """The comment has the columns and the partition, from the metadata of the copy. The loss of a column fails the check."""
    path = machine.work / "migrations/web/0002_change.sql"
    path.write_text(migration(CHANGE, "Replace the kind by the quality"))
    content = workflow(machine.work / ".github/workflows/glacierbase.yml")
    values = {"github.event.pull_request.number": "7", "github.event.pull_request.base.sha": "main"}
    done = machine.on_github(content["jobs"]["check"]["steps"], values)
    assert done.code == 3, done.log
    assert "::error file=migrations/web/0002_change.sql,line=5" in done.log
    comment = (machine.temp / "glacierbase-review" / "review.md").read_text()
    changed = {line for line in comment.splitlines() if line.startswith(("+ ", "- column", "- part"))}
    for what in ("column quality", "column kind", "bucket"):
        assert any(what in line for line in changed), comment


def test_what_was_planned_is_applied_and_nothing_is_left(machine: Machine) -> None:
    """A second run has an empty plan, which needs no approval."""
    content = workflow(machine.work / ".github/workflows/glacierbase.yml")
    for name in ("plan", "migrate", "plan", "migrate"):
        done = machine.on_github(content["jobs"][name]["steps"], {"matrix.environment": "prod"})
        assert done.code == 0, done.log
    assert re.findall("pending=.*", machine.output("GITHUB_OUTPUT")) == ["pending=True", "pending=False"]
    [result] = Project.load(machine.work, environment="prod").pending()
    assert result.pending == ()
