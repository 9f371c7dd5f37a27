"""Since when a table has something, by which migration, and why; or that no migration is known to have made it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from glacierbase.history.shapes import Origin
from glacierbase.history.timeline import Moment
from glacierbase.model.migration import EventType


@dataclass(frozen=True, slots=True)
class Since:
    """The origin of a change.

    Attributes:
        version, author, description: of the migration; None where no migration is known to have made the change.
        at: when it was recorded: after the file had ended. Of a change that no migration made, when it was committed, if the
            metadata of the table told that.
        at_most: whether the change may be older: it was found, not made, by the file, or the file was recorded by `baseline`.
        seen_by: the version that found a change that it did not make; else None.
        is_first: whether the table was as it is found in its first record.
    """

    version: str | None
    at: datetime | None
    author: str | None
    description: str | None
    origin: Origin
    at_most: bool = False
    seen_by: str | None = None
    is_first: bool = False

    @classmethod
    def of(cls, moment: Moment, *, is_first: bool = False) -> Since:
        """Return the origin of what a table has since a moment.

        Args:
            is_first: whether the table has no earlier moment.
        """
        event = moment.event
        if moment.origin is not Origin.MIGRATION:
            at_most = not moment.is_exact
            return cls(None, event.recorded_at, None, None, moment.origin, at_most, event.version, is_first)
        is_late = event.event == EventType.BASELINED
        return cls(event.version, event.recorded_at, event.author, event.description, moment.origin, is_late)

    @property
    def is_outside(self) -> bool:
        """Whether another client is known to have made the change."""
        return self.origin in (Origin.OUTSIDE, Origin.DURING)

    @property
    def day(self) -> str:
        """`2026-11-20`, or `<= 2026-11-20` where the change may be older; in UTC."""
        day = f"{self.at.astimezone(timezone.utc):%Y-%m-%d}" if self.at else ""
        return f"<= {day}" if self.at_most and day else day

    @property
    def why(self) -> str:
        """The description of the migration, or why there is none."""
        if self.origin is Origin.MIGRATION:
            return self.description or ""
        if self.origin is Origin.BASELINE:
            return f"found at baseline of {self.seen_by}"
        if self.origin is Origin.DURING:
            return f"during {self.seen_by}, not by it"
        if self.is_first:
            return f"before the first record, observed by {self.seen_by}"
        what = "not from a migration" if self.origin is Origin.OUTSIDE else "not recorded"
        return f"{what}, first observed by {self.seen_by}" if self.seen_by else what

    @property
    def line(self) -> str:
        """`0003 on 2026-11-20, Ann: why`."""
        if self.version is None:
            return f"{self.why} on {self.day.removeprefix('<= ')}"
        return f"{self.version} on {self.day}, {self.author}: {self.why}"
