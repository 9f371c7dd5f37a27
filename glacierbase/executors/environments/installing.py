"""Make the virtual environments of `migrationExecutor.packages` with uv or pip, write their lock files, and delete old ones.

One process of the user at a time: pip and uv inherit the lock, so that another process waits for those of a killed one, too.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import sys
import venv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory

from glacierbase.errors import ConfigurationError, EngineUnavailable, GlacierbaseError
from glacierbase.executors.environments.folders import Environment, environment_of, environments, environments_folder
from glacierbase.executors.environments.lockfile import (
    LockedPackages,
    Pin,
    canonical,
    lock_path,
    lock_text,
    normalized,
    platform,
    read_pins,
    read_sections,
)
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.text import counted
from glacierbase.run.activity import doing
from glacierbase.run.cache import make_folder, replacing
from glacierbase.run.files import one_at_a_time, replace_file, writing
from glacierbase.run.user_command import ProgramOutcome, run_command
from glacierbase.secrets import mask

logger = logging.getLogger("glacierbase")

# The first pip that installs into the environment of another Python.
_OLDEST_PIP = (22, 3)
# How long each step may take, and how long another process is waited for.
_LONGEST_SECONDS = 3600.0
# Images set PIP_USER for their own environment; packages on PYTHONPATH count as installed.
_VARIABLES = {"PYTHONPATH": "", "PIP_USER": "0", "PIP_NO_INPUT": "1", "PIP_PROGRESS_BAR": "off", "UV_NO_PROGRESS": "1"}
# The outputs of pip 22.3 to 26 and of uv 0.13.
_HASH_DIFFERS = re.compile(r"DO NOT MATCH THE HASHES|Hash mismatch")
_NO_ANSWER = re.compile(
    r"Retry\(total=0|Could not fetch URL|Failed to fetch|HTTP error|\d{3} (?:Client|Server) Error|network was disabled"
)
_NOT_RESOLVED = re.compile(
    r"No matching distribution|ResolutionImpossible|No solution found|must have their versions pinned"
)
# With the indented lines that follow.
_CAUSE = re.compile(r"^[^\S\n]*(?:ERROR: |error: |× )(?!ResolutionImpossible)(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_LONGEST_CAUSE = 300


@dataclass(frozen=True, slots=True)
class Made:
    """The environment of a catalog.

    Attributes:
        packages: how many it holds.
        is_new: whether it was made now.
        lock_file_changed: whether the lock file was written.
    """

    python: Path
    packages: int
    is_new: bool
    lock_file_changed: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    """The environments that were deleted, and the bytes of their files."""

    environments: int
    freed: int


@dataclass(frozen=True, slots=True)
class _Installer:
    """uv or pip, for one catalog.

    Attributes:
        uv: the path of uv; None for the pip of this Python.
        inherited: the descriptor of the lock, if the file system has locks.
    """

    catalog: Catalog
    uv: str | None
    inherited: Sequence[int]

    def resolve(self, known: LockedPackages) -> LockedPackages:
        """Return the section with the packages for this platform. Versions that it has are kept."""
        with TemporaryDirectory(dir=environments_folder()) as name:
            folder = Path(name)
            (folder / "in.txt").write_text("".join(f"{package}\n" for package in known.packages))
            (folder / "known.txt").write_text("".join(f"{name}=={pin}\n" for name, pin in known.versions().items()))
            with doing(f"{self.catalog.name}: resolving its packages"):
                return known.with_pins(self._compiled(folder) if self.uv else self._reported(folder))

    def _compiled(self, folder: Path) -> dict[str, Pin]:
        """Return what uv resolves, with the hashes of all platforms."""
        given = ["in.txt", "-c", "known.txt", "--generate-hashes", "--no-header", "--no-annotate", "-o", "out.txt"]
        self._run([self.uv or "", "pip", "compile", "--python", sys.executable, *given], folder)
        return read_pins((folder / "out.txt").read_text(), "the output of uv")

    def _reported(self, folder: Path) -> dict[str, Pin]:
        """Return what pip resolves, with the hashes of this platform."""
        given = ["--dry-run", "--ignore-installed", "--report", "out.json", "-r", "in.txt", "-c", "known.txt"]
        self._run([sys.executable, "-m", "pip", "install", *given], folder)
        pins: dict[str, Pin] = {}
        for item in json.loads((folder / "out.json").read_text())["install"]:
            name, hashes = item["metadata"]["name"], item["download_info"].get("archive_info", {}).get("hashes", {})
            if "sha256" not in hashes:
                raise _not_made(self.catalog, f"pip reports no SHA-256 of {name}")
            pins[normalized(name)] = Pin(item["metadata"]["version"], (hashes["sha256"],))
        return pins

    def install(self, section: LockedPackages, environment: Environment) -> None:
        """Install the packages of a section, whose hashes they must have."""
        (environment.folder / "requirements.txt").write_text(section.requirements())
        given = ["install", "--require-hashes", "-r", "requirements.txt"]
        python = str(environment.python)
        words = [sys.executable, "-m", "pip", "--python", python, *given]
        if self.uv:
            words = [self.uv, "pip", *given, "--python", python]
        with doing(f"{self.catalog.name}: installing {counted(len(section.pins), 'package')}"):
            self._run(words, environment.folder)

    def _run(self, words: Sequence[str], folder: Path) -> None:
        ending = run_command(words, b"", folder, _VARIABLES, _LONGEST_SECONDS, lambda: False, self.inherited)
        if ending.failure:
            raise _failed(self.catalog, "uv" if self.uv else "pip", ending)


def make_environment(catalog: Catalog, used: Iterable[Catalog]) -> Made:
    """Make the virtual environment of a catalog's `packages`, and write its lock file, unless both exist and agree.

    Contacts the package index only if something is missing.

    Args:
        used: the catalog in each of its environments.

    Raises:
        ConfigurationError: `ENVIRONMENT_UNRESOLVED`, `ENVIRONMENT_HASH`, `LOCK_FILE_INVALID`, `PIP_NOT_INSTALLED`.
        EngineUnavailable: `ENVIRONMENT_NOT_MADE`.
    """
    packages = canonical(catalog.packages)
    with _alone(catalog) as inherited:
        sections = read_sections(catalog.file)
        section = sections.get(packages, LockedPackages(packages))
        if platform() not in section.platforms:
            section = _Installer(catalog, _uv(), inherited).resolve(section)
        environment = environment_of(section)
        is_new = not environment.is_complete() or environment.difference(section) is not None
        if is_new:
            _make(environment, section, _Installer(catalog, _uv(), inherited))
        _add_user(environment, str(catalog.file))
        kept = {canonical(other.packages) for other in used}
        wanted = {name: known for name, known in sections.items() if name in kept} | {packages: section}
        if wanted != sections:
            with writing(f"catalogs/{lock_path(catalog.file).name}"):
                replace_file(lock_path(catalog.file), lock_text(wanted.values()))
    return Made(environment.python, len(section.pins), is_new, wanted != sections)


def delete_environments(catalog: Catalog, used: Iterable[Catalog]) -> Deleted:
    """Delete the environments that were made for a catalog file, and that neither it nor another one uses now.

    Environments whose catalog files do not exist any more, and those that were not completed, are deleted, too.

    Args:
        used: the catalog in each of its environments.

    Raises:
        ConfigurationError: `LOCK_FILE_INVALID`: it is not known which environments are used.
    """
    sections = read_sections(catalog.file)
    wanted = {canonical(other.packages) for other in used}
    current = {environment_of(section).folder for name, section in sections.items() if name in wanted}
    freed = []
    with _alone(catalog):
        for environment in environments():
            others = {path for path in environment.user_files() if path != str(catalog.file) and Path(path).is_file()}
            is_used = others or environment.folder in current
            if not is_used or not environment.is_complete():
                freed += _deleted(environment)
            else:
                _write_users(environment, others | ({str(catalog.file)} if environment.folder in current else set()))
    return Deleted(len(freed), sum(freed))


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


def _make(environment: Environment, section: LockedPackages, installer: _Installer) -> None:
    """Make an environment; the file that marks it as complete is written last."""
    make_folder(environment.folder)
    if not _deleted(environment):
        raise _not_made(installer.catalog, "a running command uses the one that is to be replaced")
    try:
        make_folder(environment.folder)
        _add_user(environment, str(installer.catalog.file))
        venv.EnvBuilder(symlinks=True).create(environment.folder / "venv")
        installer.install(section, environment)
        if difference := environment.difference(section):
            raise _not_made(installer.catalog, difference)
        with replacing(environment.complete) as draft:
            draft.write_text(f"{platform()}\n")
    except BaseException:
        shutil.rmtree(environment.folder, ignore_errors=True)
        raise


def _add_user(environment: Environment, path: str) -> None:
    if path not in (known := environment.user_files()):
        _write_users(environment, {*known, path})


def _write_users(environment: Environment, paths: Iterable[str]) -> None:
    with replacing(environment.users) as draft:
        draft.write_text("".join(f"{path}\n" for path in sorted(paths)))


def _uv() -> str | None:
    """Return the path of uv; None if the pip of this Python is used instead.

    Raises:
        ConfigurationError: `PIP_NOT_INSTALLED`.
    """
    if uv := shutil.which("uv"):
        return uv
    try:
        installed = tuple(map(int, re.findall(r"\d+", version("pip"))[:2]))
    except PackageNotFoundError:
        installed = ()
    if installed < _OLDEST_PIP:
        what = "making a virtual environment needs uv on the PATH, or pip 22.3 or newer in this Python"
        hint = f"{sys.executable} -m ensurepip && {sys.executable} -m pip install --upgrade pip"
        raise ConfigurationError("PIP_NOT_INSTALLED", what, hint)
    return None


def _failed(catalog: Catalog, program: str, ending: ProgramOutcome) -> GlacierbaseError:
    """Return the error for the output of pip or uv, which is kept in a file."""
    output, log = ending.output, _logged(catalog, ending.output)
    if differs := _HASH_DIFFERS.search(output):
        names = sorted(set(re.findall(r"(?<![A-Za-z0-9._-])[A-Za-z0-9._-]+==[^\s:`]+", output[differs.start() :])))
        what = _what(catalog, f"{', '.join(names) or 'a package'}: the hash differs from that in the lock file")
        hint = f"find out who changed the package or the lock file{_see(log)}"
        return ConfigurationError("ENVIRONMENT_HASH", what, hint, log=log)
    if _NO_ANSWER.search(output):
        return _not_made(catalog, "the package index did not answer", log)
    causes = _CAUSE.findall(output) or [f"{program} {ending.failure}"]
    cause = " ".join(causes[-1].split())[:_LONGEST_CAUSE]
    if _NOT_RESOLVED.search(output):
        hint = f"correct `packages` in the catalog file, or delete the lock file to resolve them again{_see(log)}"
        return ConfigurationError("ENVIRONMENT_UNRESOLVED", _what(catalog, cause), hint, log=log)
    return _not_made(catalog, cause, log)


def _not_made(catalog: Catalog, why: str, log: str | None = None) -> EngineUnavailable:
    hint = f"remove the cause, then run `{command('env')}`{_see(log)}"
    return EngineUnavailable("ENVIRONMENT_NOT_MADE", _what(catalog, why), hint, log=log)


def _what(catalog: Catalog, why: str) -> str:
    packages = " ".join(canonical(catalog.packages))
    return f"catalog {catalog.name}: no virtual environment was made for {packages}: {why}"


def _see(log: str | None) -> str:
    return f"; see {log}" if log else ""


def _logged(catalog: Catalog, output: str) -> str | None:
    """Write the masked output of pip or uv to a file, and return its path; None if that is not possible."""
    log = environments_folder() / f"{catalog.name}.log"
    try:
        with replacing(log) as draft:
            draft.write_text(mask(output))
    except OSError:
        return None
    return str(log)


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))
