"""What the cutover of a data set of objects changes and refuses, on a catalog in memory. Spark runs it in `tests/engines`."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from glacierbase.capabilities.rekey.cutover import check_readers, cutover
from glacierbase.capabilities.rekey.journal import SqliteJournal, journal_path, state
from glacierbase.capabilities.rekey.keys import RekeyedObjects
from glacierbase.errors import StatementRefused
from glacierbase.executors.actions import ActionRun, GateShut
from glacierbase.model.session import SessionContext

ADDRESS = "s3://shop/events/"
OLD, NEW = "date={date}/id={id}/{file}", "id_reversed={id:reversed}/date={date}/{file}"
COLUMNS = [("n", "bigint", None), ("date", "date", None), ("# Partition Information", "", ""), ("date", "date", None)]
ALTER = re.compile(r"ALTER TABLE web\.events PARTITION \((.*)\) SET LOCATION '(.*)'")


class CatalogInMemory:
    """A session on a catalog with one table of partitions, and tables with columns."""

    def __init__(self, project: Path) -> None:
        self.project = project
        days = [f"2026-01-{day:02}" for day in range(1, 29)]
        self.locations = {f"date={day}/id=120": f"s3a://shop/events/date={day}/id=120" for day in days}
        self.columns = {"old": COLUMNS, "new": [COLUMNS[1], COLUMNS[0]]}
        self.settings: dict[str, str] = {}
        self.ran: list[str] = []
        self.put("state", manifest={"digest": "sha256:1"})

    def put(self, kind: str, **entries: Any) -> None:
        with closing(SqliteJournal(journal_path(ADDRESS, self.project))) as journal:
            journal.put(kind, entries)

    def percent(self) -> int | None:
        with closing(SqliteJournal(journal_path(ADDRESS, self.project))) as journal:
            return state(journal, "cutover").get("percent")

    def query(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        if sql.startswith("SET "):
            return [(sql.removeprefix("SET "), "false")]
        if sql.startswith("SHOW PARTITIONS "):
            return [(spec,) for spec in self.locations]
        if sql.startswith("DESCRIBE TABLE EXTENDED "):
            [partition] = re.findall(r"PARTITION \((.*)\)$", sql)
            details = [("Location", "a column", None), ("# Detailed Partition Information", "", "")]
            table = [("# Storage Information", "", ""), ("Location", "s3a://shop/events", "")]
            return [*details, ("Location", self.locations[self.spec(partition)], ""), *table]
        return self.columns[sql.removeprefix("DESCRIBE TABLE ")]

    def execute(self, sql: str, parameters: Any = (), *, tag: str | None = None) -> None:
        if sql.startswith("SET "):
            self.settings |= dict([sql.removeprefix("SET ").split(" = ")])
            return
        self.ran.append(sql)
        if change := ALTER.fullmatch(sql):
            self.locations[self.spec(change[1])] = change[2]

    @staticmethod
    def spec(partition: str) -> str:
        return re.sub("`(.*?)` = '(.*?)'", r"\1=\2", partition).replace(", ", "/")

    def step(self, percent: int, hold_seconds: int = 0, old: str = OLD, new: str = NEW, **readers: str) -> list[str]:
        """Take a step, and return the statements that it ran."""
        own = {"objects": ADDRESS, "old_keys": old, "new_keys": new, "percent": str(percent)}
        arguments = {**own, "hold_seconds": str(hold_seconds), **(readers or {"table": "web.events"})}
        self.ran.clear()
        session: Any = self
        cutover(ActionRun(arguments, session, "", lambda table: None, lambda: None, self.project))
        return list(self.ran)

    def context(self) -> SessionContext:
        return SessionContext("spark_catalog", "web")

    def view(self, percent: int, by: str = "n", view: str = "lake.web.v") -> list[str]:
        return self.step(percent, view=view, old_table="old", new_table="new", by=by)


@pytest.fixture
def catalog(tmp_path: Path) -> CatalogInMemory:
    return CatalogInMemory(tmp_path)


def test_a_step_changes_only_what_is_not_as_it_must_be(catalog: CatalogInMemory) -> None:
    """A step that runs again changes nothing, the next one no partition twice, and the way back restores each location."""
    before = dict(catalog.locations)
    half = catalog.step(50)
    assert 0 < len(half) < 28
    assert catalog.step(50) == []
    assert set(catalog.settings.values()) == {"false"}
    rest = catalog.step(100)
    assert not {*half} & {*rest}
    assert {*catalog.locations.values()} == {
        f"s3a://shop/events/id_reversed=021/{spec[:15]}" for spec in catalog.locations
    }
    assert len(catalog.step(0)) == 28
    assert catalog.locations == before


def test_a_step_that_stopped_before_its_entry_is_finished(
    catalog: CatalogInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partitions are at the new keys, the journal says nothing of them, and the hold of the step before is over."""
    catalog.step(10)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteJournal, "put", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            catalog.step(50)
    assert catalog.percent() == 10
    assert catalog.step(50) == []
    assert catalog.percent() == 50


def test_partitions_at_other_places_stay(catalog: CatalogInMemory) -> None:
    """One in another bucket, one with a deeper folder, and one whose folder has an id that it is not named for: as the key says."""
    others = {
        "date=2026-01-01/id=120": "s3a://archive/date=2026-01-01/id=120",
        "date=2026-01-02/id=120": "s3a://shop/events",
    }
    catalog.locations |= {**others, "date=2026-01-03/id=120": "s3a://shop/events/date=2026-01-03/id=0120/"}
    catalog.step(100)
    assert {spec: catalog.locations[spec] for spec in others} == others
    assert catalog.locations["date=2026-01-03/id=120"] == "s3a://shop/events/id_reversed=0210/date=2026-01-03"


@pytest.mark.parametrize("locations", [{}, {"date=2026-01-01": "s3a://shop/others/date=2026-01-01"}])
def test_a_table_none_of_whose_partitions_are_of_the_data_set_is_refused(
    catalog: CatalogInMemory, locations: dict[str, str]
) -> None:
    """Otherwise the journal would say that readers were switched."""
    catalog.locations = locations
    with pytest.raises(StatementRefused, match="has the location of a folder s3://shop/events/"):
        catalog.step(100)
    assert catalog.percent() is None


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (OLD, "id_reversed={id:reversed}/{date}_{file}", "lacks {date}"),
        ("date={date}/{id}_{file}", "id_reversed={id:reversed}/date={date}/{file}", "has no {id}"),
        (OLD, "{file:hash 2}/id={id}/date={date}/{file}", "has no {file}"),
    ],
)
def test_folders_that_do_not_become_one_other_folder_each_are_refused(
    catalog: CatalogInMemory, old: str, new: str, why: str
) -> None:
    """Two partitions would share a location, whose rows would be read twice, or one would have several."""
    with pytest.raises(StatementRefused, match=re.escape(why)):
        catalog.step(1, old=old, new=new)
    assert catalog.ran == []


def test_a_view_reads_one_table_at_both_ends_and_both_between(catalog: CatalogInMemory) -> None:
    """The columns have the names and the order of the old table."""
    assert catalog.view(0) == ["CREATE OR REPLACE VIEW lake.web.v AS SELECT `n`, `date` FROM old"]
    assert catalog.view(100) == ["CREATE OR REPLACE VIEW lake.web.v AS SELECT `n`, `date` FROM new"]
    [between] = catalog.view(10)
    assert between == (
        "CREATE OR REPLACE VIEW lake.web.v AS SELECT `n`, `date` FROM new WHERE pmod(xxhash64(`n`), 100) < 10"
        " UNION ALL SELECT `n`, `date` FROM old WHERE pmod(xxhash64(`n`), 100) >= 10"
    )


@pytest.mark.parametrize("view", ["v", "web.v", "spark_catalog.web.v"])
def test_a_view_of_sparks_own_catalog_is_altered(catalog: CatalogInMemory, view: str) -> None:
    """To replace it, Spark would drop it first."""
    assert catalog.view(100, view=view) == [f"ALTER VIEW {view} AS SELECT `n`, `date` FROM new"]


def test_two_tables_with_other_columns_are_refused(catalog: CatalogInMemory) -> None:
    """The hash of 5 is not that of '5': rows would be lost and doubled."""
    with pytest.raises(StatementRefused, match="old has no column id"):
        catalog.view(10, by="id")
    catalog.columns["new"] = [("N", "bigint", None), ("date", "string", None)]
    with pytest.raises(StatementRefused, match="new has no column date of the type date, which old has"):
        catalog.view(10)
    assert catalog.ran == []


def test_the_way_back_needs_no_manifest_but_the_objects(catalog: CatalogInMemory) -> None:
    """Without its journal a machine can still return; once an object was deleted, none can."""
    catalog.step(50)
    catalog.put("state", deletion={"at": "2026-11-28T10:00:00.000+00:00"})
    with pytest.raises(StatementRefused, match="were deleted"):
        catalog.step(0)
    assert catalog.step(100) != []
    journal_path(ADDRESS, catalog.project).unlink()
    with pytest.raises(StatementRefused, match="no manifest"):
        catalog.step(50)
    assert len(catalog.step(0)) == 28


def test_more_than_all_is_refused(catalog: CatalogInMemory) -> None:
    """Nothing is changed."""
    with pytest.raises(StatementRefused, match="percent => 101 is more than 100"):
        catalog.step(101)


def test_objects_are_deleted_only_when_no_partition_has_the_location_of_old_keys(catalog: CatalogInMemory) -> None:
    """Nothing is deleted before the last step; a partition that came after it is switched by that step again."""

    def check() -> None:
        session: Any = catalog
        run = ActionRun({}, session, "", lambda table: None, lambda: None, catalog.project)
        with closing(SqliteJournal(journal_path(ADDRESS, catalog.project))) as journal:
            check_readers(run, journal, RekeyedObjects(ADDRESS, OLD, NEW))

    check()
    catalog.step(50)
    with pytest.raises(GateShut) as shut:
        check()
    assert shut.value.why == "readers read only 50 % by new keys"
    catalog.step(100)
    check()
    catalog.locations["date=2026-02-01/id=7"] = "s3a://shop/events/date=2026-02-01/id=7"
    with pytest.raises(GateShut) as shut:
        check()
    assert "1 partition of web.events got the location of old keys" in shut.value.why
    assert len(catalog.step(100)) == 1
    check()
