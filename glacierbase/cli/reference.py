"""The commands that need no project: `explain` and `rules` for codes, `schemas` for JSON Schemas, `help`, and `completion`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from glacierbase.cli.completion import complete_code, complete_schema
from glacierbase.cli.group import cli
from glacierbase.cli.options import with_color, with_format

if TYPE_CHECKING:
    from glacierbase.capabilities.review.rule import Rule
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
    """Explain codes; without CODE, list those of errors.

    Prints what a code means, an example, and what to do. Works offline and outside of a project.
    """
    from glacierbase.errors.reference import ENTRIES

    _print("explain", format, color, _explained_by(codes), listed=_listed(ENTRIES.values()), entries=ENTRIES.values())


@cli.command()
@with_format
@with_color
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=complete_code)
def rules(format: str, color: str, codes: Sequence[str]) -> None:
    """List the rules of `lint`; with CODE, explain it.

    Prints why a rule objects, an example, and what to do. Works offline and outside of a project.
    """
    from glacierbase.capabilities.review.catalogue import all_rules

    known = all_rules()
    _print("rules", format, color, _explained_by(codes), listed=_listed_rules(known), rules=known)


def _print(
    command: str,
    format: str,
    color: str,
    chosen: Sequence[ErrorEntry | Rule],
    listed: list[Line],
    **every: Iterable[Any],
) -> None:
    """Print the chosen entries and rules; without any, the list of all of one kind.

    Args:
        listed: the list as text.
        every: `entries` or `rules`: the list in JSON.
    """
    from glacierbase.cli.display import show_on
    from glacierbase.errors.reference import ErrorEntry
    from glacierbase.output.documents import json_document

    if format == "json":
        kinds: dict[str, Iterable[Any]] = {"entries": (), "rules": (), **every}
        if chosen:
            kinds = {
                "entries": [entry for entry in chosen if isinstance(entry, ErrorEntry)],
                "rules": [rule for rule in chosen if not isinstance(rule, ErrorEntry)],
            }
        click.echo(
            json_document(command, (), None, **{kind: [_to_json(entry) for entry in kinds[kind]] for kind in kinds})
        )
        return
    pages = [
        line for entry in chosen for line in ("", *(_lines(entry) if isinstance(entry, ErrorEntry) else _page(entry)))
    ]
    click.echo(show_on(sys.stdout, color)(pages[1:] or listed), color=True)


def _explained_by(codes: Iterable[str]) -> list[ErrorEntry | Rule]:
    """Return the entries of errors and the rules of codes.

    Raises:
        click.UsageError: a code does not exist.
    """
    from glacierbase.errors.reference import ENTRIES
    from glacierbase.model.command import command
    from glacierbase.model.text import did_you_mean

    wanted = dict.fromkeys(map(str.upper, codes))
    known: dict[str, ErrorEntry | Rule] = dict(ENTRIES)
    if not wanted.keys() <= known.keys():
        from glacierbase.capabilities.review.catalogue import all_rules

        known.update((rule.code, rule) for rule in all_rules())
    chosen = []
    for code in wanted:
        if code not in known:
            lists = f"`{command('explain')}` lists the errors, `{command('rules')}` the rules of `lint`."
            if code.startswith("REPLAY_"):
                hint = f"`{command('explain', 'REVIEW_FAILED')}` lists the findings of `review`."
            else:
                hint = did_you_mean(code, known, lists)
            raise click.UsageError(f"there is no code {code}; {hint}", click.get_current_context())
        chosen.append(known[code])
    return chosen


def _to_json(entry: ErrorEntry | Rule) -> dict[str, Any]:
    from glacierbase.errors.reference import ErrorEntry

    if not isinstance(entry, ErrorEntry):
        names = ("code", "name", "why", "fix", "bad", "good", "source")
        return {
            **{name: getattr(entry, name) for name in names},
            "severity": str(entry.severity),
            "formats": sorted(entry.formats),
            "proof": str(entry.proof),
        }
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


def _listed_rules(rules: Iterable[Rule]) -> list[Line]:
    from glacierbase.model.text import Mark, table

    return table((), ((Mark(rule.code), str(rule.severity), rule.name, rule.why) for rule in rules))


def _page(rule: Rule) -> Iterator[Line]:
    from glacierbase.model.text import Mark

    formats = f"; {', '.join(sorted(rule.formats))} only" if rule.formats else ""
    yield Mark(f"{rule.code}  {rule.name}  ({rule.level}{formats})")
    for title, text in (("Why", rule.why), ("Fix", rule.fix)):
        yield from ("", *_wrapped(f"{title}: {text}"))
    for title, sql in (("Raises it", rule.bad), ("Does not", rule.good)):
        yield from ("", f"{title}:", *(f"  {line}" for line in sql.splitlines()))
    yield from ("", "To allow it, write above the statement:", f"  -- GLACIERBASE_ALLOW: {rule.code} the reason")
    yield from ("", f"Source: {rule.source}")


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


@cli.command("help")
@with_format
@with_color
@click.option("--all", "is_all", is_flag=True, help="List every command, by purpose.")
def help_(format: str, color: str, is_all: bool) -> None:
    """List the daily commands; with --all, every command.

    `glacierbase COMMAND --help` shows the options of one command. Works offline and outside of a project.
    """
    from glacierbase.cli.display import show_on
    from glacierbase.model.text import Verbatim
    from glacierbase.output.documents import json_document

    if format == "json":
        listed = [
            {"command": name, "summary": summary} for _, rows in cli.sections(is_all=is_all) for name, summary in rows
        ]
        click.echo(json_document("help", (), None, commands=listed))
        return
    context = click.get_current_context()
    formatter = (context.parent or context).make_formatter()
    cli.format_sections(formatter, is_all=is_all)
    lines = formatter.getvalue().rstrip().splitlines()
    click.echo(show_on(sys.stdout, color)([Verbatim(line) for line in lines]), color=True)


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
