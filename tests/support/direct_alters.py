"""Clauses of ALTER TABLE for the oracle of plain DDL, by what they show. `NS` is the namespace."""

from __future__ import annotations

from pathlib import Path

# Statements that follow each other on one table, by what they show: a line each, after the name of the case.
_TEXT = Path(__file__).with_name("direct_alters.sql").read_text()
ALTERS = {
    name: lines.strip().splitlines() for name, _, lines in (case.partition("\n") for case in _TEXT.split("-- ")[1:])
}
_OLD = (
    "BOOLEAN", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,0)", "DECIMAL(12,2)", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
    "STRING", "BINARY",
)  # fmt: skip
_NEW = (*_OLD, "DECIMAL(20,0)", "DECIMAL(30,2)", "DECIMAL", "INTEGER", "LONG", "REAL", "DEC(5)", "NUMERIC(11,1)")
_COLUMNS = ", ".join(f"c{number} {old}" for number, old in enumerate(_OLD))
ALTERS["types"] = [
    f"CREATE TABLE lake.NS.t ({_COLUMNS}, s STRUCT<a: INT>) USING iceberg",
    *(f"ALTER TABLE lake.NS.t ALTER COLUMN c{number} TYPE {new}" for number in range(len(_OLD)) for new in _NEW),
    *(f"ALTER TABLE lake.NS.t ALTER COLUMN s TYPE {new}" for new in _OLD),
]
