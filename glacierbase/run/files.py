"""Read and write files safely: a branch under review may contain links out of the project, FIFOs, devices and huge files."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from glacierbase.errors import ConfigurationError

try:
    import fcntl
except ImportError as error:  # Windows, where further modules and flags are missing, too.
    raise ConfigurationError(
        "UNSUPPORTED_SYSTEM",
        "glacierbase runs on Linux and macOS: this Python has no module fcntl",
        "on Windows, install it in WSL, https://learn.microsoft.com/windows/wsl/install",
    ) from error

# O_NONBLOCK: opening a FIFO without a writer returns at once. O_NOCTTY: a terminal does not become that of this process.
_ANYWHERE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_INSIDE = _ANYWHERE | os.O_NOFOLLOW
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
# Files below these folders appear to be regular, but hold the kernel's data on processes and devices.
_KERNEL = (Path("/proc"), Path("/sys"))
# How long processes that write into the same folder wait for each other, in seconds.
_LONGEST_WAIT = 5.0


class FileRefused(Exception):
    """A file that is not read or written. The caller adds the file's name, and raises an error with this code, text and hint."""

    def __init__(self, code: str, what: str, hint: str) -> None:
        self.code = code
        self.what = what
        self.hint = hint
        super().__init__(what)


class FileReader:
    """Read files below one root, with a limit of bytes for each file and for all together."""

    def __init__(self, root: Path, most: int, most_in_all: int) -> None:
        self._root = root
        self._most = most
        self._most_in_all = most_in_all
        self._read = 0
        self._folders: set[str] = set()  # Folders that are known to be inside the root.

    def read(self, path: Path) -> bytes:
        """Return the content of a regular file.

        Raises:
            FileRefused: `OUTSIDE_PROJECT`, or `UNREADABLE_FILE`: no permission, a FIFO, too large and the like.
        """
        try:
            content = _content(self._opened(path), self._most)
        except OSError as error:
            raise _unreadable(error.strerror or str(error), "restore the file or its permissions") from error
        self._read += len(content)
        if self._read > self._most_in_all:
            raise _unreadable(
                f"the files up to this one hold more than {_shown(self._most_in_all)} together",
                "move data out of the files; a migration changes a schema",
            )
        return content

    def _opened(self, path: Path) -> int:
        folder = os.path.dirname(path)  # noqa: PTH120 (a Path per file is slow for ten thousand files)
        if folder not in self._folders:
            path_inside(path.parent, self._root)
            self._folders.add(folder)
        try:
            return os.open(path, _INSIDE)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        return os.open(path_inside(path, self._root), _INSIDE)


def read_anywhere(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes, inside the project or not, but not of the kernel.

    Raises:
        FileRefused: `UNREADABLE_FILE`.
    """
    try:
        descriptor = os.open(path, _ANYWHERE)
        return _content(descriptor, most, path)
    except OSError as error:
        raise _unreadable(error.strerror or str(error), "restore the file or its permissions") from error
    except ValueError as error:  # A NUL in the path.
        raise _unreadable(str(error), "correct the path") from error


def open_anywhere(path: Path) -> BinaryIO:
    """Open a regular file to read it as a stream, inside the project or not, but not of the kernel.

    Raises:
        FileRefused: `UNREADABLE_FILE`.
    """
    try:
        descriptor = os.open(path, _ANYWHERE)
    except OSError as error:
        raise _unreadable(error.strerror or str(error), "correct the path, or the permissions of the file") from error
    except ValueError as error:  # A NUL in the path.
        raise _unreadable(str(error), "correct the path") from error
    try:
        _check_regular(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def path_inside(path: Path, root: Path) -> Path:
    """Return `path` with all symbolic links resolved; it need not exist.

    Raises:
        FileRefused: `OUTSIDE_PROJECT`: the path is outside of `root`, or inside `.git`, which no branch contains.
    """
    # `Path.resolve` raises RuntimeError for a circle of links in Python 3.12 and earlier.
    real, base = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    if real.is_relative_to(base) and ".git" not in map(str.lower, real.relative_to(base).parts):
        return real
    raise FileRefused(
        "OUTSIDE_PROJECT",
        f"leads to {real}, outside of the project {root}",
        "copy the files into the project, or choose the folder that holds both as its root",
    )


def is_folder(path: Path) -> bool:
    """Return whether `path` leads to a folder; False for links that are too long or circular."""
    return os.path.isdir(path)  # noqa: PTH112 (`Path.is_dir` raises where a link's target has too long a name)


def create_file(path: Path, root: Path, text: str) -> None:
    """Write a new file and its missing folders. Nothing is overwritten, and nothing is written outside of `root`.

    Raises:
        FileRefused: `OUTSIDE_PROJECT`, or `UNREADABLE_FILE`: the folder or the file cannot be created.
        FileExistsError: the file exists, or a link is in its place.
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
    place = folder / path.name
    try:
        place.open("x").close()  # `x` does not follow a link in the place of the file.
        try:
            _replace(place, text)
        except BaseException:
            place.unlink()
            raise
    except FileExistsError:
        raise
    except OSError as error:
        raise _unwritable(error) from error


def replace_file(path: Path, content: str | bytes) -> None:
    """Create or replace a regular file atomically.

    Raises:
        FileRefused: `OUTSIDE_PROJECT`: a link in a project or a work tree of git leads out of it; `UNREADABLE_FILE`: the folder or
            the file cannot be written, or a link is in its place.
    """
    with _refusing():
        _replace(_replaceable(path), content)


def check_replaceable(path: Path) -> None:
    """Check that `replace_file` can write a file. Nothing is written.

    Raises:
        FileRefused: as `replace_file`.
    """
    with _refusing():
        folder = _replaceable(path).parent
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def writing(path: str | Path, state: str | None = None) -> Iterator[None]:
    """Raise a refusal to write `path` as the error of a command.

    Args:
        state: as for `GlacierbaseError`.

    Raises:
        ConfigurationError: `OUTSIDE_PROJECT` or `UNREADABLE_FILE`.
    """
    try:
        yield
    except FileRefused as error:
        raise ConfigurationError(
            error.code, f"{path}: {error.what}", error.hint, state=state, path=str(path)
        ) from error


def _replace(place: Path, content: str | bytes) -> None:
    draft = place.with_name(f".glacierbase-{os.urandom(8).hex()}")
    try:
        with draft.open("xb") as target:
            target.write(content.encode() if isinstance(content, str) else content)
            target.flush()
            os.fsync(target.fileno())
        with suppress(FileNotFoundError):
            draft.chmod(stat.S_IMODE(place.stat().st_mode))
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def _replaceable(path: Path) -> Path:
    """Return the path of a file with the links to its folder resolved. Links must not lead out of a project or work tree.

    Raises:
        FileRefused: as `replace_file`.
    """
    folder = path.parent
    # All parents, because the target of a link may be inside another work tree.
    for above in Path(os.path.abspath(path)).parents:  # noqa: PTH100 (`resolve` follows the links)
        if _is_of_a_branch(above):
            path_inside(folder, above)
    place = Path(os.path.realpath(folder)) / path.name
    if (kind := _kind(place)) is not None:
        hint = "name a regular file, or a new one"
        raise FileRefused("UNREADABLE_FILE", f"cannot be written: it is {kind}", hint)
    return place


def _is_of_a_branch(folder: Path) -> bool:
    """Return whether a folder is a project or a work tree of git, so that a branch chooses the links in it."""
    return os.path.lexists(folder / ".git") or all(map(is_folder, (folder / "catalogs", folder / "migrations")))


def _kind(place: Path) -> str | None:
    """Return the kind of a file that is not regular; None for a regular file and for a missing one."""
    if place.is_symlink():
        return f"a link to {place.readlink()}"
    if any(place.is_relative_to(folder) for folder in _KERNEL):
        return "a file of the kernel"
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        return None
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "a device")


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # A NUL in the path.
        raise _unwritable(error) from error


def _unwritable(error: OSError | ValueError) -> FileRefused:
    what = f"cannot be written: {getattr(error, 'strerror', None) or error}"
    is_full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    hint = "make room on its disk" if is_full else "correct the path, or the permissions of its folder"
    return FileRefused("UNREADABLE_FILE", what, hint)


@contextmanager
def one_at_a_time(folder: Path, seconds: float = _LONGEST_WAIT) -> Iterator[int | None]:
    """Let one process or thread at a time run the block for this folder. A file system without locks lets all run at once.

    Yields the descriptor that holds the lock, which lasts until all processes that inherited it have ended; None after `seconds`,
    within which the holder, which may be stopped, did not release it.
    """
    with _locking(folder, fcntl.LOCK_EX, seconds) as descriptor:
        yield descriptor


@contextmanager
def in_use(folder: Path) -> Iterator[int | None]:
    """Keep `one_at_a_time` from this folder during the block, which several may run at the same time. Yields as that does."""
    with _locking(folder, fcntl.LOCK_SH, _LONGEST_WAIT) as descriptor:
        yield descriptor


@contextmanager
def _locking(folder: Path, kind: int, seconds: float) -> Iterator[int | None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + seconds
        while not (is_locked := _is_locked(descriptor, kind)) and time.monotonic() < until:
            time.sleep(0.01)
        yield descriptor if is_locked else None
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, kind: int) -> bool:
    """Lock an open folder; return False while another process or thread holds its lock."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # The file system has no locks.
        return True
    return True


def _content(descriptor: int, most: int, anywhere: Path | None = None) -> bytes:
    """Return the content of an open file, and close it. Its path may meanwhile lead to another file.

    Args:
        anywhere: the path, if the file need not be in the project.
    """
    try:
        size = _check_regular(descriptor, anywhere)
        if size <= most:
            # Some file systems report no size for files that have content.
            content = _bytes(descriptor, size or most + 1)
            if len(content) <= most:
                return content
        raise _unreadable(f"it holds more than {_shown(most)}", "split it, or move data out of it")
    finally:
        os.close(descriptor)


def _check_regular(descriptor: int, anywhere: Path | None) -> int:
    """Return the size of an open file, which must be regular.

    Args:
        anywhere: the path, if the file need not be in the project; then it must not be of the kernel.
    """
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a device")
        raise _unreadable(f"it is {kind} and no regular file", "remove it, or rename it")
    if anywhere and any(_place(descriptor, anywhere).is_relative_to(folder) for folder in _KERNEL):
        raise _unreadable("it is a file of the kernel", "copy the value into a file")
    return status.st_size


def _place(descriptor: int, path: Path) -> Path:
    """Return the path of an open file: from Linux, elsewhere from the path that was opened."""
    link = Path(f"/proc/self/fd/{descriptor}")
    return (link if link.exists() else path).resolve()


def _bytes(descriptor: int, size: int) -> bytes:
    """Return the first `size` bytes of an open file; bytes appended meanwhile are not read."""
    content = os.read(descriptor, size)
    while len(content) < size and (more := os.read(descriptor, size - len(content))):
        content += more
    return content


def _unreadable(why: str, hint: str) -> FileRefused:
    return FileRefused("UNREADABLE_FILE", f"cannot be read: {why}", hint)


def _shown(count: int) -> str:
    return f"{count // 2**20} MiB"
