"""Re-keys of objects on an S3 server on loopback, by real Spark and the files that `rekey plan` writes, while a writer goes on."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import closing

import boto3
import pytest

from glacierbase.capabilities.rekey.inventory import literal
from glacierbase.capabilities.rekey.journal import open_journal, state
from glacierbase.capabilities.rekey.keys import RekeyedObjects
from glacierbase.errors import ConfigurationError, MigrationFailed
from tests.support.beds import LakeBed
from tests.support.dynamodb import make_journal
from tests.support.motostore import MotoStore, moto_store, own_prefix
from tests.support.project_folder import ProjectFolder
from tests.support.rekeyed import NEW, OLD, Rekeyed, writing

# The address of a bucket with versions, and a prefix in it; default: a server on loopback.
BUCKET = "GLACIERBASE_TEST_BUCKET"


@pytest.fixture
def loopback(lake: LakeBed, monkeypatch: pytest.MonkeyPatch) -> Iterator[MotoStore]:
    """The server on loopback."""
    with moto_store(has_versions=True) as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
            # The Python of the tasks has the variables of Spark, which was started before.
            monkeypatch.setitem(lake.spark.sparkContext.environment, name, value)
        yield made


@pytest.fixture
def rekeyed(lake: LakeBed, project: ProjectFolder, request: pytest.FixtureRequest) -> Iterator[Rekeyed]:
    """A data set in the bucket that the environment names; in a test that needs `loopback`, there."""
    address = None if "loopback" in request.fixturenames else os.environ.get(BUCKET)
    address = address or f"s3://{request.getfixturevalue('loopback').bucket}/a folder"
    with own_prefix(address) as store:
        made = Rekeyed(lake.text, lake.spark, project, store, 40)
        made.switch_no_readers()
        yield made


def test_a_data_set_gets_new_keys_while_a_writer_goes_on(rekeyed: Rekeyed) -> None:
    """No object is lost or differs; the old ones are deleted only when the writer ended, and somebody approved it."""
    rekeyed.put_in_parts(rekeyed.key(45), b"x" * 5 * 1024**2, b"y")
    rekeyed.edit(window_seconds=0)
    assert "no object was written" in rekeyed.waiting()
    rekeyed.edit(lag_seconds=1, window_seconds=1000)
    assert f"have no object with the new key, such as {rekeyed.prefix}date=" in rekeyed.waiting()
    rekeyed.edit(window_seconds=1)
    with writing(rekeyed):
        while rekeyed.waiting("0003"):
            time.sleep(1)
    time.sleep(1)
    before = rekeyed.old()
    assert rekeyed.new() == rekeyed.mapped(before)
    assert "the soak time begins again" in rekeyed.waiting()
    assert f"is not approved; `glacierbase rekey approve {shlex.quote(rekeyed.address)}" in rekeyed.waiting()
    assert rekeyed.old() == before
    shown = rekeyed.project.rekey_approve(rekeyed.address)
    assert (shown.objects, shown.bytes) == (len(before), sum(map(len, before.values())))
    rekeyed.project.rekey_approve(rekeyed.address, manifest=shown.manifest)
    assert [file.version for file in rekeyed.migrate().applied] == ["0005"]
    assert rekeyed.old() == {}
    assert rekeyed.new() == rekeyed.mapped(before)
    versions = rekeyed.s3.list_object_versions(Bucket=rekeyed.store.bucket, Prefix=rekeyed.key(0))["Versions"]
    assert len(versions) >= 2


def approve(rekeyed: Rekeyed) -> None:
    shown = rekeyed.project.rekey_approve(rekeyed.address)
    rekeyed.project.rekey_approve(rekeyed.address, manifest=shown.manifest)


def test_nothing_is_deleted_while_one_object_is_missing_altered_or_newer(rekeyed: Rekeyed) -> None:
    """Nothing is deleted with another manifest than the approved one, nor before the soak time ends."""
    rekeyed.write_once()
    rekeyed.edit(soak_seconds=1000)
    assert "soak time of the manifest" in rekeyed.waiting()
    rekeyed.edit(soak_seconds=0)
    approve(rekeyed)
    twin = str(rekeyed.objects.new_key(rekeyed.key(7)))
    for content in (None, b"altered"):
        if content is None:
            rekeyed.s3.delete_object(Bucket=rekeyed.store.bucket, Key=twin)
        else:
            rekeyed.put(twin, content)
        with pytest.raises(MigrationFailed, match=re.escape("1 of 40 objects below")) as failed:
            rekeyed.migrate()
        assert rekeyed.key(7) in failed.value.message
        assert len(rekeyed.old()) == 40
    for name in (rekeyed.key(7), twin):
        rekeyed.put(name, b"newer")
    assert "the soak time begins again" in rekeyed.waiting()
    assert "not approved" in rekeyed.waiting()
    with pytest.raises(ConfigurationError, match="nothing was approved"):
        rekeyed.project.rekey_approve(rekeyed.address, manifest="sha256:0")
    assert len(rekeyed.old()) == 40
    versions = rekeyed.s3.list_object_versions(Bucket=rekeyed.store.bucket, Prefix=rekeyed.prefix)
    assert [entry["Key"] for entry in versions["DeleteMarkers"]] == [twin]


def test_a_clean_up_that_stopped_goes_on_with_what_is_left(
    rekeyed: Rekeyed, loopback: MotoStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside a chunk, whose lines are in the journal; an object that somebody writes meanwhile stays."""
    rekeyed.write_once()
    monkeypatch.setattr("glacierbase.capabilities.rekey.objects.OBJECTS_PER_CHUNK", 8)
    for module in ("inventory", "cleaning"):
        monkeypatch.setattr(f"glacierbase.capabilities.rekey.{module}.CHUNKS_PER_JOB", 2)
    rekeyed.waiting()
    approve(rekeyed)
    before, deletes = rekeyed.new(), loopback.requests
    loopback.fault = lambda kind, _: 403 if kind == "DELETE" and deletes["DELETE"] > 11 else None
    with pytest.raises(MigrationFailed, match="AccessDenied"):
        rekeyed.migrate()
    left = rekeyed.old()
    assert len(left) == 40 - 11
    loopback.fault = lambda *_: None
    deleted = next(rekeyed.key(number) for number in range(40) if rekeyed.key(number) not in left)
    for name in (deleted, str(rekeyed.objects.new_key(deleted))):
        rekeyed.put(name, b"written again")
    with pytest.raises(MigrationFailed, match="nothing more was deleted"):
        rekeyed.migrate()
    assert rekeyed.old() == left | {deleted: b"written again"}
    for name, content in ((deleted, None), (str(rekeyed.objects.new_key(deleted)), before)):
        if content is None:
            rekeyed.s3.delete_object(Bucket=rekeyed.store.bucket, Key=name)
    rekeyed.migrate()
    assert rekeyed.old() == {}
    assert len(rekeyed.new()) == 40


def test_what_cannot_be_copied_is_refused_before_the_first_copy(
    rekeyed: Rekeyed, caplog: pytest.LogCaptureFixture
) -> None:
    """Archived objects, and two that would get one key; keys that match neither template stay, with a warning."""
    rekeyed.write_once()
    rekeyed.put(f"{rekeyed.prefix}date=2026-01-01/_SUCCESS", b"")
    rekeyed.put(rekeyed.key(50), b"cold", StorageClass="GLACIER")
    with pytest.raises(MigrationFailed, match="1 object archived, such as"):
        rekeyed.migrate("0003")
    assert rekeyed.new() == {}
    assert "1 key below" in caplog.text
    assert "_SUCCESS" in caplog.text
    rekeyed.s3.delete_object(Bucket=rekeyed.store.bucket, Key=rekeyed.key(50))
    for name in ("date=1/id=a-b/f", "date=1-a/id=b/f"):
        rekeyed.put(f"{rekeyed.prefix}{name}", b"")
    for path in rekeyed.files.glob("*.sql"):
        path.write_text(path.read_text().replace(NEW, "n/{date}-{id}/{file}"))
    with pytest.raises(MigrationFailed, match=f"would both get the key {rekeyed.prefix}n/1-a-b/f"):
        rekeyed.migrate("0003")


def test_a_newer_twin_is_not_replaced(rekeyed: Rekeyed) -> None:
    """Somebody writes only new keys; the file waits until somebody decides."""
    rekeyed.write_once()
    time.sleep(1)
    twin = str(rekeyed.objects.new_key(rekeyed.key(7)))
    rekeyed.put(twin, b"newer")
    time.sleep(1)
    assert f"the twins of 1 object differ, such as of {rekeyed.prefix}date=" in rekeyed.waiting("0002")
    assert rekeyed.store.contents(twin) == {twin: b"newer"}
    assert len(rekeyed.new()) == 40


def test_a_storm_of_refusals_while_the_engine_copies_loses_no_object(rekeyed: Rekeyed, loopback: MotoStore) -> None:
    """S3 refuses requests while it divides a hot prefix."""
    rekeyed.write_once()
    refused: set[str] = set()

    def refuse_once(kind: str, key: str) -> int | None:
        if kind != "COPY" or key in refused:
            return None
        refused.add(key)
        return 503

    loopback.fault = refuse_once
    rekeyed.migrate("0003")
    assert len(refused) == 40
    assert loopback.requests["COPY"] >= 80
    assert rekeyed.new() == rekeyed.mapped(rekeyed.old())


def test_the_journal_names_each_object_on_request(rekeyed: Rekeyed) -> None:
    """By chunk otherwise."""
    rekeyed.write_once()
    path = rekeyed.file("backfill")
    path.write_text(path.read_text().replace("tasks => 2", "tasks => 2, journal_rows => 'objects'"))
    rekeyed.migrate("0003")
    assert len(rekeyed.entries("copied")) == 40
    assert len(rekeyed.entries("manifest")) == 1


def test_a_data_set_gets_new_keys_with_a_journal_in_dynamodb(
    rekeyed: Rekeyed, loopback: MotoStore, dynamodb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the plan to the clean-up, without a file beside the project; a clean-up that stopped goes on."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", dynamodb)
    monkeypatch.setattr("glacierbase.capabilities.rekey.objects.OBJECTS_PER_CHUNK", 8)
    place = f"dynamodb:{rekeyed.name}"
    make_journal(boto3.client("dynamodb"), rekeyed.name)
    rekeyed.write_once()
    backfill = rekeyed.file("backfill")
    for path in rekeyed.files.glob("*.sql"):
        more = f"tasks => 2, journal => '{place}'" + (", journal_rows => 'objects'" if path == backfill else "")
        path.write_text(path.read_text().replace("tasks => 2", more))
    before = rekeyed.old()
    assert f"`glacierbase rekey approve {shlex.quote(rekeyed.address)} --journal {place} " in rekeyed.waiting()
    shown = rekeyed.project.rekey_approve(rekeyed.address, journal=place)
    rekeyed.project.rekey_approve(rekeyed.address, journal=place, manifest=shown.manifest)
    deletes = loopback.requests
    loopback.fault = lambda kind, _: 403 if kind == "DELETE" and deletes["DELETE"] > 11 else None
    with pytest.raises(MigrationFailed, match="AccessDenied"):
        rekeyed.migrate()
    assert len(rekeyed.old()) == 40 - 11
    loopback.fault = lambda *_: None
    rekeyed.migrate()
    assert rekeyed.old() == {}
    assert rekeyed.new() == rekeyed.mapped(before)
    assert not list(rekeyed.folder.root.glob("rekey/*"))
    with closing(open_journal(rekeyed.address, place, rekeyed.folder.root)) as journal:
        assert len(list(journal.rows("copied"))) == 40
        digest = state(journal, "manifest")["digest"]
        numbers = [
            [name for name, _ in journal.rows(f"{kind} {digest}")] for kind in ("manifest", "deleting", "deleted")
        ]
    assert numbers[0] == numbers[1] == numbers[2] != []


def test_the_engine_maps_keys_as_python_does(lake: LakeBed) -> None:
    """Keys with everything that SQL and regular expressions read in a special way."""
    odd = [
        "a'b",
        'a"b',
        "a\\b",
        "$1",
        "${x}",
        "a{b}",
        "[^/]+",
        "ü\U0001f600",
        "a\nb",
        " ",
        "=",
        "..",
        "%2F",
        "?",
        "\\E",
    ]
    templates = [
        (OLD, NEW),
        ("{id}/{date}/{file}", "{file:hash 3}/n/{date}/{id:reversed}/{file}"),
        ("a.b/{file}", "c/{file}"),
    ]
    for old, new in templates:
        objects = RekeyedObjects("s3://shop/p'x.y/", old, new)
        keys = [f"p'x.y/date={text}/id={text}/{text}" for text in odd]
        keys += [f"p'x.y/{text}/{text[::-1]}/{text}" for text in odd] + [f"p'x.y/a.b/{text}" for text in odd]
        rows = ", ".join(f"({literal(name)})" for name in keys)
        mapped = lake.rows(
            f"SELECT key, CASE WHEN key RLIKE {literal(objects.old_pattern)} THEN {objects.new_key_sql('key', literal)} END"
            f" FROM VALUES {rows} AS keys(key)"
        )
        assert dict(mapped) == {name: objects.new_key(name) for name in keys}


def test_only_what_a_test_wrote_to_a_bucket_is_deleted() -> None:
    """With all its versions; what others have beside its prefix stays."""
    with moto_store(has_versions=True) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        s3 = server.client()
        for name in ("a/rekey-1/x", "a/y", "z"):
            s3.put_object(Bucket=server.bucket, Key=name)
        with own_prefix(f"s3://{server.bucket}/a") as store:
            for _ in range(2):
                server.put_all({f"{store.prefix}{number}": b"" for number in range(600)} | {f"{store.prefix}x": b""})
            s3.delete_object(Bucket=server.bucket, Key=f"{store.prefix}x")
        versions = s3.list_object_versions(Bucket=server.bucket)
    assert [entry["Key"] for entry in versions["Versions"]] == ["a/rekey-1/x", "a/y", "z"]
    assert "DeleteMarkers" not in versions
