"""What the worker process of a sandbox does for `lint`: read the statements of a migration, and apply the rules to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from glacierbase.migrations.allows import WORD, Allow, allows_of
from glacierbase.migrations.compiled import Compiled
from glacierbase.model.command import command
from glacierbase.model.spelling import did_you_mean
from glacierbase.review.catalogue import all_rules, is_ours
from glacierbase.review.replay_results import REPLAY_CODES
from glacierbase.review.rule import CREATES, Facts, File, Found, Rule, Step
from glacierbase.sql import read

NAME = f"{__name__}:examine"
# Of a statement that is not understood.
_LONGEST_TEXT = 500
_LONGEST_CODE = 20


def examine(compiled: Compiled, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the rules object to in a file, in JSON's types; severities and allows are left to `judge`."""
    steps = tuple(Step(each, read(each.text, compiled.dialect)) for each in compiled.statements)
    file = File(compiled.migration, steps, Facts(engine=compiled.dialect, **facts))
    created = [list(step.target.key) for step in steps if step.parsed.operation in CREATES and step.target]
    return {
        "found": [_plain(rule, found, file) for rule in all_rules() for found in _applied(rule, file)],
        "allows": [{**asdict(allow), "fix": _nearest(allow)} for allow in allows_of(compiled.statements)],
        "misplaced": compiled.text.count(WORD) - sum(each.comments.count(WORD) for each in compiled.statements),
        "lines": {str(each.index): [each.line, each.column] for each in compiled.statements if WORD in each.comments},
        "created": created,
        "not_understood": [
            [step.statement.line, step.statement.text[:_LONGEST_TEXT]] for step in steps if not step.parsed.understood
        ],
    }


def _nearest(allow: Allow) -> str:
    """Return the hint for an unknown code; empty for a known one."""
    codes = [*(rule.code for rule in all_rules()), *REPLAY_CODES]
    if allow.code in codes:
        return ""
    return did_you_mean(allow.code[:_LONGEST_CODE], codes, f"`{command('rules')}` lists the codes")


def _applied(rule: Rule, file: File) -> Iterator[Found]:
    try:
        yield from rule.check(file)
    except MemoryError:  # The limit of the process.
        raise
    except Exception as error:
        if is_ours(rule):
            raise
        yield Found(
            f"the rule itself fails with {type(error).__name__}: {error}", fix="correct the package that adds it"
        )


def _plain(rule: Rule, found: Found, file: File) -> dict[str, Any]:
    name = found.name or (found.step.target if found.step else None)
    line, column = _place(found)
    is_new = rule.spares_new_tables and found.step is not None and file.creates(name, found.step)
    return {
        "code": rule.code,
        "message": found.message,
        "fix": found.fix,
        "statement_index": found.step.statement.index if found.step else None,
        "line": min(line, file.migration.text.count("\n") + 1),
        "column": column,
        "table": str(name) if name else None,
        "key": list(name.key) if name else None,
        "is_new": is_new,
    }


def _place(found: Found) -> tuple[int, int]:
    """Return line and column in the file; exact where the lines of the statement are lines of the file."""
    if found.step is None:
        return 1, 1
    statement, place = found.step.statement, found.place
    if place is None:
        return statement.line, statement.column
    column = place.column + (statement.column - 1 if place.line == 1 else 0)
    return statement.line + place.line - 1, column
