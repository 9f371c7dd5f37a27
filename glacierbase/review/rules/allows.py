"""FL1xx: the comments that allow a finding. `judge` finds these, because it knows which findings there are."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.review.rule import File, Found, Proof, Rule, file_rule
from glacierbase.review.severity import Severity

_SOURCE = "glacierbase records the code and the reason of an allow in the history, and `show` prints them."
_GOOD = "-- GLACIERBASE_ALLOW: DS103 no readers since 2026-10-01 (#912)\nALTER TABLE lake.a.t DROP COLUMN legacy"


@file_rule(
    code="FL120", name="allow-without-reason", severity=Severity.ERROR, source=_SOURCE, proof=Proof.CONVENTION,
    why="The reason is what a reviewer approves and what the history answers later.",
    fix="Write the reason after the code.",
    bad="-- GLACIERBASE_ALLOW: DS103\nALTER TABLE lake.a.t ALTER COLUMN id COMMENT 'the key'", good=_GOOD,
)  # fmt: skip
def unexplained_allow(_file: File) -> Iterator[Found]:
    """Found by `judge`."""
    return iter(())


@file_rule(
    code="FL121", name="allow-unused", severity=Severity.WARNING, source=_SOURCE, proof=Proof.CONVENTION,
    why="An allow without a finding hides the next one of this kind in the statement.",
    fix="Remove the comment.",
    bad="-- GLACIERBASE_ALLOW: DS103 no readers since 2026-10-01\nALTER TABLE lake.a.t ALTER COLUMN id COMMENT 'the key'",
    good=_GOOD,
)  # fmt: skip
def unused_allow(_file: File) -> Iterator[Found]:
    """Found by `judge`."""
    return iter(())


@file_rule(
    code="FL122", name="allow-unknown-code", severity=Severity.ERROR, source=_SOURCE, proof=Proof.CONVENTION,
    why="No rule has this code, so that nothing is allowed.",
    fix="Write the code of a rule.",
    bad="-- GLACIERBASE_ALLOW: DS1O3 no readers since 2026-10-01\nALTER TABLE lake.a.t ALTER COLUMN id COMMENT 'the key'",
    good=_GOOD,
)  # fmt: skip
def unknown_allow(_file: File) -> Iterator[Found]:
    """Found by `judge`."""
    return iter(())


@file_rule(
    code="FL123", name="allow-misplaced", severity=Severity.WARNING, source=_SOURCE, proof=Proof.CONVENTION,
    why="An allow counts as a line of its own above a statement only, and this one has no effect.",
    fix="Write `-- GLACIERBASE_ALLOW: CODE reason` on a line of its own above the statement.",
    bad="ALTER TABLE lake.a.t ALTER COLUMN id COMMENT 'the key'; -- GLACIERBASE_ALLOW: DS103 no readers", good=_GOOD,
)  # fmt: skip
def misplaced_allow(_file: File) -> Iterator[Found]:
    """Found by `judge`."""
    return iter(())


RULES: tuple[Rule, ...] = (unexplained_allow, unused_allow, unknown_allow, misplaced_allow)
