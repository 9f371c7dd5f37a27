"""The real DynamoDB Local on loopback, whose program Ivy fetches, and a proxy that throttles each shard at a rate of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from glacierbase.executors.spark.java import find_java_home
from tests.support.processes import one_at_a_time
from tests.support.project_folder import REPOSITORY

FOLDER = REPOSITORY / ".venv-dynamodb"
# What the server loads, of the 85 files that its module names.
_FILES = """\
com.almworks.sqlite4java libsqlite4java-linux-amd64 1.0.392 so
com.almworks.sqlite4java sqlite4java 1.0.392
com.amazonaws DynamoDBLocal 2.5.2
com.amazonaws aws-java-sdk-core 1.12.721
com.amazonaws aws-java-sdk-dynamodb 1.12.721
com.fasterxml.jackson.core jackson-annotations 2.12.7
com.fasterxml.jackson.core jackson-core 2.12.7
com.fasterxml.jackson.core jackson-databind 2.12.7.2
com.fasterxml.jackson.datatype jackson-datatype-jsr310 2.12.7
com.google.guava guava 33.1.0-jre
org.antlr antlr4-runtime 4.10.1
org.apache.commons commons-lang3 3.8.1
org.apache.logging.log4j log4j-api 2.17.1
org.apache.logging.log4j log4j-core 2.17.1
org.eclipse.jetty jetty-http 12.0.2
org.eclipse.jetty jetty-io 12.0.2
org.eclipse.jetty jetty-server 12.0.2
org.eclipse.jetty jetty-util 12.0.2
org.slf4j slf4j-api 2.0.9
software.amazon.awssdk aws-core 2.25.50
software.amazon.awssdk dynamodb 2.25.50
software.amazon.awssdk sdk-core 2.25.50
software.amazon.awssdk utils 2.25.50
"""
_MODULE = """\
<ivy-module version="2.0"><info organisation="glacierbase" module="tests"/><dependencies>{}</dependencies></ivy-module>
"""
_DEPENDENCY = """\
<dependency org="{0}" name="{1}" rev="{2}" transitive="false"><artifact name="{1}" type="{3}" ext="{3}"/></dependency>
"""
_OPTIONS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
# DynamoDB Local accepts any login; each has its own tables.
_LOGIN = {"region_name": "us-east-1", "aws_access_key_id": "glacierbase", "aws_secret_access_key": "any"}
LOGIN_VARIABLES = {"AWS_ACCESS_KEY_ID": "glacierbase", "AWS_SECRET_ACCESS_KEY": "any"}
NO_RETRIES = Config(retries={"total_max_attempts": 1})
_THROTTLED = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"


def client(address: str) -> Any:
    """Return a client of boto3 without retries of its own."""
    return boto3.client("dynamodb", endpoint_url=address, config=NO_RETRIES, **_LOGIN)


def make_table(made: Any, name: str, *keys: tuple[str, str]) -> None:
    """Create an on-demand table with one or two keys, each a name and a type."""
    kinds = zip(keys, ("HASH", "RANGE"), strict=False)
    made.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": key, "KeyType": kind} for (key, _), kind in kinds],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": type_} for key, type_ in keys],
    )


def make_journal(made: Any, name: str) -> None:
    """Create the tables of the journal of a re-key."""
    make_table(made, name, ("journal", "S"), ("name", "S"))
    make_table(made, f"{name}-shards", ("journal", "S"))


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """Run the server, with tables in memory, while the block runs; yield its address."""
    jars, native = _program()
    port, token = launch_gateway(
        classpath=f"{jars}/*",
        javaopts=[*_OPTIONS, f"-Djava.library.path={native}"],
        java_path=str(find_java_home() / "bin" / "java"),
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    java = gateway.jvm
    local = java.com.amazonaws.services.dynamodbv2.local.server
    # Not the server's own program: it listens on every address.
    server = java.org.eclipse.jetty.server.Server(java.java.net.InetSocketAddress("127.0.0.1", 0))
    requests = local.LocalDynamoDBRequestHandler(0, True, None, False, False)
    server.setHandler(local.LocalDynamoDBServerHandler(requests, None))
    server.start()
    try:
        yield f"http://127.0.0.1:{next(iter(server.getConnectors())).getLocalPort()}"
    finally:
        gateway.shutdown()


def _program() -> tuple[Path, Path]:
    """Return the folders of the server's jars and of its native library, fetched if they are absent."""
    jars, native = FOLDER / "jars", FOLDER / "native"
    FOLDER.mkdir(exist_ok=True)
    with one_at_a_time(FOLDER):
        if not native.exists():
            shutil.rmtree(jars, ignore_errors=True)
            lines = [(*line.split(), "jar")[:4] for line in _FILES.splitlines()]
            module = FOLDER / "ivy.xml"
            module.write_text(_MODULE.format("".join(_DEPENDENCY.format(*line) for line in lines)))
            [ivy] = Path(next(iter(find_spec("pyspark").submodule_search_locations)), "jars").glob("ivy-*.jar")
            fetch = [
                "-jar",
                ivy,
                "-ivy",
                module,
                "-cache",
                FOLDER / "cache",
                "-retrieve",
                f"{jars}/[artifact].[ext]",
                "-warn",
            ]
            done = subprocess.run(
                [find_java_home() / "bin" / "java", *fetch], check=False, capture_output=True, text=True
            )
            assert len(list(jars.iterdir())) == len(lines), done.stdout[-3000:]
            native.mkdir()
            shutil.move(jars / "libsqlite4java-linux-amd64.so", native)
    return jars, native


@dataclass
class ThrottlingProxy:
    """What the proxy does with the writes of items.

    Attributes:
        rate: the writes a second that it passes on for each partition key; None for all.
        burst: how many it passes on at once after a pause, as DynamoDB lets unused capacity be used later.
        reasons: what a throttled answer gives as its reasons.
        code: the code of a throttled answer, with its status.
        written, throttled: the number of writes by partition key.
        times: when a write was throttled.
        answer: answers a request in the server's place, by its target and document; None where the server does. It may pass the
            request on by the function that it gets. The status 0 closes the connection without an answer.
    """

    address: str = ""
    rate: float | None = None
    burst: float = 1.0
    reasons: tuple[str, ...] = ("TableWriteKeyRangeThroughputExceeded",)
    code: tuple[str, int] = (_THROTTLED, 400)
    written: Counter[str] = field(default_factory=Counter)
    throttled: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    answer: Callable[[str, Any, Callable[[], object]], tuple[int, Any] | None] = lambda *_: None
    _tokens: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refusal(self, target: str, document: Any) -> tuple[int, Any] | None:
        """Return status and document of a throttled write; None for a request that is passed on."""
        if target != "PutItem" or self.rate is None or "ConditionExpression" in document:
            return None
        key = next(value["S"] for name, value in document["Item"].items() if name == "device")
        with self._lock:
            now = time.monotonic()
            left, at = self._tokens.get(key, (self.burst, now))
            left = min(self.burst, left + (now - at) * self.rate)
            if left >= 1:
                self._tokens[key] = (left - 1, now)
                self.written[key] += 1
                return None
            self._tokens[key] = (left, now)
            self.throttled[key] += 1
            self.times.append(now)
        kind, status = self.code
        reasons = [{"reason": reason, "resource": "arn"} for reason in self.reasons]
        return status, {"__type": kind, "message": "throttled", **({"ThrottlingReasons": reasons} if reasons else {})}


@contextmanager
def throttling_proxy(server: str) -> Iterator[ThrottlingProxy]:
    """Run a proxy in front of a server while the block runs."""
    made = ThrottlingProxy()
    place = urlsplit(server).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            target, document = self.headers["X-Amz-Target"].rpartition(".")[2], json.loads(body)

            def passed() -> tuple[int, bytes]:
                connection = HTTPConnection(place, timeout=60)
                connection.request("POST", self.path, body, dict(self.headers))
                answer = connection.getresponse()
                return answer.status, answer.read()

            own = made.answer(target, document, passed) or made.refusal(target, document)
            if own and own[0] == 0:  # No answer.
                self.close_connection = True
                return
            status, content = (own[0], json.dumps(own[1]).encode()) if own else passed()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    made.address = f"http://127.0.0.1:{listening.server_port}"
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield made
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
