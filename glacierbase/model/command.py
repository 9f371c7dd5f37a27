"""The commands that messages print: complete, so that a pasted command acts on the same project as the failed one.

A command of glacierbase repeats the caller's choice of project, environment and catalog. A command of git names the project's root,
unless that is the working directory.

The choice is in a context variable, because errors of every room have hints that are commands. Only these texts depend on it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from glacierbase.secrets import Secrets

P = ParamSpec("P")
T = TypeVar("T")

# The options that choose project, environment and catalog, for the commands that lack one of them.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "compare": ("--catalog", "--project"),
    "completion": (),
    "explain": (),
    "help": (),
    "init": ("--project",),
    "layout ls": (),
    "rebase": ("--catalog", "--project"),
    "rekey approve": ("--project",),
    "rules": (),
    "schemas": (),
    "sharding advise": (),
}
_ALL_OPTIONS = ("--catalog", "--env", "--project")


@dataclass(frozen=True, slots=True)
class Scope:
    """The caller's choice, as given; None where nothing was given.

    Attributes:
        catalog: the current one, if the project has several or one was named.
        root: the root of the project, once it is known.
        planned: the catalogs of the command if the environment runs only plan files, empty for all; None in other environments.
    """

    project: str | None = None
    environment: str | None = None
    catalog: str | None = None
    root: Path | None = None
    planned: tuple[str, ...] | None = None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let `command` repeat this choice in this thread, and in threads that it starts with `start_thread`."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Scope] = ContextVar("glacierbase_scope", default=Scope())  # noqa: B039 (frozen)


def scope_in_use() -> Scope:
    """Return the choice that `command` repeats in this thread."""
    return _current.get()


def on_catalog(name: str | None, planned: tuple[str, ...] | None = None) -> AbstractContextManager[None]:
    """Let `command` name this catalog besides the caller's choice.

    Args:
        planned: as in `Scope`.
    """
    return replace(_current.get(), catalog=name, planned=planned).in_use()


def plan_commands(path: str, *arguments: str, catalogs: Iterable[str] | None = None) -> tuple[str, str]:
    """Return the commands that write a plan file and apply it.

    Args:
        arguments: the arguments of `plan`.
        catalogs: the catalogs of the plan, empty for all of the project; default the catalogs of the running command.
    """
    chosen = (_current.get().planned or ()) if catalogs is None else catalogs
    names = [part for name in chosen for part in ("--catalog", name)]
    with on_catalog(None):
        return command("plan", "--output", path, *arguments, *names), command("migrate", "--plan", path)


def command(name: str, *arguments: str, reason: bool = False) -> str:
    """Return a command line of glacierbase, quoted for a shell, with the caller's choice.

    In an environment that runs only plan files, `migrate` becomes two commands.

    Args:
        reason: add `--reason` with a placeholder.
    """
    scope = _current.get()
    if name == "migrate" and scope.planned is not None:
        return " && ".join(plan_commands("plan.json", *arguments))
    values = {"--catalog": scope.catalog, "--env": scope.environment, "--project": scope.project}
    names = " ".join([name, *arguments[:1]])  # Actions of a group have different options.
    chosen = [(option, values[option]) for option in _OPTIONS.get(names, _OPTIONS.get(name, _ALL_OPTIONS))]
    given = [part for option, value in chosen if value is not None for part in (option, value)]
    return shlex.join(["glacierbase", name, *arguments, *(["--reason", "…"] if reason else []), *given])


def git_command(*arguments: str) -> str:
    """Return a command line of git, quoted for a shell, that runs in the project's root from the working directory.

    Paths in the arguments are relative to the root.
    """
    root = from_here(".")
    return shlex.join(["git", *(() if root == "." else ("-C", root)), *arguments])


def move_command(path: str, target: str, *, tracked: bool) -> str:
    """Return the command that renames a file of the project.

    Args:
        path, target: relative to the root.
        tracked: whether git tracks the file; git refuses to move untracked files.
    """
    return git_command("mv", path, target) if tracked else shlex.join(["mv", *map(from_here, (path, target))])


def remove_command(path: str, *, tracked: bool) -> str:
    """Return the command that deletes a file of the project.

    Args:
        path: relative to the root.
        tracked: whether git tracks the file; git refuses to remove untracked files.
    """
    return git_command("rm", path) if tracked else shlex.join(["rm", from_here(path)])


def from_here(path: str) -> str:
    """Return a path relative to the working directory for a path relative to the project's root."""
    root = _current.get().root
    if root is None:
        return path
    try:
        return os.path.relpath(root / path)
    except (OSError, ValueError):  # The working directory was deleted, or is on another drive.
        return str(root / path)


def repair_as(version: str, resolution: str) -> str:
    """Return the command that records a decision about a version, with a placeholder for its reason."""
    return command("repair", version, "--as", resolution, reason=True)


class _Owner(Protocol):
    """An object that has secrets and a scope."""

    @property
    def secrets(self) -> Secrets: ...

    @property
    def scope(self) -> Scope: ...


Owner = TypeVar("Owner", bound=_Owner)


def with_own_scope(method: Callable[Concatenate[Owner, P], T]) -> Callable[Concatenate[Owner, P], T]:
    """Run a method with the secrets and the scope of its object in use."""

    @wraps(method)
    def run(owner: Owner, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with owner.secrets.in_use(), owner.scope.in_use():
            return method(owner, *args, **kwargs)

    return run
