"""Write the next migration (`new`). Nothing is overwritten."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from glacierbase.errors import ConfigurationError, MigrationFileError
from glacierbase.migrations.allows import allowing
from glacierbase.migrations.folder import FILE_NAME, as_migration, file_versions
from glacierbase.migrations.headers import AFTER, AUTHOR, DESCRIPTION, PREFIX, UNWRITTEN
from glacierbase.model.command import command, move_command
from glacierbase.model.escape import on_one_line
from glacierbase.model.migration import REPEATABLE_FOLDER, REPEATABLE_NAME, Migration
from glacierbase.run.files import create_file, one_at_a_time, writing
from glacierbase.run.git import GitFailed, git

# A file without a statement would be valid, and applied as it is.
_NO_SQL = f"{{{{ {UNWRITTEN} }}}} -- write the statements in place of this line\n"
# Digits of the first version in a sequence, and of a version that is a UTC time.
_DIGITS = 4
_DIGITS_OF_TIME = 14
_TEMPLATE_START = re.compile(r"\{(?=[{%#])")
# Latin letters that Unicode does not decompose into an ASCII letter and a mark.
_LATIN = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ł": "l", "þ": "th", "ŧ": "t"}
)
# The value of a required header that a person has yet to write.
_UNKNOWN_VALUE = "unknown"


class FileCheck(Protocol):
    """Checks new migrations of a catalog, in order, in all its environments, before they are written.

    `replaced` has the locations of the files that they replace. Raises MigrationFileError: one is refused.
    """

    def __call__(self, new: Sequence[Migration], replaced: Collection[str] = ()) -> None: ...


def write_migration(
    folder: Path,
    root: Path,
    description: str,
    author: str,
    now: datetime | None = None,
    sql: str = "",
    headers: Collection[str] = (),
    versions: str | None = None,
    *,
    check: Callable[[Sequence[Migration]], None],
    reason: str | None = None,
    recorded: Iterable[str] = (),
    is_draft: bool = False,
    is_only: bool = False,
) -> Path:
    """Write a migration into a catalog's folder, and return its path.

    Its version is above all others of the folder. Processes that write into one project at a time wait for each other, so that
    none chooses a version twice.

    Args:
        root: the root of the project; a link that leads out of it is an error.
        sql: what the file holds below its headers; default a line that is refused until it is replaced.
        headers: names of the further headers that the catalog file requires; written without a value, so that they are refused.
        versions: `sequence` or `timestamp`; by default as the highest version of the folder, `sequence` in an empty one.
        check: checks a file with statements before it is written.
        reason: why statements have the effects that rules of `lint` are about; written into comments that allow them.
        recorded: versions of histories, which may have no file here; the new one is above them.
        is_draft: write it as `draft_of` its path, which no command reads as a migration, until `publish` renames it.
        is_only: refuse a second file with this description; another process may have written the first.

    Raises:
        ConfigurationError: the description has no word for the file name, the file exists, or the folder is not in `root`.
        MigrationFileError: `check` refuses the file.
    """
    head, words = _head(description, author, headers), file_words(description)
    known = tuple(recorded)

    def next_path() -> Path:
        highest = max((*file_versions(folder, root), *_drafts(folder), *known), key=int, default="")
        return folder / f"{next_version(highest, versions, now)}_{words}.sql"

    if sql:  # Before the lock, which others wait for. Nothing in the file depends on its version.
        path = next_path()
        sql = _checked(sql, lambda sql: new_migration(path, root, description, author, headers, sql), check, reason)
    with one_at_a_time(root):
        path = next_path()
        try:
            with writing(path):
                if is_only and _is_written(folder, words, head):
                    raise FileExistsError
                create_file(draft_of(path) if is_draft else path, root, f"{head}\n{sql or _NO_SQL}")
        except FileExistsError as error:
            raise already_exists(path, "", "use other words") from error
    return path


def write_repeatable(
    folder: Path,
    root: Path,
    name: str,
    description: str,
    author: str,
    headers: Collection[str] = (),
    *,
    sql: str = "",
    after: Iterable[str] = (),
    check: Callable[[Sequence[Migration]], None],
) -> Path:
    """Write a repeatable into a catalog's folder, and return its path.

    Args:
        root, headers, sql, check: as for `write_migration`.
        after: the names of the repeatables that it reads.

    Raises:
        ConfigurationError: as `write_migration`; `INVALID_VALUE`: it cannot have this name.
    """
    if not REPEATABLE_NAME.fullmatch(name):
        what = f"{name!r} is no name of a repeatable: lower-case words that begin with a letter, with _ between them"
        raise ConfigurationError("INVALID_VALUE", what, command("new", "--help"))
    path = folder / REPEATABLE_FOLDER / f"{name}.sql"
    order = "".join(f"-- {PREFIX}{AFTER}: {name}\n" for name in after)
    if sql:
        check([new_migration(path, root, description, author, headers, sql, order)])
    try:
        with writing(path):
            create_file(path, root, f"{_head(description, author, headers)}{order}\n{sql or _NO_SQL}")
    except FileExistsError as error:
        raise already_exists(path, "", "edit it: what changed runs again") from error
    return path


def new_migration(
    path: Path, root: Path, description: str, author: str, headers: Collection[str], sql: str, order: str = ""
) -> Migration:
    """Return the migration that a new file will be once a person has written the values of its required headers."""
    content = f"{_head(description, author, headers, _UNKNOWN_VALUE)}{order}\n{sql}".encode()
    return as_migration(content, path, path.relative_to(root).as_posix(), None)


def _checked(
    sql: str,
    as_file: Callable[[str], Migration],
    check: Callable[[Sequence[Migration]], None],
    reason: str | None,
) -> str:
    """Return the SQL of a file that the check accepts: with comments that allow its findings, if all of them can be allowed."""
    file = as_file(sql)
    try:
        check([file])
    except MigrationFileError as error:
        codes = error.data.get("allowable", {}).get(file.location)
        if reason is None or not codes:
            raise
        above = file.text.count("\n") - sql.count("\n")
        sql = allowing(sql, {line - above: codes[line] for line in codes}, as_template(on_one_line(reason)))
        check([as_file(sql)])
    return sql


def _head(description: str, author: str, headers: Collection[str], value: str = "") -> str:
    """Return the headers of a new file.

    Args:
        value: of the further headers.

    Raises:
        ConfigurationError: `INVALID_VALUE`.
    """
    description, author = " ".join(description.split()), " ".join(author.split())
    if not file_words(description) or not author:
        raise ConfigurationError(
            "INVALID_VALUE",
            "a migration needs a description with a word in it, and an author",
            command("new", "--help"),
        )
    if wrong := _TEMPLATE_START.search(f"{description}\n{author}"):
        what = f"a description and an author must not contain {wrong[0]}{wrong.string[wrong.end()]}: the file is a template"
        raise ConfigurationError("INVALID_VALUE", what, command("new", "--help"))
    values = {DESCRIPTION: description, AUTHOR: author, **dict.fromkeys(headers, value)}
    return "".join(f"-- {PREFIX}{name}: {value}\n" for name, value in values.items())


def _is_written(folder: Path, words: str, head: str) -> bool:
    """Return whether a file has this description, which is the first line of its head."""
    line = f"{head.splitlines()[0]}\n".encode()
    paths = (path for path in folder.glob(f"*_{words}.sql") if path.is_file())
    return any(path.read_bytes().startswith(line) for path in paths)


def _drafts(folder: Path) -> Iterator[str]:
    """Yield the versions of the drafts, which may be recorded."""
    names = (FILE_NAME.fullmatch(path.stem) for path in folder.glob("*.draft"))
    return (name["version"] for name in names if name)


def draft_of(path: Path) -> Path:
    """Return the path of the draft of a migration."""
    return path.with_name(f"{path.name}.draft")


def publish(root: Path, location: str) -> None:
    """Give a draft the name of its migration.

    Args:
        location: the location of the migration, relative to `root`.

    Raises:
        ConfigurationError: `UNREADABLE_FILE`.
    """
    draft = draft_of(Path(location)).as_posix()
    try:
        (root / draft).rename(root / location)
    except OSError as error:
        what = f"{draft} cannot be renamed: {error.strerror}; its version is recorded"
        hint = move_command(draft, location, tracked=False)
        raise ConfigurationError("UNREADABLE_FILE", what, hint, path=draft) from error


def as_template(text: str) -> str:
    """Return a template that renders as the text."""
    return _TEMPLATE_START.sub("{{ '{' }}", text)


def next_version(highest: str, versions: str | None = None, now: datetime | None = None) -> str:
    """Return the version of a new file.

    Args:
        highest: the highest version of the folder; empty where there is none.
        versions: as for `write_migration`.
    """
    if versions == "timestamp" or (versions is None and is_time(highest)):
        return str(time_above(int(highest or 0), now))
    return f"{int(highest or 0) + 1:0{len(highest) or _DIGITS}}"


def is_time(version: str) -> bool:
    """Return whether a version is a UTC time, by its length."""
    return len(version) >= _DIGITS_OF_TIME


def time_above(highest: int, now: datetime | None = None) -> int:
    """Return the UTC time as a version, or one above the highest version if that is later."""
    return max(int(f"{now or datetime.now(timezone.utc):%Y%m%d%H%M%S}"), highest + 1)


def file_words(description: str) -> str:
    """Return the words of a description for a file name; empty where it has no letter and no digit.

    Letters are transliterated to ASCII. Scripts without Latin letters become the word `migration`.
    """
    letters = unicodedata.normalize("NFKD", description.casefold().translate(_LATIN))
    ascii_only = "".join(letter for letter in letters if letter.isascii() or not unicodedata.combining(letter))
    words = re.sub(r"[^a-z0-9]+", "_", ascii_only).strip("_")[:60].strip("_")
    return words or ("migration" if any(map(str.isalnum, description)) else "")


def already_exists(path: Path, state: str, hint: str) -> ConfigurationError:
    """Return the error for a new file whose path is taken."""
    return ConfigurationError("ALREADY_EXISTS", f"{path} exists already{state}", hint)


def git_user() -> str:
    """Return git's `user.name`.

    Raises:
        ConfigurationError: git has none, or is not installed.
    """
    try:
        name = git(Path.cwd(), "config", "user.name").decode(errors="replace").strip()
    except (OSError, GitFailed):
        name = ""
    if not name:
        raise ConfigurationError("AUTHOR_MISSING", "git has no user.name here", "add --author 'Data Platform Team'")
    return name
