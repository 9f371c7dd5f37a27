"""FL1xx: the comments that allow a finding. `judge` reports them, because they depend on the findings of other rules."""

from __future__ import annotations

from glacierbase.capabilities.review.family import Family

RULES = Family(__file__)
unexplained_allow, unused_allow, unknown_allow, misplaced_allow = (
    RULES.check_file(code)(lambda _file: ()) for code in ("FL120", "FL121", "FL122", "FL123")
)
