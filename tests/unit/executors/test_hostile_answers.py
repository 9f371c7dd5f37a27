"""A REST catalog whose answers have no end, or lead its client to another address: little memory, and no secret elsewhere."""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pytest

from glacierbase.errors import OutcomeUnknown
from glacierbase.executors.pyiceberg.rest import LARGEST, RestCatalog
from tests.support.hostileserver import CATALOG, HostileServer, hostile_server
from tests.support.project_folder import Output, ProjectFolder

KEY = "canary-of-the-header"
SECRET = "canary-of-the-credential"
HEADERS = "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{more}\r\n"
# More than a process may take here; `pending` takes some 100 MiB.
GIGABYTES = 3 * 2**30
MOST_MIB = 300
PEAK = (
    "import atexit, re, sys\n"
    "from pathlib import Path\n"
    "from glacierbase.cli import main\n"
    # Of this program alone: the largest resident set of a process counts that of the one from which it was forked.
    "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]) // 1024\n"
    "atexit.register(lambda: print('PEAK', peak(), file=sys.stderr))\n"
    "main(sys.argv[1:])\n"
)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with hostile_server() as server:
        yield server


@pytest.fixture
def other() -> Iterator[HostileServer]:
    """The address that the first server leads to."""
    with hostile_server() as server:
        yield server


@pytest.fixture
def shop(server: HostileServer, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A catalog on the server, and the secrets to which its file may refer."""
    monkeypatch.setenv("OWN_KEY", KEY)
    monkeypatch.setenv("OWN_SECRET", SECRET)
    project.catalog(CATALOG.replace("ADDRESS", server.address).replace("1000", "5000"))
    project.file("1_a.sql", "SELECT 1")
    return project


def plain() -> Iterator[bytes]:
    """Valid JSON for as long as it goes on."""
    yield b'{"overrides": {}, "defaults": {"a": "'
    yield from [b"x" * 2**20] * (GIGABYTES // 2**20)


def chunked() -> Iterator[bytes]:
    for part in plain():
        yield b"%x\r\n%b\r\n" % (len(part), part)


def bomb() -> Iterator[bytes]:
    """Each block decompresses to 16 MiB."""
    coder = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    yield coder.compress(b'{"overrides": {}, "defaults": {"a": "') + coder.flush(zlib.Z_FULL_FLUSH)
    block = coder.compress(b"x" * 2**24) + coder.flush(zlib.Z_FULL_FLUSH)
    yield from [block] * (GIGABYTES // 2**24)


def behind_the_end() -> Iterator[bytes]:
    coder = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    yield coder.compress(b'{"overrides": {}, "defaults": {}}') + coder.flush()
    yield from [b"x" * 2**20] * (GIGABYTES // 2**20)


def without_output() -> Iterator[bytes]:
    """Empty blocks, which decompress to nothing."""
    coder = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    yield coder.compress(b"{") + coder.flush(zlib.Z_FULL_FLUSH)
    yield from [b"\0\0\0\xff\xff" * 2**18] * (GIGABYTES // 2**20)


def size_of_a_chunk() -> Iterator[bytes]:
    """The line with the size of a chunk never ends."""
    yield from [b"0" * 2**20] * (GIGABYTES // 2**20)


ENDLESS: dict[str, tuple[str, Callable[[], Iterator[bytes]], str]] = {
    "plain": ("", plain, "is larger than 64 MiB"),
    "in chunks": ("Transfer-Encoding: chunked\r\n", chunked, "is larger than 64 MiB"),
    "gzip": ("Content-Encoding: gzip\r\n", bomb, "is larger than 64 MiB"),
    "gzip without output": ("Content-Encoding: gzip\r\n", without_output, "is larger than 64 MiB"),
    "behind the end of gzip": ("Content-Encoding: gzip\r\n", behind_the_end, "continues after the end"),
    "gzip in gzip": ("Content-Encoding: gzip, gzip\r\n", bomb, "is compressed with 'gzip, gzip'"),
    "zstd": ("Content-Encoding: zstd\r\n", plain, "is compressed with 'zstd'"),
    "the size of a chunk": ("Transfer-Encoding: chunked\r\n", size_of_a_chunk, ""),
}


def endless(kind: str, at: str, status: str = "200") -> Callable[[str, BinaryIO], bool]:
    """Return what writes such an answer to one request."""
    more, parts, _ = ENDLESS[kind]

    def write(request: str, socket: BinaryIO) -> bool:
        if request != at:
            return False
        socket.write(HEADERS.format(status=status, more=more).encode())
        for part in parts():
            socket.write(part)
        return True

    return write


def measured(project: ProjectFolder, *arguments: str) -> tuple[Output, int]:
    """Run the program; return its output, and the largest memory that it took in MiB."""
    command = [sys.executable, "-c", PEAK, *arguments]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False, timeout=300)
    stderr, _, peak = done.stderr.rpartition("PEAK ")
    return Output(done.returncode, done.stdout, stderr), int(peak)


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_answer_without_an_end_is_an_error_and_takes_little_memory(
    kind: str, server: HostileServer, shop: ProjectFolder
) -> None:
    """Exit code 5, the address and the reason, at the answer that every command requests first."""
    server.writes = endless(kind, "GET /v1/config")
    done, peak = measured(shop, "pending")
    assert (done.code, "error: STORE_UNAVAILABLE" in done.stderr) == (5, True), done.stderr
    assert f"{server.address}/v1/config: " in done.stderr
    assert ENDLESS[kind][2] in done.stderr
    assert peak < MOST_MIB


PLACES = [
    ("POST /v1/oauth/tokens", "200"),
    ("GET /v1/config", "500 Error"),
    ("GET /v1/config", "307 Elsewhere"),
    ("GET /v1/namespaces/glacierbase/tables/history_shop", "200"),
]


@pytest.mark.parametrize(("request_", "status"), PLACES)
def test_every_answer_is_bounded(request_: str, status: str, server: HostileServer, shop: ProjectFolder) -> None:
    """The answers to a login and for a table, an error, and the text of a redirection are bounded."""
    path = shop.root / "catalogs/shop.yaml"
    path.write_text(
        path.read_text().replace("store:", "      spark.sql.catalog.lake.credential: ${secret:OWN_SECRET}\nstore:")
    )
    location = "\r\nLocation: /v1/config" if status.startswith("307") else ""
    server.writes = endless("gzip", request_, status + location)
    done, peak = measured(shop, "pending")
    assert (done.code, "is larger than 64 MiB" in done.stderr) == (5, True), done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert peak < MOST_MIB


def test_an_answer_below_the_limit_is_read_whole_compressed_or_not(server: HostileServer) -> None:
    """The configuration reaches the catalog."""
    content = b'{"overrides": {}, "defaults": {"prefix": "%b"}}' % (b"x" * (LARGEST - 100))
    for more, body in (("", content), ("Content-Encoding: gzip\r\n", zlib.compress(content, 1, zlib.MAX_WBITS | 16))):

        def write(_: str, socket: BinaryIO, more: str = more, body: bytes = body) -> bool:
            socket.write(HEADERS.format(status="200", more=more).encode() + body)
            return True

        server.writes = write
        assert len(RestCatalog("lake", uri=server.address).properties["prefix"]) == LARGEST - 100


def opened(server: HostileServer, **properties: str) -> RestCatalog:
    """Open a catalog whose file has a secret header and a credential."""
    secret = {"header.X-Api-Key": KEY, "credential": f"me:{SECRET}"}
    return RestCatalog("lake", uri=server.address, **secret, **properties)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("request_", ["GET /v1/config", "POST /v1/oauth/tokens", "GET /v1/namespaces"])
def test_a_redirection_to_another_address_is_not_followed(
    request_: str, status: int, server: HostileServer, other: HostileServer
) -> None:
    """No request reaches the other server, and the message names its address and the key that would."""
    server.leads_to[request_] = (status, f"{other.address}{request_.partition(' ')[2]}")
    with pytest.raises(OutcomeUnknown) as caught:
        opened(server).list_namespaces()
    assert other.received == []
    assert (
        f"leads to {other.address}, which the catalog file does not name; nothing was sent there"
        in caught.value.message
    )
    assert "`spark.sql.catalog.lake.uri`" in caught.value.hint


@pytest.mark.parametrize("key", ["uri", "oauth2-server-uri"])
def test_an_address_that_the_server_sets_gets_nothing(key: str, server: HostileServer, other: HostileServer) -> None:
    """`overrides` go before the catalog file's properties; they decide no address to which its secrets go."""
    server.config = {key: f"{other.address}/v1/oauth/tokens" if key == "oauth2-server-uri" else other.address}
    with pytest.raises(OutcomeUnknown, match=f"leads to {other.address}"):
        opened(server).list_namespaces()
    assert other.received == []


def test_a_signer_of_requests_that_the_server_names_gets_nothing(server: HostileServer, other: HostileServer) -> None:
    """A signer would get the token and the headers with the first file; without an address it is the catalog's."""
    catalog = opened(server)
    with pytest.raises(OutcomeUnknown, match=f"leads to {other.address}"):
        catalog._load_file_io({"s3.signer": "S3V4RestSigner", "s3.signer.uri": other.address})
    files = catalog._load_file_io({"s3.signer": "S3V4RestSigner", "uri": other.address})
    assert files.properties["uri"] == server.address
    assert catalog._load_file_io({"s3.signer": "S3V4RestSigner", "s3.signer.uri": f"{server.address}/sign"})


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1", "https://127.0.0.1", "//localhost:1", "http://user@localhost/", "http://[::1]/"]
)
def test_scheme_host_and_port_make_an_address(address: str, server: HostileServer) -> None:
    """Another one of them is another server."""
    server.leads_to["GET /v1/config"] = (307, address)
    with pytest.raises(OutcomeUnknown, match="which the catalog file does not name"):
        opened(server)


def test_addresses_that_the_catalog_file_names_are_reached(server: HostileServer, other: HostileServer) -> None:
    """The login is at the server of `oauth2-server-uri`; the catalog's server leads to other paths of its own address."""
    server.leads_to["GET /v1/config"] = (307, "/elsewhere/v1/config")
    server.leads_to["GET /elsewhere/v1/config"] = (308, f"{server.address.upper().replace('HTTP', 'http')}/v1/config/")
    server.config = {"uri": f"{server.address}/catalog"}

    def write(request: str, socket: BinaryIO) -> bool:
        answers = {"GET /v1/config/": b'{"defaults": {}, "overrides": {}}', "GET /v1/namespaces": b'{"namespaces": []}'}
        if request in answers:
            socket.write(HEADERS.format(status="200", more="").encode() + answers[request])
        return request in answers

    server.writes = write
    catalog = opened(server, **{"oauth2-server-uri": f"{other.address}/v1/oauth/tokens"})
    assert catalog.list_namespaces() == []
    assert set(other.requests) == {"POST /v1/oauth/tokens"}
    assert {headers.get("Authorization") for headers in server.received} == {"Bearer fetched"}
    assert {headers.get("X-Api-Key") for headers in server.received} == {KEY}


@pytest.mark.parametrize(("config", "last"), [("uri", "/catalog/v1/oauth/tokens"), ("oauth2-server-uri", "/login")])
@pytest.mark.filterwarnings("error")
def test_a_login_without_an_address_for_tokens_is_at_the_catalog_and_raises_no_warning(
    config: str, last: str, server: HostileServer
) -> None:
    """The first token is requested at the catalog's address, the next one where the server's configuration leads."""
    address = f"{server.address}{last}"
    server.config = {config: address.removesuffix("/v1/oauth/tokens")}

    def write(request: str, socket: BinaryIO) -> bool:
        if request == f"POST {last}":
            server.requests.append(request)
            socket.write(
                HEADERS.format(status="200", more="").encode() + b'{"access_token": "a", "token_type": "bearer"}'
            )
        return request == f"POST {last}"

    server.writes = write
    opened(server)
    assert server.requests == ["POST /v1/oauth/tokens", "GET /v1/config", f"POST {last}"]


def test_pending_sends_no_header_to_an_address_that_the_server_sets(
    server: HostileServer, other: HostileServer, shop: ProjectFolder
) -> None:
    """One error with exit code 5, which names the address."""
    path = shop.root / "catalogs/shop.yaml"
    path.write_text(
        path.read_text().replace("store:", "      spark.sql.catalog.lake.header.X-Api-Key: ${secret:OWN_KEY}\nstore:")
    )
    server.config = {"uri": other.address}
    done = shop.run("pending")
    assert done.code == 5
    assert f"leads to {other.address}" in done.stderr
    assert server.received[0]["X-Api-Key"] == KEY
    assert other.received == []
    assert KEY not in done.stdout + done.stderr
