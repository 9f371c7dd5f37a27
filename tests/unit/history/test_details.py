"""The column `details`: every value is read back as it was written, and a damaged one is an error and no traceback."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from glacierbase.errors import HistoryDisagrees, MigrationFailed, NeedsRepair
from glacierbase.history.details import NO_DETAILS, Details, details_of, to_json
from glacierbase.history.records import fold
from glacierbase.migrations.allows import Allow
from glacierbase.model.differences import DeclaredDifference
from glacierbase.model.migration import Event, Squashed
from glacierbase.model.session import RecordedSession
from glacierbase.model.shape import TableVersion
from glacierbase.secrets import register
from tests.support.world import World


def event(details: str | None, **columns: object) -> Event:
    """The first event of a history, which starts version 1."""
    whole = {"state": "running", "version": "1", "statement_index": 1, "statement_total": 1, **columns}
    return Event(1, 1, "run", "shop", "dev", "started", details=details, **whole)  # type: ignore[arg-type]


# What runs write. From the first release on, the keys must be read for ever.
WRITTEN = [
    (
        '{"statement_checksums": ["a", "b"], "process": {"pid": 7}, "jumped_over": ["2"], "read_fence": 3}',
        Details(statement_checksums=("a", "b"), process={"pid": 7}, jumped_over=("2",), read_fence=3),
    ),
    ('{"statement_checksums": []}', Details(statement_checksums=())),
    (
        '{"former_owner": "x", "former_fence": 2, "former_process": {"host": "h"}, "read_fence": 0}',
        Details(former_owner="x", former_fence=2, former_process={"host": "h"}, read_fence=0),
    ),
    ('{"resolution": "not-done", "engine_stopped": true}', Details(resolution="not-done", engine_stopped=True)),
    ('{"environment_was": "dev"}', Details(environment_was="dev")),
    (
        '{"headers": {"TICKET": "OPS-17"}, "differences": [{"table": "t", "column": "c", "declared": null, "actual": "int",'
        ' "what": "column"}], "ci_actor": "octocat"}',
        Details(
            headers={"TICKET": "OPS-17"},
            differences=(DeclaredDifference("t", "c", None, "int", "column"),),
            ci_actor="octocat",
        ),
    ),
    (
        '{"before": {"table": "lake.a.t", "uuid": "u", "metadata": "file:///m.json", "sequence": 7}}',
        Details(before=TableVersion("lake.a.t", "u", "file:///m.json", 7)),
    ),
    (
        '{"allows": [{"statement_index": 2, "code": "DS103", "reason": "no readers (#912)"}]}',
        Details(allows=(Allow(2, "DS103", "no readers (#912)"),)),
    ),
    (
        '{"session": {"catalog": "lake", "namespace": "web", "role": "ANALYST", "statements": [1, 3]}}',
        Details(session=RecordedSession("lake", "web", "ANALYST", (1, 3))),
    ),
    ('{"squashes": [["1", "v1:a", false]]}', Details(squashes=(Squashed("1", "v1:a", False),))),
    (None, NO_DETAILS),
]


@pytest.mark.parametrize(("text", "details"), WRITTEN)
def test_each_kind_of_details_has_the_same_keys_as_before(text: str | None, details: Details) -> None:
    """The text in the table is read into the value, and the value is written as the same text."""
    assert details_of(event(text)) == details
    assert to_json(details) == text


def test_a_key_of_a_later_version_is_ignored() -> None:
    """A history that a later version has written is still readable."""
    assert details_of(event('{"resolution": "done", "evidence": {"snapshot": 7}}')) == Details(resolution="done")


def test_an_empty_object_is_read_as_no_details() -> None:
    """`{}` means the same as an empty column."""
    assert details_of(event("{}")) == NO_DETAILS


DAMAGED = [
    "no JSON",
    "[1]",
    "5",
    '"text"',
    "null",
    "[" * 100_000,
    '{"statement_checksums": "a"}',
    '{"statement_checksums": [1]}',
    '{"process": []}',
    '{"jumped_over": ["x"]}',
    '{"jumped_over": [2]}',
    '{"read_fence": "1"}',
    '{"read_fence": true}',
    '{"former_owner": 1, "former_fence": 1}',
    '{"resolution": 1}',
    '{"engine_stopped": "yes"}',
    '{"headers": ["TICKET"]}',
    '{"headers": {"TICKET": 17}}',
    '{"ci_actor": 17}',
    '{"differences": [17]}',
    '{"differences": [{"table": "t"}]}',
    '{"before": "m.json"}',
    '{"before": {"table": "lake.a.t", "uuid": "u", "metadata": "m.json"}}',
    '{"before": {"table": "lake.a.t", "uuid": "u", "metadata": "m.json", "sequence": "7"}}',
]


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:40])
def test_damaged_details_stop_every_run(text: str) -> None:
    """Read as empty, they would hide which statements are done, or which events came too late."""
    with pytest.raises(NeedsRepair) as caught:
        fold([event(text)])
    assert (caught.value.code, caught.value.exit_code) == ("HISTORY_DAMAGED", 6)
    assert (caught.value.data["fence"], caught.value.data["sequence"]) == (1, 1)
    assert "column `details` of event 1 (fence 1)" in caught.value.message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"read_fence": true}', "read_fence: expected `int | null`, got `bool`"),
        ('{"resolution": 1}', "resolution: expected `str | null`, got `int`"),
        ('{"allows": [{"statement_index": 1, "code": "A"}]}', "allows[0]: object missing required field `reason`"),
        (
            '{"before": {"table": "t", "uuid": "u", "metadata": "m", "sequence": "7"}}',
            "before.sequence: expected `int`",
        ),
        ('{"jumped_over": ["1", "x"]}', "jumped_over[1]: 'x' is not a version"),
        ('{"squashes": [["x", "v1:a", false]]}', "squashes[0]: 'x' is not a version"),
        ("[1]", "the document: expected `object`, got `array`"),
        ('{"resolution": ', "Expecting value"),
    ],
)
def test_the_error_of_damaged_details_names_the_path_of_the_value(text: str, problem: str) -> None:
    """The message is one line."""
    with pytest.raises(NeedsRepair) as caught:
        details_of(event(text))
    assert f"is not readable: {problem}" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_name_of_a_file_that_is_no_text_is_read() -> None:
    """Python stands for its bytes by halves of surrogate pairs, which are no UTF-8."""
    details = Details(process={"project": "/srv/\udcff"})
    assert details_of(event(to_json(details))) == details


def test_a_secret_in_the_details_is_masked_and_the_document_stays_json() -> None:
    """The secret is replaced inside the values, before the document is text."""
    register('canary"of"details')
    text = to_json(Details(process={"ci_url": 'https://ci/canary"of"details'}))
    assert json.loads(text or "") == {"process": {"ci_url": "https://ci/***"}}


def test_a_run_reads_the_checksums_that_it_recorded(world: World) -> None:
    """A statement that is done must not be edited, which the recorded checksums show."""
    file = world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO missing VALUES (1)")
    with pytest.raises(MigrationFailed):
        world.migrate()
    started = details_of(world.events[0])
    assert len(started.statement_checksums or ()) == 2
    assert started.read_fence == 0
    file.write_text(file.read_text().replace("(a INT)", "(b INT)"))
    with pytest.raises(HistoryDisagrees, match="statement 1 was edited"):
        world.migrate()


def test_a_damaged_event_ends_a_command_with_its_place(world: World) -> None:
    """The error names catalog, fence and event, and no command ends in a traceback."""
    world.file("1_a.sql", "CREATE TABLE t (a INT)")
    world.migrate()
    world.events[0] = replace(world.events[0], details="{")
    for command in (world.migrate, lambda: world.state):
        with pytest.raises(NeedsRepair) as caught:
            command()
        assert caught.value.code == "HISTORY_DAMAGED"
        assert "the history of shop" in caught.value.message
