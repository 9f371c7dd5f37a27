"""The generated part of docs/reference/plain-ddl.md: what the statements of the oracle show of each operation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from glacierbase.executors.direct.plain import why_not_plain
from glacierbase.sql import read
from tests.support.direct_alters import ALTERS
from tests.support.direct_tables import TABLES

# What follows these words belongs to one statement.
_SPECIFIC = re.compile(
    r"(the (?:partition field|type|property|name|format|option|clause|value|snapshot|arguments|width|transform)|TYPE|"
    r"a value of a property that begins with|the format version|PyIceberg ignores) .*"
)


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield for each operation how many of the statements run directly, how many in Spark, and why."""
    direct: Counter[str] = Counter()
    in_spark: dict[str, Counter[str]] = {}
    for sql in dict.fromkeys(sql for case in (*TABLES.values(), *ALTERS.values()) for sql in case):
        statement = read(sql, "spark")
        why = why_not_plain(statement) if statement.understood else "it is not understood"
        if why is None:
            direct[statement.operation] += 1
        else:
            in_spark.setdefault(statement.operation, Counter())[_SPECIFIC.sub(r"\1 …", why)] += 1
    for operation in sorted({*direct, *in_spark}):
        reasons = in_spark.get(operation, Counter())
        yield operation, str(direct[operation]), str(reasons.total()), "; ".join(sorted(reasons))
