"""GitLab's code quality report, which a merge request shows next to its changes.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

from typing import Any

from glacierbase.model.result import json_text
from glacierbase.output.documents import CommandOutcome
from glacierbase.output.review.problems import Problem, fingerprints, problems


def render(outcome: CommandOutcome) -> str:
    """Return a list with an issue per finding; an error without a file is an issue of the project's folder."""
    findings = problems(outcome.document())
    return json_text([_issue(problem, mark) for problem, mark in zip(findings, fingerprints(findings), strict=True)])


def _issue(problem: Problem, fingerprint: str) -> dict[str, Any]:
    return {
        "description": " ".join(problem.text.split("\n")),
        "check_name": problem.code,
        "fingerprint": fingerprint,
        "severity": _severity(problem),
        "location": {"path": problem.path or ".", "lines": {"begin": problem.line}},
    }


def _severity(problem: Problem) -> str:
    """Return one of info, minor, major, critical and blocker."""
    if problem.allowed is not None or problem.is_note:
        return "info"
    if problem.severity == "warning":
        return "minor"
    return "critical" if problem.is_finding else "blocker"
