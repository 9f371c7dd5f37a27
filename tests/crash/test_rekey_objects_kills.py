"""Kills of a re-key of objects: of its process while the engine goes on with its tasks, and the next run goes on beside them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.support.catalog_files import REMOTE, RUNTIME, SQLITE
from tests.support.connect import connect_server
from tests.support.motostore import MotoStore, moto_store
from tests.support.project_folder import REPOSITORY, ProjectFolder
from tests.support.rekeyed import Rekeyed, writing
from tests.support.sparks import installed

SEED = int(os.environ.get("GLACIERBASE_SEED", "0"))
# In each phase.
KILLS = int(os.environ.get("GLACIERBASE_KILLS", "2"))
OBJECTS = int(os.environ.get("GLACIERBASE_OBJECTS", "200"))


@pytest.fixture
def store() -> Iterator[MotoStore]:
    with moto_store(has_versions=True) as made, pytest.MonkeyPatch.context() as patch:
        for name, value in made.environment.items():
            patch.setenv(name, value)
        yield made


def test_a_re_key_that_is_killed_in_each_phase_loses_no_object(
    store: MotoStore, project: ProjectFolder, tmp_path: Path
) -> None:
    """At random instants, with a writer until the validation; nothing is deleted that has no twin, and `repair` is not needed."""
    server = tmp_path / "server"
    server.mkdir()
    chance = Random(SEED)
    with connect_server(server, ",".join(filter(None, (RUNTIME, SQLITE, installed().connect)))) as address:
        text = REMOTE.replace("ADDRESS", address).replace("{catalog: lake}", "{catalog: lake, lockLease: 3s}")
        rekeyed = Rekeyed(text, None, project, store, OBJECTS)
        rekeyed.switch_no_readers()
        rekeyed.edit(lag_seconds=2, window_seconds=20, tasks=2)
        with writing(rekeyed):
            run_and_kill(rekeyed, chance, "0003")
        time.sleep(2)
        before = rekeyed.old()
        assert rekeyed.new() == rekeyed.mapped(before)
        while "not approved" not in rekeyed.waiting():
            pass
        shown = rekeyed.project.rekey_approve(rekeyed.address)
        assert shown.objects == len(before)
        rekeyed.project.rekey_approve(rekeyed.address, manifest=shown.manifest)
        run_and_kill(rekeyed, chance, "0005")
    assert rekeyed.old() == {}
    assert rekeyed.new() == rekeyed.mapped(before)


def run_and_kill(rekeyed: Rekeyed, chance: Random, to: str) -> None:
    """Run `migrate` until the file with this version is applied, and kill it at random instants; count its kills by version."""
    command = [sys.executable, "-m", "glacierbase", "migrate", "--project", str(rekeyed.folder.root), "--to", to]
    kills = dict[str, int]()
    while True:
        [status] = rekeyed.project.status([rekeyed.name])
        pending = [file.version for file in status.migrations if str(file.state) != "applied"]
        if not pending or pending[0] > to:
            return
        kills[pending[0]] = kills.get(pending[0], 0) + 1
        assert kills[pending[0]] < 60, "the file does not get on"
        seconds = chance.uniform(2, 40) if kills[pending[0]] <= KILLS else 300
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            try:
                output = process.communicate(timeout=seconds)[0].decode()
                assert process.returncode in (0, 4), output
            except subprocess.TimeoutExpired:
                process.kill()
