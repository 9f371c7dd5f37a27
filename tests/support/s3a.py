"""A real Spark that reads objects of an S3 server on loopback through `s3a://`, beside the Iceberg catalog `lake`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.beds import LakeBed, lake_bed
from tests.support.catalog_files import LAKE

BUCKET = "shop"
# The version that Hadoop's pom names. Its `bundle` of all services has 600 MB; these modules have 12 MB.
_HADOOP, _SDK = "3.4.2", "2.29.52"
S3A_JARS = (
    f"org.apache.hadoop:hadoop-aws:{_HADOOP}",
    f"software.amazon.awssdk:s3-transfer-manager:{_SDK}",
    f"software.amazon.awssdk:sts:{_SDK}",
)
# Spark has Netty and SLF4J; OpenSSL is optional.
_EXCLUDED = ("software.amazon.awssdk:bundle", "org.wildfly.openssl:wildfly-openssl", "io.netty:*", "org.slf4j:*")


@contextmanager
def s3_of_moto() -> Iterator[tuple[str, Any]]:
    """Run a server of S3 with an empty bucket; yield its address and a client. The environment has its login meanwhile."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
                patch.setenv(name, "made-up")
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            patch.setenv("AWS_ENDPOINT_URL", address)
            s3 = boto3.client("s3")
            s3.create_bucket(Bucket=BUCKET)
            yield address, s3
    finally:
        server.stop()


def s3a_conf(address: str, folder: Path) -> dict[str, str]:
    """Return the settings by which a Spark reads that server, with a metastore of Hive in `folder`."""
    return {
        "spark.jars.excludes": ",".join(_EXCLUDED),
        "spark.hadoop.fs.s3a.endpoint": address,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.stream.error.file={folder}/derby.log",
    }


def s3a_catalog(address: str, folder: Path) -> str:
    """Return a catalog file with these settings. History and lock are in `lake`."""
    jars = "".join(f'"{jar}", ' for jar in S3A_JARS)
    text = LAKE.replace("WAREHOUSE", str(folder / "warehouse")).replace("dependencies: [", f"dependencies: [{jars}")
    lines = "".join(f'      {key}: "{value}"\n' for key, value in s3a_conf(address, folder).items())
    return text.replace("sparkConf:\n", f"sparkConf:\n{lines}") + "store: {catalog: lake}\n"


@contextmanager
def s3a_bed(address: str, folder: Path) -> Iterator[LakeBed]:
    """Start a Spark on that server, with a project and a metastore of Hive in `folder`."""
    with lake_bed(s3a_catalog(address, folder), folder) as bed:
        yield bed
