"""A family of rules: a Markdown file describes them, and a row or a function for each finds its hazard.

The section of a rule in the file:

    ## DL113 constraint-dropped

    Severity: warning. Formats: delta. Proof: cited. Spares new tables.

    Why: Rows that the constraint refused can be written from then on.

    Fix: …

    Raises it: (a block of SQL)

    Does not: (a block of SQL)

    Source: https://…

`Formats` is `all` or a list. Only some rules have `Streams: error.` and the words of `_WORDS`; `Rule` explains them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar

from glacierbase.capabilities.review.rule import (
    Check,
    CheckStatement,
    File,
    Proof,
    Rule,
    RuleFinding,
    Step,
    of,
)
from glacierbase.model.finding import Severity
from glacierbase.model.text import first_of
from glacierbase.prose import sections
from glacierbase.sql.statement import Part

_Clause = TypeVar("_Clause", bound=Part)
_WORDS = {
    "Spares new tables": "spares_new_tables",
    "Refused by the engine": "refuses",
    "About the state of a table": "is_of_state",
    "Only for streams": "streaming_only",
}


class Family:
    """The rules of a module, in the order of the Markdown file beside it."""

    def __init__(self, module: str) -> None:
        """Args:
        module: its path; the Markdown file has the same name.
        """
        texts = sections(Path(module).with_suffix(".md"))
        self._descriptions = {heading.split()[0]: _description(heading, blocks) for heading, blocks in texts}
        self._rules: dict[str, Rule] = {}

    def __iter__(self) -> Iterator[Rule]:
        """Return an iterator of the rules.

        Raises:
            ValueError: a rule has no check.
        """
        if lacking := [code for code in self._descriptions if code not in self._rules]:
            raise ValueError(f"the rule {first_of(lacking, 1)} has no check")
        return iter([self._rules[code] for code in self._descriptions])

    def clause(
        self,
        code: str,
        operations: str | Collection[str],
        kind: type[_Clause],
        message: str,
        where: Callable[[_Clause], object] = lambda _: True,
    ) -> None:
        """Add a rule about single clauses.

        Args:
            operations: of the clauses.
            message: of the finding; `{clause.key}` and the like are replaced by attributes of the clause.
            where: whether a clause is a hazard; default each.
        """
        wanted = _listed(operations)

        @self.check(code, *wanted)
        def check(step: Step, _file: File) -> Iterator[RuleFinding]:
            for clause in of(step, kind, *wanted):
                if where(clause):
                    yield RuleFinding(message.format(clause=clause), step, clause.place)

    def statement(
        self,
        code: str,
        operations: str | Collection[str],
        message: str,
        where: Callable[[Step], object] = lambda _: True,
    ) -> None:
        """Add a rule about single statements.

        Args:
            operations: of the statements, or of one of their clauses.
            message: of the finding; `{step.verb}` and the like are replaced by attributes of the step.
            where: whether a statement is a hazard; default each.
        """

        @self.check(code, *_listed(operations))
        def check(step: Step, _file: File) -> Iterator[RuleFinding]:
            if where(step):
                yield RuleFinding(message.format(step=step), step)

    def check(self, code: str, *operations: str) -> Callable[[CheckStatement], Rule]:
        """Add a rule of a function that checks single statements, on tables of the formats of its section.

        Args:
            operations: the operations of the statements, or of one of their clauses; default all.
        """
        wanted, formats = frozenset(operations), self._descriptions[code]["formats"]

        def decorate(function: CheckStatement) -> Rule:
            def check(file: File) -> Iterator[RuleFinding]:
                for step in file.steps:
                    is_wanted = not wanted or not wanted.isdisjoint(step.operations)
                    if is_wanted and (not formats or file.format_of(step) in formats):
                        yield from function(step, file)

            return self._add(code, check)

        return decorate

    def check_file(self, code: str) -> Callable[[Check], Rule]:
        """Add a rule of a function that checks a whole file, and decides itself to which formats it applies."""
        return lambda check: self._add(code, check)

    def _add(self, code: str, check: Check) -> Rule:
        if code in self._rules:
            raise ValueError(f"the rule {code} has two checks")
        self._rules[code] = rule = Rule(check=check, **self._descriptions[code])
        return rule


def _listed(operations: str | Collection[str]) -> Collection[str]:
    return (operations,) if isinstance(operations, str) else operations


def _description(heading: str, blocks: list[str]) -> dict[str, Any]:
    """Return the attributes of a rule, except its check."""
    code, name = heading.split()
    words, why, fix, _, bad, _, good, source = blocks
    values = dict(word.partition(": ")[::2] for word in words.removesuffix(".").split(". "))
    formats = values.pop("Formats")
    return {
        "code": code,
        "name": name,
        "severity": Severity(values.pop("Severity")),
        "formats": frozenset(() if formats == "all" else formats.split(", ")),
        "proof": Proof(values.pop("Proof")),
        "streaming": Severity(values.pop("Streams")) if "Streams" in values else None,
        **{_WORDS[word]: True for word in values},
        "why": why.removeprefix("Why: "),
        "fix": fix.removeprefix("Fix: "),
        "bad": bad,
        "good": good,
        "source": source.removeprefix("Source: "),
    }
