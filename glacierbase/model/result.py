"""The base of every command's result, and the values that several families of commands share.

A result type belongs to its family: `apply.results` and `inspect.results`. Its fields are the fields of the JSON document,
its `lines` are the text. `output` puts the results of several catalogs together.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, ClassVar, TypeVar

from glacierbase.errors import GlacierbaseError
from glacierbase.model.codec import to_json
from glacierbase.model.escape import printable_json
from glacierbase.model.migration import AppliedBy, Identified, State, Waiting
from glacierbase.model.printable import Show, printable
from glacierbase.model.text import Line, Mark, split_lines, time_from, time_of
from glacierbase.secrets import Secrets, secrets_in_use

R = TypeVar("R", bound="Result")


@dataclass(frozen=True, slots=True)
class Result(ABC):
    """The common part of all results about one catalog.

    Attributes:
        skipped: why the command did nothing for this catalog, or None.
        warnings: problems that are not errors.
        error: why the result is not complete, or None.
        secrets: in use when the result was created; its documents are masked with them.
        PARTIAL: whether the result of a failed command is shown, with what was done before the error.
    """

    catalog: str
    environment: str
    skipped: str | None = None
    warnings: tuple[str, ...] = ()
    error: GlacierbaseError | None = None
    secrets: Secrets = field(default_factory=secrets_in_use, kw_only=True, repr=False, compare=False)

    PARTIAL: ClassVar[bool] = False

    @abstractmethod
    def lines(self) -> Sequence[Line]:
        """Return the lines and tables of the text form, not escaped. A line break inside a line belongs to a value."""

    def skipping(self) -> Sequence[Line]:
        """Return the lines of a catalog that was skipped. The first one continues the title."""
        return [f"skipped, {self.skipped}"]

    def script(self) -> str | None:
        """Return a text that is printed in place of the lines, without indentation, for use as a file; or None."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return this catalog's entry in the JSON document, masked."""
        with self.secrets.in_use():
            document: dict[str, Any] = to_json(self)
            return document

    def as_text(self, lines: Callable[[Any], Sequence[Line]] | None = None, show: Show = printable) -> str:
        """Return the catalog's block in the text of a command, masked; empty if it failed and nothing of it is shown.

        Args:
            lines: returns the lines of the result; default its method `lines`.
        """
        with self.secrets.in_use():
            return self._block((lines or type(self).lines)(self), show)

    def _block(self, lines: Sequence[Line], show: Show) -> str:
        title = f"{self.catalog} ({self.environment})" if self.environment else self.catalog
        if self.skipped:
            first, *more = self.skipping()
            return show([f"{title}: {first}", *more])
        if script := self.script():
            return printable([f"-- {title}", *split_lines(script.rstrip())])
        if self.error and not (self.PARTIAL and lines and self != self._without_content()):
            return ""
        head = show([Mark(title), *(f"warning: {warning}" for warning in self.warnings)])
        return "\n".join([head, show(lines, "  ")]) if lines else head

    def _without_content(self) -> Result:
        return type(self)(self.catalog, self.environment, error=self.error)

    def __init_subclass__(cls) -> None:
        """Keep the representation, which a dataclass would replace by a list of its fields."""
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Return the text, and the error, for an interpreter, a notebook and a log."""
        with self.secrets.in_use():
            error = printable([f"error: {self.error.code}: {self.error.message}"]) if self.error else ""
        return "\n".join(filter(None, (self.as_text(), error)))

    def _repr_html_(self) -> str:
        """Return the catalog's entry in the JSON document as tables, for a notebook."""
        from glacierbase.model.html import to_html  # Only notebooks call this.

        return to_html(self.to_dict())


@dataclass(frozen=True, slots=True)
class StandaloneResult(ABC):
    """The result of a command that is about no catalog. Its fields are further properties of the JSON document."""

    @abstractmethod
    def lines(self) -> Sequence[Line]:
        """Return the lines and tables of the text form, not escaped."""


class Results(tuple[R, ...]):
    """The results of a command, one for each catalog. A notebook shows them as tables, an interpreter as text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self)) or "no catalogs"

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self)


@dataclass(frozen=True, slots=True)
class RecordedRepair:
    """What `repair` recorded about a version after its run: separate from that run, with its own time, run and user."""

    resolution: str | None
    at: datetime | None
    run_id: str
    os_user: str | None
    host: str | None
    principal: str | None
    ci_actor: str | None
    reason: str | None

    def line(self) -> str:
        """Return the repair as a line of text."""
        who = user_of(self.os_user, self.host, self.ci_actor)
        principal = "" if self.principal in (None, self.os_user) else f" as {self.principal}"
        return f"repaired as {self.resolution} at {time_of(self.at)} by {who}{principal}: {self.reason}"


def user_of(os_user: str | None, host: str | None, ci_actor: str | None) -> str:
    """Return the known part of the user of a run: `ann@laptop`, or with the user who started the CI job `octocat (runner@ci-7)`."""
    user = "@".join(filter(None, (os_user, host)))
    return f"{ci_actor} ({user})" if ci_actor and user else ci_actor or user or "an unknown user"


@dataclass(frozen=True, slots=True)
class Status(Identified):
    """The state of one version, or of one repeatable.

    Attributes:
        version: None for a repeatable, which has a name.
        applied_at, run_id: time and id of the run that applied the version, or ran it last; a repair changes neither.
        applied_by: `run`, `baseline`, or `repair` if a person completed a failed statement by hand; None if not applied.
        repaired: the newest repair since that run, or None.
        headers: the headers of the file that the catalog file lists, by name.
        note: facts that are not errors.
        stopped_at: the statement (from 1) that failed, is running, or has an unknown outcome; else None.
        replaces: the versions that a squash replaces.
        name: of a repeatable; None for a version.
        engine: name and version of the engine that ran it last, `pyiceberg …` where it ran directly; None if it did not run.
        waiting: why it waits, and since when; None where it does not.
    """

    version: str | None
    description: str | None
    author: str | None
    path: str | None
    state: State
    statements_done: int = 0
    statements_total: int | None = None
    applied_at: datetime | None = None
    run_id: str | None = None
    error_message: str | None = None
    applied_by: AppliedBy | None = None
    repaired: RecordedRepair | None = None
    headers: dict[str, str] = field(default_factory=dict)
    note: str | None = None
    stopped_at: int | None = None
    replaces: tuple[str, ...] = ()
    name: str | None = None
    engine: str | None = None
    waiting: Waiting | None = None

    @property
    def state_name(self) -> str:
        """The state for display: `baselined` if the version was recorded as applied and did not run; `withdrawn`."""
        if self.state is State.APPLIED and self.applied_by is AppliedBy.BASELINE:
            return "baselined"
        is_withdrawn = self.state is State.ABANDONED and self.repaired and self.repaired.resolution == "withdrawn"
        return "withdrawn" if is_withdrawn else str(self.state)

    @property
    def progress(self) -> str:
        """`2/5`: statements done, of all; empty if the number of statements is not known."""
        return f"{self.statements_done}/{self.statements_total}" if self.statements_total is not None else ""

    @property
    def place(self) -> str:
        """` at statement 3 of 5`; empty if the version did not stop at a statement."""
        return f" at statement {self.stopped_at} of {self.statements_total}" if self.stopped_at else ""


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The run that holds a catalog's lock."""

    owner: str
    host: str | None
    pid: int | None
    os_user: str | None
    ci_url: str | None
    acquired_at: datetime | None
    expires_at: datetime | None

    @property
    def who(self) -> str:
        """`alice on ci-7 (pid 4711), since 2026-11-20 12:03:11 UTC (2 min ago)`."""
        at = self.acquired_at
        since = f", since {time_of(at)} ({time_from(at, datetime.now(timezone.utc))})" if at else ""
        return f"{self.os_user} on {self.host} (pid {self.pid}){since}"

    @property
    def run(self) -> str:
        """`run 3f2a… of` the holder, its lease, and the URL of its CI job."""
        until = f", lease until {time_of(self.expires_at)}" if self.expires_at else ""
        return f"run {self.owner} of {self.who}{until}{f', {self.ci_url}' if self.ci_url else ''}"

    def line(self) -> str:
        """Return the holder as a line of text."""
        return f"lock: {self.run}"


def raise_first(results: Sequence[R], first: GlacierbaseError | None = None) -> Results[R]:
    """Return the results, or raise the first error in them, with all results in its attribute `results`.

    Args:
        first: the one to raise, where the first one in time is another.
    """
    first = first or next((result.error for result in results if result.error), None)
    if first:
        first.results = tuple(results)
        raise first
    return Results(results)


def document(command: str, results: Sequence[Result], error: GlacierbaseError | None) -> dict[str, Any]:
    """Return the JSON document of a command, on success and failure, masked."""
    return {
        "schema": f"glacierbase/{command}/1",
        "ok": error is None,
        "error": to_json(error),
        "catalogs": [result.to_dict() for result in results],
    }


def json_text(content: dict[str, Any] | list[Any]) -> str:
    """Return the text of a document, with JSON's escapes for what a terminal or a CI service would execute."""
    return printable_json(json.dumps(content, indent=2, ensure_ascii=False, default=str))


@dataclass(frozen=True, slots=True)
class WrittenResult(Result):
    """The files that `new` wrote.

    Attributes:
        unchanged: what the recorded tables match already, so that nothing was written; None otherwise.
    """

    files: tuple[str, ...] = ()
    unchanged: str | None = None

    def lines(self) -> list[str]:
        if self.unchanged is not None:
            return [f"the recorded tables match {self.unchanged}; nothing was written"]
        return [f"wrote {os.path.relpath(file)}" for file in self.files]
