"""The commands that need no project: `explain` for error codes, `schemas` for JSON Schemas, `completion` for shells."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from glacierbase.cli.completion import complete_code, complete_schema
from glacierbase.cli.group import cli
from glacierbase.cli.options import with_color, with_format

if TYPE_CHECKING:
    from glacierbase.errors.reference import ErrorEntry
    from glacierbase.model.text import Line

_WIDTH = 80
# What turns the completion of a shell on.
_INSTALL = {
    "bash": "echo 'eval \"$({})\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$({})\"' >> ~/.zshrc",
    "fish": "{} > ~/.config/fish/completions/glacierbase.fish",
}


@cli.command()
@with_format
@with_color
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=complete_code)
def explain(format: str, color: str, codes: Sequence[str]) -> None:
    """Explain error codes; without CODE, list all.

    Prints what a code means, an example, and what to do. Works offline and outside of a project.
    """
    from glacierbase.cli.display import show_on
    from glacierbase.errors.reference import ENTRIES
    from glacierbase.output.documents import json_document

    entries = [_entry(code) for code in dict.fromkeys(map(str.upper, codes))] or list(ENTRIES.values())
    if format == "json":
        click.echo(json_document("explain", (), None, entries=list(map(_to_json, entries))))
    else:
        show = show_on(sys.stdout, color)
        click.echo(show(_explained(entries) if codes else _listed(entries)), color=True)


def _entry(code: str) -> ErrorEntry:
    """Return the entry of a code.

    Raises:
        click.UsageError: the code does not exist.
    """
    from glacierbase.errors.reference import ENTRIES

    if code in ENTRIES:
        return ENTRIES[code]
    raise click.UsageError(f"there is no error code {code}; {_instead(code)}", click.get_current_context())


def _instead(code: str) -> str:
    """Return the command that explains a code that is not an error code: codes of rules end in digits."""
    from glacierbase.errors.reference import ENTRIES
    from glacierbase.model.command import command
    from glacierbase.model.text import did_you_mean

    if code[:2].isalpha() and code[-3:].isdecimal():
        return f"`{command('rules', code)}` prints a rule of `lint`."
    if code.startswith("REPLAY_"):
        return f"`{command('explain', 'REVIEW_FAILED')}` lists the findings of `review`."
    return did_you_mean(code, ENTRIES, f"`{command('explain')}` lists all codes.")


def _to_json(entry: ErrorEntry) -> dict[str, Any]:
    return {
        "code": entry.code,
        "exit_codes": entry.exit_codes,
        "errors": [error.__name__ for error in entry.errors],
        "meaning": entry.meaning,
        "example": entry.example,
        "remedy": entry.remedy,
    }


def _listed(entries: Iterable[ErrorEntry]) -> list[Line]:
    from glacierbase.model.text import Mark, table

    return table((), ((Mark(entry.code), _exit_codes(entry), entry.summary) for entry in entries))


def _explained(entries: Iterable[ErrorEntry]) -> list[Line]:
    lines = [line for entry in entries for line in ("", *_lines(entry))]
    return lines[1:]


def _lines(entry: ErrorEntry) -> list[Line]:
    from glacierbase.model.text import Mark

    classes = ", ".join(error.__name__ for error in entry.errors)
    steps = [line for number, step in enumerate(entry.remedy, start=1) for line in _wrapped(step, f"  {number}. ")]
    return [
        Mark(f"{entry.code}  (exit code {_exit_codes(entry)}; in Python: {classes})"),
        "",
        *_wrapped(entry.meaning),
        "",
        "Example:",
        *(f"  {line}" for line in entry.example.splitlines()),
        "",
        "What to do:",
        *steps,
    ]


def _exit_codes(entry: ErrorEntry) -> str:
    return ", ".join(map(str, entry.exit_codes))


def _wrapped(text: str, first: str = "") -> list[str]:
    """Return the lines of `text`, with `first` before the first and as many blanks before the others; no command is broken."""
    import re
    import textwrap

    kept = re.sub("`[^`]*`", lambda match: match[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(
        kept, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace("\0", " ") for line in lines]


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

    from glacierbase.cli.display import show_on
    from glacierbase.model.text import Mark, table
    from glacierbase.output.documents import json_document
    from glacierbase.output.schemas import described_schemas, json_schema

    described = described_schemas()
    if name and name not in described:
        raise _unknown(name, described)
    names = [name] if name else list(described)
    if format == "json":
        entries = [{"name": name, "describes": described[name], "json_schema": json_schema(name)} for name in names]
        click.echo(json_document("schemas", (), None, schemas=entries))
    elif name:
        click.echo(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
    else:
        show = show_on(sys.stdout, color)
        click.echo(show(table((), ((Mark(name), described[name]) for name in names))), color=True)


def _unknown(name: str, names: Iterable[str]) -> click.UsageError:
    from glacierbase.model.command import command
    from glacierbase.model.text import did_you_mean

    hint = did_you_mean(name, names, f"`{command('schemas')}` lists all.")
    return click.UsageError(f"there is no schema {name}; {hint}", click.get_current_context())


@cli.command()
@with_format
@with_color
@click.argument("shell", type=click.Choice(list(_INSTALL)))
def completion(format: str, color: str, shell: str) -> None:
    """Print the script by which a shell completes words.

    Its last line is a comment with the command that installs it. Works offline and outside of a project.
    """
    from click.shell_completion import get_completion_class

    from glacierbase.cli.display import show_on
    from glacierbase.model.command import command
    from glacierbase.model.text import Verbatim
    from glacierbase.output.documents import json_document

    shell_class = get_completion_class(shell)
    assert shell_class is not None  # Click has all shells of the choice.
    script = shell_class(cli, {}, "glacierbase", "_GLACIERBASE_COMPLETE").source().strip()
    install = _INSTALL[shell].format(command("completion", shell))
    if format == "json":
        click.echo(json_document("completion", (), None, script=script, install=install))
    else:
        lines = [*script.splitlines(), "", f"# To install it: {install}"]
        click.echo(show_on(sys.stdout, color)([Verbatim(line) for line in lines]), color=True)
