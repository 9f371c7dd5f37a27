"""Kills of a re-key of objects at random instants of each phase, while a writer goes on.

Where a Connect server runs the tasks, the process of the program is killed, and the server goes on beside the next run. Where the
program has a Spark of its own, one of the two is killed, or both.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.catalog_files import REMOTE, RUNTIME, SQLITE
from tests.support.connect import connect_server
from tests.support.motostore import MotoStore, moto_store
from tests.support.processes import children_of, name_of
from tests.support.project_folder import ProjectFolder, migration
from tests.support.rekeyed import TABLE, Rekeyed, writing
from tests.support.s3a import S3A_JARS, s3a_catalog, s3a_conf
from tests.support.sparks import installed

logger = logging.getLogger(__name__)

SEED = int(os.environ.get("GLACIERBASE_SEED", "0"))
# In each phase.
KILLS = int(os.environ.get("GLACIERBASE_KILLS", "2"))
OBJECTS = int(os.environ.get("GLACIERBASE_OBJECTS", "200"))
PHASES = ("verify_dual_write", "backfill", "validate", "cutover", "clean_up")
LAG_SECONDS = 2
# Partitions of the table that readers read.
PARTITIONS = 20
QUERY = f"SELECT count(*), sum(xxhash64(value, date, id) % 1000003) FROM {TABLE}"


@pytest.fixture
def store() -> Iterator[MotoStore]:
    with moto_store(has_versions=True) as made, pytest.MonkeyPatch.context() as patch:
        for name, value in made.environment.items():
            patch.setenv(name, value)
        yield made


class Killed:
    """The runs of a re-key, which are killed; a phase is repeated until it was killed often enough.

    Attributes:
        texts: of the files, by phase.
        kills: by phase.
        deleted: the keys that the runs deleted.
    """

    def __init__(self, rekeyed: Rekeyed, store: MotoStore, chance: Random, *, kills_engine: bool) -> None:
        self._rekeyed, self._store, self._chance, self._kills_engine = rekeyed, store, chance, kills_engine
        self.texts = {phase: rekeyed.file(phase).read_text() for phase in PHASES}
        for phase in PHASES:
            rekeyed.file(phase).unlink()
        self._version = 0
        self.kills = Counter[str]()
        self.deleted = set[str]()

    def run(self, text: str) -> None:
        """Run a file to its end."""
        self._file(text)
        while not self._ends(self._start()):
            time.sleep(0.5)

    def run_killed(self, phase: str, requests: int, seconds: float, again: Callable[[], None]) -> None:
        """Run a phase, and kill each of its runs, until it was killed often enough and is done.

        Args:
            requests, seconds: a kill is so many seconds after so many of the run's requests at the most.
            again: makes what there is to do again, after a run that ended first.
        """
        while True:
            self._file(self.texts[phase])
            while not self._kill_or_end(phase, requests, seconds):
                pass
            if self.kills[phase] >= KILLS:
                return
            again()

    def _file(self, text: str) -> None:
        self._version += 1
        (self._rekeyed.files / f"{self._version:04}_rekey.sql").write_text(text)

    def _start(self) -> subprocess.Popen[str]:
        return self._rekeyed.folder.start("migrate", "--lock-timeout", "5m", "--format", "json")

    def _kill_or_end(self, phase: str, requests: int, seconds: float) -> bool:
        """Run `migrate`, and kill it unless it ends before, or the phase was killed often enough; return whether it is done."""
        left, reached = self._chance.randint(0, requests), threading.Event()

        def sees(kind: str, key: str) -> None:
            nonlocal left
            left -= kind in ("LIST", "HEAD", "COPY")
            if left < 0:
                reached.set()
            if kind == "DELETE":
                self.deleted.add(key)

        self._store.sees = sees
        run = self._start()
        try:
            if self.kills[phase] < KILLS:
                if requests:
                    while run.poll() is None and not reached.wait(0.02):
                        pass
                with suppress(subprocess.TimeoutExpired):
                    run.wait(self._chance.uniform(0, seconds))
            if self.kills[phase] == KILLS or run.returncode is not None:
                return self._ends(run)
            self.kills[phase] += 1
            logger.info("kill %s of %s", self.kills[phase], phase)
            self._kill(run)
            return False
        finally:
            run.kill()
            run.communicate()

    def _kill(self, run: subprocess.Popen[str]) -> None:
        """Kill the process of the program, its engine, or both with the Pythons of the tasks."""
        engines = [pid for pid in children_of(run.pid) if self._kills_engine and name_of(pid) == "java"]
        victims = self._chance.choice([[run.pid], engines, [*_below(run.pid), run.pid]]) if engines else [run.pid]
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if run.pid not in victims:
            _, errors = run.communicate(timeout=300)
            assert run.returncode in (0, 1, 5), errors

    def _ends(self, run: subprocess.Popen[str]) -> bool:
        """Wait for the end of a run; return whether its file is done. Approve what waits for that."""
        output, errors = run.communicate(timeout=1200)
        assert run.returncode == 0, errors + output
        waiting = json.loads(output)["catalogs"][0]["waiting"]
        if waiting and "not approved" in waiting["waiting"]["why"]:
            shown = self._rekeyed.project.rekey_approve(self._rekeyed.address)
            self._rekeyed.project.rekey_approve(self._rekeyed.address, manifest=shown.manifest)
        return waiting is None


def _below(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started."""
    return [below for child in children_of(pid) for below in (*_below(child), child)]


@pytest.mark.parametrize("engine", ["connect", "local"])
def test_a_re_key_that_is_killed_in_each_phase_loses_no_object(
    engine: str, store: MotoStore, project: ProjectFolder, tmp_path: Path
) -> None:
    """A writer goes on until the validation, a reader in the cutover; only what was validated is deleted, without any `repair`."""
    server = tmp_path / "server"
    server.mkdir()
    if engine == "local":
        text = s3a_catalog(store.address, server).replace("{catalog: lake}", "{type: embedded, lockLease: 3s}")
        rekey_with_kills(Rekeyed(text, None, project, store, OBJECTS), store, None)
        return
    jars = ",".join(filter(None, (RUNTIME, SQLITE, installed().connect, *S3A_JARS)))
    with connect_server(server, jars, s3a_conf(store.address, server)) as address:
        text = REMOTE.replace("ADDRESS", address).replace("{catalog: lake}", "{type: embedded, lockLease: 3s}")
        rekey_with_kills(Rekeyed(text, None, project, store, OBJECTS), store, address)


def rekey_with_kills(rekeyed: Rekeyed, store: MotoStore, server: str | None) -> None:
    """Re-key the objects, and check them.

    Args:
        server: the address of the Connect server; None for an engine that each run starts.
    """
    rekeyed.edit(lag_seconds=LAG_SECONDS, window_seconds=20)
    # Below and above the least size of a part; the writer does not replace them.
    in_parts = {rekeyed.key(number): [b"a"] for number in range(40, OBJECTS, 100)}
    in_parts[rekeyed.key(40)] = [b"x" * 5 * 1024**2, b"y"]
    for name, parts in in_parts.items():
        rekeyed.put_in_parts(name, *parts)
    others = {f"{rekeyed.prefix}date=2026-01-01/_SUCCESS": b"", "beside/date=2026-01-01/id=100/a": b"z"}
    for name, content in others.items():
        rekeyed.put(name, content)
    killed = Killed(rekeyed, store, Random(SEED), kills_engine=server is None)
    killed.run(table(rekeyed))
    with writing(rekeyed, 0.3):
        killed.run_killed("verify_dual_write", 12, 2, lambda: None)
        killed.run_killed("backfill", OBJECTS // 5, 1, lambda: delete_all(rekeyed, rekeyed.objects.new_start))
        killed.run_killed("validate", 12, 3, lambda: None)
    time.sleep(LAG_SECONDS)
    before = {name: content for name, content in rekeyed.old().items() if name not in others}
    assert rekeyed.new() == rekeyed.mapped(before)
    heads = [rekeyed.s3.head_object(Bucket=store.bucket, Key=name) for name in in_parts]
    assert all("-" in head["ETag"] for head in heads)
    assert b"" in before.values()
    switching = killed.texts["cutover"]
    way_back = re.sub("(?m)^-- ?", "", re.findall(r"^-- CALL[^;]*;", switching, re.MULTILINE)[0])
    with reading(server) as rows:
        killed.run_killed("cutover", 0, 20, lambda: killed.run(migration(way_back)))
        check = (
            f"SELECT assert_true(count(*) = {PARTITIONS}) FROM (SELECT DISTINCT input_file_name() AS name FROM {TABLE}"
        )
        killed.run(migration(f"{check}) WHERE name LIKE '%id_reversed%'"))
    assert len({*rows}) <= 1

    def restore() -> None:
        store.put_all(before)
        time.sleep(LAG_SECONDS)
        killed.run(killed.texts["validate"])

    killed.deleted.clear()
    killed.run_killed("clean_up", 2 * OBJECTS // 5, 1, restore)
    logger.info("%s kills, %s objects, %s requests", dict(killed.kills), len(before), store.requests)
    assert killed.deleted == set(before)
    assert store.contents("beside/") | rekeyed.old() == others
    assert rekeyed.new() == rekeyed.mapped(before)


def table(rekeyed: Rekeyed) -> str:
    """Return a migration that creates a table of some of the objects with old keys."""
    columns = "(value STRING, date STRING, id STRING) USING text PARTITIONED BY (date, id)"
    folders = [rekeyed.key(number).rpartition("/")[0] for number in range(PARTITIONS)]
    partitions = "".join(
        f" PARTITION (date = '{folder.split('=')[1].split('/')[0]}', id = '{folder.rpartition('=')[2]}')"
        f" LOCATION 's3a://{rekeyed.store.bucket}/{folder}'"
        for folder in folders
    )
    return migration(
        f"CREATE TABLE {TABLE} {columns} LOCATION 's3a://{rekeyed.store.bucket}/events';\nALTER TABLE {TABLE} ADD{partitions};"
    )


def delete_all(rekeyed: Rekeyed, prefix: str) -> None:
    """Delete the objects below a prefix."""
    names = [{"Key": name} for name in rekeyed.store.keys(prefix)]
    for first in range(0, len(names), 1000):
        rekeyed.s3.delete_objects(Bucket=rekeyed.store.bucket, Delete={"Objects": names[first : first + 1000]})


@contextmanager
def reading(server: str | None) -> Iterator[list[Any]]:
    """Read through the Connect server all the while; yield the answers, errors among them."""
    answers, ended = list[Any](), threading.Event()
    if server is None:
        yield answers
        return
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(server).create()

    def read() -> None:
        while not ended.wait(0.2):
            try:
                answers.append(tuple(session.sql(QUERY).collect()[0]))
            except Exception as error:
                answers.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield answers
    finally:
        ended.set()
        reader.join()
        session.stop()
    assert len(answers) > 1
