"""The keys of a table in an environment, as `layout explain` shows them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from glacierbase.layout.template import KeyTemplate, Segment


@dataclass(frozen=True, slots=True)
class ExplainedKeys:
    """The keys of a table in an environment.

    Attributes:
        basis: `recorded` in the history, or `declared` by the files.
        format, version: of the library that writes; None where they are not known.
        segments: of the template, without the bucket and the table's location; none where it is not known.
        text, example: the template, and the key of one file; empty where they are not known.
        notes: further facts, such as a property without effect at this version.
        why: the reason why the template is not known; None where it is.
    """

    table: str
    environment: str
    basis: str
    format: str | None
    version: str | None
    segments: tuple[Segment, ...] = ()
    text: str = ""
    example: str = ""
    notes: tuple[str, ...] = ()
    why: str | None = None

    @property
    def template(self) -> KeyTemplate | None:
        """The template, for what computes with it."""
        return KeyTemplate(self.table, self.segments, self.notes) if self.segments else None

    def with_template(self, template: KeyTemplate) -> ExplainedKeys:
        """Return the keys with a template."""
        return replace(
            self, segments=template.segments, text=template.text, example=template.example, notes=template.notes
        )
