"""Which properties an answer of a REST catalog may set: those of a list, of all that PyIceberg reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from glacierbase.errors import OutcomeUnknown
from glacierbase.executors.pyiceberg.rest import RestCatalog
from tests.support.hostileserver import HostileServer, hostile_server

CANARY = "canary-of-a-server"
TOKEN = "canary-of-this-machine"
# A value for each property that a server may set.
OF_FILES = {
    "s3.region": "us-east-1",
    "s3.access-key-id": "a",
    "s3.secret-access-key": "b",
    "s3.session-token": "c",
    "s3.force-virtual-addressing": "true",
    "s3.signer": "S3V4RestSigner",
    "s3.signer.endpoint": "v1/sign",
    "client.region": "us-east-1",
    "gcs.project-id": "a",
    "gcs.oauth2.token": "b",
    "gcs.oauth2.token-expires-at": "1",
    "adls.sas-token": "a",
    "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
    "s3.retry-strategy-impl": "pyarrow.fs.AwsDefaultS3RetryStrategy",
}
OF_CATALOG = {
    "prefix": "a",
    "warehouse": "b",
    "token": "c",
    "namespace-separator": "%2E",
    "view-endpoints-supported": "true",
    "header.X-Iceberg-Access-Delegation": "vended-credentials",
}
# Allowed after a check of the address, or refused with an error of their own.
CHECKED = {
    "uri", "oauth2-server-uri", "s3.endpoint", "s3.signer.uri", "auth", "write.py-location-provider.impl"
}  # fmt: skip
IN_CONFIG, IN_TABLES = ("defaults", "config"), ("table_config", "storage_credentials", "table_properties")


def names() -> list[str]:
    """Return the names of PyIceberg's properties: of all its constants for texts, and of headers."""
    [root] = find_spec("pyiceberg").submodule_search_locations  # type: ignore[union-attr,misc]
    constant = re.compile(r"""^ *[A-Z][A-Z0-9_]* *(?::[^=]*)?= *["']([a-z][a-z0-9._-]*)["']""", re.MULTILINE)
    found = {name for path in Path(root).rglob("*.py") for name in constant.findall(path.read_text())}
    return sorted(found | {"header.Authorization", "header.X-Other"})


NAMES = names()


@pytest.fixture(scope="module")
def shared() -> Iterator[HostileServer]:
    with hostile_server() as server:
        yield server


@pytest.fixture
def server(shared: HostileServer, tmp_path: Path) -> HostileServer:
    """A server with one table, which sets nothing."""
    for place in (*IN_CONFIG, *IN_TABLES):
        setattr(shared, place, {})
    shared.received.clear()
    metadata = new_table_metadata(Schema(), UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, f"file://{tmp_path}")
    shared.tables = {"t": metadata.model_dump(mode="json", by_alias=True)}
    return shared


def opened(server: HostileServer, **properties: str) -> RestCatalog:
    return RestCatalog("lake", uri=server.address, token="file", **properties)


def set_by(place: str, server: HostileServer, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the properties that the client uses where the server answers so."""
    setattr(server, place, answer)
    catalog = opened(server)
    used: dict[str, Any] = catalog.properties if place in IN_CONFIG else catalog.load_table(("a", "t")).io.properties
    return used


@pytest.mark.parametrize("place", [*IN_CONFIG, *IN_TABLES])
def test_a_property_that_is_not_listed_is_not_used(place: str, server: HostileServer) -> None:
    """All properties that PyIceberg reads, and that a server may not set, are in one answer."""
    listed = CHECKED | set(OF_FILES) | (set(OF_CATALOG) if place in IN_CONFIG else set())
    refused = [name for name in NAMES if name not in listed]
    assert {"rest.sigv4-enabled", "ssl", "credential", "scope", "s3.proxy-uri", "client.profile-name"} <= set(refused)
    used = set_by(place, server, dict.fromkeys(refused, CANARY))
    assert [name for name in refused if used.get(name) == CANARY] == []


@pytest.mark.parametrize(
    ("place", "name"),
    [(place, name) for place in IN_CONFIG for name in (*OF_CATALOG, *OF_FILES)]
    + [(place, name) for place in IN_TABLES for name in OF_FILES],
)
def test_a_property_that_is_listed_is_used(place: str, name: str, server: HostileServer) -> None:
    """A server places files, hands out credentials, and says how it is addressed."""
    value = {**OF_FILES, **OF_CATALOG}[name]
    assert set_by(place, server, {name: value})[name] == ("file" if (place, name) == ("defaults", "token") else value)


@pytest.mark.parametrize("place", IN_CONFIG)
def test_a_server_does_not_make_the_client_sign_with_the_credentials_of_this_machine(
    place: str, server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request carries the session token of AWS, and certificates are checked as before."""
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(key, TOKEN)
    setattr(server, place, {"rest.sigv4-enabled": "true", "rest.signing-region": "us-east-1", "ssl": {"cabundle": ""}})
    catalog = opened(server)
    catalog.load_table(("a", "t"))
    assert len(server.received) == 2
    assert TOKEN not in str(server.received)
    assert catalog._session.verify is True


@pytest.mark.parametrize("place", [*IN_CONFIG, *IN_TABLES])
def test_a_store_that_the_catalog_file_does_not_name_gets_no_credentials_of_the_file(
    place: str, server: HostileServer
) -> None:
    """The store is refused, unless the server hands out the credentials; then no part of a login is the file's."""
    own = dict.fromkeys(("client.access-key-id", "client.secret-access-key", "client.session-token"), "own")
    setattr(server, place, {"s3.endpoint": "http://elsewhere:9000"})
    with pytest.raises(OutcomeUnknown, match="leads to http://elsewhere:9000, which the catalog file does not name"):
        opened(server, **own).load_table(("a", "t"))
    assert opened(server, **own, **{"s3.endpoint": "http://elsewhere:9000"}).load_table(("a", "t"))
    setattr(
        server, place, {"s3.endpoint": "http://elsewhere:9000", "s3.access-key-id": "a", "s3.secret-access-key": "b"}
    )
    used = opened(server, **own).load_table(("a", "t")).io.properties
    assert "own" not in used.values()
    assert (used["s3.access-key-id"], used["s3.secret-access-key"]) == ("a", "b")


def test_a_login_that_the_server_sends_with_a_table_is_used_for_it_alone(server: HostileServer) -> None:
    """The login may be limited to the files of the table. Without one, all tables share their connections."""
    catalog = opened(server)
    login = {"s3.access-key-id": "a", "s3.secret-access-key": "b"}
    of = [
        catalog._load_file_io(sent, f"s3://lake/{name}/metadata/v1.json").key for sent in (login, {}) for name in "tuu"
    ]
    assert of[0] != of[1] == of[2]
    assert len(set(of[3:])) == 1
