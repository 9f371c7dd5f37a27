"""The history of the repository's sample project as `migrate` records it, and a change from outside. No engine runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase.history.target import CatalogRun
from glacierbase.migrations.folder import load_migrations
from glacierbase.model.shape import PartitionField, Shape, SortField
from glacierbase.project import each as running
from tests.support.fakes import MemoryStore, MemoryTables
from tests.support.story import Story, column, shape

EVENTS, LEVELS, SCORES = (f"lake.sleep.{name}" for name in ("events", "score_levels", "nightly_scores"))
_ID, _USER = column(1, "id", required=True), column(2, "user_id", required=True)
_TIME = column(5, "timestamp", "timestamp", required=True)
_DAY = PartitionField(1000, "timestamp_day", "timestamp", "day")
_BUCKET = PartitionField(1001, "id_bucket", "id", "bucket[4]")
_HOUR = PartitionField(1002, "timestamp_hour", "timestamp", "hour")
_RETRIES = {
    "commit.retry.min-wait-ms": "1000", "commit.retry.num-retries": "10", "write.merge.isolation-level": "snapshot",
}  # fmt: skip
_NEW = {"write.parquet.compression-codec": "zstd"}


def sample_story(project: Path) -> Story:
    """Return the history of the sample's seven files. Somebody added a column between 0004 and 0005."""
    first = shape(
        EVENTS, _ID, _USER, column(3, "kind", "string"), column(4, "strain", "float"), _TIME,
        partitioning=(_DAY, _BUCKET), properties=_NEW,
    )  # fmt: skip
    second = replace(first, properties={**_RETRIES, **_NEW})
    device = (
        column(6, "device", "struct<model:string,firmware:string>", comment="what measured it"),
        column(7, "device.model", "string"), column(8, "device.firmware", "string"),
    )  # fmt: skip
    changed = (_ID, _USER, column(3, "event_type", "string"), *device, column(4, "strain", "double"), _TIME)
    third = replace(second, columns=changed)
    fourth = replace(third, partitioning=(_BUCKET, _HOUR))
    outside = replace(fourth, columns=(*changed, column(9, "debug_flag", "string")))
    order = tuple(SortField(name, "identity", "asc", "first") for name in ("user_id", "timestamp"))
    fifth = replace(
        outside, sorting=order, properties={**outside.properties, "write.distribution-mode": "hash"}
    )  # fmt: skip
    levels = shape(
        LEVELS, column(1, "level", "int", required=True), column(2, "meaning", "string", required=True), uuid="u-2",
        properties=_NEW,
    )  # fmt: skip
    scores = shape(
        SCORES, column(1, "user_id", required=True), column(2, "night", "date", required=True),
        column(3, "level", "int", required=True), uuid="u-3", properties=_NEW,
        partitioning=(PartitionField(1000, "night_month", "night", "month"),),
    )  # fmt: skip
    story = Story("analytics", "dev")
    files = load_migrations(project / "migrations" / "analytics", project)[0]
    changes: list[dict[str, Shape | None]] = [
        {EVENTS: first}, {EVENTS: second}, {EVENTS: third}, {EVENTS: fourth}, {EVENTS: fifth}, {LEVELS: levels, SCORES: scores}, {},
    ]  # fmt: skip
    for file, each in zip(files, changes, strict=True):
        if file.number == 5:
            story.outside({EVENTS: outside})
        story.file(file.number, each, author=file.author, description=file.description)
    return story


def tell_sample(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands on the sample project in this process read that history."""
    tables = MemoryTables()
    tables.histories["analytics"] = sample_story(project).events
    load = running.load_targets

    def load_targets(*arguments: object) -> list[CatalogRun]:
        targets = load(*arguments)  # type: ignore[arg-type]
        return [replace(each, open_store=lambda *_: MemoryStore(tables, "analytics")) for each in targets]

    monkeypatch.setattr(running, "load_targets", load_targets)
    # There are no tables.
    monkeypatch.setattr(
        "glacierbase.capabilities.tables.blame.with_changes_since", lambda _, moments, **__: (moments, "")
    )
    monkeypatch.chdir(project)
