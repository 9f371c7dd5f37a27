"""`validate` and `render`: the commands that read the files in every environment, and contact nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from glacierbase.catalogs.catalogfile import read_name
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.catalogs.needs import refused
from glacierbase.errors import GlacierbaseError, collected, joined, raise_all
from glacierbase.inspect.results import RenderedFile, RenderResult, ValidateResult
from glacierbase.migrations.compiled import Compiled, refused_secret
from glacierbase.migrations.git_base import check_against_base, read_base
from glacierbase.migrations.headers import PREFIX
from glacierbase.model.arguments import key_given, unknown_version
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Key, Migration
from glacierbase.model.result import Results
from glacierbase.model.text import counted

if TYPE_CHECKING:
    from glacierbase.migrations.in_environments import InEnvironment
    from glacierbase.migrations.sandbox import Sandbox

Keep = Callable[[Compiled, Catalog, Sequence[Migration]], bool]


def validate(
    root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str | None, resolve: bool
) -> tuple[ValidateResult, ...]:
    """Check the files of the chosen catalogs in every environment.

    Args:
        base: a git ref to compare with, or None.
        resolve: read references; else placeholders replace them.

    Raises:
        GlacierbaseError: all that is wrong. Its `results` have an entry per catalog and environment, each with its own errors.
    """
    rendered, errors = _render_all(root, choice, catalogs, resolve, _refusing_statements(root, choice, base))
    migrations = {file.catalog: file.migrations for file in rendered}
    required = {file.name: file.required_headers for file in choice.files}
    warnings: Mapping[str, tuple[str, ...]] = {}
    if base is None:
        warnings = {name: tuple(_lacking(files, required[name])) for name, files in migrations.items()}
    elif not errors:
        stems = {file.name: file.stem for file in choice.files}
        with collected(errors):
            warnings = check_against_base(root, base, stems, migrations, required, read_name, all_catalogs=not catalogs)
        rendered = [replace(file, errors=about(errors, stems[file.catalog])) for file in rendered]
    results = Results(_validated(file, warnings.get(file.catalog, ())) for file in rendered)
    raise_all(errors, results)
    return results


def _refusing_statements(root: Path, choice: CatalogChoice, base: str | None) -> Keep:
    """Return a check of a compiled file for secrets, for text that is misread, and for what it needs of the catalog file.

    It accepts the files that the base has.
    """
    stems = {file.name: file.stem for file in choice.files}
    read = cache(lambda ref: read_base(root, ref, stems, read_name))
    # A file that is applied must not be edited any more.
    accepts = f"; `{command('validate', '--base', 'REF')}` accepts a file that REF has"
    or_else = accepts if base is None else ""

    def check(compiled: Compiled, catalog: Catalog, migrations: Sequence[Migration]) -> bool:
        error = refused(compiled, catalog, or_else=or_else)
        if error and (base is None or compiled.migration in read(base).compared(catalog.name, migrations).changed()):
            raise error
        return False

    return check


def _lacking(migrations: Sequence[Migration], required: Collection[str]) -> Iterator[str]:
    """Yield a warning for each required header that files lack. Without a base, the files may be applied, and must not change."""
    for name in required:
        lacking = [migration.location for migration in migrations if name not in migration.headers]
        if lacking:
            yield (
                f"{counted(len(lacking), 'migration')} without the required header {PREFIX}{name}, the last one"
                f" {lacking[-1]}; `validate --base REF` refuses those that are new, `migrate` those that never ran"
            )


def render(
    root: Path, choice: CatalogChoice, catalogs: Collection[str], versions: Collection[str], resolve: bool
) -> tuple[RenderResult, ...]:
    """Return the files of the chosen catalogs as each environment renders them; equal environments share a result.

    Args:
        versions: to render, names of repeatables too; default all.
        resolve: read references; else placeholders replace them.

    Raises:
        GlacierbaseError: all that is wrong.
    """
    wanted = set(map(key_given, versions))
    groups: dict[tuple[str, tuple[RenderedFile, ...]], list[str]] = {}
    known: set[Key] = set()

    def is_wanted(file: Compiled, *_: object) -> bool:
        if versions and file.migration.key not in wanted:
            return False
        if error := refused_secret(file):
            raise error
        return True

    rendered, errors = _render_all(root, choice, catalogs, resolve, is_wanted)
    raise_all(errors)
    for rendered_file in rendered:
        known.update(migration.key for migration in rendered_file.migrations)
        groups.setdefault((rendered_file.catalog, rendered_file.used), []).append(rendered_file.environment)
    unknown = [text for text in versions if key_given(text) not in known]
    if unknown:
        kind = "repeatable" if isinstance(key_given(unknown[0]), str) else "migration with version"
        raise unknown_version(f"there is no {kind} {unknown[0]}")
    return Results(
        RenderResult(name, ", ".join(environments), environments=tuple(environments), files=files)
        for (name, files), environments in groups.items()
    )


def _render_all(
    root: Path, choice: CatalogChoice, catalogs: Collection[str], resolve: bool, keep: Keep
) -> tuple[list[InEnvironment[RenderedFile]], list[GlacierbaseError]]:
    """Render and split every file of every chosen catalog and environment in a sandbox; also return all errors.

    Args:
        keep: selects the files whose rendered text is returned. May raise an error of the file.
    """
    from glacierbase.migrations.in_environments import in_environments  # Only these commands start a worker process.

    def render_files(sandbox: Sandbox, catalog: Catalog, migrations: Sequence[Migration]) -> Iterator[RenderedFile]:
        def kept(compiled: Compiled) -> bool:
            return keep(compiled, catalog, migrations)

        for compiled_file in sandbox.compile_all(migrations, catalog, catalog.dialect, kept):
            file = compiled_file.migration
            yield RenderedFile(file.version or None, file.location, compiled_file.text, file.identity.get("name"))

    return in_environments(root, choice.in_every_environment(catalogs), resolve, render_files)


def _validated(file: InEnvironment[RenderedFile], warnings: tuple[str, ...]) -> ValidateResult:
    """Return the result of `validate`. Only the files that no error names are counted as valid."""
    wrong = {error.data.get("path") for error in file.errors}
    valid = sum(migration.location not in wrong for migration in file.migrations)
    return ValidateResult(file.catalog, file.environment, warnings=warnings, error=joined(file.errors), files=valid)


def about(errors: Sequence[GlacierbaseError], stem: str) -> tuple[GlacierbaseError, ...]:
    """Return the errors about the file and the migrations of one catalog.

    Args:
        stem: the stem of its file.
    """
    paths = ((error, str(error.data.get("path", ""))) for error in errors)
    file, folder = f"catalogs/{stem}.yaml", f"migrations/{stem}/"
    return tuple(error for error, path in paths if path == file or path.startswith(folder))
