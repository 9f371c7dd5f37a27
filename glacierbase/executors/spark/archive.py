"""The class archive of one Java and one class path: classes as a JVM holds them in memory, so that none is read and checked anew.

Application class-data sharing with dynamic archives, JEP 350: https://openjdk.org/jeps/350. A JVM compares the archive with
itself and with the jars on its class path, and goes on without it where they differ.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glacierbase.errors import EngineUnavailable
from glacierbase.executors.spark.cache import cache_folder, digest, is_own, make_folder, replacing

# An archive that does not fit is no news to anybody.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"


class ClassArchive:
    """Where the archive of a Java and a class path lies, and the JVM flags to use it and to make it.

    Attributes:
        path: of the file, which may not be there.
    """

    def __init__(self, java_home: Path, class_path: str) -> None:
        """Args:
        class_path: what stands on it besides Spark's own jars, with those of Spark in front.
        """
        self._java = java_home / "bin" / "java"
        java = [str(java_home), _text(java_home / "release")]
        # A Java without an archive of its own classes needs one of those first, below the other.
        built_in = (java_home / "lib" / "server" / "classes.jsa").is_file()
        self._base = None if built_in else _place("base", java)
        self.path = _place("spark", [*java, class_path])

    @property
    def flags(self) -> str:
        """What maps the archive; nothing where there is none of this user."""
        files = [self._base, self.path] if self._base else [self.path]
        if not all(map(is_own, files)):  # It holds code: one that somebody else could have written is none.
            return ""
        return f"-XX:SharedArchiveFile={':'.join(map(str, files))} {_QUIET}"

    @contextmanager
    def making(self) -> Iterator[str]:
        """The flags of a JVM that writes the archive when it ends, of the classes that it used until then.

        Raises:
            ConfigurationError: there is no place for it.
            EngineUnavailable: it wrote none.
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
            "what it says is in .glacierbase/logs/; Spark starts without one, and slower",
        )


def _place(kind: str, question: list[str]) -> Path:
    return cache_folder("archives", f"{kind}-{digest(question)}.jsa")


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""
