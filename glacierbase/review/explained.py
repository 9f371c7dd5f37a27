"""Why a finding of `review` matters, and what to do: of the rule about the same, or of what only the replay shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from glacierbase.prose import sections
from glacierbase.review.catalogue import FAMILIES

_RULES = {rule.code: rule for _, rules in FAMILIES.values() for rule in rules}
# By code: why, and the fix.
REPLAY: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        code: (why.removeprefix("Why: "), fix.removeprefix("Fix: "))
        for code, (why, fix) in sections(Path(__file__).with_name("replay.md"))
    }
)


def explained(code: str) -> tuple[str, str]:
    """Return why the findings of a code matter, and the fix."""
    return REPLAY[code] if code in REPLAY else (_RULES[code].why, _RULES[code].fix)
