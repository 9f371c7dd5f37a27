"""SARIF 2.1.0, which GitHub code scanning and editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from glacierbase import __version__
from glacierbase.model.result import json_text
from glacierbase.output.documents import CommandOutcome
from glacierbase.output.review.problems import Problem, fingerprints, problems

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(outcome: CommandOutcome) -> str:
    """Return a log with one run. Errors without a file are notifications: code scanning refuses a result without a place."""
    findings = problems(outcome.document())
    placed = [problem for problem in findings if problem.path]
    rules = list({problem.code: problem for problem in placed}.values())
    index = {rule.code: number for number, rule in enumerate(rules)}
    marks = fingerprints(placed)
    run = {
        "tool": {
            "driver": {"name": "glacierbase", "version": __version__, "rules": [_rule(problem) for problem in rules]}
        },
        "invocations": [_invocation(outcome, [problem for problem in findings if not problem.is_finding])],
        "columnKind": "unicodeCodePoints",
        "results": [_result(problem, index[problem.code], mark) for problem, mark in zip(placed, marks, strict=True)],
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(problem: Problem) -> dict[str, Any]:
    about = problem.why or problem.code
    return {
        "id": problem.code,
        "shortDescription": {"text": about},
        "help": {"text": f"{about}\n\n{problem.explained_by}"},
        "defaultConfiguration": {"level": problem.severity},
    }


def _invocation(outcome: CommandOutcome, errors: Sequence[Problem]) -> dict[str, Any]:
    return {
        "executionSuccessful": not errors,
        "exitCode": outcome.error.exit_code if outcome.error else 0,
        "toolExecutionNotifications": [
            {"descriptor": {"id": problem.code}, "level": "error", "message": {"text": problem.text}}
            for problem in errors
        ],
    }


def _result(problem: Problem, rule: int, fingerprint: str) -> dict[str, Any]:
    suppression = {"kind": "inSource", "justification": problem.allowed}
    region = {"startLine": problem.line, "startColumn": problem.column}
    return {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": problem.severity,
        "message": {"text": problem.text},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": quote(problem.path)}, "region": region}},
        ],
        "partialFingerprints": {"glacierbase/v1": fingerprint},
        "suppressions": [suppression] if problem.allowed is not None else [],
    }
