"""The class archive of one Java and one class path: a memory image of loaded classes, which makes a JVM's start faster.

It is a dynamic archive of application class-data sharing (JEP 350, https://openjdk.org/jeps/350). A JVM compares the archive with
itself and with the jars on its class path, and ignores it where they differ.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glacierbase.errors import EngineUnavailable
from glacierbase.run.cache import cache_folder, digest, is_own, make_folder, replacing

# Silence warnings about mismatched archives.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"


class ClassArchive:
    """The archive's file, and the JVM flags that use it or write it.

    Attributes:
        path: the file, which may not exist.
    """

    def __init__(self, java_home: Path, class_path: str) -> None:
        """Args:
        class_path: the class path, with the version of Spark in place of Spark's own jars.
        """
        self._java = java_home / "bin" / "java"
        java = [str(java_home), _text(java_home / "release")]
        # A dynamic archive needs an archive of the Java's own classes below it; a Java without a built-in one needs one made first.
        built_in = (java_home / "lib" / "server" / "classes.jsa").is_file()
        self._base = None if built_in else _place("base", java)
        self.path = _place("spark", [*java, class_path])

    @property
    def flags(self) -> str:
        """The flags that use the archive; empty where the user has none."""
        files = [self._base, self.path] if self._base else [self.path]
        if not all(map(is_own, files)):  # It holds code: one that another user could have written is not used.
            return ""
        return f"-XX:SharedArchiveFile={':'.join(map(str, files))} {_QUIET}"

    @contextmanager
    def making(self) -> Iterator[str]:
        """Yield the flags of a JVM that writes the archive at its end, with the classes that it used.

        Raises:
            ConfigurationError: the cache cannot be written.
            EngineUnavailable: the JVM wrote no archive.
        """
        make_folder(self.path.parent)
        if self._base and not is_own(self._base):
            with replacing(self._base) as draft:
                dump = (self._java, "-Xshare:dump", f"-XX:SharedArchiveFile={draft}")
                subprocess.run(dump, capture_output=True, check=False)
                _check_made(draft)
        with replacing(self.path) as draft:
            base = f"-XX:SharedArchiveFile={self._base} " if self._base else ""
            yield f"{base}-XX:ArchiveClassesAtExit={draft}"
            _check_made(draft)


def _check_made(archive: Path) -> None:
    if not archive.is_file():
        raise EngineUnavailable(
            "ARCHIVE_NOT_MADE",
            "this Java wrote no class archive",
            "see its output in .glacierbase/logs/; Spark also starts without an archive, more slowly",
        )


def _place(kind: str, key: list[str]) -> Path:
    return cache_folder("archives", f"{kind}-{digest(key)}.jsa")


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""
