"""The extras of glacierbase: which of them pip installs together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


def resolved(extras: str) -> subprocess.CompletedProcess[str]:
    """Resolve the package with extras; nothing is installed."""
    words = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", f".[{extras}]"]
    return subprocess.run(
        words, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True, check=False
    )


def test_the_stores_of_every_cloud_are_installed_beside_spark_and_the_tests() -> None:
    """No extra has a requirement that excludes that of another: s3fs had, and PyArrow reads S3 without it."""
    done = resolved("test,glue,hive,postgres,s3,gcs,azure")
    assert done.returncode == 0, done.stderr


def test_two_versions_of_spark_are_refused() -> None:
    """A catalog that needs another Spark has an environment of its own."""
    done = resolved("spark35,spark")
    assert done.returncode == 1
    assert "conflicting dependencies" in done.stderr
