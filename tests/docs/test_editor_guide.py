"""The problem matchers of the guide on editors, against what `check` prints."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.docs.pages import DOCS
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder

CATALOG = """\
migrationExecutor:
  type: spark
  conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}
"""


def matchers() -> list[dict[str, Any]]:
    page = (DOCS / "guides" / "editor.md").read_text("utf-8")
    block = re.search(r"<!-- the task of VS Code -->\n```json\n(.*?)```", page, re.DOTALL)
    assert block
    [task] = json.loads(block[1])["tasks"]
    assert task["command"] == "glacierbase check 2>&1 | cat"
    return [{**matcher["pattern"], "severity_of_all": matcher.get("severity")} for matcher in task["problemMatcher"]]


def problems(text: str) -> set[tuple[str, str, int, str]]:
    """Return severity, file, line and code of each line that a matcher matches."""
    matched = set()
    for line in text.splitlines():
        for matcher in matchers():
            if found := re.match(matcher["regexp"], line):
                severity = matcher["severity_of_all"] or found[matcher["severity"]]
                assert found[matcher["message"]]
                matched.add((severity, found[matcher["file"]], int(found[matcher["line"]]), found[matcher["code"]]))
    return matched


def test_every_finding_and_every_error_of_a_file_is_a_problem_at_its_line(project: ProjectFolder) -> None:
    """Errors, warnings and notes of the rules, a file that cannot be split, and one that does not render."""
    project.catalog(CATALOG)
    project.file(
        "0001_a.sql", "CREATE TABLE lake.a.t (id BIGINT, at TIMESTAMP) USING iceberg PARTITIONED BY (days(at))"
    )
    project.file("0002_b.sql", "ALTER TABLE lake.a.t DROP COLUMN id;\nATLER TABLE lake.a.t ADD COLUMN x INT")
    project.file("0003_c.sql", "SELECT 1;\n\nSELECT 'open")
    project.file("0005_e.sql", "ALTER TABLE lake.a.t RENAME COLUMN at TO b")
    project.file("0004_d.sql", "SELECT\n{{ variables.absent }}")
    entry = ask_here(project, "check").entry()
    findings = {(row["severity"], row["path"], row["line"], row["code"]) for row in entry["findings"]}
    errors = {
        ("error", part["path"], part["line"], part["code"]) for part in entry["error"]["errors"] if "line" in part
    }
    done = run_here(project, "check")
    assert problems(f"{done.stdout}{done.stderr}") == findings | errors
    assert {severity for severity, *_ in findings} == {"error", "warning", "note"}
    assert {code for *_, code in errors} >= {"UNTERMINATED_STRING", "UNDEFINED_VARIABLE"}
