"""Projects whose tables a released version made: later versions read them, and go on with them.

`python -m tests.released` makes the one of the version in the code, `VERSION.tar.gz`, at the release. None is made again.
Tables name their files by absolute paths, so that an archive is unpacked where it was made.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import glacierbase

HERE = Path(__file__).parent
# Where every project is made and unpacked.
PLACE = Path("/tmp/glacierbase-released/lakehouse")
CATALOG = """\
migrationExecutor:
  type: iceberg
  conf:
    name: lake
    properties: {type: sql, uri: "sqlite:///${projectRoot}/lake/NAME.db", warehouse: "file://${projectRoot}/lake/NAME"}
store: {type: STORE}
"""
FILES = {
    "0001_create.sql": "CREATE NAMESPACE lake.a;\nCREATE TABLE lake.a.t (id BIGINT, old STRING) USING iceberg",
    "0002_rename.sql": "ALTER TABLE lake.a.t RENAME COLUMN old TO name;\nALTER TABLE lake.a.t ADD COLUMN size INT",
    "0003_absent.sql": "ALTER TABLE lake.a.t ADD COLUMN kind STRING;\nALTER TABLE lake.a.t DROP COLUMN absent",
}
# Where history and lock are: tables of the catalog, or a file of SQLite.
STORES = {"tables": "iceberg", "file": "embedded"}


def unpack(version: str) -> Path:
    """Return the project that a version made, in place of one that is there."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    with tarfile.open(HERE / f"{version}.tar.gz") as archive:
        archive.extractall(PLACE, filter="data") if sys.version_info >= (3, 12) else archive.extractall(PLACE)
    return PLACE


def make() -> Path:
    """Return the archive of a project with two applied files and one that failed at its second statement, in each kind of store."""
    shutil.rmtree(PLACE, ignore_errors=True)
    for name, store in STORES.items():
        (PLACE / "migrations" / name).mkdir(parents=True)
        (PLACE / "catalogs").mkdir(exist_ok=True)
        (PLACE / "lake").mkdir(exist_ok=True)
        (PLACE / f"catalogs/{name}.yaml").write_text(CATALOG.replace("NAME", name).replace("STORE", store))
        for file, sql in FILES.items():
            head = f"-- MIGRATION_DESCRIPTION: {file[5:-4]} the table\n-- MIGRATION_AUTHOR: Release Team\n\n"
            (PLACE / "migrations" / name / file).write_text(f"{head}{sql};\n")
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    for name in STORES:
        command = [sys.executable, "-m", "glacierbase", "migrate", "--catalog", name]
        done = subprocess.run(command, cwd=PLACE, env=environment, check=False)
        assert done.returncode == 1, "the third file fails"
    path = HERE / f"{glacierbase.__version__}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(PLACE, ".", filter=lambda member: None if "/logs" in member.name else member)
    return path
