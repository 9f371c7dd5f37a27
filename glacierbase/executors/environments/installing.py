"""Make the virtual environments of `migrationExecutor.packages` with uv, write their lock files, and delete old ones.

One process of the user at a time: uv inherits the lock, so that another process waits for the uv of a killed one, too.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import venv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from glacierbase.errors import ConfigurationError, EngineUnavailable, GlacierbaseError
from glacierbase.executors.environments.folders import Environment, environment_of, environments, environments_folder
from glacierbase.executors.environments.lockfile import (
    LockedPackages,
    canonical,
    checked_text,
    lock_path,
    lock_text,
    read_sections,
)
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.run.activity import doing
from glacierbase.run.cache import make_folder, replacing
from glacierbase.run.files import one_at_a_time, replace_file, writing
from glacierbase.run.installed import pip_install
from glacierbase.run.pythons import isolated
from glacierbase.run.user_command import ProgramOutcome, run_command
from glacierbase.secrets import mask

logger = logging.getLogger("glacierbase")

# How long each step may take, and how long another process is waited for.
_LONGEST_SECONDS = 3600.0
# uv searches the working directory and its parents for configuration, and the cache may be in a stranger's checkout.
_FOLDER = Path("/")
# The outputs of uv 0.7 to 0.13.
_HASH_DIFFERS = re.compile(r"Hash mismatch for `([^`]+)`")
_NO_ANSWER = re.compile(r"Failed to fetch|40[13]\s+(?:Unauthorized|Forbidden)|network\s+was\s+disabled")
_NOT_RESOLVED = re.compile(r"No solution found|Hash-checking is required|must be pinned")
# With the indented lines that follow.
_CAUSE = re.compile(r"^[^\S\n]*(?:error: |× )(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_LONGEST_CAUSE = 300


@dataclass(frozen=True, slots=True)
class Made:
    """The environment of a catalog.

    Attributes:
        is_new: whether it was made now.
        lock_file_changed: whether the lock file was written.
    """

    environment: Environment
    is_new: bool
    lock_file_changed: bool


def make_environment(catalog: Catalog, used: Iterable[Catalog]) -> Made:
    """Make the virtual environment of a catalog's `packages`, and write its lock file, unless both exist and agree.

    Contacts the package index only if something is missing.

    Args:
        used: the catalog in each of its environments.

    Raises:
        ConfigurationError: `ENVIRONMENT_UNRESOLVED`, `ENVIRONMENT_HASH`, `LOCK_FILE_INVALID`, `UV_NOT_INSTALLED`.
        EngineUnavailable: `ENVIRONMENT_NOT_MADE`.
    """
    packages = canonical(catalog.packages)
    with _alone(catalog) as inherited:
        sections = read_sections(catalog.file)
        section = sections.get(packages)
        if section is None or not section.is_for_this_python():
            section = _resolved(catalog, sections, inherited)
        environment = environment_of(section)
        is_new = not environment.is_complete() or bool(environment.changed())
        if is_new:
            _make(catalog, environment, section, inherited)
        _add_user(environment, str(catalog.file))
        kept = {canonical(other.packages) for other in used}
        wanted = {name: known for name, known in sections.items() if name in kept} | {packages: section}
        if wanted != sections:
            with writing(f"catalogs/{lock_path(catalog.file).name}"):
                replace_file(lock_path(catalog.file), lock_text(wanted.values()))
    return Made(environment, is_new, wanted != sections)


def delete_environments(catalog: Catalog, used: Iterable[Catalog]) -> list[int]:
    """Delete the environments that were made for a catalog file, and that neither it nor another one uses now.

    Environments whose catalog files do not exist any more, and those that were not completed, are deleted, too. Returns the
    bytes of the files of each.

    Args:
        used: the catalog in each of its environments.

    Raises:
        ConfigurationError: `LOCK_FILE_INVALID`: it is not known which environments are used.
    """
    sections = read_sections(catalog.file)
    wanted = {canonical(other.packages) for other in used}
    current = {environment_of(section).folder for name, section in sections.items() if name in wanted}
    freed: list[int] = []
    with _alone(catalog):
        for environment in environments():
            others = {path for path in environment.user_files() if path != str(catalog.file) and Path(path).is_file()}
            is_used = others or environment.folder in current
            if not is_used or not environment.is_complete():
                freed += _deleted(environment)
            else:
                _write_users(environment, others | ({str(catalog.file)} if environment.folder in current else set()))
    return freed


def _deleted(environment: Environment) -> list[int]:
    """Delete an environment, and return the bytes of its files; nothing if a running command uses it."""
    with one_at_a_time(environment.folder, 0) as held:
        if held is None:
            logger.warning("kept %s, which a running command uses", environment.folder)
            return []
        freed = _size(environment.folder)
        shutil.rmtree(environment.folder, ignore_errors=True)
        return [freed]


@contextmanager
def _alone(catalog: Catalog) -> Iterator[Sequence[int]]:
    """Let no other process of the user change environments meanwhile; yield the descriptors that child processes inherit.

    Raises:
        EngineUnavailable: `ENVIRONMENT_NOT_MADE`: the others did not end, or for an OSError inside the block.
    """
    folder = environments_folder()
    make_folder(folder)
    try:
        with ExitStack() as stack:
            with doing(f"{catalog.name}: waiting for another run of `env`"):
                held = stack.enter_context(one_at_a_time(folder, _LONGEST_SECONDS))
            if held is None:
                raise _not_made(catalog, "another run of `env` has lasted an hour")
            yield [held]
    except OSError as error:
        raise _not_made(catalog, error.strerror or str(error)) from error


def _resolved(
    catalog: Catalog, known: Mapping[tuple[str, ...], LockedPackages], inherited: Sequence[int]
) -> LockedPackages:
    """Resolve the catalog's `packages` for all platforms. uv keeps the versions of the lock file where they fit."""
    packages, oldest = canonical(catalog.packages), sys.version_info[1]
    with TemporaryDirectory(dir=environments_folder()) as folder, doing(f"{catalog.name}: resolving its packages"):
        output = Path(folder, "output.txt")
        output.write_text("".join(section.requirements for section in known.values()))
        given = ["--universal", "--generate-hashes", "--no-header", "--no-annotate", "--python-version", f"3.{oldest}"]
        words = ["compile", "-", "-o", str(output), "--python", sys.executable, *given]
        _run_uv(catalog, words, "\n".join(packages), inherited)
        return LockedPackages(packages, oldest, checked_text(output.read_text(), "the output of uv"))


def _make(catalog: Catalog, environment: Environment, section: LockedPackages, inherited: Sequence[int]) -> None:
    """Make an environment; the file that marks it as complete is written last."""
    make_folder(environment.folder)
    if not _deleted(environment):
        raise _not_made(catalog, "a running command uses the one that is to be replaced")
    try:
        make_folder(environment.folder)
        _add_user(environment, str(catalog.file))
        venv.EnvBuilder(symlinks=True).create(environment.folder / "venv")
        with doing(f"{catalog.name}: installing its packages"):
            words = ["install", "--require-hashes", "-r", "-", "--python", str(environment.python)]
            _run_uv(catalog, words, section.requirements, inherited)
        with replacing(environment.complete) as draft:
            draft.write_text("".join(f"{package}\n" for package in environment.installed()))
    except BaseException:
        shutil.rmtree(environment.folder, ignore_errors=True)
        raise


def _run_uv(catalog: Catalog, words: Sequence[str], content: str, inherited: Sequence[int]) -> None:
    """Run a command of `uv pip`. Builds of packages would import what is on PYTHONPATH."""
    variables = {"PYTHONPATH": "", "UV_NO_PROGRESS": "1", **_index()}
    words = [_uv(), "pip", *words]
    ending = run_command(words, content.encode(), _FOLDER, variables, _LONGEST_SECONDS, lambda: False, inherited)
    if ending.failure:
        raise _failed(catalog, ending)


def _uv() -> str:
    """Return the path of the uv that is installed beside glacierbase, else of that on the PATH.

    Raises:
        ConfigurationError: `UV_NOT_INSTALLED`.
    """
    with suppress(ImportError, FileNotFoundError):
        from uv import find_uv_bin

        return str(find_uv_bin())
    if uv := shutil.which("uv"):
        return uv
    what = "making a virtual environment needs uv, which is neither installed with glacierbase nor on the PATH"
    raise ConfigurationError("UV_NOT_INSTALLED", what, pip_install("environments"))


def _index() -> dict[str, str]:
    """Return the variable for the package index of pip's configuration, which uv does not read, unless one is set for uv."""
    if {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & {*os.environ}:
        return {}
    words = isolated(sys.executable, "-m", "pip", "config", "list")
    ending = run_command(words, b"", _FOLDER, {}, _LONGEST_SECONDS, lambda: False)
    configured = dict(re.findall(r"^(:env:|install|global)\.index-url='(.*)'$", ending.output, re.MULTILINE))
    index = configured.get(":env:") or configured.get("install") or configured.get("global")
    return {"UV_DEFAULT_INDEX": index} if index else {}


def _add_user(environment: Environment, path: str) -> None:
    if path not in (known := environment.user_files()):
        _write_users(environment, {*known, path})


def _write_users(environment: Environment, paths: Iterable[str]) -> None:
    with replacing(environment.users) as draft:
        draft.write_text("".join(f"{path}\n" for path in sorted(paths)))


def _failed(catalog: Catalog, ending: ProgramOutcome) -> GlacierbaseError:
    """Return the error for the output of uv, which is kept in a file."""
    output = mask(ending.output)
    log = _logged(catalog, output)
    if names := sorted({*_HASH_DIFFERS.findall(output)}):
        what = _what(catalog, f"{', '.join(names)}: the hash differs from that in the lock file")
        hint = f"find out who changed the package or the lock file; see {log}"
        return ConfigurationError("ENVIRONMENT_HASH", what, hint, log=log)
    if _NO_ANSWER.search(output):
        return _not_made(catalog, "the package index did not answer", log)
    causes = _CAUSE.findall(output) or [f"uv {ending.failure}"]
    cause = " ".join(causes[-1].split()).replace(" cause: ", ": ")[:_LONGEST_CAUSE]
    if _NOT_RESOLVED.search(output):
        hint = f"correct `packages` in the catalog file, or delete the lock file to resolve them again; see {log}"
        return ConfigurationError("ENVIRONMENT_UNRESOLVED", _what(catalog, cause), hint, log=log)
    return _not_made(catalog, cause, log)


def _not_made(catalog: Catalog, why: str, log: str | None = None) -> EngineUnavailable:
    hint = f"remove the cause, then run `{command('env')}`{f'; see {log}' if log else ''}"
    return EngineUnavailable("ENVIRONMENT_NOT_MADE", _what(catalog, why), hint, log=log)


def _what(catalog: Catalog, why: str) -> str:
    packages = " ".join(canonical(catalog.packages))
    return f"catalog {catalog.name}: no virtual environment was made for {packages}: {why}"


def _logged(catalog: Catalog, output: str) -> str:
    """Write the masked output of uv to a file, and return its path."""
    log = environments_folder() / f"{catalog.name}.log"
    with replacing(log) as draft:
        draft.write_text(output)
    return str(log)


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))
