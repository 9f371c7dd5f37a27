"""`glacierbase explain` prints the reference entries of error codes, and every error names the command for its entry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.errors.reference import ENTRIES
from glacierbase.output.documents import text_errors
from tests.support.documents import checked
from tests.support.forked import run_forked
from tests.support.project_folder import Output, ProjectFolder

IMPORTED = """\
import atexit, sys
from glacierbase.cli import main
atexit.register(lambda: print("imported:", *sorted(sys.modules)))
main(["explain", "LOCK_HELD"])
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that holds no project."""
    return tmp_path


def explain(place: Path, *arguments: str) -> Output:
    return Output(*run_forked(["explain", *arguments], place, os.environ, timeout=60))


def test_it_prints_the_whole_entry(place: Path) -> None:
    """The steps are numbered, and no command is broken into two lines."""
    done = explain(place, "LOCK_HELD")
    assert (done.code, done.stderr) == (0, "")
    entry = ENTRIES["LOCK_HELD"]
    assert done.stdout.startswith("LOCK_HELD  (exit code 4; in Python: LockHeld)\n\nAnother run holds")
    for text in (entry.meaning, *entry.remedy):
        assert " ".join(text.split()) in " ".join(done.stdout.split())
    assert [f"  {line}" for line in entry.example.splitlines()] == [
        line for line in done.stdout.splitlines() if line.startswith(("  error: ", "  next: "))
    ]
    assert (
        "     `glacierbase unlock --catalog analytics --force --reason 'job 4711 hung, killed by Ana'`." in done.stdout
    )
    for number in range(1, len(entry.remedy) + 1):
        assert f"\n  {number}. " in done.stdout


def test_codes_may_be_in_lower_case_and_several(place: Path) -> None:
    """Each code is printed once, in the given order."""
    done = explain(place, "out_of_order", "LOCK_HELD", "Out_Of_Order")
    titles = [line.split()[0] for line in done.stdout.splitlines() if "(exit code" in line]
    assert (done.code, titles) == (0, ["OUT_OF_ORDER", "LOCK_HELD"])


def test_without_a_code_it_lists_all_in_one_line_each(place: Path) -> None:
    """Code, exit codes and the first sentence of the meaning."""
    lines = explain(place).stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(ENTRIES)
    assert "LOCK_HELD                4              Another run holds the catalog's lock, or held it" in "\n".join(
        lines
    )


def test_an_unknown_code_is_a_usage_error_with_the_nearest_spelling(place: Path) -> None:
    """Nothing is printed on stdout."""
    done = explain(place, "LOCK_HEALD")
    assert (done.code, done.stdout) == (2, "")
    assert "Error: there is no code LOCK_HEALD; did you mean LOCK_HELD?" in done.stderr
    assert (
        "`glacierbase explain` lists the errors, `glacierbase rules` the rules of `lint`."
        in explain(place, "42").stderr
    )
    document = json.loads(explain(place, "--format", "json", "LOCK_HEALD").stdout)
    assert (document["ok"], document["error"]["code"], document["error"]["exit_code"]) == (False, "USAGE", 2)


@pytest.mark.parametrize("command", ["explain", "rules"])
def test_errors_and_rules_are_looked_up_by_either_command(command: str, place: Path) -> None:
    """The pages are in the order of the codes; in JSON each kind has its list."""
    words = [command, "ds103", "LOCK_HELD"]
    _, text, _ = run_forked(words, place, os.environ, timeout=60)
    titles = [line.split()[0] for line in text.splitlines() if line.startswith(("DS103 ", "LOCK_HELD "))]
    assert titles == ["DS103", "LOCK_HELD"]
    document = checked(json.loads(run_forked([*words, "--format", "json"], place, os.environ, timeout=60)[1]))
    assert [[entry["code"] for entry in document[kind]] for kind in ("rules", "entries")] == [["DS103"], ["LOCK_HELD"]]


@pytest.mark.parametrize("command", ["explain", "rules"])
def test_a_code_of_the_replay_names_the_page_that_lists_it(command: str, project: ProjectFolder) -> None:
    """What only a replay finds has no page of its own."""
    done = project.run(command, "REPLAY_REFUSED")
    assert done.code == 2
    assert "`glacierbase explain REVIEW_FAILED` lists the findings of `review`." in done.stderr


@pytest.mark.parametrize("codes", [["LOCK_HELD"], []])
def test_the_json_document_has_the_frame_of_every_document(place: Path, codes: list[str]) -> None:
    """The entries are beside `catalogs`, which is empty."""
    document = json.loads(explain(place, "--format", "json", *codes).stdout)
    assert {key: document[key] for key in ("schema", "ok", "error", "catalogs")} == {
        "schema": "glacierbase/explain/1",
        "ok": True,
        "error": None,
        "catalogs": [],
    }
    assert [entry["code"] for entry in document["entries"]] == (codes or list(ENTRIES))
    for entry in document["entries"]:
        of_code = ENTRIES[entry["code"]]
        assert entry == {
            "code": of_code.code,
            "exit_codes": list(of_code.exit_codes),
            "errors": [error.__name__ for error in of_code.errors],
            "meaning": of_code.meaning,
            "example": of_code.example,
            "remedy": list(of_code.remedy),
        }


def test_it_needs_no_project_and_no_engine(place: Path) -> None:
    """`explain` does not read the project that the environment names."""
    environ = {**os.environ, "GLACIERBASE_PROJECT": str(place / "absent"), "GLACIERBASE_ENV": ""}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], cwd=place, env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    imported = set(done.stdout.splitlines()[-1].split())
    assert "glacierbase.cli" in imported
    assert imported.isdisjoint(
        {"glacierbase.project.project", "glacierbase.executors", "yaml", "jinja2", "socket", "pyspark"}
    )


def test_errors_end_with_the_command_that_explains_them() -> None:
    """One line for all, with each code once."""
    several = SeveralErrors([GlacierbaseError("ONE", "a"), GlacierbaseError("TWO", "b", "do this")])
    text = text_errors([several, GlacierbaseError("ONE", "c"), GlacierbaseError("THREE", "d")])
    assert text.splitlines() == [
        "error: ONE: a", "error: TWO: b", "next: do this", "error: ONE: c", "error: THREE: d",
        "more: glacierbase explain ONE TWO THREE",
    ]  # fmt: skip


def test_the_command_of_an_error_explains_it(project: ProjectFolder) -> None:
    """The command runs as printed. A usage error and the JSON document have no such line."""
    project.catalog("migrationExecutor: {type: spark}\nstore: {catalog: lake}\nvariabels: {}\nstor: {}\n")
    failed = project.run("pending")
    *_, more = failed.stderr.splitlines()
    assert more == "more: glacierbase explain UNKNOWN_KEY"
    assert project.run(*more.split()[2:]).stdout.startswith("UNKNOWN_KEY  (exit code 2")
    assert "more: " not in project.run("pending", "--catalogs", "shop").stderr
    assert "more" not in project.ask("pending").document["error"]
