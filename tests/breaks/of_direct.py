"""Breaks of the direct engine: the metadata that plain statements make without Spark."""

from __future__ import annotations

from tests.breaks.running import Break

_ALTERS = "unit/executors/test_direct_alters.py::"
_TABLES = "unit/executors/test_direct_tables.py::"
_RACES = "unit/executors/test_direct_races.py::"

_KEPT = "unit/executors/test_kept_types.py::"

BREAKS = (
    Break(
        "each change copies all schemas",
        "executors/pyiceberg/metadata.py",
        "def __deepcopy__(self, _: Any) -> _Shared:",
        "def copied(self) -> _Shared:",
        "unit/executors/test_memory_growth.py::test_twice_as_many_changes_cost_at_most_four_times_as_much",
    ),
    Break(
        "an unknown type inside a list is refused",
        "executors/pyiceberg/metadata.py",
        '_INSIDE = {"list": ("element",), ',
        '_INSIDE: dict[str, tuple[str, ...]] = {"list": (), ',
        f"{_KEPT}test_a_type_is_described_as_its_metadata_writes_it",
    ),
    Break(
        "a table with an unknown type is changed directly",
        "executors/pyiceberg/preserved.py",
        "if kept := kept_types(table.metadata):",
        "if kept := []:",
        f"{_KEPT}test_a_table_with_an_unknown_type_is_not_changed_directly",
    ),
    Break(
        "the width is missing in the name of an added partition field",
        "model/transforms.py",
        "if with_width and width else",
        "if False else",
        "oracle/test_model.py::test_the_model_has_the_table_that_spark_left",
    ),
    Break(
        "a property that Iceberg reserves is declared",
        "declared/declared.py",
        "*(of_format.not_stored if of_format else ())",
        "",
        "unit/formats/test_formats.py::test_a_key_that_iceberg_reserves_is_not_stored",
    ),
    Break(
        "a decimal gets another scale",
        "executors/direct/ddl/schema_change.py",
        "if not is_widening(spelling(field.field_type), spelling(type_)):",
        "if False:",
        f"{_ALTERS}test_a_decimal_gets_more_digits_and_no_other_scale",
    ),
    Break(
        "a replaced table keeps its sort order",
        "executors/direct/ddl/replacing.py",
        "yield SetDefaultSortOrderUpdate(sort_order_id=unsorted)",
        "yield SetDefaultSortOrderUpdate(sort_order_id=base.default_sort_order_id)",
        f"{_TABLES}test_a_replaced_table_is_not_sorted",
    ),
    Break(
        "a table that was created sorted cannot be replaced",
        "executors/direct/ddl/replacing.py",
        "        yield AddSortOrderUpdate(sort_order=UNSORTED_SORT_ORDER)",
        "        pass",
        f"{_TABLES}test_a_replaced_table_that_another_client_created_sorted_is_not_sorted",
    ),
    Break(
        "the name of a new partition field is ignored",
        "executors/direct/ddl/partitioning.py",
        "        change.add(part.transform, part.name)",
        "        change.add(part.transform, None)",
        f"{_ALTERS}test_a_partition_field_has_the_name_that_its_statement_gives_it",
    ),
    Break(
        "a former partition field is used again under its former name",
        "executors/direct/ddl/partitioning.py",
        "if _bound(field) == source and name in (None, field.name)",
        "if _bound(field) == source",
        f"{_ALTERS}test_a_partition_field_has_the_name_that_its_statement_gives_it",
    ),
    Break(
        "a partition field that is replaced keeps its name",
        "executors/direct/ddl/partitioning.py",
        "            if name is not None and name != existing.name:",
        "            if False:",
        f"{_ALTERS}test_a_partition_field_has_the_name_that_its_statement_gives_it",
    ),
    Break(
        "a commit from older metadata undoes a concurrent DROP COLUMN",
        "executors/direct/ddl/commit.py",
        "yield AssertCurrentSchemaId(current_schema_id=base.current_schema_id)",
        "yield from ()",
        f"{_RACES}test_a_server_refuses_a_commit_from_older_metadata",
    ),
    Break(
        "a commit from older metadata undoes a concurrent change of the partitioning",
        "executors/direct/ddl/commit.py",
        "yield AssertDefaultSpecId(default_spec_id=base.default_spec_id)",
        "yield from ()",
        f"{_RACES}test_a_server_refuses_a_commit_from_older_metadata",
    ),
    Break(
        "a commit from older metadata undoes a concurrent sort order",
        "executors/direct/ddl/commit.py",
        "yield AssertDefaultSortOrderId(default_sort_order_id=base.default_sort_order_id)",
        "yield from ()",
        f"{_RACES}test_a_server_refuses_a_commit_from_older_metadata",
    ),
    Break(
        "a column that changes loses its initial default",
        "executors/direct/ddl/schema_change.py",
        "        field.initial_default,\n",
        "        None,\n",
        f"{_ALTERS}test_a_changed_column_keeps_its_defaults",
    ),
    Break(
        "a struct is an identifier field",
        "executors/direct/ddl/schema_change.py",
        "    if not field.field_type.is_primitive:",
        "    if False:",
        f"{_ALTERS}test_an_identifier_field_is_a_required_column_of_a_simple_type",
    ),
    Break(
        "a local write order changes the distribution of writes",
        "declared/clauses.py",
        '"none" if not known else None if ordered[-1].locally else "range"',
        '"none" if not known else "range"',
        f"{_ALTERS}test_a_local_order_keeps_the_distribution",
    ),
    Break(
        "a namespace that holds a view is dropped",
        "executors/direct/ddl/namespaces.py",
        'contents["view(s)"] = catalog.list_views(path)',
        "catalog.list_views(path)",
        f"{_TABLES}test_a_namespace_with_a_view_is_not_dropped",
    ),
    Break(
        "a refused DROP is said to lack the right to read",
        "executors/pyiceberg/errors.py",
        '{"POST": "change", "DELETE": "drop"}',
        '{"POST": "change"}',
        "unit/executors/test_refused_rights.py::test_a_refusal_names_what_the_request_does",
    ),
)
