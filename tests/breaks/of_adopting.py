"""Breaks of `import`: a stranger's project, and the baseline from its history table."""

from __future__ import annotations

from tests.breaks.running import Break

BREAKS = (
    Break(
        "a migration starts from the record although a pending file of unknown effect changes the table",
        "authoring/pending_tables.py",
        "            if statement.why:\n",
        "            if False:\n",
        "unit/authoring/test_match.py::test_a_pending_file_of_unknown_effect_is_applied_first",
    ),
    Break(
        "a migration for other environments says where the files of this one are",
        "sql/writer.py",
        "elif elsewhere and is_place(key):",
        "elif False:",
        "unit/authoring/test_match.py::test_a_place_of_files_is_left_to_a_person",
    ),
    Break(
        "a brace before a placeholder is part of the mark of its expression",
        "adopt/foreign.py",
        'if literal.endswith("{") else as_template(literal)',
        "if False else as_template(literal)",
        "unit/adopt/test_flyway.py::test_placeholders_become_variables",
    ),
    Break(
        "a comment of a stranger's script is a header",
        "adopt/importing.py",
        "    if not lines:\n        return sql, 0",
        "    if True:\n        return sql, 0",
        "unit/adopt/test_import.py::test_headers_hold_no_template_and_comments_of_the_script_are_no_headers",
    ),
    Break(
        "a name of a stranger's script is a template",
        "adopt/importing.py",
        'return _BRACE.sub("{ ", " ".join(_CONTROL.sub(" ", text).split()))',
        'return " ".join(_CONTROL.sub(" ", text).split())',
        "unit/adopt/test_import.py::test_headers_hold_no_template_and_comments_of_the_script_are_no_headers",
    ),
    Break(
        "an include leads out of the folder",
        "adopt/foreign.py",
        "if is_inside and self.has(place):",
        "if self.has(place):",
        "unit/adopt/test_liquibase.py::test_a_path_out_of_the_folder_is_not_read",
    ),
    Break(
        "a linked folder of scripts leads out of the project",
        "adopt/foreign.py",
        "            path_inside(self._root / under, self._root)\n",
        "            pass\n",
        "unit/adopt/test_flyway.py::test_folders_that_are_not_read_are_listed_and_none_leads_out",
    ),
    Break(
        "a changelog defines entities",
        "adopt/liquibase.py",
        "    parser.StartDoctypeDeclHandler = refuse\n",
        "",
        "unit/adopt/test_liquibase.py::test_a_changelog_that_cannot_be_read_is_listed",
    ),
    Break(
        "the name of a history table is any SQL",
        "adopt/baselining.py",
        "if not re.fullmatch(NAME, given):",
        "if False:",
        "unit/adopt/test_history_table.py::test_the_name_of_the_table_is_a_name",
    ),
    Break(
        "a secret of schemachange is a variable",
        "adopt/schemachange.py",
        "    if _SECRET.search(name):",
        "    if False:",
        "unit/adopt/test_schemachange.py::test_the_configuration_has_folder_table_and_values",
    ),
    Break(
        "a gap in another tool's history is recorded as applied",
        "adopt/baselining.py",
        "        if row is None and file.number < highest:",
        "        if False:",
        "unit/adopt/test_history_table.py::test_a_gap_is_refused",
    ),
    Break(
        "a failed script of another tool counts as applied",
        "adopt/baselining.py",
        "failed = [row for row in last.values() if row.is_failed]",
        "failed: list[HistoryRow] = []",
        "unit/adopt/test_history_table.py::test_a_failed_script_is_refused",
    ),
    Break(
        "a version of another file is overwritten or skipped",
        "adopt/importing.py",
        '    if text.replace("\\r\\n", "\\n").partition("\\n\\n")[2] == file.text.partition("\\n\\n")[2]:',
        "    if True:",
        "unit/adopt/test_import.py::test_a_version_of_another_file_is_refused_and_nothing_is_written",
    ),
    Break(
        "import records a pending file of a recorded table as applied",
        "adopt/tables.py",
        "if table.state in (Standing.NEW, Standing.DECLARED))",
        "if table.state)",
        "unit/adopt/test_tables.py::test_a_pending_file_of_a_recorded_or_an_unmanaged_table_stays_pending",
    ),
    Break(
        "a namespace that seems to hold itself is listed without end",
        "executors/iceberg/shape.py",
        "if path[:-1] == levels]",
        "if path]",
        "unit/adopt/test_listing.py::test_a_server_that_ignores_the_parent_of_namespaces_is_listed_once",
    ),
    Break(
        "a table of doctor stays where the server does not purge",
        "stores/iceberg/probe.py",
        "(migrator.purge_table, migrator.drop_table)",
        "(migrator.purge_table,)",
        "unit/stores/test_probe.py::test_a_server_that_refuses_to_purge_drops_the_table_all_the_same",
    ),
    Break(
        "a CI file that somebody edited is replaced",
        "authoring/ci_files.py",
        "before.get(path, text) != text and not _is_as_written(before[path])",
        "False",
        "unit/authoring/test_ci_files.py::test_a_file_that_somebody_edited_is_kept_and_the_hint_shows_how_to_compare",
    ),
    Break(
        "an address with a token is written into a CI file",
        "authoring/ci_files.py",
        r"(https://|ssh://(\w+@)?)",
        r"(https|ssh)://(\w+@)?",
        "unit/authoring/test_ci_files.py::test_what_a_ci_service_cannot_install_is_refused",
    ),
)
