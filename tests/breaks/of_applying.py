"""Breaks of runner, lock, history, recovery, repair and plan."""

from __future__ import annotations

from tests.breaks.running import Break

BREAKS = (
    Break(
        "the lock is proven before the announcement is appended",
        "apply/runner.py",
        (
            "            self._recorder.flush()\n            file.tables.wait_before()\n            self._held.lock.prove()\n"
        ),
        (
            "            self._held.lock.prove()\n            self._recorder.flush()\n            file.tables.wait_before()\n"
        ),
        (
            "unit/apply/test_migrator_lock.py::"
            "test_a_lock_that_is_taken_as_the_announcement_is_appended_stops_the_statement"
        ),
    ),
    Break(
        "an unset reference of one catalog stops the others",
        "project/each.py",
        "            failed[file.name, environment] = error\n            continue\n",
        "            raise error\n",
        "unit/project/test_each.py::test_a_catalog_whose_references_have_no_value_does_not_block_another",
    ),
    Break(
        "doctor starts the engine before it reads a store that needs none",
        "inspect/doctor.py",
        "reversed(steps) if opens_without_engine(catalog) else steps",
        "steps",
        "unit/inspect/test_doctor.py::test_a_store_that_needs_no_engine_is_read_before_the_engine_starts",
    ),
    Break(
        "a version that is applied in one environment is withdrawn in the others",
        "apply/withdraw.py",
        "    _check(histories, files, scope)\n",
        "",
        "unit/apply/test_withdraw.py::test_nothing_is_recorded_where_a_statement_took_effect_in_one_environment",
    ),
    Break(
        "a version is withdrawn by a history that was read without the lock",
        "apply/withdraw.py",
        '                    _check({environment: history}, files, scope, " there")\n',
        "",
        "unit/apply/test_withdraw.py::test_a_version_that_is_applied_before_the_lock_is_acquired_is_refused_there",
    ),
    Break(
        "a version that was abandoned with an unknown outcome is withdrawn",
        "apply/transitions.py",
        "    if record.may_have_effect:\n",
        "    if False:\n",
        "unit/apply/test_withdraw.py::test_a_version_that_was_abandoned_with_an_unknown_outcome_is_refused",
    ),
    Break(
        "a list of catalogs without a name chooses all",
        "model/arguments.py",
        'check_not_empty(variable, "".join(names) if value else None)',
        "pass",
        "unit/project/test_each.py::test_a_list_of_catalogs_without_a_name_is_refused",
    ),
    Break(
        "the message about a reused version offers to accept its file, which then never runs",
        "apply/plan.py",
        "    reused = [pair for pair in edited if pair[1].is_withdrawn]\n",
        "    reused: list[tuple[Migration, Record]] = []\n",
        "unit/apply/test_withdraw.py::test_another_file_of_the_version_is_refused",
    ),
    Break(
        "a withdrawn version that never ran makes lower ones late",
        "history/records.py",
        "number for number, record in versions.items() if record.is_started",
        "number for number in versions",
        "unit/apply/test_withdraw.py::test_a_file_below_it_that_is_pending_elsewhere_is_not_out_of_order",
    ),
    Break(
        "repair suggests not-done while the engine may run",
        "apply/repair.py",
        "    if took_effect is False and not is_engine_gone(details_of(record.started).process):\n",
        "    if False:\n",
        "unit/apply/test_recover.py::test_a_table_without_commit_suggests_nothing_while_the_engine_may_run",
    ),
    Break(
        "the lock is not proven",
        "apply/runner.py",
        "            self._held.lock.prove()\n",
        "",
        "unit/apply/test_migrator_lock.py::test_a_run_that_lost_the_lock_runs_nothing_more",
    ),
    Break(
        "a lost answer is failed",
        "apply/runner.py",
        "had_no_effect = isinstance(error, StatementRefused) or statement is not step[-1]",
        "had_no_effect = True",
        "unit/apply/test_migrator_outcomes.py::test_a_lost_answer_is_unknown_and_nothing_runs_until_it_is_settled",
    ),
    Break(
        "a resumed file begins at its first statement",
        "apply/runner.py",
        "if step[0].index >= planned.resumes_at]",
        "]",
        "unit/apply/test_migrator.py::test_a_refused_statement_stops_the_run_and_is_resumed_there",
    ),
    Break(
        "a resumed file skips a statement",
        "apply/runner.py",
        "if step[0].index >= planned.resumes_at]",
        "if step[0].index > planned.resumes_at]",
        "unit/apply/test_migrator.py::test_a_refused_statement_stops_the_run_and_is_resumed_there",
    ),
    Break(
        "an engine's record that is no proof counts",
        "apply/runner.py",
        "if not evidence.is_proof:",
        "if False:",
        "unit/apply/test_migrator_outcomes.py::test_a_lost_answer_is_what_the_engines_own_record_proves",
    ),
    Break(
        "a statement starts after a signal",
        "apply/runner.py",
        '            if self._held.engine.cancelled():\n                raise stopped_before(f"statement',
        '            if False:\n                raise stopped_before(f"statement',
        "unit/apply/test_migrator_interrupts.py::test_a_stop_ends_the_run_before_its_next_statement",
    ),
    Break(
        "an interrupted statement is not recorded",
        "apply/runner.py",
        (
            "            self._recorder.append(entries.unknown(compiled, statement, _milliseconds_since(started)))\n"
            "            raise"
        ),
        "            raise",
        (
            "unit/apply/test_migrator_outcomes.py::"
            "test_an_exception_of_the_caller_inside_a_statement_is_recorded_as_unknown"
        ),
    ),
    Break(
        "a fence is given out twice",
        "apply/lock.py",
        "fence=next_fence(row, history_fence)",
        "fence=row.fence + 1",
        "unit/apply/test_migrator_history.py::test_a_lost_or_restored_lock_is_a_warning_and_the_fence_goes_on",
    ),
    Break(
        "the fence stays",
        "apply/lock.py",
        "fence=next_fence(row, history_fence)",
        "fence=max(row.fence, history_fence)",
        "unit/apply/test_migrator_lock.py::test_a_waiting_run_goes_on_when_the_lock_is_released",
    ),
    Break(
        "the former holder's longer lease is forgotten",
        "apply/lock.py",
        '"lease_seconds": lease_of(row, self._terms.lease_seconds)}',
        '"lease_seconds": self._terms.lease_seconds}',
        "unit/apply/test_lock.py::test_a_taker_by_force_keeps_the_former_holders_longer_lease_in_the_row",
    ),
    Break(
        "a lease never ends for its holder",
        "apply/lock.py",
        "return since(self._renewed) < self._terms.lease_seconds",
        "return True",
        "unit/apply/test_lock.py::test_a_lease_runs_out_while_the_machine_sleeps",
    ),
    Break(
        "a lease that was lost still proves",
        "apply/lock.py",
        'taken the lock."""\n        self._renewed = NEVER',
        'taken the lock."""',
        "unit/apply/test_lock.py::test_a_lease_proves_nothing_once_its_heartbeat_has_seen_another_holder",
    ),
    Break(
        "a held lock is seized",
        "apply/lock.py",
        "elif not watch.may_be_held(row) or watch.is_dead(row):",
        "elif True:",
        "unit/apply/test_migrator_lock.py::test_a_lock_that_is_held_stops_the_run_naming_its_holder",
    ),
    Break(
        "an added row is taken before the lease of the lost one is over",
        "history/lockrow.py",
        "return is_held(row) or (is_added and self._store.proves_by_lease)",
        "return is_held(row)",
        (
            "unit/apply/test_damaged_lock.py::"
            "test_where_the_lease_is_the_proof_a_row_deleted_while_a_run_waits_gives_no_second_holder"
        ),
    ),
    Break(
        "a waiting run forgets the fence of the row that it saw",
        "apply/lock.py",
        "history_fence = max(history_fence, row.fence)",
        "history_fence = max(history_fence, 0)",
        "unit/apply/test_damaged_lock.py::test_a_fence_that_only_a_lost_row_showed_is_not_given_out_again",
    ),
    Break(
        "a run works under a fence that the history shows",
        "apply/locked.py",
        "if state.history.fence >= lock.row.fence:",
        "if False:",
        "unit/apply/test_damaged_lock.py::test_a_run_whose_fence_another_run_recorded_under_runs_nothing",
    ),
    Break(
        "a row in place of a lost one begins at the first fence",
        "history/lockrow.py",
        "return history_fence + _UNRECORDED",
        "return history_fence + _UNRECORDED if history_fence else 0",
        "unit/apply/test_damaged_lock.py::test_the_first_row_of_a_new_table_alone_has_the_fence_0",
    ),
    Break(
        "an interrupted acquire keeps the lock",
        "apply/lock.py",
        "            self._hold(mine, started)\n            self.release()\n            raise",
        "            raise",
        "unit/apply/test_migrator_interrupts.py::test_an_interrupted_caller_leaves_no_lock_and_no_heartbeat",
    ),
    Break(
        "the proof by lease needs no lease",
        "apply/lock.py",
        (
            "            if not self.is_leased:\n"
            '                raise lost(self._terms.catalog, "the lease ran out")\n'
            "            return"
        ),
        "            return",
        "unit/apply/test_lock.py::test_a_lease_runs_out_while_the_machine_sleeps",
    ),
    Break(
        "the second lease before a take-over is dropped",
        "history/lockrow.py",
        "return store.now() - row.expires_at - timedelta(seconds=lease_of(row, lease_seconds))",
        "return store.now() - row.expires_at",
        ("unit/apply/test_migrator_lock.py::test_a_lease_that_is_over_for_less_than_another_lease_is_not_taken_over"),
    ),
    Break(
        "a row is watched for no time",
        "history/lockrow.py",
        "return seconds() - self._since > lease",
        "return seconds() - self._since > 0",
        "unit/history/test_lockrow.py::test_a_jump_of_the_time_of_day_kills_no_holder",
    ),
    Break(
        "another machine's clock is trusted",
        "history/lockrow.py",
        "(_ZERO if has_same_clock else SKEW)",
        "_ZERO",
        "unit/apply/test_migrator_lock.py::test_a_lease_that_ended_more_than_a_lease_ago_is_taken_over_and_recorded",
    ),
    Break(
        "a holder's longer lease is ignored",
        "history/lockrow.py",
        "return max(lease_seconds, float(recorded))",
        "return lease_seconds",
        "unit/apply/test_migrator_lock.py::test_a_holder_with_a_longer_lease_keeps_its_lock_as_long",
    ),
    Break(
        "the history is read through the connection from before the lock",
        "apply/locked.py",
        "store = opened.open_another_store()",
        "store = opened.store",
        "unit/apply/test_migrator_lock.py::test_the_history_is_read_under_the_lock_by_a_store_that_was_opened_for_it",
    ),
    Break(
        "a take-over is not recorded",
        "apply/locked.py",
        "if lock.taken_from is not None:",
        "if False:",
        "unit/apply/test_migrator_lock.py::test_a_row_without_a_renewal_for_a_lease_is_taken_over_at_any_expiry",
    ),
    Break(
        "a lock that was lost at the end is not noticed",
        "apply/locked.py",
        "lock.finish()",
        "lock.release()",
        "unit/apply/test_unlock.py::test_a_holder_that_goes_on_by_its_lease_runs_nothing_twice",
    ),
    Break(
        "an append is repeated without the lock",
        "history/recorder.py",
        "if is_over or not self._lock.may_retry():",
        "if is_over:",
        "unit/apply/test_migrator_appends.py::test_a_run_that_loses_its_lock_in_an_append_records_the_outcome",
    ),
    Break(
        "an append that took effect is repeated",
        "history/recorder.py",
        "            if is_written:\n                return\n            refusals",
        "            refusals",
        "unit/apply/test_migrator_appends.py::test_a_lost_answer_of_an_append_is_looked_up",
    ),
    Break(
        "the engine's message is recorded with secrets",
        "history/recorder.py",
        "error_message=_masked(entry.error_message)",
        "error_message=entry.error_message",
        "unit/history/test_recorder.py::test_every_text_of_an_entry_is_masked",
    ),
    Break(
        "SQL is recorded with secrets",
        "history/recorder.py",
        "rendered_sql=_masked(entry.rendered_sql)",
        "rendered_sql=entry.rendered_sql",
        "unit/history/test_recorder.py::test_every_text_of_an_entry_is_masked",
    ),
    Break(
        "a gap in the history is not noticed",
        "history/records.py",
        "if event.sequence != expected:",
        "if False:",
        "unit/apply/test_migrator_history.py::test_a_history_with_a_hole_is_refused",
    ),
    Break(
        "events of a lost lock count",
        "history/records.py",
        "counted = [event for event in ordered if (event.fence, event.sequence) not in late]",
        "counted = list(ordered)",
        "unit/apply/test_migrator_history.py::test_an_event_of_a_run_that_had_lost_the_lock_is_shown_and_ignored",
    ),
    Break(
        "a run that died inside a statement is still running",
        "history/records.py",
        "if record.state is State.RUNNING and record.last.fence != held_fence:",
        "if False:",
        "unit/apply/test_migrator_outcomes.py::test_a_run_that_died_inside_a_statement_is_unknown",
    ),
    Break(
        "a history that was restored is not noticed",
        "history/records.py",
        "if (history.fence, history.sequence) < head and",
        "if False and",
        "unit/apply/test_migrator_history.py::test_a_lost_history_is_noticed_by_the_lock",
    ),
    Break(
        "another environment's history is accepted",
        "history/records.py",
        "if history.events and history.events[-1].environment != environment:",
        "if False:",
        "unit/apply/test_migrator_history.py::test_another_environments_history_is_refused",
    ),
    Break(
        "a late commit is not waited for",
        "apply/recover.py",
        "        if outcome[0] is False:\n",
        "        if False:\n",
        "unit/apply/test_recover.py::test_a_commit_that_lands_late_is_waited_for",
    ),
    Break(
        "another writer's commit settles a statement",
        "apply/verdict.py",
        "now.sequence == before.sequence + 1 and now.tag == tag",
        "now.sequence == before.sequence + 1",
        "unit/apply/test_verdict.py::test_the_table_proves_only_no_commit_at_all_and_a_single_commit_of_the_statement",
    ),
    Break(
        "another table of the same name settles a statement",
        "apply/verdict.py",
        "if now.uuid != before.uuid:",
        "if False:",
        "unit/apply/test_verdict.py::test_the_table_proves_only_no_commit_at_all_and_a_single_commit_of_the_statement",
    ),
    Break(
        "an outcome is recorded without the lock",
        "apply/recover.py",
        "        held.lock.prove()\n",
        "",
        "unit/apply/test_recover.py::test_a_run_that_loses_the_lock_while_it_waits_runs_nothing",
    ),
    Break(
        "a statement that may still run is repaired as not done",
        "apply/repair.py",
        "if decision.resolution is Resolution.NOT_DONE and case.may_run and not decision.engine_stopped:",
        "if False:",
        "unit/apply/test_repair.py::test_not_done_runs_the_statement_again_once_its_engine_is_gone",
    ),
    Break(
        "an unknown outcome does not stop a run",
        "apply/plan.py",
        "if record.state is State.UNKNOWN)",
        "if False)",
        "unit/apply/test_plan.py::test_an_unknown_outcome_comes_before_everything",
    ),
    Break(
        "an edited file is not noticed",
        "apply/plan.py",
        "if (r := _settled(m, history)) and r.last.checksum != m.checksum]",
        "if (r := _settled(m, history)) and False]",
        "unit/apply/test_plan.py::test_an_edited_file_is_refused_with_both_checksums",
    ),
    Break(
        "a statement that is done may be edited",
        "apply/plan.py",
        "if now[index - 1 : index] != (recorded,)]",
        "if False]",
        "unit/apply/test_migrator.py::test_a_done_statement_of_a_failed_file_must_stay",
    ),
    Break(
        "a file out of order runs",
        "apply/plan.py",
        "    if selection.out_of_order is None:\n",
        "    if True:\n",
        "unit/apply/test_plan.py::test_a_late_version_is_refused_with_both_ways_out",
    ),
    Break(
        "an edited file passes for the approved one",
        "apply/approved.py",
        "if then.checksum != now.checksum:",
        "if False:",
        "unit/apply/test_approved.py::test_what_moved_since_is_named_and_nothing_runs",
    ),
    Break(
        "a changed variable passes for the approved one",
        "apply/approved.py",
        "if then.rendered_checksum != now.rendered_checksum:",
        "if False:",
        "unit/apply/test_approved.py::test_what_moved_since_is_named_and_nothing_runs",
    ),
    Break(
        "a byte order mark changes the checksum",
        "model/migration.py",
        '.removeprefix(b"\\xef\\xbb\\xbf")',
        "",
        "unit/migrations/test_folder.py::test_line_ends_and_a_byte_order_mark_do_not_change_the_checksum",
    ),
    Break(
        "line ends change the checksum",
        "model/migration.py",
        '.replace(b"\\r\\n", b"\\n")',
        "",
        "unit/migrations/test_folder.py::test_line_ends_and_a_byte_order_mark_do_not_change_the_checksum",
    ),
)
