"""The commands that read files alone, of every environment, and contact nothing: `validate` and `render`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from glacierbase.catalogs.catalogfile import read_name
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.catalogs.folder import CatalogFile
from glacierbase.errors import GlacierbaseError, collected, joined, raise_all
from glacierbase.inspect.results import RenderedFile, RenderResult, ValidateResult
from glacierbase.inspect.unread import about
from glacierbase.migrations.folder import load_migrations, migration_files
from glacierbase.migrations.git_check import check_against_base
from glacierbase.migrations.headers import PREFIX
from glacierbase.model.arguments import unknown_version
from glacierbase.model.migration import Migration, version_number
from glacierbase.model.result import Results
from glacierbase.model.text import counted

if TYPE_CHECKING:
    from glacierbase.migrations.sandbox import Sandbox

Keep = Callable[[Migration], bool]


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
    rendered, errors = _render_all(root, choice, catalogs, resolve, lambda _: False)
    migrations = {each.catalog: each.migrations for each in rendered}
    required = {file.name: file.required_headers for file in choice.files}
    warnings: Mapping[str, tuple[str, ...]] = {}
    if base is None:
        warnings = {name: tuple(_lacking(files, required[name])) for name, files in migrations.items()}
    elif not errors:
        stems = {file.name: file.stem for file in choice.files}
        with collected(errors):
            warnings = check_against_base(root, base, stems, migrations, required, read_name, all_catalogs=not catalogs)
        rendered = [replace(each, errors=about(errors, stems[each.catalog])) for each in rendered]
    results = Results(each.validated(warnings.get(each.catalog, ())) for each in rendered)
    raise_all(errors, results)
    return results


def _lacking(migrations: Sequence[Migration], required: Collection[str]) -> Iterator[str]:
    """Yield a warning for each required header that files lack. Without a base, they may be applied, and must not change."""
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
        versions: to render; default all.
        resolve: read references; else placeholders replace them.

    Raises:
        GlacierbaseError: all that is wrong.
    """
    wanted = set(map(version_number, versions))
    groups: dict[tuple[str, tuple[RenderedFile, ...]], list[str]] = {}
    known: set[int] = set()
    rendered, errors = _render_all(root, choice, catalogs, resolve, lambda file: not versions or file.number in wanted)
    raise_all(errors)
    for each in rendered:
        known.update(migration.number for migration in each.migrations)
        groups.setdefault((each.catalog, each.files), []).append(each.environment)
    unknown = [version for version in versions if version_number(version) not in known]
    if unknown:
        raise unknown_version(f"there is no migration with version {unknown[0]}")
    return Results(
        RenderResult(name, ", ".join(environments), environments=tuple(environments), files=files)
        for (name, files), environments in groups.items()
    )


@dataclass(frozen=True, slots=True)
class _Rendered:
    """One catalog in one environment: all its migrations, those of the rendered files that are kept, and what is wrong."""

    catalog: str
    environment: str
    migrations: tuple[Migration, ...]
    files: tuple[RenderedFile, ...] = ()
    errors: tuple[GlacierbaseError, ...] = ()

    def validated(self, warnings: tuple[str, ...]) -> ValidateResult:
        """Return the result of `validate`. Only the files that no error names are counted as valid."""
        wrong = {error.data.get("path") for error in self.errors}
        valid = sum(migration.location not in wrong for migration in self.migrations)
        return ValidateResult(self.catalog, self.environment, warnings=warnings, error=joined(self.errors), files=valid)


def _render_all(
    root: Path, choice: CatalogChoice, catalogs: Collection[str], resolve: bool, keep: Keep
) -> tuple[list[_Rendered], list[GlacierbaseError]]:
    """Render and split every file of every chosen catalog and environment in a sandbox; return also all that is wrong.

    Args:
        keep: selects the files whose rendered text is returned.
    """
    from glacierbase.migrations.sandbox import Sandbox  # Only these commands start a worker process.

    chosen = choice.in_every_environment(catalogs)
    rendering = _Rendering(root, [file for file, _ in chosen], resolve, keep)
    with Sandbox(sum(rendering.count(file) * len(environments) for file, environments in chosen)) as sandbox:
        # Not a list: very many catalogs may have a thousand environments each.
        pairs = ((file, environment) for file, environments in chosen for environment in environments)
        found = list(rendering.run(sandbox, pairs))
    return found, list(rendering.errors.values())


class _Rendering:
    """The migrations of several catalogs, and all that is wrong in them.

    Attributes:
        errors: by message, because environments share files: an error in all of them is reported once.
    """

    def __init__(self, root: Path, files: Sequence[CatalogFile], resolve: bool, keep: Keep) -> None:
        self._root = root
        self._resolve = resolve
        self._keep = keep
        budget = migration_files(root)
        self._read = {
            file.stem: load_migrations(root / "migrations" / file.stem, root, budget, file.headers) for file in files
        }
        self.errors: dict[str, GlacierbaseError] = {}

    def count(self, file: CatalogFile) -> int:
        """Return the number of migrations of a catalog."""
        return len(self._read[file.stem][0])

    def run(self, sandbox: Sandbox, pairs: Iterator[tuple[CatalogFile, str]]) -> Iterator[_Rendered]:
        """Yield the pairs, until the sandbox's budget is spent."""
        for file, environment in pairs:
            migrations, wrong = self._read[file.stem]
            errors = list(wrong)
            found = _Rendered(file.name, environment, tuple(migrations))
            with collected(errors):
                found = self._render(sandbox, file, environment)
            # An error that an earlier environment has as well is that one, whatever its hint.
            yield replace(found, errors=tuple(self.errors.setdefault(error.message, error) for error in errors))
            if sandbox.is_spent:
                return

    def _render(self, sandbox: Sandbox, file: CatalogFile, environment: str) -> _Rendered:
        sandbox.check_time(f"catalogs/{file.path.name}")
        migrations = self._read[file.stem][0]
        catalog = file.for_environment(environment, self._root, resolve=self._resolve)
        compiled = sandbox.compile_all(migrations, catalog, catalog.executor_type, self._keep)
        files = tuple(RenderedFile(each.migration.version, each.migration.location, each.text) for each in compiled)
        return _Rendered(file.name, environment, migrations, files)
