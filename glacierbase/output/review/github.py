"""Annotations of a pull request: workflow commands of GitHub Actions, which the runner reads in the log of a step.

A step shows at most ten annotations of a kind, and a job fifty. Message and properties have special escapes:
https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts
"""

from __future__ import annotations

from glacierbase.model.text import counted
from glacierbase.output.documents import CommandOutcome
from glacierbase.output.review.problems import Problem, problems

_MOST = 10


def render(outcome: CommandOutcome) -> str:
    """Return a command per finding, errors first. If there are more than ten, the last one counts the omitted ones."""
    findings = [problem for problem in problems(outcome.document()) if problem.allowed is None]
    shown = findings if len(findings) <= _MOST else findings[: _MOST - 1]
    lines = [_annotation(problem) for problem in shown]
    if more := len(findings) - len(shown):
        left = f"{more} more: {counted(sum(problem.is_error for problem in findings), 'error')} of {len(findings)} findings"
        lines.append(f"::notice title=glacierbase {outcome.command}::{left}; the other formats list all")
    return "\n".join(lines)


def _annotation(problem: Problem) -> str:
    place = {"file": problem.path, "line": problem.line, "col": problem.column} if problem.path else {}
    given = {**place, "title": f"{problem.code}{f' {problem.table}' if problem.table else ''}"}
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in given.items())
    return f"::{'notice' if problem.is_note else problem.severity} {properties}::{_message(problem.text)}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
