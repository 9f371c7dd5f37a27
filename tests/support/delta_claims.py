"""The claims of the rules of `lint` about Delta, run on a Spark with Delta: `python -m tests.support.delta_claims`."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from glacierbase.capabilities.load.advise import advise
from glacierbase.capabilities.load.rates import Load
from glacierbase.capabilities.load.remedies import AdvisedTable
from glacierbase.capabilities.review.catalogue import all_rules
from glacierbase.capabilities.review.table_properties import known
from glacierbase.layout.providers import AWS
from glacierbase.migrations.statements import split_statements
from tests.support.jar_properties import properties_of
from tests.support.layouts import DELTA, ROW_IN_FOLDERS, check_keys, in_folder, predicted

# Of rules about Delta only, and of rules that are about Iceberg as well.
ONLY = ("MT104", "DL101", "DL102", "DL103", "DL104", "DL105")
TOO = ("DS105", "DS106", "PA106", "PR101", "TY104")
_UPGRADES = ("DL102", "DL103")
# Delta drops columns only with it.
_MAPPING = " TBLPROPERTIES ('delta.columnMapping.mode'='name')"


def main() -> None:
    """Print a JSON object: whether each claim is true."""
    from tests.engines import test_migrate_delta
    from tests.support.beds import lake_bed

    with tempfile.TemporaryDirectory() as folder:
        text = test_migrate_delta.with_delta(Path(folder) / "warehouse")
        conf = f"      spark.sql.warehouse.dir: {folder}/spark\n"
        with lake_bed(text.replace("    sparkConf:\n", f"    sparkConf:\n{conf}"), Path(folder) / "project") as bed:
            claims = {
                **_claims(bed.spark),
                "advice": has_advised_keys(bed.spark),
                "keys": keys_are_as_predicted(bed.spark, Path(folder), test_migrate_delta.DELTA.rpartition(":")[2]),
                "properties": knows_the_jar_of(bed.spark, "io.delta.sql.DeltaSparkSessionExtension"),
            }
            print(json.dumps(claims))  # noqa: T201


def keys_are_as_predicted(spark: Any, folder: Path, version: str) -> bool:
    """Check the paths of files that Delta writes against the template of their table; AssertionError if one differs."""
    for number, (statements, text) in enumerate(DELTA.values()):
        table, location = f"spark_catalog.a.keys{number}", folder / f"keys{number}"
        made = in_folder(statements, table, location)
        for statement in (*made, f"INSERT INTO {table} {ROW_IN_FOLDERS}"):
            spark.sql(statement)
        keys = [str(path.relative_to(location)) for path in location.rglob("*.parquet")]
        check_keys(predicted(table, made, "delta", version), text, keys)
    return True


def knows_the_jar_of(spark: Any, name: str) -> bool:
    """Return whether the file of known properties is that of the jar which holds this class."""
    loader = spark._jvm.Thread.currentThread().getContextClassLoader()
    place = loader.loadClass(name).getProtectionDomain().getCodeSource().getLocation().getPath()
    table_format, keys = properties_of(Path(place.removeprefix("file:")))
    return known(table_format) == keys


def has_advised_keys(spark: Any) -> bool:
    """Return whether the statements of `layout advise` begin the keys of new files as they say: of Delta, and of plain files."""
    return all(
        _advised_key(spark, *case)
        for case in (
            (AdvisedTable("delta"), "", "[A-Za-z0-9]{2}/"),
            (AdvisedTable("hive"), "_by_hash", "id_hash=6c5/"),
            (AdvisedTable("hive", is_readable=True), "_by_reversed", "id_reversed=653/"),
        )
    )


def _advised_key(spark: Any, table: AdvisedTable, copy: str, key: str) -> bool:
    written = f"advised_{table.format}{copy}"
    name = f"spark_catalog.a.{written}"
    using = "delta PARTITIONED BY (day)" if table.format == "delta" else "parquet"
    row = "SELECT 356 AS id, DATE'2026-01-01' AS day"
    spark.sql(f"CREATE TABLE {name} USING {using} AS {row}")
    for statement in advise(Load(objects=600, objects_per_prefix=1), AWS, replace(table, name=name)).statements:
        spark.sql(statement)
    if not copy:
        spark.sql(f"INSERT OVERWRITE {name} {row}")
    [(path,)] = spark.sql(f"SELECT input_file_name() FROM {name}{copy}").collect()
    return re.search(rf"/{written}{copy}/{key}[^/]+$", path) is not None


def _claims(spark: Any) -> dict[str, bool]:
    spark.sql("CREATE NAMESPACE spark_catalog.a")
    found = {}
    for code in (*ONLY, *TOO):
        spark.sql(
            "CREATE TABLE spark_catalog.a.t (id BIGINT, name STRING, amount FLOAT, ts TIMESTAMP) USING delta"
            + (_MAPPING if code == "DS105" else "")
        )
        spark.sql("INSERT INTO spark_catalog.a.t VALUES (-1, 'a', 1.5, now()), (-2, 'b', 1.5, now() - INTERVAL 1 DAY)")
        found[code] = _CLAIMS.get(code, _is_refused)(spark, code)
        spark.sql("DROP TABLE spark_catalog.a.t")
    return found


def _bad(spark: Any, code: str) -> None:
    """Run the bad example of a rule, on a Delta table."""
    [sql] = [rule.bad for rule in all_rules() if rule.code == code]
    for old, new in (
        ("lake.a", "spark_catalog.a"),
        ("iceberg", "delta"),
        ("commit.retry.num-retires", "delta.apendOnly"),
    ):
        sql = sql.replace(old, new)
    for statement in split_statements(sql, "spark"):
        spark.sql(statement.text).collect()


def _is_refused(spark: Any, code: str) -> bool:
    try:
        _bad(spark, code)
    except Exception:
        return True
    return False


def _raises_the_protocol(spark: Any, code: str) -> bool:
    before = _protocol(spark)
    _bad(spark, code)
    return _protocol(spark) > before


def _protocol(spark: Any) -> tuple[int, int, int]:
    [row] = spark.sql("DESCRIBE DETAIL spark_catalog.a.t").collect()
    return row["minReaderVersion"], row["minWriterVersion"], len(row["tableFeatures"])


def _loses_the_values(spark: Any, code: str) -> bool:
    _bad(spark, code)
    return [row[0] for row in spark.sql("SELECT amount FROM spark_catalog.a.t").collect()] == [None, None]


def _loses_the_rows(spark: Any, code: str) -> bool:
    _bad(spark, code)
    return spark.table("spark_catalog.a.t").count() == 0


def _has_a_file_per_value(spark: Any, code: str) -> bool:
    _bad(spark, code)
    spark.sql("INSERT INTO spark_catalog.a.t2 SELECT id, ts FROM spark_catalog.a.t")
    [row] = spark.sql("DESCRIBE DETAIL spark_catalog.a.t2").collect()
    return row["numFiles"] == 2


def _is_refused_at_the_end(spark: Any, code: str) -> bool:
    """Return whether the last statement of the bad example is refused, and that of the good one is not."""
    [rule] = [rule for rule in all_rules() if rule.code == code]
    for sql, refused in ((rule.bad, True), (rule.good, False)):
        *before, last = split_statements(sql, "spark")
        for statement in before:
            spark.sql(statement.text)
        try:
            spark.sql(last.text)
            found = False
        except Exception:
            found = True
        spark.sql("DROP TABLE spark_catalog.a.t2")
        if found != refused:
            return False
    return True


_CLAIMS: dict[str, Callable[[Any, str], bool]] = {
    **dict.fromkeys(_UPGRADES, _raises_the_protocol),
    **dict.fromkeys(("DL101", "DL104"), _is_refused_at_the_end),
    "DS105": _loses_the_values,
    "DS106": _loses_the_rows,
    "PA106": _has_a_file_per_value,
}


if __name__ == "__main__":
    main()
