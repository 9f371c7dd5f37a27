"""A Spark session that the caller creates from `spark_conf`, as the guide shows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from glacierbase import Project
from glacierbase.executors.spark.java import find_java_home
from tests.docs.pages import DOCS, blocks
from tests.support.project_folder import REPOSITORY


@pytest.mark.spark
def test_the_example_of_the_guide_migrates_in_its_own_session(tmp_path: Path) -> None:
    """The example applies the sample project and reads a table in one session with the catalog file's configuration."""
    for folder in ("catalogs", "migrations"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    [example] = [
        block.text
        for block in blocks(DOCS / "guides" / "spark-connect-and-clusters.md", "python")
        if block.marker == "example"
    ]
    (tmp_path / "example.py").write_text(example)
    environ = {**os.environ, "JAVA_HOME": str(find_java_home())}
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "migrations/analytics").glob("*.sql"))
    versions = [file.name.partition("_")[0] for file in files]
    assert f"analytics {versions}" in done.stdout
    assert "|count(1)|" in done.stdout
    [status] = Project.load(tmp_path, environment="dev").status()
    assert [(each.version, each.state) for each in status.migrations] == [(version, "applied") for version in versions]
