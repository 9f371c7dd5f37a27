"""Files of a project that a stranger may have written: only regular files of limited size inside the project are opened."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

# O_NONBLOCK: a FIFO that nobody writes to is opened at once, and then refused.
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}


class FileRefused(Exception):
    """A file that is not read or written; the caller raises the error with this code, text and hint, and the file's name."""

    def __init__(self, code: str, what: str, hint: str) -> None:
        self.code = code
        self.what = what
        self.hint = hint
        super().__init__(what)


class FileReader:
    """Reads files below one root, and no more than a number of bytes of each and of all together."""

    def __init__(self, root: Path, most: int, most_in_all: int) -> None:
        self._root = root
        self._most = most
        self._most_in_all = most_in_all
        self._read = 0
        self._folders: set[str] = set()  # Those that are known to lie inside.

    def read(self, path: Path) -> bytes:
        """Return the content of a regular file.

        Raises:
            FileRefused: `OUTSIDE_PROJECT`, or `UNREADABLE_FILE`: no permission, a FIFO, too large and the like.
        """
        try:
            content = self._content(path)
        except OSError as error:
            raise _unreadable(error.strerror or str(error), "restore the file or its permissions") from error
        self._read += len(content)
        if self._read > self._most_in_all:
            raise _unreadable(
                f"the files up to this one hold more than {_shown(self._most_in_all)} together",
                "move data out of the files; a migration changes a schema",
            )
        return content

    def _content(self, path: Path) -> bytes:
        descriptor = self._opened(path)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a device")
                raise _unreadable(f"it is {kind} and no regular file", "remove it, or rename it")
            if status.st_size > self._most:
                raise _unreadable(f"it holds more than {_shown(self._most)}", "split it, or move data out of it")
            return _bytes(descriptor, status.st_size)
        finally:
            os.close(descriptor)

    def _opened(self, path: Path) -> int:
        folder = os.path.dirname(path)  # noqa: PTH120 (of ten thousand files, a Path for each takes its time)
        if folder not in self._folders:
            path_inside(path.parent, self._root)
            self._folders.add(folder)
        try:
            return os.open(path, _READING)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        return os.open(path_inside(path, self._root), _READING)


def path_inside(path: Path, root: Path) -> Path:
    """Return `path` with all symbolic links resolved; it need not exist.

    Raises:
        FileRefused: `OUTSIDE_PROJECT`: it lies outside of `root`.
    """
    # Not `Path.resolve`, which fails in its own way where links lead in a circle.
    real = Path(os.path.realpath(path))
    if real.is_relative_to(os.path.realpath(root)):
        return real
    raise FileRefused(
        "OUTSIDE_PROJECT",
        f"leads to {real}, outside of the project {root}",
        "copy the files into the project, or choose the folder that holds both as its root",
    )


def is_folder(path: Path) -> bool:
    """Return whether `path` leads to a folder; no link fails, however long or circular it is."""
    return os.path.isdir(path)  # noqa: PTH112 (`Path.is_dir` raises where a link's target has too long a name)


def create_file(path: Path, root: Path, text: str) -> None:
    """Write a new file, and the folders that it needs. No link is followed out of the project, and nothing is overwritten.

    Raises:
        FileRefused: `OUTSIDE_PROJECT`, or `UNREADABLE_FILE`: the folder cannot be made.
        FileExistsError: the file exists, if only as a link that leads nowhere.
    """
    folder = path_inside(path.parent, root)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileRefused(
            "UNREADABLE_FILE",
            f"cannot be written: {folder} is no folder: {error.strerror}",
            "remove what is in its place",
        ) from error
    # `x` does not follow a link in the place of the file.
    with (folder / path.name).open("x", encoding="utf-8", newline="\n") as target:
        target.write(text)


def _bytes(descriptor: int, size: int) -> bytes:
    """The first `size` bytes of an open file: what is written to it meanwhile does not count."""
    content = os.read(descriptor, size)
    while len(content) < size and (more := os.read(descriptor, size - len(content))):
        content += more
    return content


def _unreadable(why: str, hint: str) -> FileRefused:
    return FileRefused("UNREADABLE_FILE", f"cannot be read: {why}", hint)


def _shown(count: int) -> str:
    return f"{count // 2**20} MiB"
