"""The differences between two shapes of a table, as `compare` counts them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glacierbase.history.drift import is_kept_by_engine
from glacierbase.model.differences import Difference, compare
from glacierbase.model.shape import Shape


def differences(before: Shape | None, after: Shape | None) -> Sequence[Difference]:
    """Return the differences, without what engines set by themselves. A table that is in one of them only is one difference."""
    if before is None:
        return [replace(each, before=None, after=each.before) for each in differences(after, None)] if after else []
    changes = compare({before.table: before}, {before.table: after} if after else {})
    return [each for change in changes for each in change.diff if not is_kept_by_engine(each)]
