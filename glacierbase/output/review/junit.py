"""JUnit's XML, which Jenkins, GitLab and others show as tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from glacierbase.output.documents import CommandOutcome
from glacierbase.output.review.problems import Problem, cleaned, problems, summary

# XML 1.0 cannot represent these characters; all other such characters are escaped in every format.
_NO_XML = re.compile("[\ufffe\uffff]")


def render(outcome: CommandOutcome) -> str:
    """Return a suite per catalog with a case per finding: failed for an error, skipped for an allowed finding, else passed.

    A suite without findings has one case, because services reject suites without cases.
    """
    document = outcome.document()
    findings = problems(document)
    named = [cleaned(entry["catalog"]) for entry in document["catalogs"]]
    catalogs = dict.fromkeys([*named, *(problem.catalog for problem in findings)])
    root = Element("testsuites", {"name": f"glacierbase {outcome.command}", **_counts(findings, len(findings))})
    for catalog in catalogs:
        _add_suite(root, outcome.command, catalog, [problem for problem in findings if problem.catalog == catalog])
    root.set("tests", str(len(root.findall("*/testcase"))))
    indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{tostring(root, encoding='unicode')}"


def _counts(findings: Sequence[Problem], tests: int) -> dict[str, str]:
    counts = {
        "tests": tests,
        "failures": sum(problem.is_error and problem.is_finding for problem in findings),
        "errors": sum(not problem.is_finding for problem in findings),
        "skipped": sum(problem.allowed is not None for problem in findings),
    }
    return {name: str(count) for name, count in counts.items()}


def _add_suite(root: Element, command: str, catalog: str, findings: Sequence[Problem]) -> None:
    suite = SubElement(root, "testsuite", {"name": _xml(catalog or command), **_counts(findings, len(findings) or 1)})
    for problem in findings:
        place = f"{problem.path}:{problem.line}" if problem.path else command
        case = SubElement(
            suite, "testcase", {"classname": _xml(place), "name": _xml(f"{problem.code} {_first(problem)}")}
        )
        _add_outcome(case, problem)
    if not findings:
        SubElement(suite, "testcase", {"classname": command, "name": summary(findings)})


def _add_outcome(case: Element, problem: Problem) -> None:
    text = _xml(problem.text)
    if problem.is_error:
        kind = "failure" if problem.is_finding else "error"
        added = SubElement(case, kind, {"type": _xml(problem.code), "message": _xml(_first(problem))})
    elif problem.allowed is not None:
        added = SubElement(case, "skipped", {"message": _xml(f"allowed: {problem.allowed}")})
    else:
        added = SubElement(case, "system-out")
    added.text = text


def _first(problem: Problem) -> str:
    return problem.title.partition("\n")[0]


def _xml(text: str) -> str:
    return _NO_XML.sub(lambda match: ascii(match[0])[1:-1], text)
