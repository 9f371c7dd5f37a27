"""How each format spreads keys over prefixes: its statements, what they depend on, and what they break."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from glacierbase.declared.render import has_function, transformed
from glacierbase.errors import ConfigurationError
from glacierbase.formats import FORMATS as TABLE_FORMATS
from glacierbase.layout.expressions import DIALECTS
from glacierbase.layout.folders import PREFIX_LENGTH, RANDOM_PREFIXES, ignores_random_prefixes
from glacierbase.layout.iceberg import OBJECT_STORAGE
from glacierbase.model.arguments import check_one_of
from glacierbase.model.names import NAME, name_of, name_parts
from glacierbase.model.shape import PartitionField
from glacierbase.model.text import counted

ICEBERG, DELTA, HUDI, HIVE, SNOWFLAKE = FORMATS = (*TABLE_FORMATS, "hive", "snowflake")
NAMES = {
    **{name: known.title for name, known in TABLE_FORMATS.items()},
    HIVE: "Hive-style folders",
    SNOWFLAKE: "Snowflake Iceberg",
}
_NAME = re.compile(NAME)
_LONGEST_NAME = 1000
_SPARK = DIALECTS["spark"]
# Iceberg hashes to 20 bits, in directories of 4, 4, 4 and 8: https://github.com/apache/iceberg/pull/11112
_BITS = 20
# Numbers of buckets whose first digits are balanced; more of them would be too many files for each day.
_BUCKETS = (100, 1000)
_LETTERS = 62
# The partition field in statements about a table whose fields are not known.
_DAY = PartitionField(None, "ts_day", "ts", "day")
_BY_PREFIX = "IAM, lifecycle rules and `ls` for one partition match no prefix any more"
_SHARED_PATH = "where tables share a write.data.path, those for one table do not either"
_NEW_FILES = "only new files get the new keys; older ones move when they are rewritten"
_COPIES = (
    "the statement copies the table; writers must fill the new column",
    "other partition columns go after the new one: their order is that of the key",
)
_AWS_ORDER = (
    "AWS names write.distribution-mode before object storage (https://docs.aws.amazon.com/prescriptive-guidance/latest/"
    "apache-iceberg-on-aws/best-practices-workloads.html)"
)
_BASE2 = (
    "directories of bits since Iceberg 1.7; before, a hash in base64 (https://github.com/apache/iceberg/pull/11112)"
)
_SINCE_DELTA = "effective in Delta 3.3.3 and since 4.1.0; ignored before, and in 4.0.x (https://github.com/delta-io/delta/pull/5229)"
_PATH_LAYOUT = (
    "PATH_LAYOUT, since June 2026"
    " (https://docs.snowflake.com/release-notes/2026/other/2026-06-08-iceberg-hierarchical-path-layout-ga)"
)


DEFAULT_COLUMN = "id"


@dataclass(frozen=True, slots=True)
class AdvisedTable:
    """The table that an advice is about.

    Attributes:
        format: one of `FORMATS`.
        name: as a statement writes it.
        column: the column that identifies a row or an object; a hash or a bucket is computed from it.
        is_readable: whether people identify keys by that column, so that a hash is the second choice.
        partitioning: its partition fields; None where they are not known.
        version: of the library that writes; None where it is not known.
        hashed_by: what puts a hash into its keys already; None where nothing does.
        facts: what else is known of its keys.
        notes: what is not known of them.
    """

    format: str = ICEBERG
    name: str = "my_table"
    column: str = DEFAULT_COLUMN
    is_readable: bool = False
    partitioning: Sequence[PartitionField] | None = None
    version: str | None = None
    hashed_by: str | None = None
    facts: Sequence[str] = ()
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check what becomes part of a statement.

        Raises:
            ConfigurationError: `INVALID_VALUE`; `CONFLICTING_OPTIONS`: the format has no readable layout.
        """
        check_one_of("type", self.format, FORMATS)
        if self.is_readable and self.format not in (ICEBERG, HIVE):
            what = f"--readable: {NAMES[self.format]} has no way to begin keys with a column's value"
            raise ConfigurationError("CONFLICTING_OPTIONS", what, "leave out --readable")
        for kind, name in (("table", self.name), ("column", self.column)):
            if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
                what = f"{name[:_LONGEST_NAME]!r} is no name of a {kind}"
                raise ConfigurationError(
                    "INVALID_VALUE", what, "quote parts that are no words: lake.`my namespace`.events"
                )


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way, with its statements."""

    title: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remedy:
    """How one format spreads keys.

    Attributes:
        verdict: its name, which is stable: `object-storage`, `hash`, `reversed-id`.
        title: what to do, as a sentence without its end.
        statements: that do it; none where no statement does.
        prefixes: how many it makes; None where that is not known.
        why: what follows for the keys.
    """

    verdict: str
    title: str
    statements: tuple[str, ...]
    prefixes: int | None
    why: tuple[str, ...]
    warnings: tuple[str, ...]
    documented: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


def remedy_of(table: AdvisedTable, needed: float, depth: int) -> Remedy:
    """Return how the table's format spreads its keys over at least `needed` prefixes, which are at most 16^`depth`."""
    return REMEDIES[table.format](table, needed, depth)


def _iceberg(table: AdvisedTable, needed: float, depth: int) -> Remedy:
    object_storage = (_properties(table, {OBJECT_STORAGE: "true"}),)
    fewer_files = (_properties(table, {"write.distribution-mode": "hash"}),)
    first = Alternative("Before it, fewer and larger files, which AWS names first", fewer_files)
    buckets = next((number for number in _BUCKETS if number >= needed), 0)
    bucket_first = _bucket_first(table, buckets) if buckets else ()
    if table.is_readable and bucket_first:
        return Remedy(
            "bucket-first",
            f"Partition by bucket({buckets}, {table.column}) first",
            bucket_first,
            buckets,
            why=(
                f"keys begin with {table.column}_bucket_{buckets}=N, by which queries prune",
                f"{buckets} is a power of 10: the first digits of the numbers are balanced",
            ),
            documented=(_AWS_ORDER,),
            warnings=(f"up to {buckets} partitions, for each value of the other fields: smaller files", _NEW_FILES),
            alternatives=(first, Alternative("Or a hash, left of all partitions", object_storage)),
        )
    time = "" if table.partitioning is not None else "; here ts is the time column"
    readable = [Alternative(f"Or keys that begin with a bucket{time}", bucket_first)] if bucket_first else []
    return Remedy(
        "object-storage",
        "Turn on object storage",
        object_storage,
        2 ** min(4 * depth, _BITS),
        why=(
            "Iceberg then writes data/0110/1010/0011/11100001/<partition>/<file>",
            f"{4 * depth} bits are 16^{depth} prefixes; the number of directories cannot be set",
            *(["its hash has 20 bits, 1,048,576 prefixes: fewer than needed"] if 4 * depth > _BITS else []),
            *(["buckets first do not help here: too many are needed, or they are first"] if table.is_readable else []),
        ),
        documented=(_AWS_ORDER, _BASE2),
        warnings=(_BY_PREFIX, _SHARED_PATH, _NEW_FILES),
        alternatives=(first, *readable),
    )


def _bucket_first(table: AdvisedTable, buckets: int) -> tuple[str, ...]:
    """Return the statements, or none where the bucket is first already, or a field has no statement.

    A new field is the last one: the others are dropped, and added again after it. Other buckets of the column are only dropped.
    """
    fields = (_DAY,) if table.partitioning is None else table.partitioning
    if not all(map(has_function, fields)):
        return ()
    bucket, written = f"bucket({buckets}, {table.column})", [transformed(field) for field in fields]
    if fields and (fields[0].source, fields[0].transform) == (table.column, f"bucket[{buckets}]"):
        return ()
    kept = [
        transformed(field)
        for field in fields
        if field.source != table.column or not field.transform.startswith("bucket[")
    ]
    changes = [f"DROP PARTITION FIELD {field}" for field in written]
    changes += [f"ADD PARTITION FIELD {field}" for field in (bucket, *kept)]
    return tuple(f"ALTER TABLE {table.name} {change}" for change in changes)


def _delta(table: AdvisedTable, needed: float, depth: int) -> Remedy:  # noqa: ARG001 (Delta counts in 62 letters)
    length = next(length for length in range(1, 10) if _LETTERS**length >= needed)
    properties = {RANDOM_PREFIXES: "true", PREFIX_LENGTH: str(length)}
    is_ignored = table.version is not None and ignores_random_prefixes(table.version)
    ignored = (f"Delta {table.version}, as the catalog file has it, ignores these properties",) if is_ignored else ()
    return Remedy(
        "random-prefix",
        f"Turn on random prefixes of {counted(length, 'character')}",
        (_properties(table, properties),),
        _LETTERS**length,
        why=(
            f"{length} of {_LETTERS} letters and digits: {_LETTERS**length:,} prefixes, in place of partitions",
            "length 1 is enough for 62 prefixes, 2 for 3,844",
        ),
        documented=(_SINCE_DELTA,),
        warnings=(*ignored, _BY_PREFIX, _NEW_FILES),
        unknown=("whether writers other than Delta's own library follow the property",),
    )


def _hive(table: AdvisedTable, needed: float, depth: int) -> Remedy:
    digits = math.ceil(math.log10(needed))
    if table.is_readable:
        return Remedy(
            "reversed-id",
            f"Begin keys with the last {counted(digits, 'digit') if digits > 1 else 'digit'} of {table.column}",
            (_copy(table, "reversed", f"substr({_SPARK.reversed_id(table.column)}, 1, {digits})"),),
            10**digits,
            why=(
                f"{10**digits:,} prefixes: an id's last digits, reversed, as a text: 100 is 001",
                f"in a template, the id is {{{{ reversed_id('{table.column}') }}}}",
            ),
            warnings=(_BY_PREFIX, *_COPIES),
            unknown=(f"whether the last digits of {table.column} are balanced: `layout profile` shows it",),
        )
    return Remedy(
        "hash",
        f"Begin keys with {counted(depth, 'hexadecimal digit')} of a hash",
        (_copy(table, "hash", _SPARK.hash_prefix(table.column, depth)),),
        16**depth,
        why=(
            f"{16**depth:,} prefixes: readers that know {table.column} compute its prefix",
            f"in a template, the prefix is {{{{ hash_prefix('{table.column}', {depth}) }}}}",
        ),
        warnings=(_BY_PREFIX, *_COPIES),
    )


def _copy(table: AdvisedTable, name: str, prefix: str) -> str:
    """Return the statement that copies a table into another one, whose keys begin with a prefix."""
    column = _new_column(table, name)
    *namespace, last = name_parts(table.name)
    return (
        f"CREATE TABLE {name_of((*namespace, f'{last}_by_{name}'))} USING parquet PARTITIONED BY ({column})\n"
        f"AS SELECT *, {prefix} AS {column} FROM {table.name}"
    )


def _new_column(table: AdvisedTable, name: str) -> str:
    return name_of([f"{name_parts(table.column)[-1]}_{name}"])


def _hudi(table: AdvisedTable, needed: float, depth: int) -> Remedy:  # noqa: ARG001
    column = _new_column(table, "hash")
    return Remedy(
        "partition-order",
        "Create the table again, partitioned by a hash first",
        (),
        None,
        why=(
            f"no statement does it: create a table PARTITIONED BY ({column}, …), time last",
            f"{column}: {_SPARK.hash_prefix(table.column, depth)}",
        ),
        documented=("RFC-60, hashed paths, is in no released version (https://github.com/apache/hudi/tree/master/rfc/rfc-60)",),
        warnings=(_BY_PREFIX, "all rows are written again; writers must fill the new column"),
    )  # fmt: skip


def _snowflake(table: AdvisedTable, needed: float, depth: int) -> Remedy:  # noqa: ARG001
    return Remedy(
        "flat-paths",
        "Let Snowflake write without partition directories",
        (f"ALTER ICEBERG TABLE {table.name} SET PATH_LAYOUT = FLAT",),
        None,
        why=("FLAT is the default; with HIERARCHICAL the date of a partition comes first",),
        documented=(_PATH_LAYOUT,),
        warnings=(_NEW_FILES,),
        unknown=("how file names begin, and so how far one flat table spreads",),
    )


REMEDIES: Mapping[str, Callable[[AdvisedTable, float, int], Remedy]] = {
    ICEBERG: _iceberg, DELTA: _delta, HIVE: _hive, HUDI: _hudi, SNOWFLAKE: _snowflake,
}  # fmt: skip


def _properties(table: AdvisedTable, properties: Mapping[str, str]) -> str:
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    return f"ALTER TABLE {table.name} SET TBLPROPERTIES ({pairs})"
