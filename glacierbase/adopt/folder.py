"""Read the files of another tool's project. They are a stranger's: no link leads out, and there are limits of size and number."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.run.files import FileReader, FileRefused, is_folder

_MOST_BYTES, _MOST_BYTES_IN_ALL = 10 * 2**20, 256 * 2**20
_MOST_FILES, _DEEPEST = 50_000, 100
# Of compiled copies and installed packages.
_SKIPPED = frozenset({"target", "build", "node_modules", "__pycache__"})
# Java's names of encodings, in which the projects name them.
_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16"})


class ForeignFolder:
    """The folder of another tool's project.

    Attributes:
        start: the file that was named, relative to the folder; None where the folder was named.
    """

    def __init__(self, given: str | Path) -> None:
        """Args:
        given: a folder, or a file in it.

        Raises:
            ConfigurationError: `UNREADABLE_FILE`: there is no such file or folder.
        """
        path = Path(given)
        if not os.path.lexists(path):
            hint = "correct the path of the other tool's project"
            raise ConfigurationError("UNREADABLE_FILE", f"{given}: there is no such file or folder", hint)
        self.start = None if is_folder(path) else path.name
        self._given = path if self.start is None else path.parent
        self._root = self._given.absolute()
        self._reader = FileReader(self._root, _MOST_BYTES, _MOST_BYTES_IN_ALL)

    def shown(self, path: str) -> str:
        """Return the path of a file as messages name it."""
        return (self._given / path).as_posix()

    def has(self, path: str) -> bool:
        """Return whether there is a file or folder of this path."""
        return os.path.lexists(self._root / path)

    def is_folder(self, path: str) -> bool:
        return is_folder(self._root / path)

    def resolved(self, path: str, base: str = "") -> str | None:
        """Return a path that the project names, relative to this folder; None where there is nothing, or it leads out.

        Args:
            base: the folder that the path is relative to.
        """
        found = os.path.normpath(Path(base, path)).replace(os.sep, "/")
        is_inside = not Path(found).is_absolute() and found.split("/")[0] != ".."
        return found if is_inside and self.has(found) else None

    def on_search_path(self, path: str, base: str = "") -> str | None:
        """Return a path that is relative to this folder or to one above it, as `resolved` does.

        Args:
            base: a folder that it may be relative to, too.
        """
        parts = [part for part in path.split("/") if part not in ("", ".")]
        tails = ("/".join(parts[start:]) for start in range(len(parts)))
        found = (self.resolved(tail, place) for tail in tails for place in dict.fromkeys(("", base)))
        return next(filter(None, found), None)

    def files(self, under: str = ".") -> list[str]:
        """Return the paths of all files below a folder, sorted. Linked folders are not followed.

        Raises:
            ConfigurationError: `UNREADABLE_FILE`: there are too many.
        """
        found = []
        for path in self._walk(under):
            found.append(path)
            if len(found) > _MOST_FILES:
                what = f"{self.shown(under)} holds more than {_MOST_FILES} files"
                raise ConfigurationError("UNREADABLE_FILE", what, "name the folder that holds the scripts")
        return sorted(found)

    def _walk(self, under: str) -> Iterator[str]:
        top = self._root / under
        for parent, folders, names in os.walk(top):
            below = Path(parent).relative_to(top)
            is_deep = len(below.parts) >= _DEEPEST
            folders[:] = [] if is_deep else [name for name in folders if name[0] != "." and name not in _SKIPPED]
            yield from (os.path.normpath(Path(under, below, name)).replace(os.sep, "/") for name in names)

    def text(self, path: str, encoding: str = "utf-8") -> str:
        r"""Return the text of a file, its line ends as `\n` and without a byte order mark.

        Raises:
            ConfigurationError: `OUTSIDE_PROJECT` or `UNREADABLE_FILE`: a link leads out, it is too large, or it is not text.
        """
        shown = self.shown(path)
        try:
            content = self._reader.read(self._root / path)
        except FileRefused as error:
            raise ConfigurationError(error.code, f"{shown}: {error.what}", error.hint, path=shown) from error
        try:
            if encoding.lower() not in _ENCODINGS:
                raise ValueError(f"the encoding {encoding} is not supported")
            text = content.decode(encoding)
        except ValueError as error:
            hint = "save the file as UTF-8"
            raise ConfigurationError("UNREADABLE_FILE", f"{shown}: {error}", hint, path=shown) from error
        if "\0" in text:
            raise ConfigurationError("UNREADABLE_FILE", f"{shown}: it holds a NUL character", "save it as UTF-8")
        return text.removeprefix("\ufeff").replace("\r\n", "\n")
