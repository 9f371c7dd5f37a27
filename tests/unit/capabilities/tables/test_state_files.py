"""State files: whole and masked when they are written, refused when they are damaged, shown as text whatever they hold."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from glacierbase.capabilities.tables.compare import state
from glacierbase.capabilities.tables.compare.compare import compare_files
from glacierbase.capabilities.tables.compare.state import StateResult, read_states, write_states
from glacierbase.errors import ConfigurationError
from glacierbase.errors.reference import ENTRIES
from glacierbase.model.differences import Difference
from glacierbase.model.shape import Column, PartitionField, Shape, SortField
from tests.support.errors import text_error
from tests.support.lakes import Lakes
from tests.support.program import call_program
from tests.support.project_folder import ProjectFolder
from tests.unit.capabilities.tables.test_verdicts import APPLIED, FAILED, NOON, TABLE, held

SHAPE = Shape(
    "lake.a.t", "u-1", "iceberg", 2, (Column(1, "id", "bigint", True, "of the user", "1"),),
    (PartitionField(1000, "b", "id", "bucket[4]"),), (SortField("id", "identity", "asc", "last"),), ("id",), {"a": "1"},
    "s3://b/1.json", 0,
)  # fmt: skip
STATE = StateResult(
    "shop",
    "prod",
    read_at=NOON,
    tool_version="0.1.0",
    versions=(APPLIED,),
    tables=(TABLE, held(SHAPE, altered=(Difference("column", "x", None, "int"),), table="lake.a.u")),
)
HOSTILE = "\x1b[2J\r\n::error::x ##vso[task] \u202e"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A state file."""
    path = tmp_path / "prod.json"
    write_states(path, [STATE])
    return path


def test_a_state_is_read_as_it_was_written(path: Path) -> None:
    """Every field comes back."""
    assert read_states(path) == (STATE,)


def test_a_later_version_may_add_fields(path: Path) -> None:
    """Unknown fields of a state file are ignored."""
    document = json.loads(path.read_text())
    document["catalogs"][0]["versions"][0]["more"] = document["more"] = {"a": [1]}
    path.write_text(json.dumps(document))
    assert read_states(path) == (STATE,)


def changed(change: Callable[[Any], object]) -> Callable[[str], str]:
    """Return what changes the only entry of a document."""

    def apply(text: str) -> str:
        document = json.loads(text)
        change(document["catalogs"][0])
        return json.dumps(document)

    return apply


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda _: "", "it is no JSON"),
        (lambda text: text[: len(text) // 2], "it is no JSON"),
        (lambda _: "[" * 100_000, "it is nested too deeply"),
        (lambda _: "9" * 100_000, "it is no JSON"),
        (lambda _: "\ud800".encode("utf-8", "surrogatepass"), "it is no JSON"),
        (lambda _: "[]", "its schema is not"),
        (lambda text: text.replace("export-state/1", "plan/1"), "its schema is not"),
        (lambda text: text.replace('"ok": true', '"ok": false'), "failed"),
        (lambda text: text.replace('"catalogs": [', '"catalogs": [],"x": ['), "holds no catalog"),
        (changed(lambda entry: entry.pop("versions")), "catalogs[0]: object missing required field `versions`"),
        (changed(lambda entry: entry.update(environment=" ")), "has no name"),
        (lambda text: text.replace("export-state/1", "export-state/2"), "another version of glacierbase wrote it"),
        (changed(lambda entry: entry.update(read_at=None)), "has no time at which it was read"),
        (changed(lambda entry: entry["tables"][0].update(table=" ")), "a table has no name"),
        (
            changed(lambda entry: entry.update(read_at="2026-11-02T12:00:00")),
            "catalogs[0].read_at: expected `datetime` with a",
        ),
        (
            changed(lambda entry: entry.update(read_at="0001-01-01T00:00:00+14:00Z")),
            "catalogs[0].read_at: invalid RFC3339",
        ),
        (
            changed(lambda entry: entry.update(read_at="0001-01-01T00:00:00+14:00")),
            "catalogs[0]: a time is out of range",
        ),
        (
            changed(lambda entry: entry["versions"][0].update(state="nope")),
            "catalogs[0].versions[0].state: invalid enum value",
        ),
        (changed(lambda entry: entry["versions"][0].update(version="x")), "a version is none"),
        (changed(lambda entry: entry["versions"][0].update(version="1" * 5000)), "a version is none"),
        (
            changed(lambda entry: entry["versions"][0].update(statements_done=True)),
            "statements_done: expected `int`, got `bool`",
        ),
        (
            changed(lambda entry: entry["versions"][0].update(statements_done=1.5)),
            "statements_done: expected `int`, got `float`",
        ),
        (changed(lambda entry: entry["versions"].append({**entry["versions"][0], "version": "1"})), "listed twice"),
        (changed(lambda entry: entry["tables"].append(entry["tables"][0])), "listed twice"),
        (changed(lambda entry: entry["tables"][0]["parts"][0].update(version="x")), "a version that is none"),
        (
            changed(lambda entry: entry["tables"][0]["shape"].update(properties={"a": 1})),
            "shape.properties[...]: expected `str`",
        ),
        (
            changed(lambda entry: entry["tables"][0]["shape"].update(columns={})),
            "shape.columns: expected `array`, got `object`",
        ),
    ],
)
def test_a_damaged_file_is_one_clear_error(path: Path, damage: Callable[[str], str | bytes], what: str) -> None:
    """Exit code 2, and the command that writes the file again."""
    text = damage(path.read_text())
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigurationError) as caught:
        read_states(path)
    assert (caught.value.code, caught.value.exit_code) == ("STATE_INVALID", 2)
    assert what in caught.value.message
    assert "export-state" in caught.value.hint


def test_the_example_of_the_error_is_what_compare_prints(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that writes the file again."""
    monkeypatch.chdir(path.parent)
    path.write_text(changed(lambda entry: entry.pop("versions"))(path.read_text()))
    output = call_program(["compare", "prod.json", "other.json"])
    assert output.code == 2
    with pytest.raises(ConfigurationError) as caught:
        read_states("prod.json")
    assert text_error(caught.value) == ENTRIES["STATE_INVALID"].example


@pytest.mark.parametrize("output", ["-", "state", "state.txt", "/dev/null"])
def test_a_state_file_has_a_name_that_compare_takes_for_a_file(
    output: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another name, `compare` would look for an environment of that name. Nothing is contacted before."""
    lakes = Lakes(project, monkeypatch)
    lakes.place("dev").store_before = lambda _: pytest.fail("contacted")
    done = lakes.run("export-state --format json -o", output)
    assert (done.code, done.document["error"]["code"]) == (2, "INVALID_VALUE")


def test_a_path_that_is_none_is_refused_as_a_file_that_cannot_be_read(path: Path) -> None:
    """Such as one with a NUL, which a caller of the Python API may pass."""
    with pytest.raises(ConfigurationError) as caught:
        compare_files([str(path), "a\0.json"])
    assert caught.value.code == "UNREADABLE_FILE"


@pytest.mark.parametrize("output", ["nowhere/state.json", "folder.json"])
def test_a_state_file_that_cannot_be_written_is_refused_before_anything_is_contacted(
    output: str, tmp_path: Path, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To read an environment may take a while."""
    lakes = Lakes(project, monkeypatch)
    lakes.place("dev").store_before = lambda _: pytest.fail("contacted")
    (tmp_path / "folder.json").mkdir()
    done = lakes.run("export-state --format json -o", str(tmp_path / output))
    assert (done.code, done.document["error"]["code"]) == (2, "UNREADABLE_FILE")


def test_a_file_is_not_compared_with_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under another path, or through a link, it would be equal, whatever the environments are."""
    monkeypatch.chdir(path.parent)
    Path("link.json").symlink_to(path)
    for other in ("./prod.json", "link.json", str(path)):
        output = call_program(["compare", "prod.json", other, "--format", "json"])
        assert (output.code, output.document["error"]["code"]) == (2, "ENVIRONMENT_NOT_CHOSEN")


def test_two_entries_of_one_catalog_and_environment_are_refused(tmp_path: Path) -> None:
    """One would hide the other."""
    write_states(tmp_path / "a.json", [STATE, STATE])
    with pytest.raises(ConfigurationError, match="listed twice"):
        read_states(tmp_path / "a.json")


@pytest.mark.parametrize("kind", ["absent", "folder", "fifo", "huge"])
def test_what_is_no_file_that_can_be_read_is_refused_at_once(
    kind: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe, a folder or a huge file is neither waited for nor read into memory."""
    if kind == "huge":
        monkeypatch.setattr(state, "_LARGEST", 10)
    else:
        path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    with pytest.raises(ConfigurationError) as caught:
        read_states(path)
    assert (caught.value.code, caught.value.exit_code) == ("UNREADABLE_FILE", 2)


def test_a_file_shows_its_values_and_executes_none(path: Path, tmp_path: Path) -> None:
    """Values of a state file drive neither a terminal nor a CI service, wherever a name or a text is shown."""
    document = json.loads(path.read_text())
    entry = document["catalogs"][0]
    for name, end in (("a", "x"), ("b", "y")):
        entry.update(catalog=HOSTILE, environment=HOSTILE + name, warnings=[HOSTILE])
        entry["versions"][0].update(description=HOSTILE, checksums=[HOSTILE + end])
        entry["tables"][0].update(table=HOSTILE, unread=HOSTILE)
        entry["tables"][1].update(table=HOSTILE + "2")
        entry["tables"][1]["shape"]["columns"][0].update(name=HOSTILE, type=HOSTILE + end)
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    for arguments in (files, [*files, "--color", "always"], [*files, "--format", "json"]):
        output = call_program(["compare", *arguments])
        assert output.code == 0, output.stderr
        assert [part for part in ("\x1b[2J", "\r", "\u202e", "##vso") if part in output.stdout] == []
        assert not [line for line in output.stdout.splitlines() if line.lstrip().startswith("::")]


def test_two_files_of_environments_with_one_name_are_told_apart(path: Path, tmp_path: Path) -> None:
    """The second is named with its file."""
    other = tmp_path / "us.json"
    write_states(other, [StateResult("shop", "prod", read_at=datetime.now(timezone.utc), versions=(FAILED,))])
    [entry] = call_program(["compare", str(path), str(other), "--format", "json"]).document["catalogs"]
    assert [each["name"] for each in entry["environments"]] == ["prod", f"prod ({other})"]
    assert set(entry["versions"][0]["states"]) == {"prod", f"prod ({other})"}


def test_a_catalog_that_no_file_has_is_an_error(path: Path, tmp_path: Path) -> None:
    """Without the error, a mistyped name would compare nothing, and succeed."""
    write_states(tmp_path / "b.json", [STATE])
    output = call_program(["compare", str(path), str(tmp_path / "b.json"), "--catalog", "nope", "--format", "json"])
    assert (output.code, output.document["error"]["code"]) == (2, "UNKNOWN_CATALOG")
