"""Clones of a catalog: whatever is done in a clone, no file that the original needs is deleted."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from glacierbase.executors.pyiceberg import opened as connections
from glacierbase.model.catalog import Catalog
from glacierbase.stores import origin
from glacierbase.stores.iceberg import IcebergStore, open_store, store
from tests.support.catalog_files import LAKE, WEB
from tests.support.checkingproxy import checking_proxy
from tests.support.project_folder import ProjectFolder, only_catalog
from tests.support.pythoncatalog import PythonCatalog
from tests.unit.stores.test_iceberg_store import FREE, event

TABLES = ("history_shop", "lock_shop")
SERVER = WEB.replace("token: ${secret:WEB_TOKEN}", "credential: ${secret:MIGRATOR_LOGIN}")
# As many events and renewals as there are metadata files in the log of the original, and one more for each compaction.
KEPT, EVENTS = 2, 4


@dataclass
class Original:
    """A catalog with history and lock, and what makes a clone of it.

    Attributes:
        folder: with all its files.
        clone: returns the catalog of a new clone.
        choose: called before the original is opened.
    """

    catalog: Catalog
    folder: Path
    clone: Callable[[], Catalog]
    choose: Callable[[], object] = lambda: None

    def open(self) -> IcebergStore:
        """Open history and lock of the original again."""
        self.choose()
        opened = open_store(self.catalog)
        opened.read_lock()
        return opened

    def files(self) -> dict[Path, bytes]:
        """Return the content of its files, without its database."""
        found = (path for path in self.folder.rglob("*") if path.is_file() and ".db" not in path.name)
        return {path: path.read_bytes() for path in found}


def project(folder: Path, text: str) -> Catalog:
    """Return the catalog of a new project with this catalog file."""
    made = ProjectFolder(folder)
    made.catalog(text.replace("WAREHOUSE", str(folder / "warehouse")))
    return only_catalog(folder)


def elsewhere(folder: Path) -> Path:
    """Return a new folder beside the one of the original."""
    return folder.parent / uuid.uuid4().hex[:8]


@contextmanager
def database(folder: Path) -> Iterator[Original]:
    """The database is copied, and the clone writes to the same warehouse."""
    original = project(folder, LAKE)

    def clone() -> Catalog:
        copied = folder / "warehouse" / f"{uuid.uuid4().hex[:8]}.db"
        shutil.copyfile(folder / "warehouse" / "catalog.db", copied)
        return with_conf(original, uri=f"jdbc:sqlite:{copied}")

    yield Original(original, folder, clone)


@contextmanager
def restored(folder: Path) -> Iterator[Original]:
    """The database is copied, and the clone has a warehouse of its own."""
    with database(folder) as original:
        yield replace(
            original, clone=lambda: with_conf(original.clone(), warehouse=f"file://{elsewhere(folder)}/tables")
        )


def with_conf(catalog: Catalog, **settings: str) -> Catalog:
    """Return the catalog with other settings of the catalog of history and lock."""
    changed = {f"spark.sql.catalog.lake.{key}": value for key, value in settings.items()}
    return replace(catalog, spark_conf={**catalog.spark_conf, **changed})


@contextmanager
def copied_folder(folder: Path, text: str = LAKE) -> Iterator[Original]:
    """The whole folder is copied."""
    original = project(folder, text)

    def clone() -> Catalog:
        copied = Path(shutil.copytree(folder, elsewhere(folder)))
        file = copied / "catalogs" / "shop.yaml"
        file.write_text(file.read_text().replace(str(folder), str(copied)))
        return only_catalog(copied)

    yield Original(original, folder, clone)


@contextmanager
def embedded(folder: Path) -> Iterator[Original]:
    """The folder of a project with an embedded store is copied."""
    with copied_folder(folder, f"{LAKE}store: {{type: embedded}}\n") as original:
        yield original


@contextmanager
def registered(folder: Path) -> Iterator[Original]:
    """The tables are registered once more, in another namespace of the same catalog."""
    original = project(folder, LAKE)

    def clone() -> Catalog:
        namespace = f"copied_{uuid.uuid4().hex[:8]}"
        register(original, "lake", namespace)
        return replace(original, store=replace(original.store, namespace=namespace))

    yield Original(original, folder, clone)


@contextmanager
def renamed(folder: Path) -> Iterator[Original]:
    """The tables are registered once more, in another catalog of the same database."""
    original = project(folder, LAKE)

    def clone() -> Catalog:
        name = f"copied_{uuid.uuid4().hex[:8]}"
        register(original, name, original.store.namespace)
        conf = {key.replace("catalog.lake", f"catalog.{name}"): value for key, value in original.spark_conf.items()}
        return replace(original, spark_conf=conf, store=replace(original.store, catalog=name))

    yield Original(original, folder, clone)


def client(catalog: Catalog, name: str = "lake") -> SqlCatalog:
    """Return another client of a catalog."""
    conf = {key: catalog.spark_conf[f"spark.sql.catalog.lake.{key}"] for key in ("uri", "warehouse")}
    uri = conf["uri"].removeprefix("jdbc:sqlite:").partition("?")[0]
    return SqlCatalog(name, uri=f"sqlite:///{uri}", warehouse=conf["warehouse"])


def register(catalog: Catalog, name: str, namespace: str) -> None:
    """Register the tables of a catalog in another namespace or catalog of its database."""
    other = client(catalog, name)
    other.create_namespace_if_not_exists(namespace)
    for table in TABLES:
        location = client(catalog).load_table((catalog.store.namespace, table)).metadata_location
        other.register_table((namespace, table), location)


@contextmanager
def served(folder: Path) -> Iterator[Original]:
    """The database of its server is copied, and another server uses the copy."""
    folder.mkdir()
    proxies = []
    with checking_proxy(PythonCatalog(folder).answer) as proxy:
        original = project(folder / "project", SERVER.replace("ADDRESS", proxy.address))

        def clone() -> Catalog:
            copied = elsewhere(folder)
            copied.mkdir()
            shutil.copyfile(folder / "rest.db", copied / "rest.db")
            opened = checking_proxy(PythonCatalog(copied, f"file://{folder}/tables").answer)
            proxies.append(opened)
            return with_conf(original, uri=opened.__enter__().address)

        try:
            yield Original(original, folder, clone)
        finally:
            for opened in proxies:
                opened.__exit__(None, None, None)


@contextmanager
def branch(folder: Path) -> Iterator[Original]:
    """The server chooses a branch by the prefix of its configuration, and another one later."""
    folder.mkdir()
    branches, chosen = {"main": PythonCatalog(folder)}, ["main"]

    def answer(method: str, url: str, body: str) -> tuple[int, str]:
        if url.endswith("/v1/config"):
            return 200, f'{{"defaults": {{}}, "overrides": {{"prefix": "{chosen[-1]}"}}}}'
        name = url.partition("/v1/")[2].partition("/")[0]
        return branches[name].answer(method, url.replace(f"/v1/{name}", "/v1"), body)

    def choose(name: str) -> None:
        """Choose the branch for the next process: each reads the configuration once."""
        chosen.append(name)
        connections._OPENED.clear()

    with checking_proxy(answer) as proxy:
        original = project(folder / "project", SERVER.replace("ADDRESS", proxy.address))

        def clone() -> Catalog:
            copied = elsewhere(folder)
            copied.mkdir()
            shutil.copyfile(folder / "rest.db", copied / "rest.db")
            branches[copied.name] = PythonCatalog(copied, f"file://{folder}/tables")
            choose(copied.name)
            return original

        yield Original(original, folder, clone, lambda: choose("main"))


KINDS = (database, restored, copied_folder, embedded, registered, renamed, served, branch)


def appends(opened: Any) -> None:
    """Record more events than the log of metadata files has names."""
    for number in range(EVENTS):
        opened.append([event(number)])


def renewals(opened: Any) -> None:
    """Renew the lock until it is compacted."""
    for _ in range(EVENTS):
        row = opened.read_lock()
        assert opened.compare_and_set(row, replace(row, beat=row.beat + 1))


def compaction(opened: Any) -> None:
    """Compact both tables, twice: the second time, all older snapshots are those of the clone."""
    for number in range(2):
        opened.append([event(number)])
        opened.compact()


def rebuilding(opened: Any) -> None:
    """Replace the rows of the lock, as `unlock --rebuild` does."""
    for _ in range(KEPT + 1):
        [row] = opened.lock_rows()
        assert opened.replace_rows([row], replace(row, fence=row.fence + 1))


def creation(opened: Any) -> None:
    """Create what is missing, which is nothing."""
    opened.create(FREE)


OPERATIONS = (appends, renewals, compaction, rebuilding, creation)


@pytest.fixture(scope="module")
def few() -> Iterator[None]:
    """Small numbers of what is kept, so that few commits suffice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(origin, "_KEPT", str(KEPT))
        patch.setattr(store, "_MANY_SNAPSHOTS", 4)
        yield


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def original(request: pytest.FixtureRequest, few: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Original]:
    """A catalog with some events and a lock that was renewed."""
    with request.param(tmp_path_factory.mktemp("clones") / "original") as made:
        opened = made.open()
        opened.create(FREE)
        for operation in OPERATIONS:
            operation(opened)
        yield made


@pytest.mark.parametrize("is_accepted", [False, True])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_done_in_a_clone_deletes_no_file_of_the_original(
    operation: Callable[[Any], None], is_accepted: bool, original: Original
) -> None:
    """The original reads the same history and lock from the same bytes, before and after the clone has files of its own."""
    opened = original.open()
    before = opened.read_history(), opened.read_lock(), original.files()
    clone = open_store(original.clone())
    assert (clone.read_history(), clone.read_lock()) == before[:2]
    assert clone.other_catalog()
    if is_accepted:
        clone.own_files()
        assert clone.other_catalog() is None
    operation(clone)
    after = original.files()
    assert {path: after.get(path) for path in before[2]} == before[2]
    again = original.open()
    assert (again.read_history(), again.read_lock(), again.other_catalog()) == (*before[:2], None)


def test_a_clone_with_files_of_its_own_needs_none_of_the_original(original: Original) -> None:
    """A clone deletes its own files again, and its compacted tables name no file of the original, nor one that is gone."""
    clone = open_store(original.clone())
    before, theirs = (clone.read_history(), clone.read_lock()), original.files().keys()
    clone.own_files()
    for operation in (None, *OPERATIONS):
        if operation:
            operation(clone)
        needed = [file for name in TABLES for file in needs(clone._load(name))]
        assert not theirs & set(needed)
        assert all(file.exists() for file in needed)
    left = [path for name in TABLES for path in place(clone, name).rglob("*") if path.is_file()]
    assert len(left) < 40
    assert set(before[0]) <= set(clone.read_history())


def place(opened: IcebergStore, name: str) -> Path:
    """Return the folder of one of the two tables."""
    return Path(opened._load(name).location().removeprefix("file://"))


def needs(table: Any) -> list[Path]:
    """Return all files that the metadata of a table names."""
    manifests = [manifest for snapshot in table.snapshots() for manifest in snapshot.manifests(table.io)]
    data = [entry.data_file.file_path for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io)]
    lists = [snapshot.manifest_list for snapshot in table.snapshots()]
    log = [entry.metadata_file for entry in table.metadata.metadata_log]
    names = [*data, *lists, *log, *(manifest.manifest_path for manifest in manifests), table.metadata_location]
    return [Path(name.removeprefix("file://")) for name in names]
