"""Entries of the user's cache: what was written is read again, and anything else is as an absent entry."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from glacierbase.run import sealed
from glacierbase.run.cache import cache_folder
from glacierbase.run.sealed import SealedFolder


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedFolder:
    """A folder of two entries in an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return SealedFolder("some", 2)


def test_an_entry_is_read_as_it_was_written(entries: SealedFolder) -> None:
    """An absent one is empty."""
    assert entries.read("a") == b""
    entries.write("a", b"content")
    assert entries.read("a") == b"content"


def test_the_oldest_entries_are_removed(entries: SealedFolder) -> None:
    """The age is that of the file."""
    for number, key in enumerate("abc"):
        entries.write(key, key.encode())
        os.utime(cache_folder("some", key), (number, number))
    entries.write("d", b"d")
    assert [entries.read(key) for key in "abcd"] == [b"", b"", b"c", b"d"]


def test_an_entry_that_is_too_large_is_not_written(entries: SealedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each command would write it again, and none could read it."""
    monkeypatch.setattr(sealed, "MOST_BYTES", 100)
    entries.write("a", b"x" * 101)
    assert not cache_folder("some").exists()
    entries.write("a", b"x" * 100)
    assert entries.read("a") == b"x" * 100
