"""What happened to the views of a copy. Their queries are not compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from glacierbase.executors import CopiedView
from glacierbase.model.differences import Change


@dataclass(frozen=True, slots=True)
class ReviewedView:
    """What the new migrations do to a view.

    Attributes:
        view: its name afterwards; that before, if it was dropped.
    """

    view: str
    change: Change


def compare_views(before: Mapping[str, CopiedView], after: Mapping[str, CopiedView]) -> tuple[ReviewedView, ...]:
    """Return what happened to each view, by name."""
    return tuple(sorted(_changes(before, after), key=lambda each: each.view))


def _changes(before: Mapping[str, CopiedView], after: Mapping[str, CopiedView]) -> Iterator[ReviewedView]:
    names = {view.uuid: name for name, view in before.items()}
    kept = {view.uuid for view in after.values()}
    for name, view in after.items():
        was = before.get(names.get(view.uuid, name))
        if was is None:
            yield ReviewedView(name, Change.CREATED)
        elif name not in before:
            yield ReviewedView(name, Change.RENAMED)
        elif was != view:
            # CREATE OR REPLACE adds a version; a view that was dropped and created again is another one.
            is_new = (was.uuid, was.version) != (view.uuid, view.version)
            yield ReviewedView(name, Change.REPLACED if is_new else Change.ALTERED)
    for name, view in before.items():
        if name not in after and view.uuid not in kept:
            yield ReviewedView(name, Change.DROPPED)
