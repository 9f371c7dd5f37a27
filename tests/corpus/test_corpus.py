"""`lint` on the corpus: it finds the hazards that text and declarations show, and is silent on harmless files."""

from __future__ import annotations

import pytest

from tests.corpus.cases import Case, cases

CASES = list(cases())
SHOWN = [case for case in CASES if case.is_hazard and (case.found_by != "engine" or case.engine != "iceberg")]
HARMLESS = [case for case in CASES if not case.is_hazard]


def _name(case: Case) -> str:
    return f"{case.engine}: {case.name}"


@pytest.mark.parametrize("case", SHOWN, ids=_name)
def test_lint_finds_a_hazard_unless_the_corpus_says_why_nothing_can(case: Case) -> None:
    """A hazard that is found must not be listed as missed."""
    found = case.linted()
    assert case.is_found(found) is not bool(case.missed), [finding.message for finding in found]


@pytest.mark.parametrize("case", HARMLESS, ids=_name)
def test_lint_is_silent_on_a_harmless_file(case: Case) -> None:
    """No error and no warning. A note matters only at a rate that no file declares."""
    assert [(finding.code, finding.message) for finding in case.linted() if not finding.is_note] == []


def test_the_corpus_holds_sixty_hazards_and_thirty_harmless_files() -> None:
    """At least 85 % of the hazards are found, and no case has the name of another."""
    hazards = [case for case in CASES if case.is_hazard]
    assert len(hazards) >= 60
    assert len(HARMLESS) >= 30
    assert len({case.name for case in CASES}) == len(CASES)
    assert sum(not case.missed for case in hazards) >= 0.85 * len(hazards)
