"""The cases of the corpus, and the verdict of findings about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from glacierbase.capabilities.review.rule import Facts
from glacierbase.errors import MigrationFileError
from glacierbase.model.finding import Finding, Severity
from tests.support.rules import findings

_FACTS = {
    "iceberg": Facts(formats={"lake": "iceberg"}, default_catalog="lake", given_parts=1),
    "delta": Facts(formats={"spark_catalog": "delta"}, default_catalog="spark_catalog", given_parts=1),
    "hudi": Facts(formats={"spark_catalog": "hudi"}, default_catalog="spark_catalog", given_parts=1),
    "snowflake": Facts(engine="snowflake"),
}
BRANCH = "migrations/lake/0002_a.sql"


@dataclass(frozen=True, slots=True)
class Case:
    """A case of the corpus.

    Attributes:
        engine: the name of its file.
        found_by: `text`, `declared` or `engine`.
        statement: the number of the hazard in the branch; None for a harmless file.
        says: what a finding about the hazard says.
        missed: why nothing finds it; empty if something does.
    """

    engine: str
    name: str
    found_by: str
    base: str
    branch: str
    statement: int | None
    says: str
    missed: str

    @property
    def is_hazard(self) -> bool:
        return self.statement is not None

    def linted(self) -> list[Finding]:
        """Return the findings of `lint` in the branch."""
        files = (self.base or "SELECT 1", self.branch)
        try:
            return [finding for finding in findings(*files, facts=_FACTS[self.engine]) if finding.path == BRANCH]
        except MigrationFileError as error:  # A file that no command compiles.
            return [
                Finding(
                    error.code, Severity.ERROR, error.message, "", error.hint or "", BRANCH, 1, 1, None, None, (), None
                )
            ]

    def is_found(self, found: Iterable[Finding]) -> bool:
        """Return whether one of the findings is about the hazard."""
        about = (finding for finding in found if finding.statement_index in (self.statement, None))
        return any(re.search(self.says, f"{finding.message} {finding.why} {finding.fix}", re.I) for finding in about)


def cases() -> Iterator[Case]:
    """Yield all cases, by engine."""
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text("utf-8")):
            yield Case(
                path.stem, entry["case"], entry["found by"], entry.get("base", ""), entry["branch"],
                entry["statement"] if entry["expects"] == "hazard" else None, entry.get("says", ""), entry.get("missed", ""),
            )  # fmt: skip
