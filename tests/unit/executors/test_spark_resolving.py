"""Resolving dependencies, which fills a cache that all processes of a user share."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from glacierbase.executors.spark.launch import resolving
from glacierbase.model.catalog import Catalog


def test_one_resolves_at_a_time(iceberg_catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that download the same jar into the cache make one of them fail."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    inside, most = [0], [0]

    def resolve() -> None:
        with resolving(iceberg_catalog):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.03)
            inside[0] -= 1

    threads = [threading.Thread(target=resolve) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, inside) == ([1], [0])


def test_a_cache_that_cannot_be_written_prevents_no_resolution(
    iceberg_catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The block runs without the lock."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with resolving(iceberg_catalog):
        pass
