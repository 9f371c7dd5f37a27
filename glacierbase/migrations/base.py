"""The migrations of a branch against those of its base: nothing of the base edited or deleted, everything new above it.

A catalog is found again by its name, as in the history: its file and folder may be renamed where `name:` stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path, PurePosixPath
from shlex import quote

from glacierbase.catalogs.catalogfile import catalog_name
from glacierbase.catalogs.yamlfile import parse_yaml
from glacierbase.errors import ConfigurationError, GlacierbaseError, HistoryDisagrees, raise_all
from glacierbase.model.migration import Migration, checksum, version_number
from glacierbase.run.git import GitFailed, git, work_tree


@dataclass(frozen=True, slots=True)
class _File:
    """A migration file of the base; `path` is relative to the project."""

    number: int
    path: str
    checksum: str


@dataclass(frozen=True, slots=True)
class _Catalog:
    """A catalog that has migrations in the base.

    Attributes:
        name: of its catalog file there.
        doubt: why the name is only assumed, or nothing.
        paths: what brings the catalog back.
    """

    name: str
    doubt: tuple[str, ...]
    paths: tuple[str, ...]
    files: tuple[_File, ...] = field(repr=False)


def check_against_base(
    root: Path,
    ref: str,
    stems: Mapping[str, str],
    migrations: Mapping[str, Sequence[Migration]],
    *,
    all_catalogs: bool,
) -> dict[str, tuple[str, ...]]:
    """Compare migrations with those that a git ref holds, and return warnings by the catalog's name.

    Args:
        stems: of the file of every catalog that there is now, by the catalog's name.
        migrations: of the catalogs to compare, by the catalog's name.
        all_catalogs: whether a catalog that only the base has is an error.

    Raises:
        ConfigurationError: `root` is not in a git work tree, or there is no such ref.
        HistoryDisagrees: all files that were edited or deleted, and all new ones whose version is not above the base's.
    """
    errors: list[GlacierbaseError] = []
    content = _files(root, ref)
    # As where the project is new, or a link leads to it from where it was.
    nothing: tuple[str, ...] = () if content else (f"{ref} has no project in the folder {root}: nothing was compared",)
    warnings = dict.fromkeys(migrations, nothing)
    for base in _catalogs(ref, content, stems):
        if base.name in migrations:
            warnings[base.name] += base.doubt
            errors += _edited(ref, base.files, migrations[base.name], f"migrations/{stems[base.name]}")
            errors += _too_low(ref, base.files, migrations[base.name])
        elif all_catalogs and base.name not in stems:
            errors.append(_gone(ref, base))
    raise_all(errors)
    return warnings


def _gone(ref: str, base: _Catalog) -> HistoryDisagrees:
    what = f"catalog {base.name}: {ref} has {len(base.files)} of its migrations, and no catalog has this name here"
    paths = " ".join(map(quote, base.paths))
    return HistoryDisagrees(
        "BASE_FILE_DELETED",
        "; ".join((what, *base.doubt)),
        f"restore it: git checkout {quote(ref)} -- {paths}; a renamed catalog file keeps `name: {base.name}`",
        path=base.paths[0],
        catalog=base.name,
    )


def _edited(
    ref: str, base: Sequence[_File], migrations: Sequence[Migration], folder: str
) -> Iterator[HistoryDisagrees]:
    here = {migration.number: migration for migration in migrations}
    for file in base:
        migration = here.get(file.number)
        if migration is None:
            target = PurePosixPath(folder, *PurePosixPath(file.path).parts[2:])
            yield HistoryDisagrees(
                "BASE_FILE_DELETED",
                f"{file.path}: stands in {ref}, and is deleted here",
                f"restore it: {_restore(ref, file, str(target))}",
                path=file.path,
            )
        elif migration.checksum != file.checksum:
            yield HistoryDisagrees(
                "BASE_FILE_EDITED",
                f"{migration.location}: differs from {ref}, where other environments may have applied it",
                f"restore it ({_restore(ref, file, migration.location)}), and put the change into a new migration",
                path=migration.location,
            )


def _restore(ref: str, file: _File, target: str) -> str:
    if target == file.path:
        return f"git checkout {quote(ref)} -- {quote(target)}"
    return f"git show {quote(f'{ref}:./{file.path}')} > {quote(target)}"


def _too_low(ref: str, base: Sequence[_File], migrations: Sequence[Migration]) -> list[HistoryDisagrees]:
    known = {file.number: file.path for file in base}
    highest = max(known)
    newest = max([highest, *(migration.number for migration in migrations)])
    late = [migration for migration in migrations if migration.number not in known and migration.number < highest]
    return [
        HistoryDisagrees(
            "VERSION_BELOW_BASE",
            f"{migration.location}: its version is not above {PurePosixPath(known[highest]).name}, the highest of {ref}",
            f"git mv {quote(migration.location)} {quote(_moved(migration, newest + number))}",
            path=migration.location,
            version=migration.version,
        )
        for number, migration in enumerate(late, start=1)
    ]


def _moved(migration: Migration, number: int) -> str:
    version = str(number).zfill(len(migration.version))
    return str(PurePosixPath(migration.location).with_name(f"{version}_{migration.name}.sql"))


def _catalogs(ref: str, content: Mapping[str, bytes], stems: Mapping[str, str]) -> Iterator[_Catalog]:
    """The catalogs that have migrations in the base, by their folders."""
    folders: dict[str, list[_File]] = {}
    for path in content:
        top, *inner, name = PurePosixPath(path).parts
        number = version_number(name.partition("_")[0])
        if top == "migrations" and inner and inner[0][0] != "." and name.endswith(".sql") and number is not None:
            folders.setdefault(inner[0], []).append(_File(number, path, checksum(content[path])))
    for stem, files in folders.items():
        file = f"catalogs/{stem}.yaml"
        name, doubt = _name(ref, stem, content.get(file), stems)
        paths = (file, f"migrations/{stem}") if file in content else (f"migrations/{stem}",)
        yield _Catalog(name, doubt, paths, tuple(files))


def _name(ref: str, stem: str, content: bytes | None, stems: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The name of the base's catalog; where its file does not say it, that of the catalog whose file has the same stem now."""
    assumed = next((name for name, here in stems.items() if here == stem), stem)
    if content is None:
        return assumed, ()
    try:
        location = f"{ref}:catalogs/{stem}.yaml"
        return catalog_name(parse_yaml(content, location), stem, location), ()
    except GlacierbaseError as error:
        why = error.message.replace("\n", "; ")
        return assumed, (f"{why}; its name is taken to be {assumed}",)


def _files(root: Path, ref: str) -> dict[str, bytes]:
    """The files below `catalogs/` and `migrations/` at a git ref, by their paths relative to `root`."""
    top = work_tree(root)
    if top is None:
        raise ConfigurationError(
            "BASE_NOT_FOUND", f"{root} is not in a git work tree, which --base needs", "clone the project with git"
        )
    branch = quote(ref.removeprefix("origin/"))
    with _needed(ref, f"fetch it first: git fetch origin {branch}"):
        commit = git(root, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}").decode().strip()
    with _needed(ref, f"fetch all of its files: git fetch --refetch --no-filter origin {branch}"):
        return _read(root, PurePosixPath(root.resolve().relative_to(top)), commit)


@contextmanager
def _needed(ref: str, hint: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ConfigurationError("GIT_NOT_FOUND", "git is not installed; --base needs it") from error
    except GitFailed as error:
        raise ConfigurationError("BASE_NOT_FOUND", f"{ref!r} cannot be read: {error}", hint) from error


def _read(root: Path, inside: PurePosixPath, commit: str) -> dict[str, bytes]:
    folders = [str(inside / name) for name in ("catalogs", "migrations")]
    listed = git(root, "--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--", *folders)
    # MODE TYPE ID, a tab, and the path.
    entries = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry.endswith((b".sql", b".yaml"))]
    blobs = {path: head.split()[2] for head, _, path in entries if b" blob " in head}
    answer = BytesIO(git(root, "cat-file", "--batch", given=b"".join(blob + b"\n" for blob in blobs.values())))
    paths = (PurePosixPath(path.decode(errors="backslashreplace")).relative_to(inside) for path in blobs)
    return {str(path): _content(answer) for path in paths}


def _content(answer: BytesIO) -> bytes:
    """The next object of `cat-file --batch`: ID TYPE SIZE, its bytes, and a line end."""
    head = answer.readline().split()
    if len(head) != 3:
        raise GitFailed(b" ".join(head).decode())  # ID missing
    return answer.read(int(head[2]) + 1)[:-1]
