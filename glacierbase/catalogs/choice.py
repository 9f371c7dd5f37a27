"""The catalogs and the environment that a command is run for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from glacierbase.catalogs.folder import CatalogFile
from glacierbase.errors import ConfigurationError, GlacierbaseError
from glacierbase.model.command import command


@dataclass(frozen=True, slots=True)
class CatalogChoice:
    """All catalog files of a project, and the environment that the caller chose, if any.

    Attributes:
        folder: the folder of the catalog files.
        default: the names of the catalogs of a command that names none; empty for all.
        unreadable: the errors of the catalog files that are wrong, by their stems.
    """

    folder: Path
    files: Sequence[CatalogFile]
    environment: str | None
    default: tuple[str, ...] = ()
    unreadable: Mapping[str, GlacierbaseError] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all catalogs; the stem of a file that is wrong."""
        return tuple(sorted({*(file.name for file in self.files), *self.unreadable}))

    def given(self, catalogs: str | Collection[str]) -> Collection[str]:
        """Return the names that a caller gave, or the default."""
        return ((catalogs,) if isinstance(catalogs, str) else catalogs) or self.default

    def unreadable_of(self, catalogs: Collection[str]) -> Mapping[str, GlacierbaseError]:
        """Return the errors of the chosen catalog files that are wrong: none where catalogs are named, see `named`."""
        return {} if self.given(catalogs) else self.unreadable

    def named(self, catalogs: Collection[str]) -> list[CatalogFile]:
        """Return the files of the named catalogs; without a name, those of the default.

        Raises:
            ConfigurationError: `UNKNOWN_CATALOG`, `NO_CATALOG`, and what is wrong in the file of a named catalog.
        """
        catalogs = self.given(catalogs)
        for name in catalogs:
            if error := self.unreadable.get(name):
                raise error
            if name not in self.names:
                raise ConfigurationError(
                    "UNKNOWN_CATALOG",
                    f"there is no catalog {name}",
                    f"there are: {', '.join(self.names) or 'none'}",
                )
        if not self.files:
            raise ConfigurationError(
                "NO_CATALOG", f"{self.folder} holds no catalog file", f"`{command('init')}` writes one"
            )
        return [file for file in self.files if not catalogs or file.name in catalogs]

    def only(self, catalogs: Collection[str]) -> CatalogFile:
        """Return the file of the one named catalog, or of the project's only one.

        Raises:
            ConfigurationError: `CATALOG_NOT_CHOSEN`, and as `named`.
        """
        chosen = self.named(catalogs)
        names = [*(file.name for file in chosen), *self.unreadable_of(catalogs)]
        if len(names) > 1:
            raise ConfigurationError(
                "CATALOG_NOT_CHOSEN",
                f"there are several: {', '.join(sorted(names))}",
                "add --catalog NAME",
            )
        return chosen[0]

    def in_environment(
        self, catalogs: Collection[str]
    ) -> tuple[Sequence[tuple[CatalogFile, str]], Sequence[CatalogFile]]:
        """Return the named catalogs with the environment of each, and those that lack the environment.

        Raises:
            ConfigurationError: `UNKNOWN_ENVIRONMENT`, `ENVIRONMENT_NOT_CHOSEN`, and as `named`.
        """
        files = self.named(catalogs)
        chosen = [(file, env) for file in files if (env := self._environment_of(file)) in file.environments]
        skipped = [file for file in files if file not in [file for file, _ in chosen]]
        if skipped and (catalogs or not chosen):
            raise ConfigurationError(
                "UNKNOWN_ENVIRONMENT",
                f"catalog {skipped[0].name} has no environment {self.environment}",
                f"it has: {', '.join(skipped[0].environments)}",
            )
        _check_same(chosen)
        return chosen, skipped

    def protected(self, catalogs: Collection[str], root: Path, *, everywhere: bool = False) -> tuple[str, ...]:
        """Return the environments of the named catalogs that are `protected`.

        Args:
            everywhere: of all environments; default the chosen one.

        Raises:
            ConfigurationError: as `in_environment`.
        """
        if everywhere:
            chosen: Sequence[tuple[CatalogFile, str]] = [
                (file, env) for file in self.named(catalogs) for env in file.environments
            ]
        else:
            chosen, _ = self.in_environment(catalogs)
        return tuple(dict.fromkeys(env for file, env in chosen if file.is_protected(env, root)))

    def in_every_environment(self, catalogs: Collection[str]) -> list[tuple[CatalogFile, tuple[str, ...]]]:
        """Return the named catalogs with the chosen environment, or with all of theirs if none is chosen.

        Raises:
            ConfigurationError: `UNKNOWN_ENVIRONMENT`, and as `named`.
        """
        chosen = [
            (file, (self.environment,) if self.environment else file.environments)
            for file in self.named(catalogs)
            if self.environment in (None, *file.environments)
        ]
        if not chosen:
            known = dict.fromkeys(name for file in self.named(catalogs) for name in file.environments)
            what = f"no catalog has an environment {self.environment}"
            raise ConfigurationError("UNKNOWN_ENVIRONMENT", what, f"there are: {', '.join(known)}")
        return chosen

    def _environment_of(self, file: CatalogFile) -> str:
        environment = self.environment or file.default_environment
        if environment is None and len(file.environments) == 1:
            return file.environments[0]
        if environment is None:
            raise ConfigurationError(
                "ENVIRONMENT_NOT_CHOSEN",
                f"catalog {file.name} has the environments {', '.join(file.environments)}, and none was chosen",
                "add --env NAME, set GLACIERBASE_ENV, or write defaultEnvironment into the catalog file",
            )
        return environment


def _check_same(chosen: Sequence[tuple[CatalogFile, str]]) -> None:
    """Refuse different default environments in one run."""
    if len({env for _, env in chosen}) > 1:
        names = ", ".join(f"{file.name}: {env}" for file, env in chosen)
        raise ConfigurationError(
            "ENVIRONMENT_NOT_CHOSEN",
            f"the catalogs have different default environments ({names})",
            "add --env NAME, or --catalog NAME for single catalogs",
        )
