"""Reading and writing the files of tables: requests at the store, faults, logins, and when PyIceberg's file IO is used."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io import FileIO, InputFile

from glacierbase.errors import EngineError
from glacierbase.executors.pyiceberg import file_access, object_stores
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.file_access import FileAccess, Recent, TableFiles
from glacierbase.executors.pyiceberg.object_stores import StoreNotMapped, login_of, open_store
from tests.support.objectstore import BUCKET, KEY, SECRET, VARIABLE, ObjectStore, catalog_file, object_store
from tests.support.program import ask_here
from tests.support.project_folder import ProjectFolder

ID = "5d0094f2-7ec8-47b5-964f-78ecdd74930c"
FOREVER = f"s3://{BUCKET}/t/metadata/00001-{ID}.metadata.json"
ODD_KEYS = ("p=x%2Fy/f", "sp ace", "h#x", "q?x", "ü", "+x", "x&y")


@pytest.fixture
def server() -> Iterator[ObjectStore]:
    with object_store() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let this machine have no login to AWS."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", *object_stores._AWS_MACHINE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def no_fallback() -> FileIO:
    raise AssertionError("PyIceberg's file IO was opened")


def files(
    properties: Mapping[str, Any], access: FileAccess | None = None, fallback: Callable[[], FileIO] = no_fallback
) -> TableFiles:
    return TableFiles(access or FileAccess(), properties, "", 5, fallback)


def read(io: TableFiles, location: str) -> bytes:
    with io.new_input(location).open() as stream:
        return bytes(stream.read())


def write(io: TableFiles, location: str, content: bytes, *, overwrite: bool = True) -> None:
    with io.new_output(location).create(overwrite=overwrite) as stream:
        stream.write(content)


def requests(server: ObjectStore) -> list[str]:
    """Return the methods of the requests since the last call."""
    methods = [method for method, _ in server.log]
    server.log.clear()
    return methods


def test_a_file_is_one_request_and_is_read_once_if_it_never_changes(server: ObjectStore) -> None:
    """What was written is not read again, and its size is known; another process reads it in one request, once."""
    io = files(server.properties())
    write(io, FOREVER, b"one")
    output = io.new_output(FOREVER)
    assert (read(io, FOREVER), len(output), requests(server)) == (b"one", 3, ["PUT"])
    other = files(server.properties())
    assert [read(other, FOREVER), read(other, FOREVER), requests(server)] == [b"one", b"one", ["GET"]]
    other.delete(FOREVER)
    with pytest.raises(FileNotFoundError):
        read(other, FOREVER)
    assert requests(server) == ["DELETE", "GET"]


@pytest.mark.parametrize("name", ["version-hint.text", "v3.metadata.json", f"{ID}/v3.metadata.json"])
def test_a_file_that_may_change_is_read_each_time(name: str, server: ObjectStore) -> None:
    """Two machines write it in turn, and each reads what the other wrote."""
    machines = [files(server.properties()), files(server.properties())]
    for number in range(4):
        content = str(number).encode()
        write(machines[number % 2], f"s3://{BUCKET}/{name}", content)
        assert [read(machine, f"s3://{BUCKET}/{name}") for machine in machines] == [content, content]
    assert requests(server) == ["PUT", "GET", "GET"] * 4


def test_no_file_is_overwritten_unless_asked(server: ObjectStore) -> None:
    """The server decides that, in the request that writes. The same content is there already."""
    io = files(server.properties())
    write(io, FOREVER, b"one", overwrite=False)
    for other in (io, files(server.properties())):
        with pytest.raises(FileExistsError, match="PreconditionFailed"):
            write(other, FOREVER, b"two", overwrite=False)
        write(other, FOREVER, b"one", overwrite=False)
    assert read(files(server.properties()), FOREVER) == b"one"
    stream = io.new_output(f"s3://{BUCKET}/half").create()
    stream.write(b"half")
    stream.__exit__(KeyError)
    assert "half" not in server.objects


@pytest.mark.parametrize("fault", [429, 500, 503, "drop", "cut"])
def test_a_fault_that_passes_is_waited_for(fault: int | str, server: ObjectStore) -> None:
    """Requests are repeated, and their effect is there once."""
    server.objects["a"] = b"z" * 1000
    left = [2]

    def failing(*_: object) -> int | str | None:
        left[0] -= 1
        return fault if left[0] >= 0 else None

    server.fault = failing
    io = files(server.properties())
    assert read(io, f"s3://{BUCKET}/a") == b"z" * 1000
    left[0] = 2
    write(io, FOREVER, b"one")
    assert server.objects[FOREVER.removeprefix(f"s3://{BUCKET}/")] == b"one"


def test_a_lost_answer_to_a_new_file_is_no_conflict(server: ObjectStore) -> None:
    """The file is there because of the first request; the second one is refused."""
    answers = iter([503])
    io = files(server.properties())
    key = FOREVER.removeprefix(f"s3://{BUCKET}/")

    def failing(_: int, method: str, __: str) -> int | None:
        if method == "PUT" and (status := next(answers, None)):
            server.objects[key] = b"one"
            return status
        return None

    server.fault = failing
    write(io, FOREVER, b"one", overwrite=False)
    assert server.objects[key] == b"one"


def test_a_store_that_stays_busy_is_an_error_within_the_time_limit(server: ObjectStore) -> None:
    """The error has the words of the store, and neither its address nor the secret."""
    server.fault = lambda *_: 503
    io = TableFiles(FileAccess(), server.properties(), "", 0, no_fallback)
    with pytest.raises(OSError, match=f"GET s3://{BUCKET}/a: SlowDown") as caught:
        read(io, f"s3://{BUCKET}/a")
    assert requests(server) == ["GET"]
    assert server.address not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_refused_requests_have_the_errors_of_python(server: ObjectStore) -> None:
    """An expired token is an `OSError`, as in PyIceberg."""
    io = files(server.properties())
    for status, kind in ((403, PermissionError), (404, FileNotFoundError), (400, OSError)):
        server.fault = lambda *_, status=status: status  # type: ignore[misc]
        with pytest.raises(kind):
            read(io, f"s3://{BUCKET}/a")
        with pytest.raises(EngineError) as caught, mapped():
            read(io, f"s3://{BUCKET}/a")
        assert re.search(f"s3://{BUCKET}/a( does not exist|: AccessDenied: |: ExpiredToken: )", caught.value.message)
        assert server.address not in caught.value.message


@pytest.mark.parametrize(
    "properties", [{"s3.session-token": "a line\n"}, {"s3.region": "a line\n"}, {"s3.endpoint": "http://a b"}]
)
def test_a_login_or_an_address_that_no_request_can_have_is_an_error(
    properties: Mapping[str, str], server: ObjectStore
) -> None:
    """obstore panics, which is no `Exception` of Python."""
    with pytest.raises(OSError, match=f"GET s3://{BUCKET}/a: "):
        read(files(server.properties() | properties), f"s3://{BUCKET}/a")


@pytest.mark.parametrize("ends", [True, False])
def test_the_newest_login_of_a_table_is_used_on_the_same_connections(
    server: ObjectStore, monkeypatch: pytest.MonkeyPatch, *, ends: bool
) -> None:
    """A table that was loaded before uses it too. A server may not say when a login ends. Other tables have their own."""
    access, answer, tokens = FileAccess(), server.answer, []
    server.objects["a"] = b"one"

    def noted(method: str, key: str, query: Any, headers: dict[str, str], body: bytes) -> Any:
        tokens.append(headers["x-amz-security-token"])
        return answer(method, key, query, headers, body)

    monkeypatch.setattr(server, "answer", noted)

    def loaded(token: str, table: str) -> TableFiles:
        end = {"s3.session-token-expires-at-ms": str(int(time.time() * 1000) + 9000)} if ends else {}
        login = {"s3.session-token": token, **end}
        return TableFiles(access, server.properties() | login, f"s3://{BUCKET}/{table}", 5, no_fallback)

    tables = [loaded("1", "t")]
    read(tables[0], f"s3://{BUCKET}/a")
    tables += [loaded("2", "t"), loaded("3", "u")]
    for io in (*tables, tables[0]):
        time.sleep(0.11)  # obstore asks for a login at most ten times a second.
        read(io, f"s3://{BUCKET}/a")
    assert tokens == ["1", "2", "2", "3", "2"]
    stores = [access.store("s3", BUCKET, io) for io in tables]
    assert stores[0] is stores[1] is not stores[2]


@pytest.mark.parametrize("key", ODD_KEYS)
def test_a_key_is_used_as_it_is_written(key: str, server: ObjectStore) -> None:
    """No sign of a location is decoded, encoded or cut."""
    io = files(server.properties())
    write(io, f"s3://{BUCKET}/{key}", b"one")
    assert server.objects == {key: b"one"}
    assert read(io, f"s3://{BUCKET}/{key}") == b"one"


def test_files_of_this_machine_need_no_store(tmp_path: Path) -> None:
    """All forms of their locations are read, without decoding; folders are made."""
    io = files({})
    for number, form in enumerate(("{}", "file:{}", "file://{}", "file://host{}")):
        location = form.format(tmp_path / f"new {number}%20#" / "f")
        write(io, location, b"one", overwrite=False)
        assert (tmp_path / f"new {number}%20#" / "f").read_bytes() == read(io, location) == b"one"
        with pytest.raises(FileExistsError):
            write(io, location, b"two", overwrite=False)
        assert (io.new_input(location).exists(), len(io.new_input(location))) == (True, 3)
        io.delete(location)
        assert not io.new_input(location).exists()


def test_only_files_of_the_table_are_deleted(server: ObjectStore, tmp_path: Path) -> None:
    """Names that whoever commits wrote into the metadata, of files elsewhere, and names that no file can have, are passed over."""
    io = files(server.properties(), fallback=lambda: Fallback())
    mine, folder = tmp_path / "mine", f"s3://{BUCKET}/t"
    (tmp_path / "t").mkdir()
    for path in (mine, tmp_path / "t/old"):
        path.write_text("1")
    server.objects.update(dict.fromkeys(("t/old", "t/p=%20/old", "t2/x", "other"), b"1"))
    places = ("old", "p=%20/old", "../other", "a\x01", "a\0", "", "../t2/x")
    named = [*(f"{folder}/{name}" for name in places), f"s3://{BUCKET}/other", f"s3://{BUCKET}/t2/x", str(mine)]
    io.delete_all(named, folder)
    assert set(server.objects) == {"t2/x", "other"}
    assert mine.exists()
    local = [f"{tmp_path}/t/{name}" for name in ("old", "a\0", "../mine", "")]
    files({}).delete_all([*local, f"s3://{BUCKET}/other"], f"{tmp_path}/t/")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "t"]
    assert not (tmp_path / "t/old").exists()
    assert "other" in server.objects


class Fallback(FileIO):  # type: ignore[misc]
    """PyIceberg's file IO, which notes what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def new_input(self, location: str) -> InputFile:
        self.read.append(location)

        class Input:
            def open(self, _: bool = True) -> BytesIO:
                return BytesIO(b"theirs")

        return Input()

    def new_output(self, location: str) -> Any:
        raise NotImplementedError

    def delete(self, location: Any) -> None:
        self.read.append(f"deleted {location}")


def test_pyiceberg_reads_what_obstore_cannot(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that obstore refuses, large files, other kinds of stores, and properties without an equal."""
    fallback = Fallback()
    io = files(server.properties(), fallback=lambda: fallback)
    keys = ("a//b", "a/../b", "a/", "a\x01b", "a\x7f")
    odd = [*(f"s3://{BUCKET}/{key}" for key in keys), "hdfs://a/b"]
    for location in odd:
        assert read(io, location) == b"theirs"
        io.delete(location)
    monkeypatch.setattr(file_access, "_KEPT_BYTES", 10)
    server.objects["large"] = b"x" * 11
    assert read(io, f"s3://{BUCKET}/large") == b"theirs"
    assert requests(server) == ["GET"]
    signed = files(server.properties() | {"s3.signer": "S3V4RestSigner"}, fallback=lambda: fallback)
    assert read(signed, FOREVER) == b"theirs"
    assert signed.way(f"s3://{BUCKET}") == (
        f"s3://{BUCKET} through PyIceberg's file IO, because the catalog's server signs the requests"
    )
    assert io.way(f"s3://{BUCKET}").startswith(f"s3://{BUCKET} through obstore 0.")


def test_kept_files_have_a_bound() -> None:
    """The longest unused ones are dropped; a file above the bound is not kept."""
    kept = Recent[bytes](10, len)
    for key, content in (("a", b"1234"), ("b", b"1234"), ("a", b"123"), ("c", b"1234"), ("d", b"12345678901")):
        kept.get("a")
        kept.keep(key, content)
        assert kept._size == sum(map(len, kept._values.values())) <= 10
    assert list(kept._values) == []


def test_threads_that_keep_the_same_file_count_it_once() -> None:
    """Else the bound shrinks with each such file. A thread that frees the lock lets the other go on."""

    class Yielding:
        lock = threading.Lock()

        def __enter__(self) -> None:
            self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            self.lock.release()
            time.sleep(0.02)

    kept = Recent[bytes](10, len)
    kept._lock = Yielding()  # type: ignore[assignment]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: kept.keep("a", b"1234"), range(2)))
    assert kept._size == 4


REFUSED: list[tuple[str, Mapping[str, str], str]] = [
    ("s3", {}, "there is no login to S3"),
    ("s3", {"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"}, "py-io-impl names it"),
    (
        "s3",
        {"s3.retry-strategy-impl": "pyarrow.fs.AwsStandardS3RetryStrategy"},
        "obstore has no s3.retry-strategy-impl",
    ),
    ("oss", {}, "obstore has no oss"),
    ("abfss", {"adls.account-name": "a"}, "the login is that of this machine"),
    ("abfss", {"adls.connection-string": "a"}, "obstore has no adls.connection-string"),
]


@pytest.mark.parametrize(("scheme", "properties", "why"), REFUSED)
def test_what_is_not_mapped_is_named(scheme: str, properties: Mapping[str, str], why: str) -> None:
    with pytest.raises(StoreNotMapped, match=why):
        open_store(scheme, "b", {"s3.region": "eu-west-1"} | properties, 5, None)


def test_without_its_packages_pyiceberg_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """obstore, and botocore for a role or a profile."""
    for missing, properties, why in (
        ("botocore", {"s3.role-arn": "arn:aws:iam::1:role/r"}, "the role of AWS needs botocore: pip install"),
        ("botocore", {"client.profile-name": "p"}, "the profile of AWS needs botocore: pip install"),
        ("obstore", {}, "obstore, which needs Python 3.11, is not installed"),
    ):
        monkeypatch.setattr(object_stores, "find_spec", lambda name, missing=missing: None if name == missing else name)
        with pytest.raises(StoreNotMapped, match=why):
            open_store("s3", "b", {"s3.region": "eu-west-1", **properties}, 5, None)


def test_a_login_is_that_of_the_properties_or_of_the_profile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ObjectStore
) -> None:
    """Keys of S3 go before those of all of AWS, and empty ones are none; a profile is read by botocore."""
    login = login_of("s3", "b", {"client.access-key-id": "c", "client.secret-access-key": "d", "s3.access-key-id": "a"})
    assert login is not None
    assert (login["access_key_id"], login["secret_access_key"], login["token"]) == ("a", "d", None)
    assert login["expires_at"] <= datetime.now(timezone.utc)
    assert login_of("s3", "b", {"s3.access-key-id": "", "s3.secret-access-key": ""}) is None
    (tmp_path / "credentials").write_text(f"[team]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    server.objects["a"] = b"one"
    without = {key: value for key, value in server.properties().items() if "key" not in key}
    for properties, profile in ((without | {"s3.profile-name": "team"}, None), (without, "team")):
        if profile:
            monkeypatch.setenv("AWS_PROFILE", profile)
        assert read(files(properties), f"s3://{BUCKET}/a") == b"one"


def test_addresses_follow_the_properties() -> None:
    """A bucket is in the path at an endpoint, and in the host at AWS and where the properties say so."""
    key = {"s3.access-key-id": "a", "s3.secret-access-key": "b", "s3.region": "eu-west-1"}
    endpoint = {"s3.endpoint": "https://store:9000"}
    for bucket, properties, is_host, address in (
        ("b", {}, "True", None),
        ("b.c", {}, "False", None),
        ("b", endpoint, "False", "https://store:9000"),
        ("b", {"s3.endpoint": "store:9000"}, "False", "https://store:9000"),
        ("b", endpoint | {"s3.force-virtual-addressing": "true"}, "True", "https://b.store:9000"),
    ):
        store = open_store("s3", bucket, key | properties, 5, lambda: login_of("s3", "", key) or {})
        config = store.config
        assert str(config["virtual_hosted_style_request"]).title() == is_host
        assert config.get("endpoint") == address


@pytest.mark.parametrize(
    ("location", "properties"),
    [
        (f"gs://{BUCKET}/a", {"gcs.oauth2.token": "t", "gcs.service.host": "ADDRESS"}),
        (f"abfss://{BUCKET}@shop.dfs.core.windows.net/a", {"adls.account-host": "ADDRESS", "adls.account-key": "a2V5"}),
        (
            f"abfss://{BUCKET}@shop.dfs.core.windows.net/a",
            {"adls.account-host": "ADDRESS", "adls.sas-token.shop.dfs.core.windows.net": "sig=abc"},
        ),
    ],
)
def test_stores_of_google_and_azure_have_the_same_requests(
    location: str, properties: Mapping[str, str], server: ObjectStore
) -> None:
    """The server answers as S3 does; their own answers have the same form for these requests."""
    io = files({key: value.replace("ADDRESS", server.address) for key, value in properties.items()})
    write(io, location, b"one")
    assert (read(io, location), requests(server)) == (b"one", ["PUT", "GET"])
    assert server.objects == {"a": b"one"}


def test_doctor_says_through_what_files_are_accessed(
    server: ObjectStore, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check names the bucket."""
    monkeypatch.setenv(VARIABLE, SECRET)
    project.catalog(catalog_file(server, project.root / "catalog.db"))
    detail = {check["name"]: check["detail"] for check in ask_here(project, "doctor").entry()["checks"]}
    assert detail["file access"].startswith(f"s3://{BUCKET}/tables through obstore 0.")


def test_requests_go_through_the_proxy_that_the_properties_name(server: ObjectStore) -> None:
    """The store itself cannot be reached."""
    server.objects["a"] = b"one"
    io = files(server.properties() | {"s3.endpoint": "http://store.invalid", "s3.proxy-uri": server.address})
    assert read(io, f"s3://{BUCKET}/a") == b"one"
