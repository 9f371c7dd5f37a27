"""The command `lint`: apply the rules to migrations as every environment renders them. Contacts nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from glacierbase.capabilities.review.catalogue import all_rules
from glacierbase.capabilities.review.examine import examined, made_by_repeatables
from glacierbase.capabilities.review.results import LintResult, NotUnderstood, origin
from glacierbase.capabilities.review.rule import REPLAY_CODES, Rule
from glacierbase.capabilities.review.rules.allows import misplaced_allow, unexplained_allow, unknown_allow, unused_allow
from glacierbase.catalogs.catalogfile import read_name
from glacierbase.catalogs.choice import CatalogChoice
from glacierbase.catalogs.folder import CatalogFile
from glacierbase.catalogs.references import PLACEHOLDER
from glacierbase.catalogs.table_formats import default_catalog, defaults, formats, versions
from glacierbase.catalogs.varying import texts_of, varying
from glacierbase.errors import ConfigurationError, GlacierbaseError, MigrationFileError, joined
from glacierbase.executors import type_of
from glacierbase.migrations.git_base import Base, read_base
from glacierbase.migrations.in_environments import InEnvironment, in_environments
from glacierbase.migrations.sandbox import Sandbox
from glacierbase.model.catalog import Catalog, LintOptions
from glacierbase.model.command import command
from glacierbase.model.finding import Finding, Severity
from glacierbase.model.migration import Migration
from glacierbase.model.names import matches
from glacierbase.model.result import Results, raise_first
from glacierbase.model.text import counted, did_you_mean
from glacierbase.sql.dialects import dialect_of
from glacierbase.sql.qualified import beginning

_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
_KIND = re.compile(r"spark\.sql\.catalog\.([^.]+)\.type")


def lint(root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str | None) -> tuple[LintResult, ...]:
    """Apply the rules to the migrations of the chosen catalogs.

    Args:
        base: a git ref; only files that it lacks are checked. Default: all files.

    Raises:
        GlacierbaseError: a file does not render, or has an error that is not allowed. Its `results` have an entry per catalog.
    """
    at = origin(root, "lint", catalogs, base)
    return raise_first(Results(replace(result, origin=at) for result in linted(root, choice, catalogs, base)))


def linted(root: Path, choice: CatalogChoice, catalogs: Collection[str], base: str | None) -> list[LintResult]:
    """Return the results of `lint`, each with its error."""
    names = {file.name: file.stem for file in choice.files}
    compared = None if base is None else read_base(root, base, names, read_name)
    linting = Linting(root, choice.in_every_environment(catalogs), compared)
    outcomes, _ = in_environments(root, linting.chosen, False, linting.examine)
    return list(linting.results(outcomes))


class Linting:
    """The rules, and the catalogs whose migrations they are applied to.

    Attributes:
        chosen: the catalogs, each with its environments.
        rules: by code.
    """

    def __init__(self, root: Path, chosen: Sequence[tuple[CatalogFile, Sequence[str]]], base: Base | None) -> None:
        """Args:
        base: only files that it lacks are checked; None for all files.
        """
        self.chosen = chosen
        self._base = base
        self.rules = {rule.code: rule for rule in all_rules()}
        self._varying = {file.name: varying(file, environments, root) for file, environments in chosen}
        self._without_rules: dict[str, set[str]] = {}

    def examine(
        self,
        sandbox: Sandbox,
        catalog: Catalog,
        migrations: Sequence[Migration],
        files: Sequence[Migration] | None = None,
    ) -> Iterator[Examined]:
        """Yield what the rules say of each file that is checked.

        Args:
            files: the ones that are checked; default those that the base lacks.

        Raises:
            ConfigurationError: the catalog file sets the severity of an unknown rule.
            MigrationFileError, SeveralErrors: as `Sandbox.walk`.
        """
        _check_codes(catalog, self.rules)
        if not dialect_of(catalog.dialect).has_rules:
            self._without_rules.setdefault(catalog.name, set()).add(catalog.dialect)
        if files is None:
            files = self._base.compared(catalog.name, migrations).changed() if self._base else migrations
        made = made_by_repeatables(sandbox, catalog, files, migrations)
        own = {text for text, _ in texts_of(catalog.variables, "variables")}
        varying = {text: path for text, path in self._varying[catalog.name].items() if text not in own}
        unread = [text for text in own if PLACEHOLDER.search(text)]
        facts = {**_facts(catalog), "varying": varying, "unread": unread, "repeatables": made}
        for migration, answer in examined(sandbox, catalog, migrations, files, facts):
            yield Examined(catalog.environment, migration.location, catalog.lint, answer)

    def results(self, outcomes: Iterable[InEnvironment[Examined]]) -> Iterator[LintResult]:
        """Yield the result of each catalog."""
        groups: dict[str, list[InEnvironment[Examined]]] = {file.name: [] for file, _ in self.chosen}
        for outcome in outcomes:
            groups[outcome.catalog].append(outcome)
        for name, group in groups.items():
            result = _result(name, group, self.rules, only_new=self._base is not None)
            yield replace(result, warnings=_no_rules(self._without_rules.get(name, ())))


def _no_rules(dialects: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"there are no rules for the dialect {dialect}" for dialect in sorted(dialects))


def _check_codes(catalog: Catalog, rules: Mapping[str, Rule]) -> None:
    """Refuse a catalog file that sets the severity of an unknown rule."""
    for code, (file, line) in catalog.lint.places.items():
        if code not in rules:
            hint = did_you_mean(code, rules, f"`{command('rules')}` lists the codes")
            what = f"{file}, line {line}: lint.rules: there is no rule {code}"
            raise ConfigurationError("UNKNOWN_RULE", what, hint, path=file, line=line)


def _facts(catalog: Catalog) -> dict[str, object]:
    """Return the attributes of `Facts` that follow from the catalog file."""
    return {
        **context_facts(catalog),
        "versions": versions(catalog),
        "given_parts": type_of(catalog).given_parts(catalog),
        "overwrites_partitions": catalog.spark_conf.get(_OVERWRITE_MODE, "").lower() == "dynamic",
        "defaults": defaults(catalog),
        "beginning": beginning(catalog),
        "managed": catalog.management.managed,
        "unmanaged": [(rule.pattern, rule.reason) for rule in catalog.management.unmanaged],
        "peaks": [(pattern, peak.put, peak.get) for pattern, peak in catalog.layout.peaks],
    }


def context_facts(catalog: Catalog) -> dict[str, object]:
    """Return the attributes of `Facts` from which the effect of a statement follows."""
    kinds = ((match[1], value) for key, value in catalog.spark_conf.items() if (match := _KIND.fullmatch(key)))
    return {"formats": formats(catalog), "default_catalog": default_catalog(catalog), "kinds": dict(kinds)}


def _result(
    name: str, group: Sequence[InEnvironment[Examined]], rules: Mapping[str, Rule], *, only_new: bool
) -> LintResult:
    examined = [examined for outcome in group for examined in outcome.used]
    verdict = judge(examined, rules, spares_new=only_new)
    environments = tuple(file.environment for file in group)
    result = LintResult(
        name,
        ", ".join(environments),
        environments=environments,
        files=len({file.path for file in examined}),
        findings=verdict.findings,
        not_understood=verdict.not_understood,
        spared=verdict.spared,
    )
    errors: dict[str, GlacierbaseError] = {error.message: error for file in group for error in file.errors}
    return replace(result, error=joined([*errors.values(), *_failure(result)]))


def _failure(result: LintResult) -> Iterator[MigrationFileError]:
    """Yield the error of a result with findings that fail the command."""
    wrong = [finding for finding in result.findings if finding.is_error]
    if wrong:
        codes = tuple(dict.fromkeys(finding.code for finding in wrong))
        yield MigrationFileError(
            "LINT_FAILED",
            f"catalog {result.catalog}: {counted(len(wrong), 'error')} of {', '.join(codes)}",
            f"`{command('rules', *codes)}` explains them, and how to allow one",
            catalog=result.catalog,
            codes=list(codes),
        )


@dataclass(frozen=True, slots=True)
class Examined:
    """What `examine` returned for a file in one environment."""

    environment: str
    path: str
    options: LintOptions
    answer: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class CatalogFindings:
    """The findings of a catalog: errors first and notes last, each by file and line."""

    findings: tuple[Finding, ...]
    not_understood: tuple[NotUnderstood, ...]
    spared: int


def judge(examined: Sequence[Examined], rules: Mapping[str, Rule], *, spares_new: bool) -> CatalogFindings:
    """Return the findings of all environments, each once.

    Args:
        rules: by code.
        spares_new: whether the files are new, so that the tables that they create are also new.
    """
    judgement = _Judgement(rules, _created(examined) if spares_new else frozenset(), spares_new=spares_new)
    for file in examined:
        judgement.add(file)
    judgement.add_unused(examined)
    findings = _merged(judgement.environments)
    unread = [NotUnderstood(file.path, line, sql) for file in examined for line, sql in file.answer["not_understood"]]
    return CatalogFindings(tuple(sorted(findings, key=_order)), tuple(dict.fromkeys(unread)), judgement.spared)


def _merged(environments: Mapping[Finding, Mapping[str, None]]) -> list[Finding]:
    """Return the findings with their environments; what only names another table in another environment is one finding."""
    findings: dict[Finding, dict[str, None]] = {}
    by_place: dict[tuple[object, ...], list[Finding]] = {}
    for finding, names in environments.items():
        same = by_place.setdefault(
            (finding.path, finding.code, finding.statement_index, finding.line, finding.severity, finding.allowed), []
        )
        merged = next((other for other in same if findings[other].keys().isdisjoint(names)), None)
        if merged:
            findings[merged].update(names)
        else:
            findings[finding] = dict(names)
            same.append(finding)
    return [replace(finding, environments=tuple(names)) for finding, names in findings.items()]


def _order(finding: Finding) -> tuple[bool, bool, str, int, int, str]:
    return (not finding.is_error, finding.is_note, finding.path, finding.line, finding.column, finding.code)


def _created(examined: Sequence[Examined]) -> frozenset[tuple[str, ...]]:
    """Return the tables that the files create before any change of them."""
    first: dict[tuple[str, tuple[str, ...]], bool] = {}
    for file in examined:
        for key, is_new in file.answer["tables"]:
            first.setdefault((file.environment, tuple(key)), is_new)
    return frozenset(key for (_, key), is_new in first.items() if is_new)


_LONGEST_CODE = 20
# Families about what a statement does, which a refused statement does not.
_EFFECTS = frozenset({"DS", "BC", "PA", "MT"})
_Allows = dict[tuple[int | None, str], list[Mapping[str, Any]]]


class _Judgement:
    """Collect the findings of all files and environments.

    Attributes:
        environments: the environments of each finding.
        spared: the number of findings about new tables.
    """

    def __init__(
        self, rules: Mapping[str, Rule], new_tables: Collection[tuple[str, ...]], *, spares_new: bool = False
    ) -> None:
        self._rules = rules
        self._new_tables = new_tables
        self._spares_new = spares_new
        # The columns that files before add: environment, table, path.
        self._new_columns: set[tuple[str, tuple[str, ...], tuple[str, ...]]] = set()
        self._used: set[tuple[str, int, str]] = set()
        self._spared: set[tuple[str, str, int]] = set()
        # The last finding about the state of each table: environment, code, table.
        self._of_state: dict[tuple[str, str, tuple[str, ...]], Finding] = {}
        self.environments: dict[Finding, dict[str, None]] = {}

    @property
    def spared(self) -> int:
        return len(self._spared)

    def add(self, file: Examined) -> None:
        """Add the findings in one file and environment, and the findings about its allows."""
        allows = _by_place(file.answer["allows"])
        raws = file.answer["found"]
        objections = [(self._rules[raw["code"]], self._reason(file.path, allows, raw), raw) for raw in raws]
        refusals = (raw for rule, reason, raw in objections if reason is None and _is_refusal(rule, raw, file.options))
        refused = {_place(raw) for raw in refusals}
        for rule, reason, raw in objections:
            if rule.family in _EFFECTS and reason is None and not rule.refuses and _place(raw) in refused:
                continue
            if rule.spares_new_tables and self._is_about_new(file.environment, raw):
                self._spared.add((file.path, rule.code, raw["line"]))
            else:
                self._add(file, rule, raw, reason)
        if self._spares_new:
            self._new_columns.update((file.environment, tuple(key), tuple(path)) for key, path in file.answer["added"])
        for allow in file.answer["allows"]:
            if allow["code"] not in self._rules and allow["code"] not in REPLAY_CODES:
                what = "names {}, which is no rule" if allow["code"] else "names no rule"
                self._about_allow(file, unknown_allow, allow, what, allow["fix"])
            elif not allow["reason"]:
                self._about_allow(file, unexplained_allow, allow, "allows {} without a reason")
        if file.answer["misplaced"]:
            self._about_allow(file, misplaced_allow, None, "has no effect where it is, or as it is written")

    def _is_about_new(self, environment: str, raw: Mapping[str, Any]) -> bool:
        """Return whether a finding is about a table that the same change creates, or about columns that it adds."""
        key, columns = tuple(raw["key"] or ()), [tuple(path) for path in raw["values_of"]]
        if raw["is_new"] or key in self._new_tables:
            return True
        return bool(columns) and all((environment, key, path) in self._new_columns for path in columns)

    def add_unused(self, examined: Sequence[Examined]) -> None:
        """Add a finding for each allow that has a reason, and matches no finding in any environment."""
        for file in examined:
            for allow in file.answer["allows"]:
                is_used = (file.path, allow["statement_index"], allow["code"]) in self._used
                if allow["reason"] and allow["code"] in self._rules and not is_used:
                    self._about_allow(file, unused_allow, allow, "allows {}, which the statement does not raise")

    def _reason(self, path: str, allows: _Allows, raw: Mapping[str, Any]) -> str | None:
        """Return the reason why a finding is allowed. A comment above any statement can allow a finding about the whole file."""
        matching = allows.get((raw["statement_index"], raw["code"]), ())
        self._used.update((path, allow["statement_index"], allow["code"]) for allow in matching)
        return next((str(allow["reason"]) for allow in matching if allow["reason"]), None)

    def _about_allow(
        self, file: Examined, rule: Rule, allow: Mapping[str, Any] | None, what: str, fix: str = ""
    ) -> None:
        """Add a finding about a comment.

        Args:
            allow: None for comments that are above no statement.
            what: the predicate of the message, with `{}` in place of the comment's code.
            fix: default the rule's fix.
        """
        index = allow["statement_index"] if allow else None
        line, column = file.answer["lines"].get(str(index), (1, 1))
        raw = {
            "message": f"the comment {what.format(allow['code'][:_LONGEST_CODE] if allow else '')}",
            "fix": fix, "statement_index": index, "line": line, "column": column, "table": None,
        }  # fmt: skip
        self._add(file, rule, raw, None)

    def _add(self, file: Examined, rule: Rule, raw: Mapping[str, Any], allowed: str | None) -> None:
        severity = _severity(rule, raw, file.options)
        state = (file.environment, rule.code, tuple(raw["key"] or ())) if rule.is_of_state else None
        if state:
            self._end(state)
        if severity is None or not raw["message"]:
            return
        finding = Finding(
            code=rule.code, severity=severity, message=raw["message"], why=rule.why, fix=raw["fix"] or rule.fix,
            path=file.path, line=raw["line"], column=raw["column"], statement_index=raw["statement_index"],
            table=raw["table"], environments=(), allowed=allowed,
        )  # fmt: skip
        self.environments.setdefault(finding, {})[file.environment] = None
        if state:
            self._of_state[state] = finding

    def _end(self, state: tuple[str, str, tuple[str, ...]]) -> None:
        """Remove the finding about the state of a table, which a later statement changes."""
        finding = self._of_state.pop(state, None)
        if finding is not None:
            del self.environments[finding][state[0]]
            if not self.environments[finding]:
                del self.environments[finding]


def _is_refusal(rule: Rule, raw: Mapping[str, Any], options: LintOptions) -> bool:
    return rule.refuses and _severity(rule, raw, options) is Severity.ERROR


def _place(raw: Mapping[str, Any]) -> tuple[Any, ...]:
    return raw["statement_index"], raw["line"], raw["column"]


def _by_place(allows: Sequence[Mapping[str, Any]]) -> _Allows:
    """Return the allows by statement and code; with None for the statement, by code alone."""
    by_place: _Allows = {}
    for allow in allows:
        for index in (allow["statement_index"], None):
            by_place.setdefault((index, allow["code"]), []).append(allow)
    return by_place


def _severity(rule: Rule, raw: Mapping[str, Any], options: LintOptions) -> Severity | None:
    """Return the severity in an environment; None if the rule is off."""
    chosen, table = options.severities.get(rule.code), raw["table"]
    if chosen:
        return None if chosen == "off" else Severity(chosen)
    if raw.get("severity"):
        return Severity(raw["severity"])
    if table and any(matches(table, pattern) for pattern in options.streaming):
        return rule.streaming or rule.severity
    return None if rule.streaming_only else rule.severity
