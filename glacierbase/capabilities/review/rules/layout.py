"""KL: the object keys of a table's files, and the load that they bring to one partition of the object store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, RuleFinding, Step
from glacierbase.capabilities.review.rules.properties import properties_set, set_from
from glacierbase.declared.known import KnownTable
from glacierbase.layout.columns import function_and_width, is_number
from glacierbase.layout.facts import of_known
from glacierbase.layout.folders import (
    COLUMN_MAPPING,
    PREFIX_LENGTH,
    RANDOM_PREFIXES,
    ignores_random_prefixes,
    random_source,
)
from glacierbase.layout.iceberg import (
    BASE2,
    DATA_PATH,
    FORMER_PATHS,
    NO_FORMER_PATHS,
    OBJECT_STORAGE,
    PARTITIONED_PATHS,
    refuses_former_paths,
)
from glacierbase.layout.partitions import bucket_skew
from glacierbase.layout.providers import AWS, QUIET
from glacierbase.layout.template import KeyTemplate, Segment, SegmentKind, is_true
from glacierbase.layout.templates import key_template
from glacierbase.layout.versions import at_least
from glacierbase.model.catalog import LayoutOptions, Peak
from glacierbase.model.differences import partition_text
from glacierbase.model.finding import Severity
from glacierbase.model.names import completed_like, name_of, name_parts
from glacierbase.sql.operations import CREATES_TABLE, PARTITION_FIELDS
from glacierbase.sql.statement import AlterColumn, ColumnClause, Name, PartitionClause, Place, Property
from glacierbase.sql.tokens import words

RULES = Family(__file__)
# The operations after which new files may have other keys.
_MAKES = (
    *CREATES_TABLE, *PARTITION_FIELDS, "set_properties", "unset_properties", "drop_table",
)  # fmt: skip
_OF_KEYS = frozenset(
    {OBJECT_STORAGE, PARTITIONED_PATHS, DATA_PATH, *FORMER_PATHS, RANDOM_PREFIXES, PREFIX_LENGTH, COLUMN_MAPPING}
)
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


def _of_keys(code: str, find: _Find, *, by_rate: bool = True) -> None:
    """Make a rule about the template of a table's keys, for the statement that makes the template what it is.

    Args:
        find: returns the objection to a template of a format.
        by_rate: whether the severity follows from the declared peak of the table.
    """

    @RULES.check(code, *_MAKES)
    def rule(step: Step, file: File) -> Iterator[RuleFinding]:
        if step.number not in file.once(_templates):
            return
        before, after = file.once(_templates)[step.number]
        old, new = (template and find(template, file.format_of(step)) for template in (before, after))
        if not new and (old or not before):  # What is not known any more is not objected to.
            yield RuleFinding("", step)
        elif new and step.target and (not old or step.parsed.operation in CREATES_TABLE):
            peak = _peak(step.target, file)
            severity = _severity_of(peak) if by_rate else Severity.NOTE
            message = f"{new.message}; {_when(peak, _qualified(step.target, file))}" if by_rate else new.message
            if severity:
                yield RuleFinding(message, step, _place(step, new.segment), f"{new.fix}.", severity=severity)


def _templates(file: File) -> dict[int, tuple[KeyTemplate | None, KeyTemplate | None]]:
    """Return the templates before and after each statement that makes the keys of a table; None where one is not known."""
    from glacierbase.declared.known_tables import altered, created  # Only the worker applies changes.

    templates = {}
    for step in filter(_makes_keys, file.steps):
        before, is_created = file.known(step), step.parsed.operation in CREATES_TABLE
        if not (is_created and step.parsed.options.if_not_exists and before):
            after = created(step.parsed, before)[0] if is_created else before and altered(before, step.parsed)[0]
            templates[step.number] = (_template(step, before, file), _template(step, after, file))
    return templates


def _makes_keys(step: Step) -> bool:
    """Return whether a statement creates or drops a table, or changes its partition fields or a property of its keys."""
    return step.target is not None and (
        step.parsed.operation in (*CREATES_TABLE, "drop_table")
        or any(
            part.key in _OF_KEYS if isinstance(part, Property) else isinstance(part, PartitionClause)
            for part in step.parsed.parts
        )
    )


def _template(step: Step, table: KnownTable | None, file: File) -> KeyTemplate | None:
    """Return the template of a table's keys; None where it is not known."""
    if table is None or table.partitioning is None:
        return None
    table_format = file.format_of(step)
    # The types of other columns decide nothing.
    sources = {partition.source[0] for partition in table.partitioning}
    shape = table.model.shape
    columns = tuple(column for column in shape.columns if name_parts(column.name)[0].lower() in sources)
    table = replace(table, model=replace(table.model, shape=replace(shape, columns=columns)))
    version = file.facts.versions.get(table_format)
    facts = of_known(str(step.target), table, table_format, version, file.facts.defaults)
    return key_template(facts) if facts else None


def _peak(name: Name, file: File) -> Peak:
    """Return the declared peak of a table in this environment."""
    options = LayoutOptions(tuple((pattern, Peak(put, get)) for pattern, put, get in file.facts.peaks))
    return options.peak_of(_qualified(name, file))


def _qualified(name: Name, file: File) -> str:
    """Return the name that the patterns of `layout` are compared with."""
    return completed_like(name.recorded, file.facts.beginning)


def _severity_of(peak: Peak) -> Severity | None:
    """Return how severe a hot key is at a peak; None for not at all. Of one declared rate, the other one does not count."""
    rates = [rate for rate in (peak.put, peak.get) if rate is not None]
    used = max((peak.put or 0) / AWS.put_per_second, (peak.get or 0) / AWS.get_per_second)
    if rates and max(rates) < QUIET:
        return None
    if used > 1:
        return Severity.ERROR
    return Severity.WARNING if used >= AWS.utilisation else Severity.NOTE


def _when(peak: Peak, table: str) -> str:
    """Return from which rate a finding matters, and for which name to declare it; or the declared rate and the limit."""
    put, get, part = AWS.put_per_second, AWS.get_per_second, AWS.utilisation
    declared = [f"{rate:,.0f} {name}/s" for rate, name in ((peak.put, "PUT"), (peak.get, "GET")) if rate is not None]
    if not declared:
        rates = f"{part * put:,.0f} PUT/s or {part * get:,.0f} GET/s"
        return f"matters from about {rates} (the key `layout` of the catalog file declares them for {table})"
    return f"declared: {' and '.join(declared)}; documented for one partition: {put:,.0f} PUT/s and {get:,.0f} GET/s"


def _place(step: Step, segment: Segment) -> Place | None:
    """Return the place of the partition field or property that is the cause, if the statement has it."""
    for part in step.parsed.parts:
        is_property = isinstance(part, Property) and part.key in _OF_KEYS
        columns = part.transform.columns if isinstance(part, PartitionClause) else ()
        if is_property or segment.column in [name_of(column.lower().split(".")) for column in columns]:
            return part.place
    return None


def _in_sql(segment: Segment) -> str:
    """Return the partition field of a segment in SQL: `bucket(16, id)`, `day(ts)`, `date`."""
    return partition_text(segment.field) if segment.field else segment.text


def _hot_time_prefix(template: KeyTemplate, table_format: str) -> _Objection | None:
    first = _leading_time(template)
    if first is None:
        return None
    field, together = _in_sql(first), _UNITS.get(first.transform or "", f"one value of {first.column}")
    message = f"keys begin with {field}: all writes of {together} reach one partition of the store until it splits"
    fix = f"For a high rate, put a field with many values before {field}{_or_cure(table_format)}"
    return _Objection(message, first, fix)


def _leading_time(template: KeyTemplate) -> Segment | None:
    """Return the first segment that varies if it is a time."""
    first = template.first_varying
    return first if first and first.kind is SegmentKind.TIME else None


def _or_cure(table_format: str) -> str:
    return f", or {_CURES[table_format]}" if table_format in _CURES else ""


def _entropy_behind_time(template: KeyTemplate, table_format: str) -> _Objection | None:
    first = _leading_time(template)
    later = next((segment for segment in template.segments if segment.column and _spreads(segment)), None)
    if first is None or later is None:
        return None
    field, time = _in_sql(later), _in_sql(first)
    message = f"{field} is after {time}, so that it does not spread writes of the same time"
    return _Objection(message, later, f"For a high rate, write {field} before {time}{_or_cure(table_format)}")


def _spreads(segment: Segment) -> bool:
    """Return whether the values of a segment spread files that are written at the same time."""
    function, width = function_and_width(segment.transform)
    return (function == "bucket" and width > 1) or segment.kind in (SegmentKind.BALANCED, SegmentKind.HASHED)


def _skewed_buckets(template: KeyTemplate, _table_format: str) -> _Objection | None:
    first = template.first_varying
    skew = bucket_skew(first.field) if first and first.field else None
    if first is None or skew is None:
        return None
    fix = f"For a high rate, use 10, 100 or 1000 buckets, or {_CURES['iceberg']}"
    return _Objection(f"{skew}, where the keys vary first", first, fix)


def _name_after_hash(template: KeyTemplate, _table_format: str) -> _Objection | None:
    hashed = next((segment for segment in template.segments if segment.kind is SegmentKind.HASHED), None)
    if hashed is None:
        return None
    rest = template.segments[template.segments.index(hashed) :]
    names = [segment.text for segment in rest if segment.kind is SegmentKind.CONSTANT and not segment.column]
    if not names:
        return None
    begin = [segment.text for segment in takewhile(lambda segment: segment is not hashed, template.segments)]
    keys = "/".join((*begin, "<hash>", *names))
    message = f"keys are {keys}/…: no prefix has the files of this table and of no other"
    fix = "Restrict access and expiry by table in the catalog, or set write.data.path to a folder of this table alone"
    return _Objection(message, hashed, fix)


_of_keys("KL101", _hot_time_prefix)
_of_keys("KL102", _entropy_behind_time)
_of_keys("KL103", _skewed_buckets)
_of_keys("KL106", _name_after_hash, by_rate=False)


@RULES.check("KL104", "set_properties", *CREATES_TABLE)
def property_without_effect(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find properties of key layouts that writers of the declared version refuse or ignore, or that lack another property."""
    properties = [property for property in properties_set(step) if property.key in _OF_KEYS]
    if not properties:
        return
    declared = _declared(step, file)
    before = _ENABLED if declared is None else {**file.facts.defaults, **declared}
    after, table_format = {**before, **set_from(step, file)}, file.format_of(step)
    find = _in_iceberg if table_format == "iceberg" else _in_delta
    for property in properties:
        for message, severity in find(property.key, after, file.facts.versions.get(table_format)):
            is_sure = declared is not None or severity is Severity.NOTE
            yield RuleFinding(message, step, property.place, severity=severity if is_sure else None)


def _declared(step: Step, file: File) -> Mapping[str, str] | None:
    """Return the properties of the table before a statement; None where they are not known."""
    known = file.known(step)
    if known is None:
        return {} if step.parsed.operation in CREATES_TABLE else None
    return known.properties


# What is assumed of a table that no statement declares, so that no finding says that these are absent.
_ENABLED = {OBJECT_STORAGE: "true", RANDOM_PREFIXES: "true"}
_Effects = Iterator[tuple[str, Severity | None]]


def _in_iceberg(key: str, whole: dict[str, str], version: str | None) -> _Effects:
    is_hashed, is_base64 = is_true(whole, OBJECT_STORAGE), version is not None and not at_least(version, BASE2)
    if key in FORMER_PATHS and DATA_PATH in whole:
        yield f"{key} has no effect beside {DATA_PATH}", None
    elif key == FORMER_PATHS[0] and not is_hashed:
        yield f"{key} has no effect without {OBJECT_STORAGE}", None
    elif key in FORMER_PATHS and refuses_former_paths(version):
        yield f"writers of Iceberg {NO_FORMER_PATHS} and newer refuse {key}", Severity.ERROR if version else None
    elif key == PARTITIONED_PATHS and whole.get(key, "").lower() == "false" and (is_base64 or not is_hashed):
        yield f"{key} has no effect {f'in Iceberg {version}' if is_base64 else f'without {OBJECT_STORAGE}'}", None
    elif key == OBJECT_STORAGE and is_hashed and is_base64:
        message = f"Iceberg {version} writes the hash in base64; writers of {BASE2} and newer write other keys"
        yield message, Severity.NOTE


def _in_delta(key: str, whole: dict[str, str], version: str | None) -> _Effects:
    source = random_source(whole)
    if key == source == RANDOM_PREFIXES and version and ignores_random_prefixes(version):
        yield f"Delta {version} accepts {key} and ignores it", None
    elif key == PREFIX_LENGTH and source is None:
        yield f"{key} has no effect without {RANDOM_PREFIXES}", None


# In accounting, `reversed_payment_id` is the id of a payment that was reversed.
_REVERSED_NAMES = re.compile(
    r"(?!.*reversed_(?:payment|transaction|txn|transfer|entry|journal|posting|booking|charge|invoice|order|line|document)_)"
    r"(?:(?:\w{1,200}_)?reversed_(?:\w{1,200}_)?id|(?:\w{1,200}_)?id_(?:reversed|rev))"
)


@RULES.check("KL105", *CREATES_TABLE, "add_column", "alter_column_type")
def reversed_id_is_a_number(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find columns for reversed ids with the type of a number, and queries that convert a reversed text to a number."""
    typed = [part for part in step.parsed.parts if isinstance(part, (ColumnClause, AlterColumn))]
    numbers = [part for part in typed if is_number(part.type) and _REVERSED_NAMES.fullmatch(part.key[-1].lower())]
    for part in numbers:
        yield RuleFinding(f"{part.column} is of type {part.type}", step, part.place)
    if not numbers and (function := _converted(step.statement.text, file.facts.engine)):
        yield RuleFinding(f"{function} of a reversed text", step)


def _converted(sql: str, dialect: str) -> str | None:
    """Return the conversion of a result of `reverse` to a number: `CAST … AS BIGINT`; None if there is none."""
    tokens = words(sql, dialect) if "reverse" in sql.lower() else ()
    closing = _closing(tokens)
    for at, pair in enumerate(pairwise(tokens)):
        if pair != ("REVERSE", "(") or at + 1 not in closing:
            continue
        end = closing[at + 1] + 1
        before, after = tokens[max(at - 2, 0) : at], tokens[end : end + 3]
        is_cast = before in (("CAST", "("), ("TRY_CAST", "(")) and after[:1] == ("AS",)
        if is_cast and is_number("".join(after[1:2])):
            return f"{before[0]} … AS {after[1]}"
        if after[:2] == (":", ":") and is_number("".join(after[2:3])):
            return f"… :: {after[2]}"
    return None


def _closing(tokens: Sequence[str]) -> dict[int, int]:
    """Return the positions of pairs of parentheses."""
    open_ones: list[int] = []
    pairs = {}
    for at, token in enumerate(tokens):
        if token == "(":
            open_ones.append(at)
        elif token == ")" and open_ones:
            pairs[open_ones.pop()] = at
    return pairs
