"""No session of glacierbase replaces `${…}` in a statement, whatever the file, the catalog file or the machine sets."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.errors import MigrationFileError
from glacierbase.executors.spark.java import find_java_home
from glacierbase.sql.dialects import SUBSTITUTES
from tests.support.beds import LakeBed, RemoteLake
from tests.support.program import run_here
from tests.support.project_folder import REPOSITORY, ProjectFolder
from tests.support.substituted import CANARY, replaced

pytestmark = pytest.mark.spark


def test_a_session_of_a_started_spark_takes_every_form_literally_and_nothing_turns_that_off(lake: LakeBed) -> None:
    """Rows, comments, properties, names, views, settings; a form in place of a keyword or in a hint is a syntax error."""
    assert replaced(lake.executor.open_session, f"lake.s{uuid.uuid4().hex[:8]}", is_fixed=True) == []


def test_a_session_on_spark_connect_takes_every_form_literally(remote_lake: RemoteLake) -> None:
    """The server replaces `${…}` by default; after RESET the next statement turns it off again."""
    assert replaced(remote_lake.executor.open_session, f"lake.s{uuid.uuid4().hex[:8]}", is_fixed=False) == []


@pytest.mark.parametrize("kind", ["started", "own", "copy"])
def test_a_new_spark_takes_every_form_literally_although_its_defaults_say_otherwise(
    kind: str, lake_project: ProjectFolder, tmp_path: Path
) -> None:
    """One that glacierbase starts, a child session of the caller's, whose own stays as it was, and the copy of `review`."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(f"{SUBSTITUTES} true\n")
    (tmp_path / "folder").mkdir()
    environ = {
        **os.environ,
        "CANARY": CANARY,
        "SPARK_CONF_DIR": str(tmp_path / "conf"),
        "JAVA_HOME": str(find_java_home()),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.substituted", kind, str(lake_project.root), str(tmp_path / "folder")],
        cwd=REPOSITORY,
        env=environ,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\nnothing more\n"


CREATE = """\
CREATE NAMESPACE PLACE;
CREATE TABLE PLACE.t (value STRING COMMENT 'FORM') USING iceberg COMMENT 'FORM' TBLPROPERTIES ('p' = 'FORM');
INSERT INTO PLACE.t VALUES ('FORM');
INSERT INTO PLACE.t SELECT concat('$', '{env:CANARY}')"""


def test_a_form_is_refused_and_what_the_hint_writes_is_the_literal_text_everywhere(
    lake: LakeBed, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In rows, comments and properties. The value of the variable is in no table, history, output or report."""
    monkeypatch.setenv("CANARY", CANARY)
    space, form = f"lake.s{uuid.uuid4().hex[:8]}", "${env:CANARY}"
    project.catalog(f"{lake.text}store: {{namespace: g{uuid.uuid4().hex[:8]}}}\n")
    path = project.file("0001_create.sql", CREATE.replace("PLACE", space).replace("FORM", form))
    with pytest.raises(MigrationFileError) as caught:
        Project.load(project.root).migrate(spark=lake.spark)
    assert (caught.value.code, caught.value.data["line"], caught.value.data["column"]) == ("SPARK_SUBSTITUTION", 5, 54)
    assert not lake.rows(f"SHOW NAMESPACES IN lake LIKE '{space[5:]}'")
    path.write_text(path.read_text().replace(form, caught.value.hint.split("`")[1]))
    [result] = Project.load(project.root).migrate(spark=lake.spark)
    assert [each.version for each in result.applied] == ["0001"]
    assert lake.rows(f"SELECT value FROM {space}.t") == [(form,), (form,)]
    described = lake.rows(f"DESCRIBE TABLE EXTENDED {space}.t")
    assert ("value", "string", form) in described
    assert ("Comment", form, "") in described
    assert ("p", form) in lake.rows(f"SHOW TBLPROPERTIES {space}.t")
    page = project.root / "report.html"
    outputs = [run_here(project, *words) for words in (("history",), ("show", "1"), ("report", "--output", str(page)))]
    assert [each.code for each in outputs] == [0, 0, 0], outputs
    assert r"\u0024{env:CANARY}" in outputs[1].stdout
    assert CANARY not in "".join((page.read_text(), *(each.stdout + each.stderr for each in outputs)))
