"""The result of `compare`, and its text: what differs on one screen, with counts of what is equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from glacierbase.capabilities.tables.compare.state import VersionState
from glacierbase.errors import GlacierbaseError
from glacierbase.model.differences import Difference
from glacierbase.model.migration import AppliedBy, Identified, State
from glacierbase.model.result import Result
from glacierbase.model.text import Cell, Line, Mark, age_of, counted, table, time_of

_ABSENT = "-"
# Digits of a checksum, after its algorithm; enough to distinguish two files.
_SHOWN_DIGITS = 6


class Verdict(str, Enum):
    """How the environments compare in one version."""

    EQUAL = "equal"
    VARIABLES = "variables"
    BASELINED = "baselined"
    PENDING = "pending"
    BEHIND = "behind"
    ABANDONED = "abandoned"
    EXTRA = "extra"
    MISSING = "missing"
    EDITED = "edited"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    WAITING = "waiting"
    FAILED = "failed"
    UNKNOWN = "unknown"

    __str__ = str.__str__

    @property
    def is_difference(self) -> bool:
        """Whether the environments differ in the updates that they had."""
        return self not in (Verdict.EQUAL, Verdict.VARIABLES, Verdict.BASELINED, Verdict.PENDING)


class Cause(str, Enum):
    """Why a table differs."""

    OUTSIDE = "outside"
    UNEXPLAINED = "unexplained"
    VERSIONS = "versions"
    VARIABLES = "variables"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class ComparedEnvironment:
    """An environment.

    Attributes:
        file: the state file that it was read from; None where the environment was read.
        skipped, error: why it is not compared.
    """

    name: str
    file: str | None = None
    read_at: datetime | None = None
    skipped: str | None = None
    error: GlacierbaseError | None = None

    def note(self) -> str | None:
        """Return a note of what the table does not show of the environment."""
        if self.skipped or self.error:
            return f"{self.name}: not compared: {self.skipped or (self.error and self.error.code)}"
        return f"{self.name}: as of {time_of(self.read_at)}, from {self.file}" if self.file else None


@dataclass(frozen=True, slots=True)
class ComparedVersion(Identified):
    """A version, or a repeatable, in all environments.

    Attributes:
        states: by environment, without those that do not have the version.
    """

    version: str | None
    description: str | None
    verdict: Verdict
    states: Mapping[str, VersionState]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class TableDifference:
    """A difference of a table in one environment.

    Attributes:
        environment: the one in which the table differs.
        before: the value in the reference environment, or in the record of the table if the table differs from its record.
        after: the value in this environment.
        versions: the versions that explain it; for a recorded change by another client, the version whose run observed it.
    """

    environment: str
    cause: Cause
    what: str
    name: str
    before: str | None
    after: str | None
    versions: tuple[str, ...] = ()

    def line(self) -> str:
        return Difference(self.what, self.name, self.before, self.after).line()

    @property
    def why(self) -> str:
        """The cause, where neither versions nor variables are the cause; else empty."""
        if self.cause is Cause.OUTSIDE and self.versions:
            return f"{_WHY[self.cause]}, first observed by {self.versions[0]}"
        return _WHY.get(self.cause, "")


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """A table in all environments.

    Attributes:
        table: its name in the reference environment.
        names: by environment, where it has another one.
        verdict: the most serious cause of its differences, `equal`, `unknown` where fewer than two shapes are known, or `unmanaged`
            where an environment leaves it to others.
    """

    table: str
    verdict: str
    names: Mapping[str, str]
    differences: tuple[TableDifference, ...]

    @property
    def is_different(self) -> bool:
        """Whether it differs for another reason than variables."""
        return any(difference.cause is not Cause.VARIABLES for difference in self.differences)


@dataclass(frozen=True, slots=True)
class CompareResult(Result):
    """One catalog in several environments.

    Attributes:
        differs: whether anything differs that variables do not explain.
    """

    environments: tuple[ComparedEnvironment, ...] = ()
    versions: tuple[ComparedVersion, ...] = ()
    tables: tuple[ComparedTable, ...] = ()
    differs: bool = False
    repeatables: tuple[ComparedVersion, ...] = ()

    def lines(self) -> Sequence[Line]:
        names = [
            environment.name for environment in self.environments if not environment.skipped and not environment.error
        ]
        now = max((environment.read_at for environment in self.environments if environment.read_at), default=None)
        wrong = [version for version in (*self.versions, *self.repeatables) if version.verdict.is_difference]
        tables = table(("table", "environment", "difference", "why"), self._table_rows())
        return [
            *table(("version", *names, "", "description"), (_row(version, names, now) for version in wrong)),
            *_counts(
                "version",
                len(self.versions),
                Counter(str(version.verdict) for version in self.versions),
                _VERSION_WORDS,
            ),
            *self._of_repeatables(),
            *self._by_design(),
            *tables,
            *_counts("table", len(self.tables), Counter(table.verdict for table in self.tables), _TABLE_WORDS),
            *filter(None, (environment.note() for environment in self.environments)),
        ]

    def _table_rows(self) -> Iterator[tuple[Cell, ...]]:
        """Yield a row for each difference that neither versions nor variables explain; environments that share it share the row."""
        for compared in self.tables:
            rows: dict[tuple[str, str], list[str]] = {}
            for difference in compared.differences:
                if difference.why:
                    rows.setdefault((difference.line(), difference.why), []).append(difference.environment)
            for (line, why), environments in rows.items():
                yield compared.table, Mark(", ".join(environments)), line, why

    def _of_repeatables(self) -> Iterable[str]:
        verdicts = Counter(str(repeatable.verdict) for repeatable in self.repeatables)
        return _counts("repeatable", len(self.repeatables), verdicts, _VERSION_WORDS) if self.repeatables else ()

    def _by_design(self) -> Iterator[str]:
        """Yield a line with the differences that variables explain."""
        compared = (*self.versions, *self.repeatables)
        versions = [version.label for version in compared if version.verdict is Verdict.VARIABLES]
        differing = ((table.table, {difference.cause for difference in table.differences}) for table in self.tables)
        tables = [name for name, causes in differing if Cause.VARIABLES in causes]
        if versions or tables:
            yield f"by design (variables): {', '.join([*versions, *tables])}"


_WHY = {Cause.OUTSIDE: "not from a migration", Cause.UNEXPLAINED: "neither versions nor variables explain it"}
_VERSION_WORDS = {
    "equal": "equal", "variables": "rendered with other variables", "baselined": "baselined in some", "pending": "pending in all",
}  # fmt: skip
_TABLE_WORDS = {
    "equal": "equal", "variables": "different by their variables", "versions": "different as the versions above are",
    "unknown": "not known in two environments", "unmanaged": "left to others",
}  # fmt: skip


def _row(version: ComparedVersion, names: Sequence[str], now: datetime | None) -> tuple[Cell, ...]:
    cells = (_cell(version.states.get(name), now, version.verdict is Verdict.EDITED) for name in names)
    return (version.label, *cells, Mark(str(version.verdict)), version.description)


def _cell(state: VersionState | None, now: datetime | None, with_checksum: bool) -> Cell:
    """Return state and age, and the beginning of the checksum."""
    if state is None:
        return _ABSENT
    is_baselined = state.state is State.APPLIED and state.applied_by is AppliedBy.BASELINE
    name = "baselined" if is_baselined else str(state.state)
    place = f"at {state.stopped_at}/{state.statements_total}" if state.stopped_at else ""
    age = age_of(state.applied_at, now) if state.applied_at and now else ""
    digits = state.checksums[0].rpartition(":")[2][:_SHOWN_DIGITS] if with_checksum and state.checksums else ""
    return Mark(" ".join(filter(None, (name, place, age, digits))))


def _counts(noun: str, total: int, verdicts: Mapping[str, int], words: Mapping[str, str]) -> Iterable[str]:
    """Return one line with the total, and the counts of those that are equal or whose difference is not listed."""
    parts = [f"{verdicts[verdict]} {words[verdict]}" for verdict in words if verdicts.get(verdict)]
    rest = total - sum(verdicts.get(verdict, 0) for verdict in words)
    return [f"{counted(total, noun)}: {', '.join([*parts, *([f'{rest} different'] if rest else [])]) or 'none'}"]
