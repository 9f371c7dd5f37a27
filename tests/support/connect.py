"""A Spark Connect server with the Iceberg catalog `lake`, as a platform team would run one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from glacierbase.executors.spark.java import find_java_home
from tests.support.processes import free_port

START_SECONDS = 300


@contextmanager
def connect_server(folder: Path, packages: str, more: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run the server, with more settings, while the block runs; yield its address."""
    port = free_port()
    conf = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "jdbc",
        "spark.sql.catalog.lake.uri": f"jdbc:sqlite:{folder}/catalog.db?busy_timeout=30000",
        "spark.sql.catalog.lake.jdbc.schema-version": "V1",
        "spark.sql.catalog.lake.warehouse": f"file://{folder}/tables",
        **(more or {}),
    }
    spark_home = Path(pyspark.__file__).parent
    command = [str(spark_home / "bin" / "spark-submit"), "--master", "local[2]", "--packages", packages]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--name", "connect"]
    command += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    log = folder / "server.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "spark-internal"], cwd=folder,
            # The Python of its tasks has the same packages, and neither glacierbase nor the tests.
            env={
                **os.environ, "SPARK_HOME": str(spark_home), "JAVA_HOME": str(find_java_home()),
                "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": "",
            },
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        wait_for(port, process, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"the Connect server did not start:\n{log.read_text()[-3000:]}")
