"""The command `layout explain`: the template of the keys of tables, segment by segment, and what decides each segment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glacierbase.capabilities.load.declared import declared_keys
from glacierbase.capabilities.load.explained import ExplainedKeys
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.catalogs.table_formats import versions
from glacierbase.errors import ConfigurationError, GlacierbaseError, joined, raise_all
from glacierbase.history.state import current_state
from glacierbase.history.target import CatalogRun
from glacierbase.layout.facts import layout_format, of_shape
from glacierbase.layout.templates import key_template
from glacierbase.migrations.in_environments import InEnvironment, in_environments
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.model.arguments import unknown_version
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Migration, version_number
from glacierbase.model.result import Result, Results, raise_first
from glacierbase.model.text import Line, Mark, Verbatim, table
from glacierbase.record.table_search import ChosenTable, TableSearch

_RECORDED, _DECLARED = "as recorded in the history", "as the files declare it"


@dataclass(frozen=True, slots=True)
class ExplainResult(Result):
    """The keys of tables in the environments of one catalog.

    Attributes:
        environments: those in which the file was rendered; for a table, the chosen one.
        path: of the file that creates or changes the tables; None for a table that was named.
        templates: a list for each environment in turn.
    """

    environments: tuple[str, ...] = ()
    path: str | None = None
    templates: tuple[ExplainedKeys, ...] = ()

    def lines(self) -> Sequence[Line]:
        groups: dict[ExplainedKeys, list[str]] = {}
        for keys in self.templates:
            groups.setdefault(replace(keys, environment=""), []).append(keys.environment)
        if not groups:
            return ["no such table"]
        is_split = len(groups) > len({keys.table for keys in groups})
        lines: list[Line] = [self.path] if self.path else []
        for keys, environments in groups.items():
            lines += ([""] if lines else []) + list(_lines(keys, environments if is_split else ()))
        return lines


def _lines(keys: ExplainedKeys, environments: Sequence[str]) -> Iterator[Line]:
    """Yield the text of a template.

    Args:
        environments: to name; none where there is one template for all.
    """
    yield Mark(f"{keys.table} in {', '.join(environments)}" if environments else keys.table)
    library = " ".join(filter(None, (keys.format, keys.version)))
    yield ", ".join(filter(None, (library, _RECORDED if keys.basis == "recorded" else _DECLARED)))
    if keys.why:
        yield f"no template: {keys.why}"
    rows = [(str(segment.kind), segment.text, segment.source) for segment in keys.segments]
    yield from table(("kind", "text", "what decides it"), rows)
    if keys.example:
        yield Verbatim(f"example: {keys.example}")
    yield from (f"note: {note}" for note in keys.notes)


def explain(target: CatalogRun, result: ExplainResult, search: TableSearch) -> ExplainResult:
    """Return the keys of a table as recorded; without a record, as the files declare it.

    Args:
        search: marked as successful where the catalog has the table.

    Raises:
        ConfigurationError: `AMBIGUOUS_TABLE`.
    """
    catalog, state = target.catalog, current_state(target)
    result = replace(result, warnings=state.warnings, environments=(catalog.environment,))
    chosen = search.find(state.history)
    if chosen and chosen.timelines:
        return replace(result, templates=(_recorded(catalog, chosen),))
    every = _declared(target)
    named = search.find_declared([keys.table for keys in every])
    if named is None and chosen:
        why = "the history has no record of it, and no file declares it"
        every = (ExplainedKeys(chosen.name, catalog.environment, "declared", None, None, why=why),)
        named = chosen.name
    return replace(result, templates=tuple(keys for keys in every if keys.table == named))


def _recorded(catalog: Catalog, chosen: ChosenTable) -> ExplainedKeys:
    then = chosen.at()
    shape = then.moments[-1].shape
    keys = ExplainedKeys(chosen.name, catalog.environment, "recorded", None, None)
    if shape is None:
        return replace(keys, why="the table was dropped")
    table_format = layout_format(shape.format)
    version = versions(catalog).get(table_format or "")
    keys = replace(keys, table=shape.table, format=shape.format, version=version)
    facts = of_shape(shape, version)
    if facts is None:
        return replace(keys, why=f"keys of the format {shape.format} are not modelled")
    notes = [f"version {version} changed it later, and recorded nothing" for version in then.gaps]
    return keys.with_template(key_template(replace(facts, notes=notes)))


def _declared(target: CatalogRun) -> Sequence[ExplainedKeys]:
    files = target.files
    with Sandbox(len(files)) as sandbox:
        return declared_keys(sandbox, target.catalog, files, files[-1], every_table=True) if files else ()


def explain_file(root: Path, choice: CatalogChoice, catalogs: Collection[str], file: str) -> Results[ExplainResult]:
    """Return the keys of the tables that a migration creates or changes, in every environment. Contacts nothing.

    Args:
        file: its version, or its path; the first folders may be left out.

    Raises:
        ConfigurationError: `UNKNOWN_VERSION`; `NO_TABLE`: it changes no table.
        GlacierbaseError: the file, or one before it, does not render.
    """
    paths: dict[str, str] = {}

    def explained(sandbox: Sandbox, catalog: Catalog, migrations: Sequence[Migration]) -> Iterator[ExplainedKeys]:
        for migration in migrations:
            if _is_meant(migration, file):
                paths[catalog.name] = migration.location
                yield from declared_keys(sandbox, catalog, migrations, migration)

    outcomes, errors = in_environments(root, choice.in_every_environment(catalogs), False, explained)
    if not paths:
        raise_all(errors)
        raise unknown_version(f"there is no migration {file}")
    groups: dict[str, list[InEnvironment[ExplainedKeys]]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.catalog, []).append(outcome)
    return raise_first(Results(_result(name, groups[name], path) for name, path in paths.items()))


def _is_meant(migration: Migration, file: str) -> bool:
    if not file.endswith(".sql"):
        return bool(migration.version) and migration.number == version_number(file)
    return f"/{migration.location}".endswith(f"/{file}") or Path(file).resolve() == migration.path.resolve()


def _result(name: str, outcomes: Sequence[InEnvironment[ExplainedKeys]], path: str) -> ExplainResult:
    environments = tuple(outcome.environment for outcome in outcomes)
    errors: Mapping[str, GlacierbaseError] = {error.message: error for outcome in outcomes for error in outcome.errors}
    templates = tuple(keys for outcome in outcomes for keys in outcome.used)
    if not templates and not errors:
        hint = f"`{command('render', Path(path).name.partition('_')[0])}` shows its statements"
        error = ConfigurationError("NO_TABLE", f"{path} creates or changes no table", hint, path=path)
        errors = {error.message: error}
    return ExplainResult(
        name, ", ".join(environments), error=joined([*errors.values()]), environments=environments, path=path,
        templates=templates,
    )  # fmt: skip
