"""KL: the object keys of a table's files, and the load that they bring to one partition of the object store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from glacierbase.layout.facts import of_known
from glacierbase.layout.folders import COLUMN_MAPPING, PREFIX_LENGTH, RANDOM_PREFIXES, ignores_random_prefixes
from glacierbase.layout.iceberg import DATA_PATH, FORMER_PATHS, OBJECT_STORAGE, PARTITIONED_PATHS
from glacierbase.layout.partitions import first_character_shares
from glacierbase.layout.providers import AWS
from glacierbase.layout.template import KeyTemplate, Segment, SegmentKind
from glacierbase.layout.templates import key_template
from glacierbase.layout.versions import at_least
from glacierbase.model.catalog import LayoutOptions, Peak
from glacierbase.model.finding import Severity
from glacierbase.model.names import completed_like
from glacierbase.review.rule import CREATES, File, Proof, Rule, RuleFinding, Step, statement_rule
from glacierbase.review.rules import texts
from glacierbase.review.rules.properties import is_refused_path, properties_set, set_from
from glacierbase.sql.known import KnownTable, altered, created
from glacierbase.sql.statement import AlterColumn, ColumnClause, Name, PartitionClause, Place, Property
from glacierbase.sql.tokens import words

_TEXTS = texts("layout")
_FORMATS = ("iceberg", "delta", "hudi", "parquet")
# The operations after which new files may have other keys.
_MAKES = (
    *CREATES, "add_partition_field", "drop_partition_field", "replace_partition_field", "set_properties", "unset_properties",
)  # fmt: skip
_OF_KEYS = frozenset(
    {OBJECT_STORAGE, PARTITIONED_PATHS, DATA_PATH, *FORMER_PATHS, RANDOM_PREFIXES, PREFIX_LENGTH, COLUMN_MAPPING}
)
# Below this rate, nothing needs to be done: the advice of AWS of 2012, and still the lowest one that it published.
_LITTLE = 50
# The share of the limit from which a rate is a warning.
_HIGH = 0.5
_CURES = {
    "iceberg": f"set {OBJECT_STORAGE} to true",
    "delta": f"set {RANDOM_PREFIXES} to true with Delta 3.3.3, 4.1.0 or newer",
}
_UNITS = {"year": "a year", "month": "a month", "day": "a day", "hour": "an hour"}


@dataclass(frozen=True, slots=True)
class _Objection:
    """What a rule objects to in a template.

    Attributes:
        segment: the one that is the cause.
        fix: without a full stop.
    """

    message: str
    segment: Segment
    fix: str


_Find = Callable[[KeyTemplate, str], _Objection | None]


def _of_keys(code: str, find: _Find, formats: Sequence[str], *, by_rate: bool = True) -> Rule:
    """Make a rule about the template of a table's keys, for the statement that makes the template what it is.

    Args:
        find: returns the objection to a template of a format.
        by_rate: whether the severity follows from the declared peak of the table.
    """

    @statement_rule(
        *_MAKES, formats=formats, severity=Severity.NOTE, is_of_state=True, proof=Proof.CITED, **_TEXTS[code]
    )
    def rule(step: Step, file: File) -> Iterator[RuleFinding]:
        if step.target is None or not _makes_keys(step, file):
            return
        before, after = _templates(step, step.target, file)
        old, new = (template and find(template, file.format_of(step)) for template in (before, after))
        peak = _peak(step.target, file)
        severity = _severity_of(peak) if by_rate else Severity.NOTE
        if old and after and not new:
            yield RuleFinding("", step)
        elif new and severity and (not old or step.parsed.operation in CREATES):
            message = f"{new.message}; {_when(peak)}" if by_rate else new.message
            yield RuleFinding(message, step, _place(step, new.segment), f"{new.fix}.", severity=severity)

    return rule


def _makes_keys(step: Step, file: File) -> bool:
    """Return whether a statement creates a table, or changes its partition fields or a property that its keys depend on."""
    if step.parsed.operation in CREATES:
        return not (step.parsed.options.if_not_exists and file.known(step))
    return any(
        part.key in _OF_KEYS if isinstance(part, Property) else isinstance(part, PartitionClause)
        for part in step.parsed.parts
    )


def _templates(step: Step, name: Name, file: File) -> tuple[KeyTemplate | None, KeyTemplate | None]:
    """Return the template of a table's keys before and after a statement; None where it is not known."""
    before = file.known(step)
    if step.parsed.operation in CREATES:
        after: KnownTable | None = created(step.parsed, before)
    else:
        after = before and altered(before, step.parsed)
    table_format, defaults = file.format_of(step), file.facts.defaults
    version = file.facts.versions.get(table_format)
    facts = (table and of_known(str(name), table, table_format, version, defaults) for table in (before, after))
    old, new = (known and key_template(known) for known in facts)
    return old or None, new or None


def _peak(name: Name, file: File) -> Peak:
    """Return the declared peak of a table in this environment."""
    options = LayoutOptions(tuple((pattern, Peak(put, get)) for pattern, put, get in file.facts.peaks))
    return options.peak_of(completed_like(name.recorded, file.facts.beginning))


def _severity_of(peak: Peak) -> Severity | None:
    """Return how severe a hot key is at a peak; None for not at all. Of one declared rate, the other one does not count."""
    rates = [rate for rate in (peak.put, peak.get) if rate is not None]
    used = max((peak.put or 0) / AWS.put_per_second, (peak.get or 0) / AWS.get_per_second)
    if rates and max(rates) < _LITTLE:
        return None
    if used > 1:
        return Severity.ERROR
    return Severity.WARNING if used >= _HIGH else Severity.NOTE


def _when(peak: Peak) -> str:
    """Return from which rate a finding matters, or the declared rate and the limit."""
    put, get = AWS.put_per_second, AWS.get_per_second
    declared = [f"{rate:,.0f} {name}/s" for rate, name in ((peak.put, "PUT"), (peak.get, "GET")) if rate is not None]
    if not declared:
        rates = f"{_HIGH * put:,.0f} PUT/s or {_HIGH * get:,.0f} GET/s"
        return f"matters from about {rates} (the key `layout` of the catalog file declares them)"
    return f"declared: {' and '.join(declared)}; documented for one partition: {put:,.0f} PUT/s and {get:,.0f} GET/s"


def _place(step: Step, segment: Segment) -> Place | None:
    """Return the place of the partition field or property that is the cause, if the statement has it."""
    for part in step.parsed.parts:
        if isinstance(part, PartitionClause):
            if segment.column and segment.column in (column.lower() for column in part.transform.columns):
                return part.place
        elif isinstance(part, Property) and part.key in _OF_KEYS:
            return part.place
    return None


def _in_sql(segment: Segment) -> str:
    """Return the partition field of a segment in SQL: `bucket(16, id)`, `day(ts)`, `date`."""
    match = re.fullmatch(r"(\w+)\[(\d+)\]", segment.transform or "")
    if match:
        return f"{match[1]}({match[2]}, {segment.column})"
    return f"{segment.transform}({segment.column})" if segment.transform != "identity" else f"{segment.column}"


def _hot_time_prefix(template: KeyTemplate, table_format: str) -> _Objection | None:
    first = template.first_varying
    if first is None or first.kind is not SegmentKind.TIME:
        return None
    field, together = _in_sql(first), _UNITS.get(first.transform or "", f"one value of {first.column}")
    cure = f", or {_CURES[table_format]}" if table_format in _CURES else ""
    message = f"keys begin with {field}: all writes of {together} reach one partition of the store until it splits"
    return _Objection(message, first, f"For a high rate, put a field with many values before {field}{cure}")


def _entropy_behind_time(template: KeyTemplate, table_format: str) -> _Objection | None:
    first = template.first_varying
    if first is None or first.kind is not SegmentKind.TIME:
        return None
    later = next((segment for segment in template.segments if segment.column and _spreads(segment)), None)
    if later is None:
        return None
    field, time = _in_sql(later), _in_sql(first)
    cure = f", or {_CURES[table_format]}" if table_format in _CURES else ""
    message = f"{field} is after {time}, so that it does not spread writes of the same time"
    return _Objection(message, later, f"For a high rate, write {field} before {time}{cure}")


def _spreads(segment: Segment) -> bool:
    """Return whether the values of a segment spread files that are written at the same time."""
    is_bucket = (segment.transform or "").startswith("bucket[") and segment.transform not in ("bucket[0]", "bucket[1]")
    return is_bucket or segment.kind in (SegmentKind.BALANCED, SegmentKind.HASHED)


def _skewed_buckets(template: KeyTemplate, _table_format: str) -> _Objection | None:
    first = template.first_varying
    match = re.fullmatch(r"bucket\[(\d{1,12})\]", (first and first.transform) or "")
    shares = first_character_shares(int(match[1])) if match else {}
    hottest = max(shares, key=lambda character: shares[character], default="")
    # More than twice of an even share.
    if first is None or not hottest or shares[hottest] * len(shares) <= 2:
        return None
    message = (
        f"{shares[hottest]:.0%} of the numbers of {_in_sql(first)} begin with {hottest}, where the keys vary first"
    )
    return _Objection(message, first, f"For a high rate, use 10, 100 or 1000 buckets, or {_CURES['iceberg']}")


def _name_after_hash(template: KeyTemplate, _table_format: str) -> _Objection | None:
    hashed = next((segment for segment in template.segments if segment.kind is SegmentKind.HASHED), None)
    if hashed is None:
        return None
    rest = template.segments[template.segments.index(hashed) :]
    names = [segment.text for segment in rest if segment.kind is SegmentKind.CONSTANT and not segment.column]
    if not names:
        return None
    begin = "/".join(segment.text for segment in takewhile(lambda segment: segment is not hashed, template.segments))
    message = f"keys are {begin}/<hash>/{'/'.join(names)}/…: no prefix has the files of this table and of no other"
    fix = "Restrict access and expiry by table in the catalog, or set write.data.path to a folder of this table alone"
    return _Objection(message, hashed, fix)


hot_time_prefix = _of_keys("KL101", _hot_time_prefix, _FORMATS)
entropy_behind_time = _of_keys("KL102", _entropy_behind_time, _FORMATS)
skewed_buckets = _of_keys("KL103", _skewed_buckets, ("iceberg",))
name_after_hash = _of_keys("KL106", _name_after_hash, ("iceberg",), by_rate=False)


@statement_rule(
    "set_properties", *CREATES,
    formats=("iceberg", "delta"), severity=Severity.WARNING, proof=Proof.CITED, **_TEXTS["KL104"],
)  # fmt: skip
def property_without_effect(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find properties of key layouts that writers of the declared version refuse or ignore, or that lack another property."""
    table_format, known = file.format_of(step), file.known(step)
    version = file.facts.versions.get(table_format)
    find = _in_iceberg if table_format == "iceberg" else _in_delta
    whole = {**file.facts.defaults, **((known and known.properties) or {}), **set_from(step, file)}
    for property in properties_set(step):
        for message, severity in find(property.key, whole, version):
            yield RuleFinding(message, step, property.place, severity=severity)


_Effects = Iterator[tuple[str, Severity | None]]


def _in_iceberg(key: str, whole: dict[str, str], version: str | None) -> _Effects:
    value, is_hashed = whole.get(key, "").lower(), whole.get(OBJECT_STORAGE, "").lower() == "true"
    is_base64 = version is not None and not at_least(version, "1.7.0")
    if key in FORMER_PATHS and DATA_PATH in whole:
        yield f"{key} has no effect beside {DATA_PATH}", None
    elif key == FORMER_PATHS[0] and not is_hashed:
        yield f"{key} has no effect without {OBJECT_STORAGE}", None
    elif is_refused_path(key, version):
        yield f"writers of Iceberg 1.9.0 and newer refuse {key}", Severity.ERROR if version else None
    elif key == PARTITIONED_PATHS and value == "false" and (is_base64 or not is_hashed):
        yield f"{key} has no effect {f'in Iceberg {version}' if is_base64 else f'without {OBJECT_STORAGE}'}", None
    elif key == OBJECT_STORAGE and value == "true" and is_base64:
        yield f"Iceberg {version} writes the hash in base64; writers of 1.7.0 and newer write other keys", Severity.NOTE


def _in_delta(key: str, whole: dict[str, str], version: str | None) -> _Effects:
    is_random = whole.get(RANDOM_PREFIXES, "").lower() == "true"
    is_mapped = whole.get(COLUMN_MAPPING, "none").lower() in ("name", "id")
    if key == RANDOM_PREFIXES and is_random and version and ignores_random_prefixes(version):
        yield f"Delta {version} accepts {key} and ignores it", None
    elif key == PREFIX_LENGTH and not (is_random or is_mapped):
        yield f"{key} has no effect without {RANDOM_PREFIXES}", None


_REVERSED_NAMES = re.compile(r"(?:\w+_)?reversed_(?:\w+_)?id|(?:\w+_)?id_(?:reversed|rev)")
_NUMBERS = re.compile(
    r"(?i)(?:tinyint|smallint|int|integer|bigint|long|short|decimal|dec|numeric|number|float|double|real)\b"
)


@statement_rule(
    *CREATES, "add_column", "alter_column_type", severity=Severity.WARNING, proof=Proof.RUN, **_TEXTS["KL105"]
)
def reversed_id_is_a_number(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find columns for reversed ids with the type of a number, and queries that convert a reversed text to a number."""
    typed = [part for part in step.parsed.parts if isinstance(part, (ColumnClause, AlterColumn))]
    numbers = [
        part for part in typed if _NUMBERS.match(part.type or "") and _REVERSED_NAMES.fullmatch(part.key[-1].lower())
    ]
    for part in numbers:
        yield RuleFinding(f"{'.'.join(part.path)} is of type {part.type}", step, part.place)
    if not numbers and (function := _converted(words(step.statement.text, file.facts.engine))):
        yield RuleFinding(f"{function} of a reversed text", step)


def _converted(tokens: Sequence[str]) -> str | None:
    """Return the conversion of a result of `reverse` to a number: `CAST … AS BIGINT`; None if there is none."""
    for at, word in enumerate(tokens):
        if word != "REVERSE" or tokens[at + 1 : at + 2] != ("(",):
            continue
        before, after = tokens[max(at - 2, 0) : at], tokens[_closing(tokens, at + 1) + 1 :][:3]
        if before == ("CAST", "(") or before == ("TRY_CAST", "("):
            if after[:1] == ("AS",) and _NUMBERS.match("".join(after[1:2])):
                return f"{before[0]} … AS {after[1]}"
        elif after[:2] == (":", ":") and _NUMBERS.match("".join(after[2:3])):
            return f"… :: {after[2]}"
    return None


def _closing(tokens: Sequence[str], opening: int) -> int:
    """Return the position of the parenthesis that closes the one at a position; the last position if none does."""
    depth = 0
    for at in range(opening, len(tokens)):
        depth += (tokens[at] == "(") - (tokens[at] == ")")
        if depth == 0:
            return at
    return len(tokens) - 1


RULES: tuple[Rule, ...] = (
    hot_time_prefix, entropy_behind_time, skewed_buckets, property_without_effect, reversed_id_is_a_number, name_after_hash,
)  # fmt: skip
