"""The keys of formats with a folder for each partition: Delta, Hudi, and files without a table format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from glacierbase.layout.columns import HASHES, REVERSED, words
from glacierbase.layout.partitions import folders, is_time, value_of
from glacierbase.layout.template import (
    VARIABLE,
    KeyTemplate,
    Segment,
    SegmentKind,
    TableFacts,
    constant,
    file_segment,
    is_true,
)
from glacierbase.layout.versions import at_least

RANDOM_PREFIXES = "delta.randomizeFilePrefixes"
PREFIX_LENGTH = "delta.randomPrefixLength"
COLUMN_MAPPING = "delta.columnMapping.mode"
HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
_SPARK_FILE = "part-00000-0b6c1d2e-3f40-4a51-8b62-7c8d9e0f1a2b.c000.snappy.parquet"
_HUDI_FILE = "0b6c1d2e-3f40-4a51-8b62-7c8d9e0f1a2b-0_0-17-42_20261124130000000.parquet"
_GENERATORS = ("hoodie.table.keygenerator.class", "hoodie.datasource.write.keygenerator.class")
_SIMPLE_GENERATORS = ("SimpleKeyGenerator", "ComplexKeyGenerator", "NonpartitionedKeyGenerator", "SqlKeyGenerator")
_PREFIX = "Ab3dE5gH7jK9mN1pQ"
_PREFIXED, _NOT_PREFIXED = "3.3.3", ("4.0.0", "4.1.0")


def ignores_random_prefixes(version: str) -> bool:
    """Return whether a version of Delta accepts the properties of random prefixes, and ignores them.

    These are the versions before 3.3.3, and 4.0.0 and 4.0.1: the class `TransactionalWrite` at these tags.
    https://github.com/delta-io/delta/issues/5191
    """
    first, end = _NOT_PREFIXED
    return not at_least(version, _PREFIXED) or (at_least(version, first) and not at_least(version, end))


def delta(facts: TableFacts) -> KeyTemplate:
    """Return the template of a Delta table. https://docs.delta.io/latest/table-properties.html"""
    source = random_source(facts.properties)
    is_ignored = facts.version is not None and ignores_random_prefixes(facts.version)
    file = file_segment(SegmentKind.LOW_ENTROPY, _SPARK_FILE)
    notes = tuple(_delta_notes(facts, source, is_ignored))
    if source is None or is_ignored:
        return KeyTemplate(facts.table, (*folders(facts), file), notes)
    length = facts.properties.get(PREFIX_LENGTH, "")
    characters = int(length) if re.fullmatch("[1-9][0-9]?", length) else 2
    prefix = Segment(
        SegmentKind.HASHED, f"{{random:{characters} characters}}", (_PREFIX * 6)[:characters], f"property {source}"
    )
    return KeyTemplate(facts.table, (prefix, file), notes)


def random_source(properties: Mapping[str, str]) -> str | None:
    """Return the property that replaces the folders by random prefixes; None if none does."""
    if is_true(properties, RANDOM_PREFIXES):
        return RANDOM_PREFIXES
    return COLUMN_MAPPING if properties.get(COLUMN_MAPPING, "none").lower() in ("name", "id") else None


def _delta_notes(facts: TableFacts, source: str | None, is_ignored: bool) -> Iterator[str]:
    since = f"{_PREFIXED} and since {_NOT_PREFIXED[1]}"
    if source == RANDOM_PREFIXES and is_ignored:
        yield f"Delta {facts.version} accepts {source} and ignores it; it has an effect in {since}"
    if source == COLUMN_MAPPING and is_ignored and facts.partitioning:
        yield "with column mapping, the folders may have physical names of columns, such as col-UUID"
    if source and facts.version is None:
        yield f"the version of Delta is not known: {source} makes random prefixes in {since}"
    if source is None and PREFIX_LENGTH in facts.properties:
        yield f"{PREFIX_LENGTH} has no effect without {RANDOM_PREFIXES}"


def hudi(facts: TableFacts) -> KeyTemplate:
    """Return the template of a Hudi table. Tables that SQL creates have `column=value` unless a property says otherwise.

    https://hudi.apache.org/docs/configurations
    """
    is_named = is_true(facts.properties, HIVE_STYLE, "true")
    # The name of a file begins with a random UUID.
    segments = (*folders(facts, named=is_named), file_segment(SegmentKind.HASHED, _HUDI_FILE))
    classes = (facts.properties.get(key, "") for key in _GENERATORS)
    notes = tuple(
        f"the key generator {name} computes the partition path; this is the template without it"
        for name in classes
        if name and not name.endswith(_SIMPLE_GENERATORS)
    )
    return KeyTemplate(facts.table, segments, notes)


def hive(facts: TableFacts) -> KeyTemplate:
    """Return the template of files in folders, without a table format."""
    return KeyTemplate(facts.table, (*folders(facts), file_segment(SegmentKind.LOW_ENTROPY, _SPARK_FILE)))


def raw_template(pattern: str) -> KeyTemplate:
    """Return the template of keys that a program writes, such as `date={date}/id={id}/{file}`.

    The names in braces decide the kinds: `date` is a time, `hash` a hash, `id_reversed` is balanced, another one has low entropy.
    """
    return KeyTemplate("", tuple(_raw(text) for text in pattern.strip("/").split("/")))


def _raw(text: str) -> Segment:
    match = VARIABLE.search(text)
    if match is None:
        return constant(text, "the pattern")
    kind, _ = _named(match)
    example = VARIABLE.sub(lambda match: _named(match)[1], text)
    name = match["name"]
    return Segment(kind, text, example, f"{{{name}}} in the pattern", column=None if name == "file" else name)


def _named(match: re.Match[str]) -> tuple[SegmentKind, str]:
    """Return how the part of a pattern varies, and an example."""
    name, in_name = match["name"], set(words(match["name"]))
    if in_name & HASHES:
        sample = "0110" if match["unit"] == "bits" else "3fa8"
        return SegmentKind.HASHED, (sample * 8)[: int(match["length"] or 4)]
    if in_name & REVERSED:
        return SegmentKind.BALANCED, "71403"
    if name == "file":
        return SegmentKind.LOW_ENTROPY, _SPARK_FILE
    return (SegmentKind.TIME if is_time(name) else SegmentKind.LOW_ENTROPY), value_of(name, "bigint")
