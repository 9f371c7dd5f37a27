"""FL1xx: the comments that allow a finding. `judge` reports them, because they depend on the findings of other rules."""

from __future__ import annotations

from collections.abc import Iterator

from glacierbase.capabilities.review.rule import File, Proof, Rule, RuleFinding, file_rule
from glacierbase.capabilities.review.rules import texts
from glacierbase.model.finding import Severity

_TEXTS = texts("allows")


@file_rule(severity=Severity.ERROR, proof=Proof.CONVENTION, **_TEXTS["FL120"])
def unexplained_allow(_file: File) -> Iterator[RuleFinding]:
    """RuleFinding by `judge`."""
    return iter(())


@file_rule(severity=Severity.WARNING, proof=Proof.CONVENTION, **_TEXTS["FL121"])
def unused_allow(_file: File) -> Iterator[RuleFinding]:
    """RuleFinding by `judge`."""
    return iter(())


@file_rule(severity=Severity.ERROR, proof=Proof.CONVENTION, **_TEXTS["FL122"])
def unknown_allow(_file: File) -> Iterator[RuleFinding]:
    """RuleFinding by `judge`."""
    return iter(())


@file_rule(severity=Severity.WARNING, proof=Proof.CONVENTION, **_TEXTS["FL123"])
def misplaced_allow(_file: File) -> Iterator[RuleFinding]:
    """RuleFinding by `judge`."""
    return iter(())


RULES: tuple[Rule, ...] = (unexplained_allow, unused_allow, unknown_allow, misplaced_allow)
