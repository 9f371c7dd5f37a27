"""The command `schemas`: the JSON Schemas of documents and catalog files. Reads no project and contacts nothing."""

from __future__ import annotations

import click

from glacierbase.cli.group import cli


@cli.command()
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="The format of the result. [text]"
)
@click.argument("name", required=False)
def schemas(form: str, name: str | None) -> None:
    """Print the JSON Schema NAME; without NAME, list all.

    They describe the documents of --format json, and catalog files. Works offline and outside of a project.

    Example: glacierbase schemas catalog-file > catalogs/.schema.json
    """
    import json

    from glacierbase.output.documents import json_document
    from glacierbase.output.schemas import described_schemas, json_schema

    described = described_schemas()
    names = [name] if name else list(described)
    if name and name not in described:
        raise _unknown(name, names=list(described))
    if form == "json":
        found = [{"name": each, "describes": described[each], "json_schema": json_schema(each)} for each in names]
        click.echo(json_document("schemas", (), None, schemas=found))
    elif name:
        click.echo(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
    else:
        width = max(map(len, described))
        click.echo("\n".join(f"{each:<{width}}  {described[each]}" for each in names))


def _unknown(name: str, names: list[str]) -> click.UsageError:
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else "`glacierbase schemas` lists all."
    return click.UsageError(f"there is no schema {name}; {hint}", click.get_current_context())
