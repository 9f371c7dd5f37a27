"""The statements that create a table like one that exists, by its format, and what they leave out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glacierbase.declared.writer import create_statements, creation
from glacierbase.model.shape import Column, PartitionField, Shape, SortField

PLAIN = Shape("lake.a.t", None, "iceberg", 2, (Column(None, "id", "bigint", required=True),))


def test_the_statements_of_an_exact_table_are_those_of_schema() -> None:
    """`import tables` and `schema --format sql` write the same."""
    made = creation(PLAIN)
    assert made.statements == tuple(create_statements(PLAIN))
    assert made.not_exact == ()


def test_a_column_that_spark_does_not_read_is_left_out_with_what_names_it() -> None:
    """Partition fields, sort order and identifiers of the other columns stay."""
    shape = replace(
        PLAIN,
        columns=(*PLAIN.columns, Column(None, "at", "time"), Column(None, "u", "uuid", default='"x"')),
        partitioning=(PartitionField(None, "at", "at", "identity"), PartitionField(None, "id", "id", "identity")),
        sorting=(SortField("at", "identity", "asc", "first"), SortField("u", "identity", "asc", "first")),
        identifiers=("id",),
    )
    made = creation(shape)
    assert made.not_exact == (
        "at is of type time",
        "u is of type uuid",
        "u has a default",
        "the column at is left out",
    )
    text = "\n".join(made.statements)
    assert "`at`" not in text
    assert "`u` string" in text
    assert "PARTITIONED BY (`id`)" in text
    assert "ORDERED BY `u` ASC NULLS FIRST" in text


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        (replace(PLAIN, format="hudi"), "it is in the format hudi, for which no statements are written"),
        (replace(PLAIN, format=""), "it is in the format unknown, for which no statements are written"),
        (replace(PLAIN, columns=(Column(None, "at", "time"),)), "at is of type time"),
        (replace(PLAIN, columns=(Column(None, "`a\u200bb`", "int"),)), r"the name 'a\u200bb'"),
        (replace(PLAIN, format="delta", columns=(Column(None, "x", "interval day"),)), "x is of type interval day"),
    ],
)
def test_a_table_that_nothing_creates_has_the_reason(shape: Shape, why: str) -> None:
    """No statement creates half of it."""
    made = creation(shape)
    assert made.statements == ()
    assert why in made.not_exact


def test_a_secret_is_in_no_statement() -> None:
    """A property whose key names a secret, whatever its value is."""
    made = creation(replace(PLAIN, properties={"s3.secret-access-key": "canary", "x": "1"}))
    assert "canary" not in "".join((*made.statements, *made.not_exact))
    assert made.not_exact == ("the property s3.secret-access-key holds a secret, and is left out",)


def test_places_of_files_are_left_out() -> None:
    """Another table must not write to the same place."""
    made = creation(replace(PLAIN, properties={"write.data.path": "s3://b/x"}))
    assert "s3://" not in "".join(made.statements)
    assert made.not_exact == ("the property write.data.path says where files are, and is left out",)


def test_a_delta_table_has_its_clauses_and_alters() -> None:
    """Clustering is a clause, defaults and constraints are statements; what Spark adds to the list of properties is no property."""
    shape = Shape(
        "spark_catalog.default.t", "u", "delta", 7, (Column(None, "id", "int"), Column(None, "n", "string", default='"\'x\'"')),
        properties={
            "Type": "MANAGED", "clusteringColumns": '[["id"],["n"]]', "delta.constraints.positive": "id > 0",
            "delta.feature.identityColumns": "supported", "x": "it's",
        },
    )  # fmt: skip
    made = creation(shape)
    create, default, constraint = made.statements
    assert "CLUSTER BY (`id`, `n`)" in create
    assert "Type" not in create
    assert "constraints" not in create
    assert default == "ALTER TABLE spark_catalog.default.t ALTER COLUMN `n` SET DEFAULT 'x'"
    assert constraint == "ALTER TABLE spark_catalog.default.t ADD CONSTRAINT `positive` CHECK (id > 0)"
    assert made.not_exact == ("it may have identity columns, whose expressions are not read",)


def test_a_snowflake_table_has_the_texts_that_snowflake_shows() -> None:
    """Names are quoted already, a default is its text, and an identity column is declared by it."""
    shape = Shape(
        'DEMO.S."odd t"', None, "snowflake", None,
        (
            Column(None, "ID", "NUMBER(38,0)", required=True, default='"IDENTITY START 1 INCREMENT 1"'),
            Column(None, '"Mixed"', "VARCHAR(10)", comment="it's \\ x", default="\"'a'\""),
        ),
        identifiers=("ID",),
    )  # fmt: skip
    [create] = creation(shape).statements
    assert create.splitlines() == [
        'CREATE TABLE DEMO.S."odd t" (',
        "  ID NUMBER(38,0) NOT NULL IDENTITY START 1 INCREMENT 1,",
        "  \"Mixed\" VARCHAR(10) DEFAULT 'a' COMMENT 'it''s \\\\ x',",
        "  PRIMARY KEY (ID)",
        ")",
    ]
