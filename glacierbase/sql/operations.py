"""The operations: the words of `ParsedStatement.operation` and of `Part.operation`, in groups by what they change."""

from __future__ import annotations

CREATES_TABLE = frozenset({"create_table", "create_table_as", "replace_table"})
VIEWS = frozenset({"create_view", "replace_view", "alter_view", "drop_view", "rename_view"})
NAMESPACES = frozenset({"create_namespace", "alter_namespace", "drop_namespace"})
REFERENCES = frozenset({"create_branch", "drop_branch", "create_tag", "drop_tag"})
PARTITION_FIELDS = frozenset({"add_partition_field", "drop_partition_field", "replace_partition_field"})
# Clauses of an ALTER that Iceberg adds to Spark's. https://iceberg.apache.org/docs/latest/spark-ddl/#iceberg-sql-extensions
EXTENSIONS = (
    PARTITION_FIELDS
    | REFERENCES
    | {"set_write_order", "set_distribution", "set_identifier_fields", "drop_identifier_fields"}
)
# Changes of the metadata of one table. `several`: clauses of more than one kind.
ALTERS = (EXTENSIONS - REFERENCES) | {
    "add_column", "drop_column", "rename_column", "alter_column_type", "alter_column_nullability", "alter_column_comment",
    "alter_column_position", "alter_column_default", "replace_columns", "set_properties", "unset_properties", "set_location",
    "comment_on", "add_constraint", "drop_constraint", "cluster_by", "several",
}  # fmt: skip
ROWS = frozenset({"insert", "insert_overwrite", "insert_multi", "update", "delete", "merge", "truncate", "copy"})
PARTITIONS = frozenset({"add_partition", "drop_partition"})
# They rewrite, delete or describe files, and leave the rows and the schema.
UPKEEP = frozenset({"optimize", "vacuum", "analyze", "refresh", "cache", "uncache"})
QUERIES = frozenset({"select", "show", "describe", "explain"})
RIGHTS = frozenset({"grant", "revoke"})
FUNCTIONS = frozenset({"create_function", "drop_function"})
OPERATIONS = (
    CREATES_TABLE | VIEWS | NAMESPACES | REFERENCES | ALTERS | ROWS | PARTITIONS | UPKEEP | QUERIES | RIGHTS | FUNCTIONS
) | {
    "drop_table", "rename_table", "restore", "call", "create_procedure", "create_task", "create_stream", "create_stage",
    "create_pipe", "create_role", "use", "set", "reset", "add_resource", "script", "transaction", "other",
}  # fmt: skip
