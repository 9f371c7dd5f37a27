"""The formats of a review that other programs read: annotations, code quality, SARIF, JUnit."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from glacierbase.capabilities.review.results import LintResult, Origin, ReviewResult
from glacierbase.errors import EngineUnavailable, GlacierbaseError, MigrationFileError, SeveralErrors
from glacierbase.model.finding import Severity
from glacierbase.output.documents import CommandOutcome
from glacierbase.output.formats import FORMATS
from glacierbase.secrets import Secrets
from tests.support.hostile import PAYLOAD, check_inert
from tests.support.sarif import SARIF
from tests.unit.output.planted import planted
from tests.unit.output.reviews import PATH, TABLE, finding, outcome, review

COMMAND = re.compile(r"::(error|warning|notice) (\w+=[^:,\r\n]*(?:,\w+=[^:,\r\n]*)*)::([^\r\n]*)")
HOSTILE = [
    PAYLOAD,
    "```\n````sql\n</details>\n<!-- glacierbase:review -->\n@everyone #123 GH-1",
    "::set-env name=X::y\n%0A::error::x\r::debug::y",
    "a,title=b:c]]><failure/>&amp;\ufffe\uffff\ud800\x00",
    "-" * 2**20,
]


def rendered(form: str, given: CommandOutcome) -> Any:
    """Return the text of a format as a program reads it."""
    text = FORMATS[form](given)
    if form == "github":
        return [parsed(line) for line in text.splitlines()]
    if form == "junit":
        return ElementTree.fromstring(text)
    document = json.loads(text)
    if form == "sarif":
        Draft202012Validator(SARIF).validate(document)
    return document


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """Return a workflow command as the runner reads it: name, properties and message."""
    found = COMMAND.fullmatch(line)
    assert found, line
    properties = dict(each.split("=", 1) for each in found[2].split(","))
    return found[1], {name: unescaped(value) for name, value in properties.items()}, unescaped(found[3])


def unescaped(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def codes(form: str, given: CommandOutcome) -> list[str]:
    """Return the codes that a format lists, in order."""
    found = rendered(form, given)
    if form == "github":
        return [properties["title"].split()[0] for _, properties, _ in found]
    if form == "gitlab":
        return [issue["check_name"] for issue in found]
    if form == "sarif":
        return [result["ruleId"] for result in found["runs"][0]["results"]]
    return [case.get("name", "").split()[0] for case in found.iter("testcase")]


PROGRAMS = ("github", "gitlab", "sarif", "junit")


@pytest.mark.parametrize("form", PROGRAMS)
def test_errors_come_first_then_warnings_then_notes_then_what_is_allowed(form: str) -> None:
    """A finding of a file that is earlier in the list is not before an error. Annotations leave out what is allowed."""
    given = outcome(
        review(
            finding("DS101", 1, allowed="no readers"),
            finding("KL101", 1, severity=Severity.NOTE),
            finding("BC104", 2, severity=Severity.WARNING),
            finding("DS103", 9),
        )
    )
    assert codes(form, given) == ["DS103", "BC104", "KL101", *([] if form == "github" else ["DS101"])]


@pytest.mark.parametrize("form", PROGRAMS)
def test_a_finding_of_several_environments_is_listed_once(form: str) -> None:
    """The environments are named only where the others do not have it."""
    prod = review(finding(), environments=("staging", "prod"))
    assert codes(form, outcome(review(finding()), prod)) == ["DS103"]
    only = FORMATS[form](outcome(review(), prod))
    assert "(in staging, prod)" in only
    assert "(in " not in FORMATS[form](outcome(review(finding()), prod))


@pytest.mark.parametrize("form", PROGRAMS)
def test_paths_begin_at_the_top_of_the_work_tree(form: str) -> None:
    """Services know nothing of the project's folder."""
    given = replace(review(finding()), origin=Origin("glacierbase review", "data/lake"))
    assert f"data/lake/{PATH}" in FORMATS[form](outcome(given))


@pytest.mark.parametrize("form", PROGRAMS)
def test_an_error_that_is_no_finding_is_listed_once(form: str) -> None:
    """The error is the error of the catalog and of the command. The error that only counts findings is left out."""
    error = SeveralErrors(
        [
            MigrationFileError("UNDEFINED_VARIABLE", "no size", "define it", path=PATH, line=3),
            EngineUnavailable("COPY_NOT_STARTED", "no Java", "install it"),
        ]
    )
    given = outcome(replace(review(), error=error))
    text = FORMATS[form](given)
    # Code scanning refuses a result without a place: that error is a notification.
    assert sorted(codes(form, given)) == [*(["COPY_NOT_STARTED"] * (form != "sarif")), "UNDEFINED_VARIABLE"]
    assert "no Java" in text
    assert PATH in text
    assert "REVIEW_FAILED" not in FORMATS[form](outcome(review(finding())))


def test_annotations_have_the_place_and_what_to_do() -> None:
    """The runner shows them at the line."""
    [(kind, properties, message)] = rendered("github", outcome(review(finding())))
    assert kind == "error"
    assert properties == {"file": PATH, "line": "4", "col": "7", "title": f"DS103 {TABLE}"}
    assert message.splitlines()[1:] == ["why: Readers break.", "fix: Stop reads first."]


def test_an_annotation_is_at_a_file_whatever_signs_its_name_holds() -> None:
    """A comma would end the property of the file, and a colon its value."""
    given = replace(finding(), path="migrations/shop/0042_price, tax: a=b 5%.sql")
    [(_, properties, _)] = rendered("github", outcome(review(given)))
    assert properties == {"file": given.path, "line": "4", "col": "7", "title": f"DS103 {TABLE}"}


@pytest.mark.parametrize(("errors", "shown", "more"), [(10, 10, None), (11, 9, "2 more"), (300, 9, "291 more")])
def test_at_most_ten_annotations_are_written(errors: int, shown: int, more: str | None) -> None:
    """A step shows no more; the last one says how many are left out."""
    found = rendered("github", outcome(review(*(finding(line=number + 1) for number in range(errors)))))
    assert len(found) <= 10
    assert [kind for kind, _, _ in found[:shown]] == ["error"] * shown
    assert [(kind, text.split(":")[0]) for kind, _, text in found[shown:]] == ([("notice", more)] if more else [])


def test_warnings_are_left_out_before_errors() -> None:
    """All errors of a step are among its ten annotations, as far as they fit."""
    warnings = (finding("BC104", number + 1, severity=Severity.WARNING) for number in range(20))
    found = rendered("github", outcome(review(*warnings, *(finding(line=100 + number) for number in range(3)))))
    assert [kind for kind, _, _ in found] == ["error"] * 3 + ["warning"] * 6 + ["notice"]


def test_a_review_without_findings_writes_no_annotation_and_one_passed_test() -> None:
    """A report without tests is taken for a wrong file."""
    assert FORMATS["github"](outcome(review())) == ""
    assert rendered("gitlab", outcome(review())) == []
    [case] = rendered("junit", outcome(review())).iter("testcase")
    assert (list(case), case.get("name")) == ([], "no findings")


def test_the_fingerprint_stays_when_lines_move_and_is_unique() -> None:
    """GitLab compares fingerprints of two branches: an equal one is no new issue."""
    two = [finding(line=4), finding(line=9)]
    before = [issue["fingerprint"] for issue in rendered("gitlab", outcome(review(*two)))]
    moved = [replace(each, line=each.line + 3) for each in two]
    after = rendered("gitlab", outcome(review(*moved)))
    assert [issue["fingerprint"] for issue in after] == before
    assert len(set(before)) == 2
    assert [issue["location"]["lines"]["begin"] for issue in after] == [7, 12]
    [other] = rendered("gitlab", outcome(review(finding(message="another"))))
    assert other["fingerprint"] not in before


def test_code_quality_knows_how_severe_an_issue_is() -> None:
    """A note and what is allowed are information."""
    note = finding("KL101", severity=Severity.NOTE)
    given = review(finding(), finding("BC104", severity=Severity.WARNING), note, finding("DS101", allowed="no readers"))
    error = EngineUnavailable("COPY_NOT_STARTED", "no Java")
    found = {issue["check_name"]: issue["severity"] for issue in rendered("gitlab", outcome(given))}
    assert found == {"DS103": "critical", "BC104": "minor", "KL101": "info", "DS101": "info"}
    [issue] = rendered("gitlab", CommandOutcome("review", (), error))
    assert (issue["severity"], issue["location"]["path"]) == ("blocker", ".")


def test_sarif_suppresses_what_is_allowed_with_its_reason() -> None:
    """Code scanning closes a suppressed alert. A rule has help."""
    given = outcome(review(finding(), finding("DS101", 6, allowed="no readers since October")))
    [run] = rendered("sarif", given)["runs"]
    assert [each["suppressions"] for each in run["results"]] == [
        [],
        [{"kind": "inSource", "justification": "no readers since October"}],
    ]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == ["DS103", "DS101"]
    assert rules[0]["help"]["text"] == "Readers break.\n\nglacierbase rules DS103"
    assert run["invocations"][0] == {"executionSuccessful": True, "exitCode": 3, "toolExecutionNotifications": []}


def test_a_note_has_the_level_of_a_note_and_fails_nothing() -> None:
    """An annotation is a notice; SARIF has a level for notes; the case of JUnit passes with the text as its output."""
    given = outcome(review(finding("KL101", severity=Severity.NOTE)))
    assert given.error is None
    [(kind, _, _)] = rendered("github", given)
    assert kind == "notice"
    [run] = rendered("sarif", given)["runs"]
    assert [run["results"][0]["level"], run["tool"]["driver"]["rules"][0]["defaultConfiguration"]["level"]] == [
        "note"
    ] * 2
    [case] = rendered("junit", given).iter("testcase")
    assert [part.tag for part in case] == ["system-out"]


def test_sarif_encodes_a_path_as_an_address() -> None:
    """A space or a percent sign in a folder is no address."""
    given = replace(review(finding()), origin=Origin("", "a b%/c#d"))
    [result] = rendered("sarif", outcome(given))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == f"a%20b%25/c%23d/{PATH}"


def test_junit_has_a_failure_per_error_and_skips_what_is_allowed() -> None:
    """A warning passes, and its text is the output of the test. The counts are those of the cases."""
    given = review(finding(), finding("BC104", severity=Severity.WARNING), finding("DS101", allowed="no readers"))
    error = EngineUnavailable("COPY_NOT_STARTED", "no Java")
    suites = rendered("junit", outcome(replace(given, error=error)))
    [suite] = suites
    assert [[each.tag for each in case] for case in suite] == [["error"], ["failure"], ["system-out"], ["skipped"]]
    for each in (suites, suite):
        assert [each.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]


@pytest.mark.parametrize("form", PROGRAMS)
@pytest.mark.parametrize("kind", [LintResult, ReviewResult])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_value_leaves_its_place(
    text: str, kind: type[LintResult], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every string of the result and of its error is hostile; a program reads as many entries as there are."""
    monkeypatch.setattr("tests.unit.output.planted.PAYLOAD", text)
    whole = replace(planted(kind), skipped=None)
    several = SeveralErrors([whole.error, GlacierbaseError("B_CODE", text, text, path=text, line=4)])
    findings = (*whole.findings, replace(whole.findings[0], allowed=None))
    given = CommandOutcome("lint", [replace(whole, error=several, findings=findings)], several)
    assert len(codes(form, given)) == (3 if form == "github" else 4)
    shown = FORMATS[form](given)
    check_inert(re.sub("(?m)^::", "", shown))
    assert len(shown) < 60_000
    shown.encode()


@pytest.mark.parametrize("kind", [LintResult, ReviewResult])
def test_no_format_shows_a_secret(kind: type[LintResult], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every string of the result and of its error has it; the secrets are those in use when the result was made."""
    monkeypatch.setattr("tests.unit.output.planted.PAYLOAD", "the canary-7731 sings")
    secrets = Secrets()
    secrets.register("canary-7731")
    with secrets.in_use():
        whole = replace(planted(kind), secrets=secrets)
    for form, render in FORMATS.items():
        shown = render(CommandOutcome("lint", [whole], whole.error))
        assert "sings" in shown, form
        assert "7731" not in shown, form
