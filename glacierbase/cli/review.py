"""The commands that review migrations: `lint`, `rules` and `review`, which contact no catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from glacierbase.cli.completion import complete_rule
from glacierbase.cli.group import cli
from glacierbase.cli.options import CommandOptions, with_color, with_format, with_options

if TYPE_CHECKING:
    from glacierbase.capabilities.review.rule import Rule
    from glacierbase.model.text import Line

_WIDTH = 80


@cli.command()
@with_options(outputs=True)
@click.option("--base", metavar="REF", help="Check only the files that this git ref does not have. Default: all files.")
def lint(options: CommandOptions, base: str | None) -> None:
    """Check what the statements do, in every environment. Contacts nothing.

    Exits with 3 if a rule finds an error that no comment `-- GLACIERBASE_ALLOW: CODE reason` above the statement allows.
    """
    options.report(lambda project: project.lint(options.catalogs, base=base))


@cli.command()
@with_format
@with_color
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=complete_rule)
def rules(format: str, color: str, codes: Sequence[str]) -> None:
    """Print the rules of `lint`; without CODE, list all.

    Prints why a rule objects, an example, and what to do. Works offline and outside of a project.
    """
    from glacierbase.capabilities.review.catalogue import all_rules
    from glacierbase.cli.display import show_on
    from glacierbase.output.documents import json_document

    known = {rule.code: rule for rule in all_rules()}
    chosen = [_rule(code, known) for code in dict.fromkeys(map(str.upper, codes))] or list(known.values())
    if format == "json":
        click.echo(json_document("rules", (), None, rules=list(map(_to_json, chosen))))
    else:
        show = show_on(sys.stdout, color)
        click.echo(show(_pages(chosen) if codes else _listed(chosen)), color=True)


@cli.command()
@with_options(outputs=True)
@click.option("--base", metavar="REF", required=True, help="The branch to merge into. Files that it lacks are new.")
def review(options: CommandOptions, base: str) -> None:
    """Show what new migrations do to the tables, on a copy.

    Runs the migrations of the base and then the new ones with the catalog's Spark on a throw-away copy: empty tables in memory,
    without network, credentials and files. Contacts no catalog. Fails if Spark refuses a statement, or if a table or column is lost
    and no comment allows it. What `lint --base` finds in the new migrations is among the findings.
    """
    options.report(lambda project: project.review(base, options.catalogs))


def _rule(code: str, known: dict[str, Rule]) -> Rule:
    """Return the rule of a code.

    Raises:
        click.UsageError: the rule does not exist.
    """
    from glacierbase.errors.reference import ENTRIES
    from glacierbase.model.command import command
    from glacierbase.model.text import did_you_mean

    if code in known:
        return known[code]
    hint = did_you_mean(code, known, f"`{command('rules')}` lists all.")
    if code in ENTRIES or code.startswith("REPLAY_"):
        hint = f"`{command('explain', code if code in ENTRIES else 'REVIEW_FAILED')}` explains it."
    raise click.UsageError(f"there is no rule {code}; {hint}", click.get_current_context())


def _to_json(rule: Rule) -> dict[str, Any]:
    names = ("code", "name", "why", "fix", "bad", "good", "source")
    return {
        **{name: getattr(rule, name) for name in names},
        "severity": str(rule.severity),
        "formats": sorted(rule.formats),
        "proof": str(rule.proof),
    }


def _listed(rules: Iterable[Rule]) -> list[Line]:
    from glacierbase.model.text import Mark, table

    return table((), ((Mark(rule.code), str(rule.severity), rule.name, rule.why) for rule in rules))


def _pages(rules: Iterable[Rule]) -> list[Line]:
    lines = [line for rule in rules for line in ("", *_page(rule))]
    return lines[1:]


def _page(rule: Rule) -> Iterator[Line]:
    import textwrap

    from glacierbase.model.text import Mark

    formats = f"; {', '.join(sorted(rule.formats))} only" if rule.formats else ""
    yield Mark(f"{rule.code}  {rule.name}  ({rule.level}{formats})")
    for title, text in (("Why", rule.why), ("Fix", rule.fix)):
        yield from ("", *textwrap.wrap(f"{title}: {text}", _WIDTH, break_long_words=False, break_on_hyphens=False))
    for title, sql in (("Raises it", rule.bad), ("Does not", rule.good)):
        yield from ("", f"{title}:", *(f"  {line}" for line in sql.splitlines()))
    yield from ("", "To allow it, write above the statement:", f"  -- GLACIERBASE_ALLOW: {rule.code} the reason")
    yield from ("", f"Source: {rule.source}")
