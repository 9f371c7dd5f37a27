"""Entries of the user's cache that are compressed and sealed with a digest.

Cached data is not trusted: an entry that is damaged, too large, or that another user could have written is as an absent one.
"""

from __future__ import annotations

import hashlib
import zlib
from contextlib import suppress
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.run.cache import cache_folder, is_own, make_folder, replacing
from glacierbase.run.files import FileRefused, read_anywhere

# For the content of an entry.
MOST_BYTES = 64 * 2**20


class SealedFolder:
    """A folder of the cache that holds the newest entries, by their keys."""

    def __init__(self, name: str, most: int) -> None:
        """Args:
        most: the number of entries.
        """
        self._folder = cache_folder(name)
        self._most = most

    def read(self, key: str) -> bytes:
        """Return the content of an entry; empty for an absent one."""
        path = self._folder / key
        if is_own(path):
            with suppress(FileRefused):
                return opened(read_anywhere(path, MOST_BYTES))
        return b""

    def write(self, key: str, content: bytes) -> None:
        """Write an entry, unless it is too large to be read, and remove the oldest ones. A cache need not be writable."""
        if len(content) > MOST_BYTES:
            return
        with suppress(OSError, ConfigurationError):
            make_folder(self._folder)
            with replacing(self._folder / key) as draft:
                draft.write_bytes(sealed(content))
            for path in self._oldest():
                path.unlink(missing_ok=True)

    def _oldest(self) -> list[Path]:
        entries = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        return entries[self._most :]


def sealed(content: bytes) -> bytes:
    """Return the content of a file of the cache: a digest, and the compressed content."""
    packed = zlib.compress(content, 1)
    return hashlib.sha256(packed).hexdigest().encode() + packed


def opened(content: bytes) -> bytes:
    """Return what was sealed; empty if it was changed since, or is larger than an entry may be."""
    digest, packed = content[:64], content[64:]
    if hashlib.sha256(packed).hexdigest().encode() != digest:
        return b""
    unpacking = zlib.decompressobj()
    with suppress(zlib.error):
        unpacked = unpacking.decompress(packed, MOST_BYTES)
        return b"" if unpacking.unconsumed_tail else unpacked
    return b""
