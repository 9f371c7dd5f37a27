"""The template of the object keys of a table's data files, and the facts that it follows from.

A template is a list of segments from left to right. To an object store a key is one string, which it may split anywhere, not only
at `/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from glacierbase.model.shape import PartitionField

# What varies in the text of a segment; of a hash or a random text also its length and the characters: `{hash:4 bits}`.
VARIABLE = re.compile(r"\{(?P<name>[^{}:]*)(?::(?P<length>\d{1,3}) (?P<unit>bits|characters))?\}")
_CHARACTERS = {"bits": "[01]", "characters": "[A-Za-z0-9_-]"}


class SegmentKind(str, Enum):
    """How the text of a segment varies between the files of a table.

    - constant: the same for all files.
    - time: files that are written at the same time have the same text.
    - low-entropy: few values, or values whose first characters are skewed.
    - balanced: many values with evenly distributed first characters.
    - hashed: a hash, or random.
    """

    CONSTANT = "constant"
    TIME = "time"
    LOW_ENTROPY = "low-entropy"
    BALANCED = "balanced"
    HASHED = "hashed"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a key, up to the next `/` or the next part that varies in another way.

    Attributes:
        kind: how its text varies.
        text: with the part that varies in braces: `data`, `ts_day={ts_day}`, `{hash:4 bits}`.
        example: the text of one file: `ts_day=2026-11-24`.
        source: what decides it: `partition field day(ts)`, `property write.object-storage.enabled`, `the version of Delta`.
        column: the column whose value it is, or is computed from; None for another segment.
        transform: of that column, as Iceberg spells it: `identity`, `bucket[16]`, `day`.
    """

    kind: SegmentKind
    text: str
    example: str
    source: str
    column: str | None = None
    transform: str | None = None

    @property
    def field(self) -> PartitionField | None:
        """The partition field whose value it is, named as its column; None for another segment."""
        if self.column is None or self.transform is None:
            return None
        return PartitionField(None, self.column, self.column, self.transform)


@dataclass(frozen=True, slots=True)
class KeyTemplate:
    """The template of the keys of a table's data files.

    Attributes:
        table: the table's name.
        segments: from left to right, without the bucket and the table's location; the last one is the file's name.
        notes: facts that the reader needs: a property without effect at this version, an unknown location.
    """

    table: str
    segments: tuple[Segment, ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The segments in one line."""
        return "/".join(segment.text for segment in self.segments)

    @property
    def example(self) -> str:
        """The key of one file."""
        return "/".join(segment.example for segment in self.segments)

    @property
    def first_varying(self) -> Segment | None:
        """The first segment that differs between files; it decides where a load goes."""
        return next((segment for segment in self.segments if segment.kind is not SegmentKind.CONSTANT), None)

    def matches(self, key: str) -> bool:
        """Return whether a key, or the end of a longer one, is the key of a file of the table."""
        return re.fullmatch(self.pattern, key) is not None

    @property
    def pattern(self) -> str:
        """The regular expression for a whole key, or address, of a file of the table; Java reads it as Python does."""
        return rf"(?s)(?:.*/)?{self._pattern()}"

    def _pattern(self) -> str:
        parts, at = [], 0
        for match in VARIABLE.finditer(self.text):
            length = match["length"]
            parts += [
                re.escape(self.text[at : match.start()]),
                f"{_CHARACTERS[match['unit']]}{{{length}}}" if length else "[^/]+",
            ]
            at = match.end()
        return "".join((*parts, re.escape(self.text[at:])))


@dataclass(frozen=True, slots=True)
class TableFacts:
    """The facts about a table from which its keys follow.

    Attributes:
        format: `iceberg`, `delta`, `hudi`, or `hive` for folders of files.
        version: of the format's library that writes: `1.12.0`; None where it is not known.
        columns: the types of the columns by name, as far as they are known.
        partitioning: the partition fields in order.
        properties: of the table; those that the catalog gives to new tables included.
        location: of the table; None where the catalog chooses it, or it is not known.
        notes: what else is not known.
    """

    table: str
    format: str
    version: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    partitioning: Sequence[PartitionField] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    notes: Sequence[str] = ()


def is_true(properties: Mapping[str, str], key: str, default: str = "false") -> bool:
    """Return whether a property of a table is true."""
    return properties.get(key, default).lower() == "true"


def constant(text: str, source: str) -> Segment:
    """Return a segment that is the same for all files."""
    return Segment(SegmentKind.CONSTANT, text, text, source)


def file_segment(kind: SegmentKind, example: str, source: str = "the writer") -> Segment:
    """Return the last segment: the name of the file."""
    return Segment(kind, "{file}", example, source)
