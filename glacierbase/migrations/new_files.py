"""Write the next migration (`new`). Nothing is overwritten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from glacierbase.errors import ConfigurationError
from glacierbase.run.files import FileRefused, create_file
from glacierbase.run.git import GitFailed, git

_TEMPLATE = """\
-- MIGRATION_DESCRIPTION: {description}
-- MIGRATION_AUTHOR: {author}

"""


def write_migration(folder: Path, root: Path, description: str, author: str, now: datetime | None = None) -> Path:
    """Write a migration with the current UTC time as its version into a catalog's folder, and return its path.

    Args:
        root: of the project; a link that leads out of it is an error.

    Raises:
        ConfigurationError: the description has no word for the file name, the file exists, or the folder is not in `root`.
    """
    description, author = " ".join(description.split()), " ".join(author.split())
    words = re.sub(r"[^a-z0-9]+", "_", description.lower()).strip("_")[:60].strip("_")
    if not words or not author:
        raise ConfigurationError(
            "INVALID_VALUE",
            "a migration needs a description with a word in it, and an author",
            "glacierbase new --help",
        )
    version = f"{now or datetime.now(timezone.utc):%Y%m%d%H%M%S}"
    path = folder / f"{version}_{words}.sql"
    try:
        with writing(path):
            create_file(path, root, _TEMPLATE.format(description=description, author=author))
    except FileExistsError as error:
        raise already_exists(path, "", "wait a second, or use other words") from error
    return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise a refusal to write `path` as the error of a command.

    Raises:
        ConfigurationError: `OUTSIDE_PROJECT` or `UNREADABLE_FILE`.
    """
    try:
        yield
    except FileRefused as error:
        raise ConfigurationError(error.code, f"{path} {error.what}", error.hint, path=str(path)) from error


def already_exists(path: Path, state: str, hint: str) -> ConfigurationError:
    """Return the error for a new file whose path is taken."""
    return ConfigurationError("ALREADY_EXISTS", f"{path} exists already{state}", hint)


def git_user() -> str:
    """Return git's `user.name`.

    Raises:
        ConfigurationError: git has none, or is not installed.
    """
    try:
        found = git(Path.cwd(), "config", "user.name").decode(errors="replace").strip()
    except (OSError, GitFailed):
        found = ""
    if not found:
        raise ConfigurationError("AUTHOR_MISSING", "git has no user.name here", "add --author 'Data Platform Team'")
    return found
