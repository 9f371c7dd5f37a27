"""Decide what the findings of the rules mean: severities of the catalog file, allows, tables that the same files create."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from glacierbase.model.catalog import LintOptions
from glacierbase.model.names import matches
from glacierbase.review.replay_results import REPLAY_CODES
from glacierbase.review.results import Finding, NotUnderstood
from glacierbase.review.rule import Rule
from glacierbase.review.rules.allows import misplaced_allow, unexplained_allow, unknown_allow, unused_allow
from glacierbase.review.severity import Severity


@dataclass(frozen=True, slots=True)
class Examined:
    """What `examine` returned for a file in one environment."""

    environment: str
    path: str
    options: LintOptions
    answer: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings of a catalog: errors first, then by file and line."""

    findings: tuple[Finding, ...]
    not_understood: tuple[NotUnderstood, ...]
    spared: int


def judge(examined: Sequence[Examined], rules: Mapping[str, Rule], *, spares_new: bool) -> Verdict:
    """Return the findings of all environments, each once.

    Args:
        rules: by code.
        spares_new: whether the files are new, so that the tables that they create are new as well.
    """
    judgement = _Judgement(rules, _created(examined) if spares_new else frozenset())
    for each in examined:
        judgement.add(each)
    judgement.add_unused(examined)
    found = judgement.found.items()
    findings = [replace(each, environments=tuple(names)) for each, names in found]
    unread = [NotUnderstood(each.path, line, sql) for each in examined for line, sql in each.answer["not_understood"]]
    return Verdict(tuple(sorted(findings, key=_order)), tuple(dict.fromkeys(unread)), judgement.spared)


def _order(finding: Finding) -> tuple[bool, str, int, int, str]:
    return (not finding.is_error, finding.path, finding.line, finding.column, finding.code)


def _created(examined: Sequence[Examined]) -> frozenset[tuple[str, ...]]:
    """Return the tables that the files create, and that none of them changes before."""
    first: dict[tuple[str, tuple[str, ...]], bool] = {}
    for each in examined:
        for key, is_new in each.answer["tables"]:
            first.setdefault((each.environment, tuple(key)), is_new)
    return frozenset(key for (_, key), is_new in first.items() if is_new)


_LONGEST_CODE = 20
_Allows = dict[tuple[int | None, str], list[Mapping[str, Any]]]


class _Judgement:
    """The findings so far.

    Attributes:
        found: the environments of each finding.
        spared: how many findings are about new tables.
    """

    def __init__(self, rules: Mapping[str, Rule], new_tables: Collection[tuple[str, ...]]) -> None:
        self._rules = rules
        self._new_tables = new_tables
        self._used: set[tuple[str, int, str]] = set()
        self._spared: set[tuple[str, str, int]] = set()
        self.found: dict[Finding, dict[str, None]] = {}

    @property
    def spared(self) -> int:
        return len(self._spared)

    def add(self, file: Examined) -> None:
        """Judge the findings in one file and environment, and its allows."""
        allows = _by_place(file.answer["allows"])
        for raw in file.answer["found"]:
            rule, reason = self._rules[raw["code"]], self._reason(file.path, allows, raw)
            if rule.spares_new_tables and (raw["is_new"] or tuple(raw["key"] or ()) in self._new_tables):
                self._spared.add((file.path, rule.code, raw["line"]))
            else:
                self._add(file, rule, raw, reason)
        for allow in file.answer["allows"]:
            if allow["code"] not in self._rules and allow["code"] not in REPLAY_CODES:
                what = "names {}, which is no rule" if allow["code"] else "names no rule"
                self._about_allow(file, unknown_allow, allow, what, allow["fix"])
            elif not allow["reason"]:
                self._about_allow(file, unexplained_allow, allow, "allows {} without a reason")
        if file.answer["misplaced"]:
            self._about_allow(file, misplaced_allow, None, "has no effect where it is, or as it is written")

    def add_unused(self, examined: Sequence[Examined]) -> None:
        """Add the allows that have a reason, and match no finding in any environment."""
        for file in examined:
            for allow in file.answer["allows"]:
                is_used = (file.path, allow["statement_index"], allow["code"]) in self._used
                if allow["reason"] and allow["code"] in self._rules and not is_used:
                    self._about_allow(file, unused_allow, allow, "allows {}, which the statement does not raise")

    def _reason(self, path: str, allows: _Allows, raw: Mapping[str, Any]) -> str | None:
        """Return the reason for which a finding is allowed; one about the whole file by a comment above any statement."""
        found = allows.get((raw["statement_index"], raw["code"]), ())
        self._used.update((path, allow["statement_index"], allow["code"]) for allow in found)
        return next((str(allow["reason"]) for allow in found if allow["reason"]), None)

    def _about_allow(
        self, file: Examined, rule: Rule, allow: Mapping[str, Any] | None, what: str, fix: str = ""
    ) -> None:
        """Add a finding about a comment.

        Args:
            allow: None for comments that are above no statement.
            what: what the comment does, with `{}` in place of its code.
            fix: default that of the rule.
        """
        index = allow["statement_index"] if allow else None
        line, column = file.answer["lines"].get(str(index), (1, 1))
        raw = {
            "message": f"the comment {what.format(allow['code'][:_LONGEST_CODE] if allow else '')}",
            "fix": fix, "statement_index": index, "line": line, "column": column, "table": None,
        }  # fmt: skip
        self._add(file, rule, raw, None)

    def _add(self, file: Examined, rule: Rule, raw: Mapping[str, Any], allowed: str | None) -> None:
        severity = _severity(rule, raw["table"], file.options)
        if severity is None:
            return
        finding = Finding(
            code=rule.code, severity=severity, message=raw["message"], why=rule.why, fix=raw["fix"] or rule.fix,
            path=file.path, line=raw["line"], column=raw["column"], statement_index=raw["statement_index"],
            table=raw["table"], environments=(), allowed=allowed,
        )  # fmt: skip
        self.found.setdefault(finding, {})[file.environment] = None


def _by_place(allows: Sequence[Mapping[str, Any]]) -> _Allows:
    """Return the allows by statement and code, and with None for the statement by code alone."""
    found: _Allows = {}
    for allow in allows:
        for index in (allow["statement_index"], None):
            found.setdefault((index, allow["code"]), []).append(allow)
    return found


def _severity(rule: Rule, table: str | None, options: LintOptions) -> Severity | None:
    """Return the severity in an environment; None where the rule is off."""
    chosen = options.severities.get(rule.code)
    if chosen:
        return None if chosen == "off" else Severity(chosen)
    if table and any(matches(table, pattern) for pattern in options.streaming):
        return rule.streaming or rule.severity
    return None if rule.streaming_only else rule.severity
