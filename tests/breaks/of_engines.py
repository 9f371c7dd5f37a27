"""Breaks of the stores and of what an engine's answer proves."""

from __future__ import annotations

from tests.breaks.running import Break

BREAKS = (
    Break(
        "a requirement may be an option of pip",
        "catalogs/environment.py",
        "            if not REQUIREMENT.accepts(item.text):\n",
        "            if False:\n",
        "unit/executors/test_environments.py::test_options_addresses_and_paths_are_no_requirements",
    ),
    Break(
        "a protected environment accepts an embedded store",
        "catalogs/environment.py",
        "if catalog.protected and catalog.store.folder is not None and node is not None:",
        "if False and node is not None:",
        "unit/catalogs/test_safe_store.py::test_a_protected_environment_refuses_an_embedded_store",
    ),
    Break(
        "Hudi's catalog may hold the lock",
        "catalogs/safe_store.py",
        'if conf.get(f"spark.sql.catalog.{name}") == HUDI:',
        "if False:",
        "unit/catalogs/test_safe_store.py::test_without_a_catalog_that_can_hold_a_lock_the_choices_are_named",
    ),
    Break(
        "auto opens a catalog whose client is not installed",
        "stores/iceberg/properties.py",
        "return missing_package(opening(catalog)) is None",
        "return opening(catalog) is not None",
        "unit/stores/test_choice.py::test_auto_goes_through_the_engine_where_a_package_is_missing",
    ),
    Break(
        "a statement that writes no instant counts as one that did not run",
        "executors/spark/hudi.py",
        'if len(parts) > 2 or read(sql, "spark").operation not in _WRITES_INSTANT:',
        "if len(parts) > 2:",
        "unit/executors/test_hudi_instants.py::test_a_statement_that_writes_no_instant_has_no_evidence",
    ),
    Break(
        "the files of a copy are those of the machine",
        "executors/spark/sandbox.py",
        "            **memory_files.settings(),\n",
        "",
        "unit/executors/test_spark_sandbox.py::test_every_address_of_a_table_leads_to_the_memory_of_the_jvm",
    ),
    Break(
        "Iceberg's compare-and-set does not compare",
        "stores/iceberg/store.py",
        "if not current or Counter(LockRow(*values).claim for values in _values(current[1], LockRow)) != claims:",
        "if not current:",
        "engines/contract/test_store_contract.py::test_compare_and_set_changes_nothing_when_the_row_is_another[iceberg]",
    ),
    Break(
        "a lock table without a row is not completed",
        "stores/iceberg/store.py",
        "if lock.current_snapshot() is None:",
        "if False:",
        "unit/stores/test_iceberg_store.py::test_a_lock_table_whose_creator_died_before_its_row_is_completed_once",
    ),
    Break(
        "a change without a clear answer is sent again",
        "stores/iceberg/rest.py",
        """        if not _changes_nothing(request):
            return response
""",
        "",
        "unit/stores/test_busy_servers.py::test_a_change_that_took_effect_despite_its_answer_is_not_made_again",
    ),
    Break(
        "a read that a busy server refuses is not repeated",
        "stores/iceberg/rest.py",
        "response.status_code not in _BUSY",
        "True",
        "unit/stores/test_busy_servers.py::test_a_burst_of_errors_delays_every_operation_and_ends_none",
    ),
    Break(
        "the lock's properties are not checked",
        "stores/tables.py",
        "    if wrong:\n",
        "    if False:\n",
        "unit/stores/test_iceberg_store.py::test_tables_without_what_makes_the_lock_a_lock_are_refused",
    ),
    Break(
        "a compaction overwrites what was appended meanwhile",
        "stores/iceberg/writes.py",
        "        try:\n            transaction.commit_transaction()",
        "        transaction._requirements = ()\n        try:\n            transaction.commit_transaction()",
        (
            "unit/stores/test_iceberg_compaction.py::"
            "test_a_commit_that_comes_first_wins_by_the_snapshot_that_the_compaction_read"
        ),
    ),
    Break(
        "a compaction deletes files that are in use",
        "stores/iceberg/writes.py",
        "_files(expired, table.io, pool) - kept",
        "_files(expired, table.io, pool)",
        "unit/stores/test_iceberg_compaction.py::test_what_somebody_tagged_stays_readable",
    ),
    Break(
        "an answer that is no refusal counts as one",
        "stores/iceberg/probe.py",
        "return error.error_class in _REFUSALS or isinstance(error, TableNotFound)",
        "return True",
        "engines/test_access.py::test_what_was_not_shown_is_unknown",
    ),
    Break(
        "classes that a server names are imported",
        "stores/iceberg/guard.py",
        "if value and value not in known:",
        "if False:",
        "unit/stores/test_hostile_servers.py::test_code_that_a_server_names_is_not_loaded",
    ),
    Break(
        "a process without its engine is gone",
        "run/processes.py",
        'return _has_ended_here(holder, "pid") and is_engine_gone(holder)',
        'return _has_ended_here(holder, "pid")',
        "unit/run/test_processes.py::test_a_run_whose_engine_lives_on_is_not_gone",
    ),
    Break(
        "a lost answer behind an analysis error is failed",
        "executors/spark/errors.py",
        "if any(_UNCERTAIN.search(name) for name in classes):",
        "if False:",
        "unit/executors/test_spark_errors.py::test_an_analysis_error_that_a_lost_answer_caused_proves_nothing",
    ),
    Break(
        "a parse error inside a script is failed",
        "executors/spark/errors.py",
        "if any(cause.unparsed == sql for cause in causes):",
        "if any(cause.unparsed for cause in causes):",
        "unit/executors/test_spark_atomic.py::test_on_connect_a_parse_error_must_print_the_whole_script",
    ),
    Break(
        "a script is atomic",
        "executors/spark/errors.py",
        "if kind is OutcomeUnknown or not is_atomic(sql):",
        "if kind is OutcomeUnknown:",
        "unit/executors/test_spark_atomic.py::test_an_analysis_error_proves_something_of_atomic_statements_only",
    ),
    Break(
        "of every table a failed statement is taken back",
        "executors/spark/errors.py",
        "    return kind if had_no_effect(session, sql, not_found=kind is TableNotFound) else OutcomeUnknown",
        "    return kind",
        (
            "engines/test_taken_back.py::"
            "test_a_statement_is_failed_only_where_its_tables_are_as_before[jdbc-catalog-insert]"
        ),
    ),
    Break(
        "a temporary view is a table of the lake",
        "executors/spark/errors.py",
        "is_full = catalog == name.parts[0] and len(name.parts) > 1",
        "is_full = True",
        (
            "engines/test_taken_back.py::"
            "test_a_statement_is_failed_only_where_its_tables_are_as_before[temporary-view-of-jdbc-insert]"
        ),
    ),
    Break(
        "several INSERTs are atomic",
        "executors/spark/errors.py",
        'r"\\bINSERT .*\\bINSERT\\b|\\bOVERWRITE',
        'r"\\bOVERWRITE',
        "unit/executors/test_spark_atomic.py::test_what_is_several_steps_or_not_known_is_not_atomic",
    ),
    Break(
        "Snowflake's scripts are atomic",
        "executors/snowflake/errors.py",
        "if not is_atomic(sql) and",
        "if False and",
        "unit/executors/test_snowflake_parts.py::test_what_is_several_statements_may_have_stopped_in_the_middle",
    ),
    Break(
        "a setting of the file moves the table that proves",
        "executors/spark/evidence.py",
        "if not is_atomic(sql) or _may_move_catalogs(file) or not",
        "if not is_atomic(sql) or not",
        "unit/executors/test_spark_proof.py::test_a_file_that_may_move_the_catalog_is_proven_by_no_table",
    ),
    Break(
        "a text that is no name of a table reaches the engine",
        "heat/ids.py",
        "if not re.fullmatch(NAME, table):",
        "if False:",
        "unit/heat/test_ids.py::test_a_wrong_table_or_column_is_one_clear_error",
    ),
    Break(
        "the migration of an advice is written again before it is applied",
        "heat/advise.py",
        "if last and last.read_bytes()",
        "if False and last.read_bytes()",
        "unit/heat/test_advised_tables.py::test_a_migration_that_is_not_applied_yet_is_not_written_again",
    ),
    Break(
        "a worker that is lost inside a statement leaves the call waiting",
        "executors/worker/client.py",
        "            for waiting in self._waiting.copy().values():\n                waiting.put(None)\n",
        "",
        "unit/executors/test_worker.py::test_a_call_that_waits_ends_with_its_worker",
    ),
    Break(
        "the engine of a lost worker lives on",
        "executors/worker/client.py",
        "            kill_engine(process)\n",
        "            pass\n",
        "unit/executors/test_worker.py::test_the_engine_of_a_lost_worker_is_killed",
    ),
    Break(
        "a worker lives on without the process that started it",
        "executors/worker/main.py",
        "        os._exit(0)\n",
        "        import time; time.sleep(60)\n",
        "unit/executors/test_worker.py::test_a_worker_and_its_engine_end_with_the_process_that_started_it",
    ),
    Break(
        "an embedded store commits into the files of the project that it was copied from",
        "stores/iceberg/sql.py",
        "        if folder := self.properties.get(OWN_FOLDER):\n",
        "        if folder := None:\n",
        "unit/stores/test_choice.py::test_an_embedded_store_of_a_project_elsewhere_is_refused",
    ),
    Break(
        "a worker masks no secret",
        "executors/worker/main.py",
        "        self._secrets.add_patterns(patterns)\n",
        "",
        "unit/executors/test_worker.py::test_a_secret_is_masked_in_the_worker",
    ),
    Break(
        "what a package prints is taken for messages",
        "executors/worker/main.py",
        "    os.dup2(2, 1)\n",
        "",
        "unit/executors/test_worker.py::test_what_a_package_prints_disturbs_no_message",
    ),
    Break(
        "a long statement to a worker that is stopped cannot be cancelled",
        "executors/worker/client.py",
        "        self._sending.submit(partial(self._channel.send, request))\n",
        "        self._channel.send(request)\n",
        "unit/executors/test_worker.py::test_a_statement_that_is_too_long_for_the_pipe_of_a_stopped_worker_can_be_cancelled",
    ),
    Break(
        "a close waits for a worker that is stopped",
        "executors/worker/client.py",
        "        except NoAnswer:\n            self.kill()\n",
        "        except NoAnswer:\n            return\n",
        "unit/executors/test_worker.py::test_a_worker_that_does_not_answer_is_killed",
    ),
    Break(
        "a session shows the settings of another catalog's",
        "executors/spark/local.py",
        "                if is_shared:\n",
        "                if False:\n",
        "engines/test_spark_processes.py::test_several_catalogs_with_equal_needs_run_one_after_the_other_in_one_jvm",
    ),
    Break(
        "a Spark that died is used again",
        "run/shared.py",
        " or not is_usable(kept.value)",
        "",
        "unit/run/test_shared.py::test_a_value_is_made_once_for_a_key",
    ),
)
