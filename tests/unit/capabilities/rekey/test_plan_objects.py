"""The files that `rekey plan` writes for objects, and the command that approves their deletion; nothing is contacted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from glacierbase.capabilities.rekey.journal import open_journal
from glacierbase.sql.actions import ActionCall, WrongCall, action_call
from tests.support.project_folder import ProjectFolder
from tests.unit.capabilities.rekey.test_plan import CONF

ADDRESS = "s3://shop/it's/"
OLD, NEW = "date={date}/id={id}/{file}", "id_reversed={id:reversed}/date={date}/{file}"
TABLE = ("--table", "spark_catalog.web.`it's`")
PHASES = ["verify_dual_write", "backfill", "validate", *["cutover"] * 4, "clean_up"]


@pytest.fixture
def shop(project: ProjectFolder) -> ProjectFolder:
    project.catalog(CONF.replace("FOLDER", str(project.root)))
    return project


def plan(project: ProjectFolder, *more: str, address: str = ADDRESS, old: str = OLD, new: str = NEW) -> tuple[int, str]:
    output = project.run("rekey", "plan", address, "--from", old, "--to", new, "--author", "Ada", *more)
    return output.code, output.stderr


def calls(project: ProjectFolder) -> list[ActionCall]:
    """Return the calls in the files, as they are rendered."""
    texts = project.run("render").stdout
    statements = re.findall(r"^ *(CALL [^;]*);", texts, re.MULTILINE)
    return [call for text in statements if (call := action_call(text, "spark"))]


@pytest.mark.parametrize(
    "readers", [TABLE, ("--view", "lake.v", "--old-table", "lake.a.o", "--new-table", "lake.a.n", "--by", "it's")]
)
def test_each_phase_is_a_file_that_passes_its_own_checks(readers: tuple[str, ...], shop: ProjectFolder) -> None:
    """With a quote in each name."""
    assert plan(shop, *readers) == (0, "")
    assert [path.name[:4] for path in sorted((shop.root / "migrations/shop").iterdir())] == [
        f"000{n}" for n in range(1, 6)
    ]
    assert shop.run("check").code == 0
    made = calls(shop)
    assert [call.name for call in made] == [f"rekey_{phase}" for phase in PHASES]
    assert {(call.arguments["objects"], call.arguments["old_keys"], call.arguments["new_keys"]) for call in made} == {
        (ADDRESS, OLD, NEW)
    }
    assert [call.arguments["percent"] for call in made if "percent" in call.arguments] == ["1", "10", "50", "100"]


def test_the_way_back_in_the_comment_is_a_call(shop: ProjectFolder) -> None:
    """As printed, without the dashes."""
    plan(shop, *TABLE)
    [path] = (shop.root / "migrations/shop").glob("*4_of_5*")
    comment = re.findall(r"^-- (CALL.*?\);)", path.read_text(), re.MULTILINE | re.DOTALL)[0].replace("\n-- ", "\n")
    call = action_call(comment.rstrip(";"), "spark")
    assert call is not None
    assert (call.name, call.arguments["percent"]) == ("rekey_cutover", "0")


@pytest.mark.parametrize(
    ("more", "given", "why"),
    [
        ((), {}, "readers are switched by a view"),
        (("--view", "v"), {}, "readers are switched by a view"),
        ((*TABLE, "--by", "id"), {}, "readers are switched by a view"),
        (TABLE, {"address": "s3://shop"}, "is not the address of a prefix"),
        (TABLE, {"new": "{id:reversed}/{file}"}, "lacks {date}"),
        (TABLE, {"old": "events"}, "is not a template"),
    ],
)
def test_a_plan_that_cannot_run_is_refused_and_writes_nothing(
    more: tuple[str, ...], given: dict[str, str], why: str, shop: ProjectFolder
) -> None:
    """Exit 2."""
    code, message = plan(shop, *more, **given)
    assert code == 2
    assert "CANNOT_REKEY" in message
    assert why in message
    assert list((shop.root / "migrations/shop").iterdir()) == []


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (
            "rekey_validate(objects => 's3://a/', old_keys => 'x', new_keys => 'y', tasks => 1)",
            "lag_seconds is missing",
        ),
        ("rekey_validate(objects => 's3://a/', old_keys => 'a', table => 'x')", "has no parameter table"),
        ("rekey_clean_up(objects => 's3://a/', soak_seconds => '7')", "soak_seconds is not an integer"),
        ("rekey_backfill(objects => 's3://a/', tasks => 0)", "tasks is not a positive integer"),
        ("rekey_cutover(table => 't', percent => -1)", "percent is not an integer"),
        ("rekey_clean(objects => 'x')", "there is no action rekey_clean"),
    ],
)
def test_a_call_with_wrong_arguments_is_refused_when_files_are_read(call: str, why: str) -> None:
    """A missing or unknown one, or one of another type."""
    with pytest.raises(WrongCall, match=re.escape(why)):
        action_call(f"CALL glacierbase.{call}", "spark")


def write_manifest(root: Path, digest: str) -> None:
    head = {"digest": digest, "objects": 2, "bytes": 1234567, "chunks": 1, "at": "2026-11-28T10:00:00.000+00:00"}
    journal = open_journal(ADDRESS, "", root)
    journal.put("state", {"manifest": head})
    journal.close()


def test_a_deletion_is_approved_by_the_digest_of_its_manifest(shop: ProjectFolder) -> None:
    """Not without a manifest, not by another digest, and not off a terminal without one."""
    approve = ("rekey", "approve", ADDRESS)
    missing = shop.run(*approve, "--yes", "--manifest", "sha256:1")
    assert (missing.code, "MANIFEST_MISSING" in missing.stderr) == (2, True)
    assert not (shop.root / "rekey").exists()
    write_manifest(shop.root, "sha256:1")
    for options, code in (
        ((), "CONFIRMATION_MISSING"),
        (("--yes",), "CONFLICTING_OPTIONS"),
        (("--yes", "--manifest", "sha256:2"), "MANIFEST_DIFFERS"),
    ):
        refused = shop.run(*approve, *options)
        assert (refused.code, code in refused.stderr) == (2, True), refused.stderr
    done = shop.run(*approve, "--yes", "--manifest", "sha256:1", "--format", "json")
    assert done.document["approved"] is True
    assert (done.document["objects"], done.document["bytes"]) == (2, 1234567)
