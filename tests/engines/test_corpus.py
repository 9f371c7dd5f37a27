"""The corpus of hazards and harmless files on the real copy: what `review` adds to `lint`."""

from __future__ import annotations

import re

import pytest

from glacierbase.model.codec import from_json
from glacierbase.model.finding import Finding
from tests.corpus.cases import cases
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all

pytestmark = pytest.mark.spark

_NAMES = "(?:crm|fin|gdpr|iot|mart|ops|shop|staging|web)"
_NAMESPACES = re.compile(rf"\b{_NAMES}(?=\.)|(?<=lake\.){_NAMES}\b")


def test_review_finds_the_hazards_that_only_the_copy_shows_and_is_silent_on_harmless_files(
    lake_project: ProjectFolder,
) -> None:
    """All cases of Iceberg in one review, each in namespaces of its own."""
    of_iceberg = [case for case in cases() if case.engine == "iceberg"]
    for number, case in enumerate(of_iceberg, start=1):
        if case.base:
            lake_project.file(f"{number:04}_base.sql", _own(case.base, number))
    commit_all(lake_project.root)
    paths = {
        case.name: f"migrations/shop/{1000 + number}_branch.sql" for number, case in enumerate(of_iceberg, start=1)
    }
    for number, case in enumerate(of_iceberg, start=1):
        lake_project.file(f"{1000 + number}_branch.sql", _own(case.branch, number))
    findings = [
        from_json(Finding, found, "") for found in lake_project.ask("review", "--base", "main").entry()["findings"]
    ]
    wrong = []
    for case in of_iceberg:
        about = [finding for finding in findings if finding.path == paths[case.name] and not finding.is_note]
        if case.is_found(about) is bool(case.missed) if case.is_hazard else about:
            wrong.append((case.name, [f"{finding.code} {finding.message}" for finding in about]))
    assert wrong == []


def _own(sql: str, number: int) -> str:
    """Return the SQL with namespaces that no other case has."""
    return _NAMESPACES.sub(lambda name: f"c{number}_{name[0]}", sql)
