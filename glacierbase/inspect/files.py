"""The commands that read files alone, of every environment, and contact nothing: `validate` and `render`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glacierbase.catalogs.catalogfile import read_name
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.catalogs.folder import CatalogFile
from glacierbase.errors import GlacierbaseError, collected, raise_all
from glacierbase.inspect.results import RenderedFile, RenderResult, ValidateResult
from glacierbase.migrations.folder import load_migrations, migration_files
from glacierbase.migrations.git_check import check_against_base
from glacierbase.model.arguments import unknown_version
from glacierbase.model.migration import Migration, version_number
from glacierbase.model.result import Results

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
        GlacierbaseError: all that is wrong.
    """
    rendered = _render_all(root, choice, catalogs, resolve, lambda _: False)
    warnings: Mapping[str, tuple[str, ...]] = {}
    if base is not None:
        stems = {file.name: file.stem for file in choice.files}
        migrations = {each.catalog: each.migrations for each in rendered}
        warnings = check_against_base(root, base, stems, migrations, read_name, all_catalogs=not catalogs)
    return Results(
        ValidateResult(
            each.catalog, each.environment, warnings=warnings.get(each.catalog, ()), files=len(each.migrations)
        )
        for each in rendered
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
    for each in _render_all(root, choice, catalogs, resolve, lambda file: not versions or file.number in wanted):
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
    """One catalog in one environment: all its migrations, and those of the rendered files that are kept."""

    catalog: str
    environment: str
    migrations: tuple[Migration, ...]
    files: tuple[RenderedFile, ...]


def _render_all(
    root: Path, choice: CatalogChoice, catalogs: Collection[str], resolve: bool, keep: Keep
) -> list[_Rendered]:
    """Render and split every file of every chosen catalog and environment in a sandbox.

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
    raise_all(list(rendering.errors.values()))
    return found


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
        self._read = {file.stem: load_migrations(root / "migrations" / file.stem, root, budget) for file in files}
        self.errors: dict[str, GlacierbaseError] = {}

    def count(self, file: CatalogFile) -> int:
        """Return the number of migrations of a catalog."""
        return len(self._read[file.stem][0])

    def run(self, sandbox: Sandbox, pairs: Iterator[tuple[CatalogFile, str]]) -> Iterator[_Rendered]:
        """Yield what could be rendered, until the sandbox's budget is spent."""
        for file, environment in pairs:
            errors = self._read[file.stem][1]
            with collected(errors):
                yield self._render(sandbox, file, environment)
            self.errors.update({error.message: error for error in errors})
            errors.clear()
            if sandbox.is_spent:
                return

    def _render(self, sandbox: Sandbox, file: CatalogFile, environment: str) -> _Rendered:
        sandbox.check_time(f"catalogs/{file.path.name}")
        migrations = self._read[file.stem][0]
        catalog = file.for_environment(environment, self._root, resolve=self._resolve)
        compiled = sandbox.compile_all(migrations, catalog, catalog.executor_type, self._keep)
        files = tuple(RenderedFile(each.migration.version, each.migration.location, each.text) for each in compiled)
        return _Rendered(file.name, environment, migrations, files)
