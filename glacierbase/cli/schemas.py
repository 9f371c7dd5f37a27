"""The command `schemas`: the JSON Schemas of documents and catalog files. Reads no project and contacts nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from glacierbase.cli.completion import complete_schema
from glacierbase.cli.group import cli
from glacierbase.cli.options import with_color, with_format


@cli.command()
@with_format
@with_color
@click.argument("name", required=False, shell_complete=complete_schema)
def schemas(format: str, color: str, name: str | None) -> None:
    """Print the JSON Schema NAME; without NAME, list all.

    The schemas describe the documents of --format json, and catalog files. Works offline and outside of a project.

    Example: glacierbase schemas catalog-file > catalogs/.schema.json
    """
    import json

    from glacierbase.cli.screen import show_on
    from glacierbase.model.text import Mark, table
    from glacierbase.output.documents import json_document
    from glacierbase.output.schemas import described_schemas, json_schema

    described = described_schemas()
    if name and name not in described:
        raise _unknown(name, described)
    names = [name] if name else list(described)
    if format == "json":
        found = [{"name": each, "describes": described[each], "json_schema": json_schema(each)} for each in names]
        click.echo(json_document("schemas", (), None, schemas=found))
    elif name:
        click.echo(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
    else:
        show = show_on(sys.stdout, color)
        click.echo(show(table((), ((Mark(each), described[each]) for each in names))), color=True)


def _unknown(name: str, names: Iterable[str]) -> click.UsageError:
    from glacierbase.model.command import command
    from glacierbase.model.spelling import did_you_mean

    hint = did_you_mean(name, names, f"`{command('schemas')}` lists all.")
    return click.UsageError(f"there is no schema {name}; {hint}", click.get_current_context())
