"""Rules know what earlier files declare of a table, with and without `--base`; what is unclear raises no finding."""

from __future__ import annotations

import pytest

from glacierbase.capabilities.review import walk
from glacierbase.capabilities.review.walk import declare, read_file
from glacierbase.declared import known_tables
from glacierbase.declared.known_tables import KnownTables
from glacierbase.migrations.worker import Chain
from glacierbase.sql import read
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.support.rules import FACTS, codes, compiled

CATALOG = """\
migrationExecutor:
  type: spark
  conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}
variables: {table: t, type: date}
environments: {dev: {}, prod: {}}
"""
CREATE = "CREATE TABLE lake.a.t (id BIGINT NOT NULL, day DATE) USING iceberg"
ALTER = "ALTER TABLE lake.a.t ALTER COLUMN day TYPE timestamp"


@pytest.fixture
def shop(project: ProjectFolder) -> ProjectFolder:
    """A project on the branch `main` whose first file creates a table."""
    project.catalog(CATALOG)
    project.file("1_a.sql", CREATE)
    commit_all(project.root)
    return project


def found(project: ProjectFolder, *arguments: str) -> list[tuple[object, ...]]:
    """Return file, code and environments of each finding."""
    findings = project.ask("lint", *arguments).entry()["findings"]
    return [(each["path"].rpartition("/")[2], each["code"], each["environments"]) for each in findings]


BOTH = ["dev", "prod"]


@pytest.mark.parametrize("arguments", [(), ("--base", "main")])
def test_a_rule_knows_the_columns_that_an_earlier_file_declares(
    arguments: tuple[str, ...], shop: ProjectFolder
) -> None:
    """With `--base` only the new file is checked, and the files that name its table are read."""
    shop.file("2_b.sql", ALTER)
    assert found(shop, *arguments) == [("2_b.sql", "TY102", BOTH)]


def test_a_file_of_the_base_is_read_and_raises_nothing(shop: ProjectFolder) -> None:
    """What is applied cannot change."""
    shop.file("2_b.sql", ALTER)
    commit_all(shop.root)
    shop.file("3_c.sql", "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS day")
    assert found(shop, "--base", "main") == [("3_c.sql", "TY106", BOTH)]


def test_a_table_whose_name_is_a_variable_is_known(shop: ProjectFolder) -> None:
    """The raw text of the earlier file does not hold the name."""
    shop.file("2_b.sql", "CREATE TABLE lake.a.{{ variables.table }}x (day {{ variables.type }}) USING iceberg")
    commit_all(shop.root)
    shop.file("3_c.sql", ALTER.replace("a.t", "a.tx"))
    assert found(shop, "--base", "main") == [("3_c.sql", "TY102", BOTH)]


def test_each_environment_has_tables_of_its_own(shop: ProjectFolder) -> None:
    """A variable is the type of the column, which allows the promotion in one environment."""
    shop.catalog(CATALOG.replace("prod: {}", "prod: {variables: {type: timestamp}}"))
    shop.file("1_a.sql", "CREATE TABLE lake.a.t (day {{ variables.type }}) USING iceberg")
    shop.file("2_b.sql", ALTER)
    assert ("2_b.sql", "TY102", ["dev"]) in found(shop)


def test_after_a_file_that_does_not_compile_nothing_is_known(shop: ProjectFolder) -> None:
    """A file that does not compile may have changed the table; its own error is reported."""
    shop.file("2_b.sql", "ALTER TABLE lake.a.t DROP COLUMN {{ variables.missing }}")
    shop.file("3_c.sql", ALTER)
    done = shop.ask("lint")
    assert done.document["error"]["code"] == "UNDEFINED_VARIABLE"
    assert "TY102" not in [each["code"] for each in done.entry()["findings"]]


def test_a_file_of_the_base_that_names_other_tables_is_not_read(shop: ProjectFolder) -> None:
    """The name of its table only begins like that of the new file's table, so that its error does not matter."""
    shop.file("2_b.sql", "ALTER TABLE lake.a.t_hourly SET TBLPROPERTIES ('a")
    commit_all(shop.root)
    shop.file("3_c.sql", ALTER)
    assert found(shop, "--base", "main") == [("3_c.sql", "TY102", BOTH)]


def test_an_error_in_a_file_of_the_base_does_not_turn_a_branch_red(shop: ProjectFolder) -> None:
    """`validate` reports it; here the tables of that catalog are not known."""
    shop.file("2_b.sql", "ALTER TABLE lake.a.t DROP COLUMN {{ variables.missing }}")
    commit_all(shop.root)
    shop.file("3_c.sql", ALTER)
    done = shop.ask("lint", "--base", "main")
    assert (done.code, done.entry()["findings"]) == (0, [])


def test_a_catalog_knows_nothing_of_another_one(shop: ProjectFolder) -> None:
    """One process examines two catalogs, each without the tables of the other."""
    shop.catalog(CATALOG, "web")
    shop.file("1_b.sql", ALTER, "web")
    findings = [each["findings"] for each in shop.ask("lint").document["catalogs"]]
    assert findings == [[], []]


@pytest.mark.parametrize(
    ("between", "code"),
    [
        ("ALTER TABLE lake.a.t ADD COLUMN x INT", "TY102"),
        ("ALTER TABLE lake.a.t RENAME COLUMN day TO other; ALTER TABLE lake.a.t ADD COLUMN day INT", "TY102"),
        ("ALTER TABLE lake.a.t RENAME COLUMN day TO other; ALTER TABLE lake.a.t ADD COLUMN day timestamp", None),
        ("EXECUTE IMMEDIATE 'DROP TABLE lake.a.t'", None),
        ("DROP TABLE lake.a.t", None),
    ],
)
def test_statements_between_change_what_is_known(between: str, code: str | None) -> None:
    """Each file adds to what the files before it declare."""
    assert ("TY102" in codes(CREATE, between, ALTER)) == (code is not None)


DROP = "ALTER TABLE lake.a.t DROP COLUMN id"


@pytest.mark.parametrize(
    ("statements", "alter", "code"),
    [
        ("WRITE ORDERED BY id", DROP, "TY108"),
        ("WRITE ORDERED BY id; ALTER TABLE lake.a.t WRITE UNORDERED", DROP, None),
        ("SET IDENTIFIER FIELDS id", DROP, "TY108"),
        ("SET IDENTIFIER FIELDS id", "ALTER TABLE lake.a.t ALTER COLUMN id DROP NOT NULL", "TY106"),
        ("ADD PARTITION FIELD bucket(4, id)", DROP, "TY108"),
        ("ADD PARTITION FIELD bucket(4, id)", "ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(8, id)", "PA104"),
        ("ADD PARTITION FIELD bucket(4, day)", "ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(8, id)", None),
        ("ADD PARTITION FIELD id; ALTER TABLE lake.a.t DROP PARTITION FIELD id", DROP, None),
        ("ADD COLUMN f DOUBLE", "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS f", "TY106"),
        ("ADD COLUMN f INT", "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS id", None),
    ],
)
def test_partitioning_order_and_identifiers_of_earlier_files_are_known(
    statements: str, alter: str, code: str | None
) -> None:
    """The rules about them are those that the engine refuses a statement by, or that are about old files."""
    raised = codes(CREATE, f"ALTER TABLE lake.a.t {statements}", alter)
    assert [each for each in raised if each in ("TY106", "TY108", "PA103", "PA104")] == ([code] if code else [])


def test_metrics_are_counted_with_the_columns_of_earlier_files() -> None:
    """A property that the file sets for the new column ends the finding."""
    columns = ", ".join(f"c{number} INT" for number in range(100))
    create, add = f"CREATE TABLE lake.a.t ({columns}) USING iceberg", "ALTER TABLE lake.a.t ADD COLUMN late INT"
    assert codes(create, add) == ["PR104"]
    keep = "ALTER TABLE lake.a.t SET TBLPROPERTIES ('write.metadata.metrics.column.late'='counts')"
    assert codes(create, f"{add}; {keep}") == []
    assert codes(create.replace("c99", "d"), "ALTER TABLE lake.a.t DROP COLUMN d", add) == ["DS103"]


def test_properties_that_the_catalog_file_gives_to_new_tables_are_known() -> None:
    """Spark's configuration enables column mapping for new tables of Delta."""
    from dataclasses import replace

    facts = replace(FACTS, formats={"spark_catalog": "delta"})
    files = ("CREATE TABLE spark_catalog.a.t (b INT) USING delta", "ALTER TABLE spark_catalog.a.t DROP COLUMN b")
    assert "DL101" in codes(*files, facts=facts)
    assert "DL101" not in codes(*files, facts=replace(facts, defaults={"delta.columnMapping.mode": "name"}))


def test_a_table_of_another_format_raises_no_finding_of_the_catalogs_format() -> None:
    """USING of an earlier file counts for what is known of the table."""
    assert "TY102" not in codes(CREATE.replace("iceberg", "parquet"), ALTER)


def test_a_rule_for_streams_is_silent_for_other_tables(shop: ProjectFolder) -> None:
    """A plain ADD COLUMN is no finding, unless a stream reads or writes the table, or the catalog file asks for it."""
    shop.file("2_b.sql", "ALTER TABLE lake.a.t ADD COLUMN device STRING")
    assert found(shop, "--base", "main") == []
    shop.catalog(f"{CATALOG}lint: {{streaming: [lake.a.*]}}\n")
    assert found(shop, "--base", "main") == [("2_b.sql", "BC104", BOTH)]
    shop.catalog(f"{CATALOG}lint: {{rules: {{BC104: warning}}}}\n")
    assert found(shop, "--base", "main") == [("2_b.sql", "BC104", BOTH)]


def test_hostile_types_and_numbers_raise_no_error() -> None:
    """A type that is nested 20,000 times, digits without end, and names with quotes, dots and control characters."""
    deep = f"{'array<' * 20_000}int{'>' * 20_000}"
    digits = "9" * 6_000
    alters = (
        f"ALTER TABLE lake.a.t ALTER COLUMN day TYPE {deep}",
        f"ALTER TABLE lake.a.t ADD COLUMN d decimal({digits}, 2); ALTER TABLE lake.a.t ALTER COLUMN d TYPE decimal({digits}1, 2)",
        f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('write.metadata.metrics.max-inferred-column-defaults'='{digits}')",
        "ALTER TABLE lake.a.t ADD COLUMN x INT",
        "ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(16, `a``\x1b.b`)",
        "ALTER TABLE lake.a.t ADD PARTITION FIELD bucket(16)",
        "ALTER TABLE lake.a.t ADD PARTITION FIELD bucket()",
        "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS `a.b`, `\x1b[2J`",
        "ALTER TABLE lake.a.t DROP COLUMN `a.b`",
    )
    assert codes(CREATE, *alters)


def test_the_clauses_of_a_statement_that_the_engine_accepts_are_applied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table after a statement and its refused clauses come from one application; only a refused one is read by its clauses."""
    applied: list[object] = []
    for module in (known_tables, walk):
        original = module.apply
        monkeypatch.setattr(module, "apply", lambda *given, apply=original: applied.append(given[1]) or apply(*given))
    accepted = ("ALTER TABLE lake.a.t ADD COLUMNS (x INT, y INT)", "ALTER TABLE lake.a.t SET IDENTIFIER FIELDS id")
    assert codes(CREATE, *accepted) == []
    assert [type(change).__name__ for change in applied[-3:]] == ["ColumnAdded", "ColumnAdded", "IdentifiersSet"]
    assert codes(CREATE, "ALTER TABLE lake.a.t DROP COLUMN missing") == ["TY114"]


def test_many_tables_take_linear_time() -> None:
    """The work per statement does not grow with the number of tables: it is counted, not timed."""
    compared: list[object] = []
    tables = KnownTables()
    original = known_tables._may_be_same
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_tables, "_may_be_same", lambda *keys: compared.append(keys) or original(*keys))
        for number in range(500):
            tables.follow(read(f"CREATE TABLE lake.a.t{number} (id INT) USING iceberg", "spark"))
    assert compared == []


@pytest.mark.parametrize("arguments", [(), ("--base", "main")])
def test_a_replaced_table_keeps_the_properties_of_earlier_files(
    arguments: tuple[str, ...], shop: ProjectFolder
) -> None:
    """Iceberg keeps metrics of all columns of the new table, because a file of the base says so."""
    keep = "ALTER TABLE lake.a.t SET TBLPROPERTIES ('write.metadata.metrics.default'='counts')"
    columns = ", ".join(f"c{number} INT" for number in range(101))
    shop.file("2_b.sql", f"CREATE OR REPLACE TABLE lake.a.t ({columns}) USING iceberg")
    assert [code for _, code, _ in found(shop, *arguments)] == ["DS106", "PR104"]
    (shop.root / "migrations/shop/2_b.sql").rename(shop.root / "migrations/shop/3_c.sql")
    shop.file("2_b.sql", keep)
    commit_all(shop.root, "base")
    shop.file("4_d.sql", f"CREATE OR REPLACE TABLE lake.a.t ({columns}) USING iceberg")
    assert "PR104" not in [code for name, code, _ in found(shop, "--base", "main") if name == "4_d.sql"]


def test_the_format_of_a_table_is_the_one_that_an_earlier_file_names() -> None:
    """The catalog file does not say of which format its tables are, so that they were taken for Iceberg's."""
    create = "CREATE TABLE spark_catalog.a.h (id INT) USING {} TBLPROPERTIES ('primaryKey'='id')"
    alter = "ALTER TABLE spark_catalog.a.h SET TBLPROPERTIES ('primaryKey'='other')"
    assert "HU103" in codes(create.format("hudi"), alter)
    assert "HU103" not in codes(create.format("iceberg"), alter)


@pytest.mark.parametrize(("naming", "is_known"), [(r"(?<!\w)(?:t|u)(?!\w)", True), (r"(?<!\w)(?:a\.)(?!\w)", False)])
def test_a_rendered_file_is_read_only_if_it_names_a_table_that_is_needed(naming: str, is_known: bool) -> None:
    """Most templates of a base name other tables."""
    chain = Chain()
    declare(compiled(CREATE), {"naming": naming}, chain)
    file = read_file(compiled(ALTER), {}, chain)
    assert (file.known(file.steps[0]) is not None) is is_known
