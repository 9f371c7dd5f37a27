"""Shell completions: names of catalogs and environments, versions, error codes, rules, formats, JSON Schemas.

Reads the catalog files and the names of the migration files, and contacts nothing. In a project with errors, nothing is
completed: a message would be written into the line that the user edits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from glacierbase.catalogs.folder import CatalogFile


def complete_catalog(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the project's catalogs that begin with `incomplete`."""
    return [file.name for file in _project(ctx)[1] if file.name.startswith(incomplete)]


def complete_environment(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the environments of the chosen catalogs that begin with `incomplete`."""
    names = dict.fromkeys(name for file in _chosen(ctx) for name in file.environments)
    return [name for name in names if name.startswith(incomplete)]


def complete_version(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the versions in the chosen catalogs that begin with `incomplete`, ascending, with the words of the file's name."""
    from click.shell_completion import CompletionItem

    from glacierbase.migrations.folder import FILE_NAME

    names = {match["version"]: match["name"] for path in _files(ctx) if (match := FILE_NAME.fullmatch(path.name))}
    versions = sorted((name for name in names if name.startswith(incomplete)), key=int)
    return [CompletionItem(version, help=names[version].replace("_", " ")) for version in versions]


def complete_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the versions and repeatables in the chosen catalogs that begin with `incomplete`."""
    from click.shell_completion import CompletionItem

    from glacierbase.model.migration import REPEATABLE_FOLDER, REPEATABLE_NAME

    names = {path.stem for path in _files(ctx) if path.parent.name == REPEATABLE_FOLDER}
    repeatables = sorted(name for name in names if name.startswith(incomplete) and REPEATABLE_NAME.fullmatch(name))
    return [
        *complete_version(ctx, param, incomplete),
        *(CompletionItem(name, help="repeatable") for name in repeatables),
    ]


def _files(ctx: click.Context) -> Iterator[Path]:
    """Yield the paths of the migration files of the chosen catalogs."""
    migrations = _project(ctx)[0] / "migrations"
    return (path for file in _chosen(ctx) for path in (migrations / file.stem).rglob("*.sql"))


def complete_code(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the codes of errors and rules that begin with `incomplete`, with the names of the rules."""
    from click.shell_completion import CompletionItem

    from glacierbase.capabilities.review.catalogue import all_rules
    from glacierbase.errors import GlacierbaseError
    from glacierbase.errors.reference import ENTRIES

    codes: dict[str, str | None] = dict.fromkeys(sorted(ENTRIES))
    with suppress(GlacierbaseError):
        codes.update((rule.code, rule.name) for rule in all_rules())
    return [CompletionItem(code, help=name) for code, name in codes.items() if code.startswith(incomplete.upper())]


def complete_schema(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of the JSON Schemas that begin with `incomplete`."""
    from glacierbase.output.schemas import described_schemas

    return [name for name in described_schemas() if name.startswith(incomplete)]


def complete_format(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the formats of a review that begin with `incomplete`."""
    from glacierbase.output.formats import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


def complete_output(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the formats of a review that begin with `incomplete`, each with the `=` before a path."""
    return [f"{name}=" for name in complete_format(ctx, param, incomplete)]


def _chosen(ctx: click.Context) -> list[CatalogFile]:
    """Return the catalogs that `--catalog` already names on the line, or all."""
    names = ctx.params.get("catalogs")
    return [file for file in _project(ctx)[1] if not names or file.name in names]


def _project(ctx: click.Context) -> tuple[Path, Sequence[CatalogFile]]:
    """Return the root and the catalog files of the project; no files if the project has errors."""
    from glacierbase.errors import GlacierbaseError
    from glacierbase.project.folders import find_root, load_project
    from glacierbase.secrets import Secrets

    try:
        root = find_root(ctx.params.get("project"))
        with Secrets().in_use():
            return root, load_project(root)
    except GlacierbaseError:
        return Path(), ()
