"""Plan files as files: no secret, no escape sequence, no half file; hostile ones are one error."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply import planfile
from tests.support.lakes import Lakes, printed_commands
from tests.unit.apply.plans import MIGRATE, PLAN, applied, refused


@pytest.fixture
def canary(lakes: Lakes, monkeypatch: pytest.MonkeyPatch) -> str:
    """A secret of the catalog file, which a migration contains as well."""
    path, secret = lakes.project.root / "catalogs/shop.yaml", "s3cr3t-canary-77"
    text = path.read_text().replace("    sparkConf:", "    sparkConf:\n      spark.some.password: ${secret:HIDDEN}", 1)
    monkeypatch.setenv("HIDDEN", secret)
    path.write_text(text)
    lakes.project.file("0002_b.sql", f"INSERT INTO t VALUES (5) -- {secret}\n, (7)")
    return secret


def test_the_file_holds_no_secret_and_is_applied_all_the_same(lakes: Lakes, canary: str) -> None:
    """A masked statement is compared by its checksum."""
    assert lakes.run(PLAN).code == 0
    assert canary not in Path("plan.json").read_text()
    assert "***" in Path("plan.json").read_text()
    lakes.project.file("0002_b.sql", f"INSERT INTO t VALUES (5) -- {canary}\n, (8)")
    refused(lakes)
    lakes.project.file("0002_b.sql", f"INSERT INTO t VALUES (5) -- {canary}\n, (7)")
    assert applied(lakes.run(MIGRATE, "--format", "json")) == ["0002", "0003"]
    assert lakes.place("prod").engine.rows("SELECT a FROM t ORDER BY a") == [(5,), (6,), (7,)]


def test_no_text_of_a_migration_drives_the_terminal_that_shows_the_file(lakes: Lakes) -> None:
    """Control characters and commands of CI services are escapes of JSON, and the plan is applied."""
    lakes.project.file("0002_b.sql", "SELECT '\x1b[2J\u202e##vso[task.setvariable]'")
    assert lakes.run(PLAN).code == 0
    written = Path("plan.json").read_text()
    assert not {"\x1b", "\u202e"} & set(written)
    assert "##vso" not in written
    assert applied(lakes.run(MIGRATE, "--format", "json")) == ["0002", "0003"]


def forged(document: dict[str, Any], **values: Any) -> str:
    document["catalogs"][0].update(values)
    return json.dumps(document)


def statements(document: dict[str, Any]) -> str:
    document["catalogs"][0]["plan"][0]["statements"][0]["sql"] = "SELECT 'harmless'"
    return json.dumps(document)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (lambda _: "", "it is no JSON"),
        (lambda document: json.dumps(document)[:-40], "it is no JSON"),
        (lambda _: "\ud800", "it is no JSON"),
        (lambda _: "[" * 200_000, "nested too deeply"),
        (lambda _: f'{{"schema": {"9" * 5000}}}', "it is no JSON"),
        (lambda _: "null", "its schema is not glacierbase/plan/1"),
        (lambda document: json.dumps({**document, "schema": "glacierbase/status/1"}), "its schema is not"),
        (lambda document: json.dumps({**document, "ok": False}), "a plan that failed"),
        (lambda document: json.dumps({**document, "catalogs": {}}), "a plan that failed"),
        (lambda document: json.dumps({**document, "catalogs": [7]}), "catalogs[0]: expected `object`, got `int`"),
        (lambda document: forged(document, plan=[{}]), "catalogs[0].plan[0]: object missing required field `version`"),
        (lambda document: forged(document, plan="x"), "catalogs[0].plan: expected `array`, got `str`"),
        (
            lambda document: forged(document, head={"fence": True, "sequence": 1, "run_id": "x"}),
            "head.fence: expected `int`, got `bool`",
        ),
        (lambda document: forged(document, error={"code": "X"}), "catalogs[0].error: expected `null`, got `object`"),
        (
            lambda document: forged(document, plan_required="no"),
            "catalogs[0].plan_required: expected `bool`, got `str`",
        ),
        (
            lambda document: forged(document, options={**document["catalogs"][0]["options"], "to": "\x1b[2J"}),
            "its options name a version that is none",
        ),
    ],
)
def test_a_file_that_is_no_plan_is_one_error(
    content: Callable[[dict[str, Any]], str], why: str, planned: Lakes
) -> None:
    """Truncated, foreign and hostile content: exit code 2, the reason, and the command that makes a plan."""
    text = content(json.loads(Path("plan.json").read_text()))
    Path("plan.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    error = refused(planned, code="PLAN_INVALID", exit_code=2)
    assert why in error["message"]
    assert printed_commands(error["hint"])[0].startswith("glacierbase plan --output plan.json")


def test_a_plan_that_was_changed_by_hand_is_refused(planned: Lakes) -> None:
    """What a reviewer reads is what runs: the text of each statement is compared, and so is the rest."""
    document = json.loads(Path("plan.json").read_text())
    for text in (statements(json.loads(json.dumps(document))), forged(json.loads(json.dumps(document)), plan=[])):
        Path("plan.json").write_text(text)
        refused(planned)


def test_further_fields_of_a_later_version_are_ignored(planned: Lakes) -> None:
    """Fields are only ever added."""
    document = json.loads(Path("plan.json").read_text())
    Path("plan.json").write_text(forged({**document, "later": 1}, later={"a": 1}))
    assert planned.run(MIGRATE).code == 0


def test_a_file_that_cannot_be_read_is_one_error(planned: Lakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a folder, a FIFO, a device, and one that is too large."""
    Path("folder").mkdir()
    os.mkfifo("fifo")
    for name in ("missing", "folder", "fifo", "/dev/zero", "-", "n" * 300):
        error = refused(planned, f"migrate --plan {name}", "UNREADABLE_FILE", 2)
        assert error["message"].startswith(f"{name}: cannot be read: ")
    monkeypatch.setattr(planfile, "_LARGEST", 100)
    refused(planned, code="UNREADABLE_FILE", exit_code=2)


@pytest.mark.parametrize(
    "name", ["folder", "missing/plan.json", "fifo", "/dev/null", "/dev/stdout", "-", "n" * 300, "/proc/plan.json"]
)
def test_a_file_that_cannot_be_written_is_one_error(name: str, lakes: Lakes) -> None:
    """Nothing is left behind, and what is in its place stays."""
    Path("folder").mkdir()
    os.mkfifo("fifo")
    before = sorted(Path.cwd().iterdir())
    error = refused(
        lakes, f"plan --catalog shop --output {name}", "INVALID_VALUE" if name == "-" else "UNREADABLE_FILE", 2
    )
    assert name in error["message"]
    assert sorted(Path.cwd().iterdir()) == before
    assert Path("/dev/null").is_char_device()


def test_an_existing_file_is_replaced_as_a_whole(planned: Lakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails half way, and a plan that fails, leave the old file; a link is refused."""
    before = Path("plan.json").read_bytes()
    planned.project.file("0004_d.sql", "INSERT INTO t VALUES (7)")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        error = refused(planned, PLAN, "UNREADABLE_FILE", 2)
    assert "No space left on device" in error["message"]
    planned.project.file("0001_a.sql", "SELECT 'edited'")
    refused(planned, PLAN, "CHECKSUM_MISMATCH")
    assert (Path("plan.json").read_bytes(), [each.name for each in Path.cwd().iterdir()]) == (before, ["plan.json"])
    planned.project.file("0001_a.sql", "CREATE TABLE t (a INT)")
    Path("link.json").symlink_to("plan.json")
    refused(planned, "plan --catalog shop --output link.json", "UNREADABLE_FILE", 2)
    assert (Path("link.json").is_symlink(), Path("plan.json").read_bytes()) == (True, before)
    assert planned.run(PLAN).code == 0
    assert b"0004_d.sql" in Path("plan.json").read_bytes()
