"""The findings of a command, each once, for the formats that other programs read: annotations, code quality, SARIF, JUnit.

It is made of the command's JSON document: masked, and holding nothing that the document does not. Every text is escaped, and cut
where a column comment of a megabyte would make a message of that size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from posixpath import isabs, normpath
from typing import Any, TypeAlias

from glacierbase.errors.reference import ENTRIES
from glacierbase.model.command import command
from glacierbase.model.escape import escaped
from glacierbase.model.finding import Finding, Severity, counts
from glacierbase.model.text import counted, split_lines

Document: TypeAlias = Mapping[str, Any]

# Errors that only count the findings.
_SUMMARIES = frozenset({"LINT_FAILED", "REVIEW_FAILED"})
_LONGEST_TEXT = 1000
_LINE = re.compile(r"\bline \d+")


@dataclass(frozen=True, slots=True)
class Problem(Finding):
    """A finding, or an error that left a catalog without findings. The texts are escaped; `why` and `fix` may be empty.

    Attributes:
        path: relative to the top of the git work tree; empty for an error without a file.
        environments: those that have it; empty for all.
        statement_index: in the first environment that has it; files may render differently.
        catalog: empty for an error that is about none.
        is_finding: whether it is not an error of the command itself.
    """

    statement_index: int | None = field(compare=False)
    catalog: str
    is_finding: bool = True

    @property
    def title(self) -> str:
        """The message, with the table and the environments that it is about."""
        about = f"{self.table}: " if self.table else ""
        only = f" (in {', '.join(self.environments)})" if self.environments else ""
        return f"{about}{self.message}{only}"

    @property
    def text(self) -> str:
        """Message, why, and fix or the reason why it is allowed: a line each."""
        parts = (("why", self.why), ("fix", self.fix)) if self.allowed is None else (("allowed", self.allowed),)
        return "\n".join([self.title, *(f"{name}: {text}" for name, text in parts if text)])

    @property
    def explained_by(self) -> str:
        """The command that explains its code."""
        if self.is_finding and not self.code.startswith("REPLAY_"):
            return command("rules", self.code)
        return command("explain", "REVIEW_FAILED" if self.is_finding else self.code)


def problems(document: Document) -> list[Problem]:
    """Return the findings and errors in a document, each once: errors, warnings, notes, then what is allowed."""
    everywhere: dict[str, set[str]] = {}
    for entry in document["catalogs"]:
        everywhere.setdefault(entry["catalog"], set()).update(entry.get("environments", ()))
    merged: dict[Problem, dict[str, None]] = {}
    for entry in document["catalogs"]:
        for finding in entry.get("findings", ()):
            merged.setdefault(_problem(entry, finding), {}).update(dict.fromkeys(finding["environments"]))
    findings = (
        problem
        if set(names) == everywhere[problem.catalog]
        else replace(problem, environments=tuple(map(cleaned, names)))
        for problem, names in merged.items()
    )
    return sorted(
        [*(replace(problem, catalog=cleaned(problem.catalog)) for problem in findings), *_errors(document)], key=_order
    )


def fingerprints(shown: Sequence[Problem]) -> list[str]:
    """Return an identity of each problem: unique, and the same where only the lines of its file moved."""
    counts: dict[tuple[str, ...], int] = {}
    prints = []
    for problem in shown:
        key = (problem.catalog, problem.code, problem.path, problem.table or "", _LINE.sub("line", problem.message))
        counts[key] = counts.get(key, 0) + 1
        prints.append(sha256("\0".join([*key, str(counts[key])]).encode()).hexdigest())
    return prints


def cleaned(text: str) -> str:
    """Return a text of the document, escaped line by line and cut."""
    return "\n".join(map(escaped, split_lines(shortened(text, _LONGEST_TEXT)))) if text else ""


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters; of a longer one its beginning, and how long it is."""
    return text if len(text) <= most else f"{text[:most]}… ({counted(len(text), 'character')})"


def summary(shown: Sequence[Problem]) -> str:
    """Return the counts of problems: `2 errors, 1 warning, 1 allowed`; `no findings` for none."""
    return ", ".join(counts(shown)) or "no findings"


def _order(problem: Problem) -> tuple[bool, bool, bool, bool, str, int, int, str]:
    return (
        not problem.is_error, problem.allowed is not None, problem.is_note, problem.is_finding,
        problem.path, problem.line, problem.column, problem.code,
    )  # fmt: skip


def _problem(entry: Document, finding: Document) -> Problem:
    return Problem(
        catalog=entry["catalog"],
        code=cleaned(finding["code"]),
        severity=Severity(finding["severity"]),
        message=cleaned(finding["message"]),
        why=cleaned(finding["why"]),
        fix=cleaned(finding["fix"]),
        path=path_in_tree(entry, finding["path"]),
        line=finding["line"],
        column=finding["column"],
        statement_index=finding["statement_index"],
        table=cleaned(finding["table"] or ""),
        environments=(),
        allowed=None if finding["allowed"] is None else cleaned(finding["allowed"]),
    )


def path_in_tree(entry: Document, path: str) -> str:
    """Return the path of a file of the project from the top of the work tree."""
    folder = entry.get("origin", {}).get("folder", ".")
    return cleaned(normpath(f"{folder}/{path}")).replace("\n", r"\n")


def _errors(document: Document) -> list[Problem]:
    """Return the errors of the catalogs and of the command, each once; not those that only count findings."""
    entries = list(document["catalogs"])
    pairs = [(entry, part) for entry in entries for part in _parts(entry["error"])]
    pairs += [({**(entries or [{}])[0], "catalog": ""}, part) for part in _parts(document["error"])]
    errors: dict[tuple[str, str], Problem] = {}
    for entry, part in pairs:
        if part["code"] not in _SUMMARIES:
            errors.setdefault((part["code"], part["message"]), _error(entry, part))
    return list(errors.values())


def _parts(error: Document | None) -> Iterator[Document]:
    for inner in (error or {}).get("errors", ()):
        yield from _parts(inner)
    if error and "errors" not in error:
        yield error


def _error(entry: Document, error: Document) -> Problem:
    path, line = error.get("path"), error.get("line")
    return Problem(
        catalog=cleaned(entry["catalog"]),
        code=cleaned(error["code"]),
        severity=Severity.ERROR,
        message=cleaned(error["message"]),
        why=ENTRIES[error["code"]].meaning if error["code"] in ENTRIES else "",
        fix=cleaned(error["hint"]),
        path=path_in_tree(entry, path) if isinstance(path, str) and not isabs(path) else "",
        line=line if isinstance(line, int) else 1,
        column=1,
        statement_index=None,
        table="",
        environments=(),
        allowed=None,
        is_finding=False,
    )
