"""The start of a client of Spark Connect, without a server."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from glacierbase.errors import ConfigurationError
from glacierbase.executors import open_executor
from glacierbase.model.catalog import Catalog
from glacierbase.run.run import Run


def test_a_client_that_lacks_packages_names_the_extra(
    iceberg_catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyspark alone has no gRPC. The extra keeps the installed pyspark."""
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    remote = replace(iceberg_catalog, spark_conf={"spark.remote": "sc://127.0.0.1:9"})
    with pytest.raises(ConfigurationError) as caught:
        open_executor(remote, Run.here(tmp_path))
    assert caught.value.code == "CONNECT_NOT_INSTALLED"
    assert "[connect]" in caught.value.hint
