"""Write several files: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from glacierbase.migrations.new_files import already_exists
from glacierbase.run.files import create_file, replace_file, writing


class NewFiles:
    """Files that are written together."""

    def __init__(self) -> None:
        self._made: list[Path] = []  # Files, each after the folders that were made for it.
        self._replaced: dict[Path, bytes] = {}

    def create(self, path: Path, root: Path, text: str) -> None:
        """Write a new file and its missing folders; `root` as for `create_file`.

        Raises:
            ConfigurationError: `OUTSIDE_PROJECT`, `UNREADABLE_FILE` or `ALREADY_EXISTS`.
        """
        self._made += reversed([folder for folder in path.parents if not folder.exists()])
        try:
            with writing(path):
                create_file(path, root, text)
        except FileExistsError as error:
            raise already_exists(path, " since this command began; nothing was written", "run it again") from error
        self._made.append(path)

    def replace(self, path: Path, text: str) -> None:
        """Replace an existing file.

        Raises:
            ConfigurationError: `OUTSIDE_PROJECT` or `UNREADABLE_FILE`.
        """
        with writing(path):
            self._replaced[path] = path.read_bytes()
            replace_file(path, text)

    def undo(self) -> None:
        """Remove the files and folders again, except folders that hold something else, and restore the replaced files."""
        for path, content in self._replaced.items():
            with suppress(OSError):
                path.write_bytes(content)
        for path in reversed(self._made):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()


@contextmanager
def all_or_none() -> Iterator[NewFiles]:
    """Undo what the block has written, if it fails or is interrupted."""
    written = NewFiles()
    try:
        yield written
    except BaseException:
        written.undo()
        raise
