"""The grants by which one role changes tables and others write rows, for each kind of catalog.

Each statement has the page of the vendor that it follows. `limits` are what the kind of catalog cannot separate.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from glacierbase.model.names import snowflake_identifier, spark_identifier
from glacierbase.sql.dialects import SNOWFLAKE as SNOWFLAKE_DIALECT
from glacierbase.stores.sql import SYNTAX

Template = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rights:
    """The statements for one role: pairs of a template and its source.

    Attributes:
        catalog: run once for each catalog.
        namespace: run for each namespace that has tables of the migrations.
        store: run for the namespace of history and lock.
    """

    catalog: Sequence[Template]
    namespace: Sequence[Template]
    store: Sequence[Template]


@dataclass(frozen=True, slots=True)
class Flavour:
    """The grants of one kind of catalog.

    Attributes:
        quoted: returns a name as the statements write it.
        joined: whether a namespace is written with its catalog, as one name; else without it.
        limits: sentences about what these grants do not prevent, each with its source.
    """

    quoted: Callable[[str], str]
    joined: bool
    migrator: Rights
    writer: Rights
    limits: Sequence[str]


def _from(source: str, *statements: str) -> tuple[Template, ...]:
    return tuple((statement, source) for statement in statements)


_SNOWFLAKE = "https://docs.snowflake.com/en/user-guide/security-access-control-privileges"
_SNOWFLAKE_OWNERSHIP = "https://docs.snowflake.com/en/sql-reference/sql/grant-ownership"
_SNOWFLAKE_GRANT = "https://docs.snowflake.com/en/sql-reference/sql/grant-privilege"
_SNOWFLAKE_REVOKE = "https://docs.snowflake.com/en/sql-reference/sql/revoke-privilege"
_ROWS = "SELECT, INSERT, UPDATE, DELETE, TRUNCATE"

_POLARIS = "https://polaris.apache.org/in-dev/unreleased/managing-security/access-control/"
_POLARIS_CLI = "https://polaris.apache.org/in-dev/unreleased/command-line-interface/"
# The privileges of a commit by its updates, and which privilege includes which.
_POLARIS_API = "https://github.com/apache/polaris/blob/main/spec/polaris-management-service.yml"
_POLARIS_CODE = (
    "https://github.com/apache/polaris/blob/main/polaris-core/src/main/java/org/apache/polaris/core/auth/"
    "PolarisAuthorizerImpl.java"
)
# One catalog role for each principal role, of the same name.
_POLARIS_ROLE = _from(
    _POLARIS_CLI,
    "polaris catalog-roles create --catalog {database} {role}",
    "polaris catalog-roles grant --catalog {database} --principal-role {role} {role}",
)

_UNITY = "https://docs.databricks.com/aws/en/data-governance/unity-catalog/manage-privileges/privileges"
_UNITY_ALTER = "https://docs.databricks.com/aws/en/sql/language-manual/sql-ref-syntax-ddl-alter-table"
_UNITY_EXTERNAL = "https://docs.databricks.com/aws/en/external-access/admin"

_LAKE = "https://docs.aws.amazon.com/lake-formation/latest/dg/lf-permissions-reference.html"
_LAKE_SETTINGS = "https://docs.aws.amazon.com/lake-formation/latest/dg/change-settings.html"
_LAKE_SPARK = "https://docs.aws.amazon.com/emr/latest/ManagementGuide/emr-lf-fgac1.html"
_GLUE_COMMITS = "https://iceberg.apache.org/docs/latest/aws/#optimistic-locking"


def _polaris(*privileges: str, source: str = _POLARIS) -> tuple[Template, ...]:
    command = "polaris privileges namespace grant --catalog {database} --catalog-role {role}"
    return _from(source, *(f"{command} --namespace {{namespace}} {privilege}" for privilege in privileges))


_POLARIS_ALL = _polaris(
    "NAMESPACE_LIST", "NAMESPACE_READ_PROPERTIES", "TABLE_FULL_METADATA", "TABLE_READ_DATA", "TABLE_WRITE_DATA"
)


def _lake(resource: str, permissions: str) -> tuple[Template, ...]:
    command = "aws lakeformation grant-permissions --principal DataLakePrincipalIdentifier={role}"
    return _from(_LAKE, f"{command} --permissions {permissions} --resource {{{resource}}}")


FLAVOURS: Mapping[str, Flavour] = {
    "snowflake": Flavour(
        quoted=snowflake_identifier,
        joined=True,
        migrator=Rights(
            catalog=(),
            namespace=_from(
                _SNOWFLAKE_OWNERSHIP,
                "GRANT OWNERSHIP ON SCHEMA {namespace} TO ROLE {role} COPY CURRENT GRANTS",
                "GRANT OWNERSHIP ON ALL TABLES IN SCHEMA {namespace} TO ROLE {role} COPY CURRENT GRANTS",
            ),
            store=_from(_SNOWFLAKE, *SYNTAX[SNOWFLAKE_DIALECT.name].grants),
        ),
        writer=Rights(
            catalog=_from(_SNOWFLAKE, "GRANT USAGE ON DATABASE {database} TO ROLE {role}"),
            namespace=(
                *_from(
                    _SNOWFLAKE_REVOKE,
                    "REVOKE CREATE TABLE ON SCHEMA {namespace} FROM ROLE {role}",
                    "REVOKE EVOLVE SCHEMA ON ALL TABLES IN SCHEMA {namespace} FROM ROLE {role}",
                ),
                *_from(_SNOWFLAKE, "GRANT USAGE ON SCHEMA {namespace} TO ROLE {role}"),
                *_from(
                    _SNOWFLAKE_GRANT,
                    f"GRANT {_ROWS} ON ALL TABLES IN SCHEMA {{namespace}} TO ROLE {{role}}",
                    f"GRANT {_ROWS} ON FUTURE TABLES IN SCHEMA {{namespace}} TO ROLE {{role}}",
                ),
            ),
            store=_from(
                _SNOWFLAKE,
                "GRANT USAGE ON SCHEMA {namespace} TO ROLE {role}",
                "GRANT SELECT ON TABLE {history} TO ROLE {role}",
                "GRANT SELECT ON TABLE {lock} TO ROLE {role}",
            ),
        ),
        limits=(
            f"roles with MANAGE GRANTS, such as SECURITYADMIN, can give themselves every right ({_SNOWFLAKE})",
            f"roles that are granted the migrator's role have its rights: `SHOW GRANTS OF ROLE` lists them ({_SNOWFLAKE})",
        ),
    ),
    "polaris": Flavour(
        quoted=shlex.quote,
        joined=False,
        migrator=Rights(
            catalog=_POLARIS_ROLE,
            namespace=_POLARIS_ALL,
            store=_POLARIS_ALL,
        ),
        writer=Rights(
            catalog=_POLARIS_ROLE,
            namespace=(
                *_polaris("NAMESPACE_LIST", "NAMESPACE_READ_PROPERTIES", "TABLE_LIST", "TABLE_READ_DATA"),
                *_polaris("TABLE_ADD_SNAPSHOT", "TABLE_SET_SNAPSHOT_REF", source=_POLARIS_API),
            ),
            store=_polaris("TABLE_LIST", "TABLE_READ_DATA"),
        ),
        limits=(
            "TABLE_WRITE_DATA and TABLE_WRITE_PROPERTIES include TABLE_ADD_SCHEMA and the other changes of a table: take them "
            f"from writers ({_POLARIS_CODE})",
            "without TABLE_WRITE_DATA Polaris gives writers no storage credentials that write: they bring their own "
            f"({_POLARIS})",
            "TABLE_ADD_SNAPSHOT and TABLE_SET_SNAPSHOT_REF exist since Polaris 1.2, with the feature "
            f"ENABLE_FINE_GRAINED_UPDATE_TABLE_PRIVILEGES; before, writing rows is changing tables ({_POLARIS_API})",
        ),
    ),
    "unity": Flavour(
        quoted=spark_identifier,
        joined=True,
        migrator=Rights(
            catalog=_from(_UNITY, "GRANT USE CATALOG ON CATALOG {database} TO {role}"),
            namespace=(
                *_from(_UNITY, "GRANT USE SCHEMA, CREATE TABLE, SELECT, MODIFY, MANAGE ON SCHEMA {namespace} TO {role}"),
                *_from(_UNITY_EXTERNAL, "GRANT EXTERNAL USE SCHEMA ON SCHEMA {namespace} TO {role}"),
            ),
            store=(
                *_from(_UNITY, "GRANT USE SCHEMA, CREATE TABLE, SELECT, MODIFY ON SCHEMA {namespace} TO {role}"),
                *_from(_UNITY_EXTERNAL, "GRANT EXTERNAL USE SCHEMA ON SCHEMA {namespace} TO {role}"),
            ),
        ),
        writer=Rights(
            catalog=_from(_UNITY, "GRANT USE CATALOG ON CATALOG {database} TO {role}"),
            namespace=_from(
                _UNITY,
                "REVOKE CREATE TABLE, MANAGE ON SCHEMA {namespace} FROM {role}",
                "GRANT USE SCHEMA, SELECT, MODIFY ON SCHEMA {namespace} TO {role}",
            ),
            store=_from(_UNITY, "GRANT USE SCHEMA, SELECT ON SCHEMA {namespace} TO {role}"),
        ),
        limits=(
            "MODIFY, which writing rows requires, also adds, alters and drops columns and sets properties: `drift` detects it, "
            f"no grant prevents it ({_UNITY_ALTER})",
            f"owners of a catalog, schema or table have all rights on it ({_UNITY})",
        ),
    ),
    "lake-formation": Flavour(
        quoted=shlex.quote,
        joined=False,
        migrator=Rights(
            catalog=_lake("location_resource", "DATA_LOCATION_ACCESS"),
            namespace=(
                *_lake("database_resource", "CREATE_TABLE DESCRIBE"),
                *_lake("tables_resource", "ALTER DELETE DESCRIBE DROP INSERT SELECT"),
            ),
            store=(
                *_lake("database_resource", "CREATE_TABLE DESCRIBE"),
                *_lake("history_resource", "ALTER DELETE DESCRIBE INSERT SELECT"),
                *_lake("lock_resource", "ALTER DELETE DESCRIBE INSERT SELECT"),
            ),
        ),
        writer=Rights(
            catalog=(),
            namespace=(
                *_lake("database_resource", "DESCRIBE"),
                *_lake("tables_resource", "ALTER DELETE DESCRIBE INSERT SELECT"),
            ),
            store=(
                *_lake("database_resource", "DESCRIBE"),
                *_lake("history_resource", "DESCRIBE SELECT"),
                *_lake("lock_resource", "DESCRIBE SELECT"),
            ),
        ),
        limits=(
            "a commit of rows to an Iceberg table updates the table in Glue, as a change of its columns does, and requires ALTER: "
            f"`drift` detects such a change, no grant prevents it ({_LAKE_SPARK}, {_GLUE_COMMITS})",
            "while IAMAllowedPrincipals has Super on a database or table, Lake Formation permissions have no effect on it "
            f"({_LAKE_SETTINGS})",
        ),
    ),
}  # fmt: skip
