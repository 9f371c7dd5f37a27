"""What the tasks of a re-key do with objects, on moto: everything that an object has is kept, and nothing newer is overwritten."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from glacierbase.capabilities.rekey import tasks
from tests.support.motostore import MotoStore, moto_store

MIB = 1024**2
Row = tuple[Any, ...]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[MotoStore]:
    with moto_store() as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.fixture
def s3(store: MotoStore) -> Any:
    return store.client()


def listed(store: MotoStore, *ranges: tuple[str | None, str | None], prefix: str = "") -> list[Row]:
    return list(tasks.list_objects((store.bucket, prefix, *ends) for ends in ranges or [(None, None)]))


def copied(store: MotoStore, rows: list[Row], new_etag: str | None = None) -> list[str]:
    """Copy objects below `new/`; return the outcomes."""
    copies = tasks.copy_objects(
        (store.bucket, key, f"new/{key}", size, etag, kind, new_etag, 0) for key, size, etag, _, kind in rows
    )
    return sorted(str(row[-1]) for row in copies)


def test_ranges_list_each_key_once(store: MotoStore, s3: Any) -> None:
    """Keys that are the end of a range belong to it."""
    keys = ["a/1", "a/ü", "b/", "b/1", "c/é", "c/\U0001f600"]
    for key in keys:
        s3.put_object(Bucket=store.bucket, Key=key, Body=b"")
    rows = listed(store, (None, "b/"), ("b/", "c/é"), ("c/é", None))
    assert [row[0] for row in rows] == keys
    assert [row[0] for row in listed(store, (None, None), prefix="b")] == ["b/", "b/1"]


@pytest.mark.parametrize("is_in_parts", [False, True])
def test_a_copy_keeps_what_belongs_to_the_object(
    is_in_parts: bool, store: MotoStore, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes, headers, metadata, tags, storage class and checksum, in one request and in parts."""
    content = random.Random(1).randbytes(6 * MIB)
    s3.put_object(
        Bucket=store.bucket, Key="a ü+b", Body=content, ContentType="text/x", ContentLanguage="de", CacheControl="no-cache",
        Metadata={"who": "Ada"}, Tagging="team=lake&cost=a%20b", StorageClass="STANDARD_IA", ChecksumAlgorithm="SHA256",
    )  # fmt: skip
    if is_in_parts:
        monkeypatch.setattr(tasks, "_MOST_BYTES", 5 * MIB)
        monkeypatch.setattr(tasks, "_PART_BYTES", 5 * MIB)
    assert copied(store, listed(store)) == ["copied"]
    answers = [s3.get_object(Bucket=store.bucket, Key=key, ChecksumMode="ENABLED") for key in ("a ü+b", "new/a ü+b")]
    names = ("ContentType", "ContentLanguage", "CacheControl", "Metadata", "StorageClass", "ContentLength")
    assert [answers[1][name] for name in names] == [answers[0][name] for name in names]
    assert answers[1]["Body"].read() == content
    tags = [s3.get_object_tagging(Bucket=store.bucket, Key=key)["TagSet"] for key in ("a ü+b", "new/a ü+b")]
    assert sorted(map(str, tags[0])) == sorted(map(str, tags[1]))
    assert "ChecksumSHA256" in answers[1]
    assert store.requests["COPY"] == (2 if is_in_parts else 1)


def test_a_copy_in_parts_that_fails_leaves_no_parts(store: MotoStore, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts cost money and are not listed."""
    monkeypatch.setattr(tasks, "_MOST_BYTES", 5 * MIB)
    monkeypatch.setattr(tasks, "_PART_BYTES", 5 * MIB)
    s3.put_object(Bucket=store.bucket, Key="a", Body=bytes(6 * MIB))
    rows = listed(store)
    s3.put_object(Bucket=store.bucket, Key="new/a", Body=b"somebody's")
    assert copied(store, rows) == ["left"]
    assert s3.get_object(Bucket=store.bucket, Key="new/a")["Body"].read() == b"somebody's"
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=store.bucket)


def test_a_copy_never_replaces_what_somebody_wrote_since_the_listing(store: MotoStore, s3: Any) -> None:
    """A new target, another version of the target or of the object, and an object that is gone."""
    for key in "abcd":
        s3.put_object(Bucket=store.bucket, Key=key, Body=b"old")
    rows = listed(store)
    s3.put_object(Bucket=store.bucket, Key="new/a", Body=b"twin")
    s3.put_object(Bucket=store.bucket, Key="b", Body=b"newer")
    s3.delete_object(Bucket=store.bucket, Key="c")
    assert copied(store, rows) == ["copied", "left", "left", "left"]
    s3.put_object(Bucket=store.bucket, Key="new/d", Body=b"another twin")
    assert copied(store, [row for row in rows if row[0] == "d"], '"of another version"') == ["left"]
    assert store.contents("new/") == {"new/a": b"twin", "new/d": b"another twin"}


def test_a_storm_of_refusals_slows_copies_and_loses_none(
    store: MotoStore, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the first requests is refused; all objects are copied, each once."""
    monkeypatch.setattr(tasks, "_pause", lambda failures: min(0.2, 0.01 * 2**failures))
    for number in range(24):
        s3.put_object(Bucket=store.bucket, Key=f"{number:03}", Body=b"x")
    rows, lock, flying, most = listed(store), threading.Lock(), [0], [0]

    def refuse(kind: str, key: str) -> int | None:
        with lock:
            flying[0] += 1
            most[0] = max(most[0], flying[0])
        time.sleep(0.005)
        with lock:
            flying[0] -= 1
            return 503 if kind == "COPY" and store.requests["COPY"] < 24 else None

    store.fault = refuse
    assert copied(store, rows) == ["copied"] * 24
    assert store.requests["COPY"] >= 24 + 23
    assert 1 < most[0] <= tasks._LARGEST_WINDOW


@pytest.mark.parametrize(("refused", "least", "most"), [([], 33, 64), ([0], 4, 16)])
def test_requests_at_once_double_until_the_first_refusal(
    refused: list[int], least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short list is copied as fast as the store bears; after a refusal, the number rises by one for as many answers."""
    monkeypatch.setattr(tasks, "_pause", lambda _: 0.01)
    lock, flying, largest = threading.Lock(), [0], [0]

    def work(row: Row) -> Row:
        with lock:
            flying[0] += 1
            largest[0] = max(largest[0], flying[0])
        time.sleep(0.01)
        with lock:
            flying[0] -= 1
            if row[0] in refused:
                refused.clear()
                raise ClientError({"ResponseMetadata": {"HTTPStatusCode": 503}}, "CopyObject")  # type: ignore[typeddict-item]
        return row

    rows = [(number,) for number in range(150)]
    assert sorted(tasks._at_once(iter(rows), work, lambda row, _: row)) == rows
    assert least <= largest[0] <= most


def test_a_store_that_refuses_for_good_is_reported(store: MotoStore, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the patience without one answer, each object gets its error."""
    monkeypatch.setattr(tasks, "_PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(tasks, "_pause", lambda _: 0.05)
    s3.put_object(Bucket=store.bucket, Key="a", Body=b"x")
    rows = listed(store)
    store.fault = lambda kind, _: 503 if kind == "COPY" else None
    [outcome] = copied(store, rows)
    assert "SlowDown" in outcome


def test_objects_are_compared_by_checksum_and_else_by_content(store: MotoStore, s3: Any) -> None:
    """Only objects without a common checksum are read."""
    for key, body, more in (
        ("a", b"one", {"ChecksumAlgorithm": "SHA256"}), ("b", b"one", {"ChecksumAlgorithm": "SHA256"}),
        ("c", b"two", {"ChecksumAlgorithm": "SHA1"}), ("d", b"one", {"ChecksumAlgorithm": "SHA1"}),
    ):  # fmt: skip
        s3.put_object(Bucket=store.bucket, Key=key, Body=body, **more)
    pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("a", "gone")]
    outcomes = {pair: next(tasks.compare_objects([(store.bucket, *pair)]))[1] for pair in pairs}
    assert outcomes == {("a", "b"): "same", ("a", "c"): "differs", ("a", "d"): "same", ("a", "gone"): "differs"}
    assert store.requests["GET"] == 4


def test_only_an_object_that_the_manifest_names_is_deleted(store: MotoStore, s3: Any) -> None:
    """Not one that changed, nor one whose twin changed or is gone; one that is gone already counts as deleted."""
    for key in "abcd":
        for name in (key, f"new/{key}"):
            s3.put_object(Bucket=store.bucket, Key=name, Body=key.encode())
    etags = {row[0]: row[2] for row in listed(store)}
    rows = [(store.bucket, key, etags[key], f"new/{key}", etags[f"new/{key}"]) for key in "abcd"]
    s3.put_object(Bucket=store.bucket, Key="b", Body=b"newer")
    s3.put_object(Bucket=store.bucket, Key="new/c", Body=b"altered")
    s3.delete_object(Bucket=store.bucket, Key="new/d")
    outcomes = dict(tasks.delete_objects(rows))
    assert outcomes["a"] == "deleted"
    assert "another object than in the manifest" in outcomes["b"]
    assert "its twin new/c is another object" in outcomes["c"]
    assert "its twin new/d is missing" in outcomes["d"]
    assert store.keys("") == ["b", "c", "d", "new/a", "new/b", "new/c"]
    assert dict(tasks.delete_objects(rows[:1])) == {"a": "deleted"}


def outcome_beside(store: MotoStore, s3: Any, act: Callable[[str], object]) -> str:
    """Delete the object `a`, which has a twin; return the outcome.

    Args:
        act: called with its key when the server sees the request, before it answers.
    """
    for name in ("a", "new/a"):
        s3.put_object(Bucket=store.bucket, Key=name, Body=b"x")
    [etag, new_etag] = [row[2] for row in listed(store)]

    def sees(kind: str, key: str) -> None:
        if kind == "DELETE":
            store.sees = lambda *_: None
            act(key)

    store.sees = sees
    [(key, outcome)] = tasks.delete_objects([(store.bucket, "a", etag, "new/a", new_etag)])
    assert key == "a"
    return str(outcome)


def test_an_object_that_is_replaced_in_the_last_moment_stays(store: MotoStore, s3: Any) -> None:
    """The server checks the condition of the delete itself."""
    outcome = outcome_beside(store, s3, lambda key: s3.put_object(Bucket=store.bucket, Key=key, Body=b"newer"))
    assert "PreconditionFailed" in outcome
    assert store.contents("a") == {"a": b"newer"}


def test_an_object_that_others_delete_at_the_same_time_is_deleted(store: MotoStore, s3: Any) -> None:
    """Such as the tasks of a killed run, which an engine on other machines goes on with."""
    assert outcome_beside(store, s3, lambda key: s3.delete_object(Bucket=store.bucket, Key=key)) == "deleted"
    assert store.requests["DELETE"] == 2
