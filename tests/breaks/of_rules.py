"""Breaks of the rules of lint: a type, a limit or an operation that a rule loses."""

from __future__ import annotations

from tests.breaks.running import Break

_TYPES = "unit/capabilities/review/test_type_tables.py::"

BREAKS = (
    Break(
        "a rule that is described and never added is not noticed",
        "capabilities/review/family.py",
        "if lacking := [code for code in self._descriptions if code not in self._rules]:",
        "if lacking := []:",
        "unit/capabilities/review/test_lint.py::test_a_broken_package_is_one_message_that_names_it",
    ),
    Break(
        "a row of a rule ignores its condition",
        "capabilities/review/family.py",
        "if where(clause):",
        "if True:",
        "unit/capabilities/review/test_rules.py::test_the_good_example_of_a_rule_does_not_raise_it",
    ),
    Break(
        "a decimal is promoted to another scale",
        "declared/widening.py",
        "old[2] == new[2] and int(old[1])",
        "int(old[1])",
        f"{_TYPES}test_a_column_is_promoted_to_these_types_only",
    ),
    Break(
        "a struct is an identifier field and no finding",
        "declared/applied.py",
        'raise Refusal("type", f"{cannot}: it is of type {tree.spelling}")',
        "pass",
        f"{_TYPES}test_an_identifier_field_is_of_a_simple_exact_type",
    ),
    Break(
        "buckets of bytes are a finding",
        "model/transforms.py",
        '"_bucket", _VALUES | _DATES,',
        '"_bucket", (_VALUES | _DATES) - {"binary"},',
        f"{_TYPES}test_a_transform_accepts_the_types_of_the_specification",
    ),
    Break(
        "REPLACE PARTITION FIELD makes no partitions that are too many",
        "capabilities/review/rules/partitioning.py",
        '@RULES.check("PA108", *CREATES_TABLE, "add_partition_field", "replace_partition_field")',
        '@RULES.check("PA108", *CREATES_TABLE, "add_partition_field")',
        f"{_TYPES}test_more_than_three_partition_fields_or_64_buckets_an_hour_are_a_finding",
    ),
    Break(
        "a partition field that is replaced counts as one more",
        "capabilities/review/rules/partitioning.py",
        "replaced = [field for part in added if part.replaces and (field := field_of(part.replaces))]",
        "replaced = [field for part in added if False]",
        f"{_TYPES}test_more_than_three_partition_fields_or_64_buckets_an_hour_are_a_finding",
    ),
    Break(
        "REPLACE PARTITION FIELD names a column that does not exist",
        "capabilities/review/rules/types.py",
        '    "replace_partition_field", "set_properties", "insert",',
        '    "set_properties", "insert",',
        f"{_TYPES}test_each_clause_that_names_a_column_needs_it",
    ),
    Break(
        "the name of a partition field is its default name",
        "declared/applied.py",
        "name = new.name or given_name(dots, new.transform, with_width=True)",
        "name = given_name(dots, new.transform, with_width=True)",
        f"{_TYPES}test_a_partition_field_is_dropped_by_the_name_that_it_was_given",
    ),
    Break(
        "the catalog's default of the format version does not count",
        "capabilities/review/rules/types.py",
        'before or file.facts.defaults.get(key, "2")',
        'before or "2"',
        "unit/capabilities/review/test_type_tables.py::test_the_catalog_may_set_the_format_version_of_new_tables",
    ),
    Break(
        "a DELETE of no row is reported as one of all rows",
        "sql/conditions.py",
        'if "=" in sign and "!" not in sign else _NEVER',
        'if "=" in sign else _NEVER',
        "unit/sql/test_conditions.py::test_a_condition_is_decided_by_its_text_or_depends_on_the_rows",
    ),
    Break(
        "a literal of a query is a hard-coded environment",
        "capabilities/review/rules/files.py",
        'if before in _NAMED_BY or "://" in text or',
        "if True or",
        "unit/capabilities/review/test_lint.py::test_only_a_place_that_means_an_environment_counts",
    ),
    Break(
        "a finding whose table has another name in each environment is printed for each",
        "capabilities/review/lint.py",
        "if findings[other].keys().isdisjoint(names)",
        "if False",
        "unit/capabilities/review/test_lint.py::test_what_differs_only_in_the_name_of_a_table_is_one_finding",
    ),
)
