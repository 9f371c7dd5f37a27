"""Reference entries: a migration that failed, and files and history that do not agree."""

from __future__ import annotations

from glacierbase.errors import ConfigurationError, HistoryDisagrees, MigrationFailed, NeedsRepair
from glacierbase.errors.entry import Entry

ENTRIES = (
    Entry(
        "STATEMENT_FAILED",
        (MigrationFailed,),
        "The engine rejected a statement, and its answer proves that the statement had no effect. "
        "Earlier statements took effect and are recorded. Later statements and files did not run. The lock is released.",
        "error: STATEMENT_FAILED: migrations/analytics/0007_add_device.sql, line 6: statement 2 of 3 failed:"
        " [TABLE_OR_VIEW_NOT_FOUND] The table or view `lake`.`sleep`.`event` cannot be found.\n"
        "    | ALTER TABLE lake.sleep.event ADD COLUMN device STRING\n"
        "done and recorded: statement 1\n"
        "next: remove the cause and run `glacierbase migrate` again: it continues at statement 2; or"
        " `glacierbase repair 0007 --as done --reason '…'` (somebody completed it by hand); or"
        " `glacierbase repair 0007 --as abandoned --reason '…'` (the file ends here, the fix is a new one); or correct"
        " statements 2 to 3 where no other environment has applied the file",
        (
            "If the cause is outside the file (rights, a missing table, a full disk), remove it, "
            "then `glacierbase migrate`. It resumes at the statement that failed.",
            "If the statement is wrong and no other environment has applied the file, correct it and the ones after it. "
            "Do not edit statements that are done. Then `glacierbase migrate`.",
            "If somebody made the change by hand: `glacierbase repair 0007 --as done --reason 'WHO did it and when'`. "
            "Then `glacierbase migrate` runs the rest.",
            "If the file is wrong and other environments have it: "
            "`glacierbase repair 0007 --as abandoned --reason 'superseded by 0009'`. The fix is a new file.",
            "`glacierbase show 0007` shows each statement and its state.",
        ),
    ),
    Entry(
        "OUTCOME_UNKNOWN",
        (NeedsRepair,),
        "It is unknown whether a statement took effect. "
        "Its run died, its answer was lost, it was cancelled, or it failed in one of several steps. "
        "Nothing runs on this catalog until the next `migrate` settles it, because the table proves the outcome, or `repair` does. "
        "After a signal the exit code is 129, 130 or 143.",
        "error: OUTCOME_UNKNOWN: migrations/analytics/0007_add_device.sql: run 5d0c2f1e of deploy on ci-7 ended"
        " inside statement 2 of 3; whether it took effect is unknown; nothing ran\n"
        "next: `glacierbase repair 0007` shows the statement, the evidence of the engine, and the choices",
        (
            "`glacierbase repair 0007` shows the statement, its run, the engine's evidence and a suggestion. "
            "It changes nothing.",
            "Look at the table itself: does it have the column, the rows or the property?",
            "If the statement took effect: `glacierbase repair 0007 --as done --reason 'the column is there'`.",
            "If it had no effect: `glacierbase repair 0007 --as not-done --reason 'no new snapshot'`. "
            "The next `migrate` runs it again. See `ENGINE_MAY_RUN` if this is refused.",
            "If a part of it took effect, complete it by hand and use `--as done`, or use `--as abandoned` and a new file.",
            "Then `glacierbase migrate`.",
        ),
    ),
    Entry(
        "CHECKSUM_MISMATCH",
        (HistoryDisagrees,),
        "A file that is applied or abandoned was edited. Nothing ran. "
        "Line ends and a byte order mark do not count as edits.",
        "error: CHECKSUM_MISMATCH: migrations/analytics/0003_add_scores.sql: edited since it was applied"
        " (2026-11-20 09:41 UTC): recorded v1:sha256:9f2c…, the file has v1:sha256:41ab…; nothing ran\n"
        "next: restore the file (`git log -p -- migrations/analytics/0003_add_scores.sql` shows who edited it); put"
        " the change into a new migration; an edit that is intended is accepted by"
        " `glacierbase repair 0003 --as edited --reason '…'`",
        (
            "Find the edit: `git log -p -- migrations/analytics/0003_add_scores.sql`.",
            "Restore the file, and put the change into a new one: `glacierbase new 'correct the scores'`. "
            "This is the usual way: the edit never reached the table. "
            "Where git has the file as it was recorded, the message prints the `git checkout` command that restores it.",
            "If the edit changes no statement and is meant to stay, such as a typo in a comment: "
            "`glacierbase repair 0003 --as edited --reason 'a typo in a comment'`. Do so in every environment.",
        ),
    ),
    Entry(
        "MIGRATION_MISSING",
        (HistoryDisagrees,),
        "The history has a version, at or below the newest file, whose file does not exist. Nothing ran.",
        "error: MIGRATION_MISSING: migrations/analytics/0003_add_scores.sql: version 0003 is applied (2026-11-20"
        " 09:41 UTC), but its file is gone; nothing ran\n"
        "next: restore it: git checkout HEAD -- migrations/analytics/0003_add_scores.sql; a file that was deleted"
        " on purpose is accepted by `glacierbase repair 0003 --as removed --reason '…'`",
        (
            "If this checkout is another branch than the one that applied it, check out or merge that branch.",
            "If the file was deleted or renamed by mistake, restore it with the `git checkout` command of the message. "
            "The command names a commit that has the file with the recorded checksum.",
            "If git has no such commit, `glacierbase show 0003` prints the SQL that ran.",
            "If it is gone on purpose: `glacierbase repair 0003 --as removed --reason 'squashed into 0010'`. "
            "Do so in every environment.",
        ),
    ),
    Entry(
        "OUT_OF_ORDER",
        (HistoryDisagrees,),
        "A file that never ran has a version below one that is recorded already. "
        "Other environments would apply the two in the other order. Nothing ran.",
        "error: OUT_OF_ORDER: migrations/analytics/0006_add_device.sql: version 0006 came after version 0007 was"
        " applied; nothing ran\n"
        "next: give it a version above that one:"
        " `git mv migrations/analytics/0006_add_device.sql migrations/analytics/0008_add_device.sql`, or run it as it is:"
        " `glacierbase migrate --allow-out-of-order 0006`",
        (
            "If the file is applied nowhere yet, rename it with the `git mv` command of the message.",
            "If other environments have applied it as it is, and it does not depend on the order: "
            "`glacierbase migrate --allow-out-of-order 0006`.",
            "If the team merges in any order on purpose, write `outOfOrder: allow` into the catalog file.",
            "To find it before prod: apply the same commit to another environment first.",
        ),
    ),
    Entry(
        "DONE_STATEMENT_CHANGED",
        (HistoryDisagrees,),
        "A statement that took effect was edited in a file that is not finished, or renders differently now. "
        "Only the statements that are not done may change. Nothing ran.",
        "error: DONE_STATEMENT_CHANGED: migrations/analytics/0007_add_device.sql: statement 1 was edited, or"
        " renders differently, since it took effect; done in this file: 2 statements; nothing ran\n"
        "next: restore statements 1 to 2 (`glacierbase show 0007` prints them); only the statements after them"
        " may change",
        (
            "`glacierbase show 0007` prints the statements as they ran. Restore the ones that are done.",
            "If the text is unchanged, a variable changed: restore its value until the file is applied.",
            "If the change must stay, end the file here: "
            "`glacierbase repair 0007 --as abandoned --reason 'superseded by 0009'`. Put the rest into a new file.",
        ),
    ),
    Entry(
        "SESSION_NOT_RESTORED",
        (NeedsRepair,),
        "A file stopped after some of its statements, and the session in which they ran cannot be set up again. "
        "A resumed file runs its `USE`, `SET` and other statements of that kind again. "
        "Catalog, schema and role must then be those of the session before. "
        "A script, a procedure, `EXECUTE IMMEDIATE`, a temporary table, or a variable with a computed value cannot be repeated. "
        "No table was changed.",
        "error: SESSION_NOT_RESTORED: migrations/analytics/0007_add_device.sql, line 4: statement 1 may have changed the"
        " session in a way that cannot be repeated\n"
        "    | SET VAR newest = (SELECT max(id) FROM lake.sleep.event)\n"
        "the file cannot continue at statement 2 in another session; nothing of it ran now\n"
        "next: `glacierbase repair 0007 --as abandoned --reason '…'` ends the file here; put statements 2 to 3 into a new file,"
        " after the statements that set its session",
        (
            "If catalog, schema or role differ because the catalog file changed (`spark.sql.defaultCatalog`, `connection`), "
            "restore the value until the file is applied. Then `glacierbase migrate`.",
            "Otherwise end the file: `glacierbase repair 0007 --as abandoned --reason 'superseded by 0009'`. "
            "Put the rest into a new file that begins with what its session needs.",
            "To avoid it: a script or a computed variable belongs into a file of its own, or at the end of one. "
            "`glacierbase lint` reports such a file (`FL114`).",
        ),
    ),
    Entry(
        "BASELINE_REFUSED",
        (HistoryDisagrees,),
        "`baseline` found that the existing tables are not those that the files create. "
        "A table or view is missing, a table is not as the files declare it, "
        "or a file has begun and is not settled. Nothing was recorded.",
        "error: BASELINE_REFUSED: these tables or views of the files do not exist: lake.sleep.scores; nothing was recorded\n"
        "next: choose a lower --to, and let migrate run the rest; or create them as the file does",
        (
            "If the table does not exist yet, choose the last version whose tables do: "
            "`glacierbase baseline --to 0005 --reason 'tables of the old jobs'`. `migrate` runs the rest.",
            "If the table exists under another name or catalog, correct the files or the catalog file first.",
            "If a part of the table differs, correct the files, so that a new environment gets the table as it is.",
            "If a difference is intended: "
            "`glacierbase baseline --to 0005 --accept 'type amount' --reason 'amount is a double since 2019'`.",
            "If a version has begun, settle it first: `glacierbase repair 0005` shows how.",
        ),
    ),
    Entry(
        "SQUASH_DISAGREES",
        (HistoryDisagrees,),
        "The history of this environment fits neither a squash nor the files that it replaces. "
        "Either only some of them are applied here, or the files differ. Nothing ran.",
        "error: SQUASH_DISAGREES: migrations/analytics/0007_squashed.sql: this environment is in the middle of the files that it"
        " replaces; not done here: 0007 (never started); nothing ran\n"
        "next: complete them as they were before the squash: `git checkout $(git log -1 --diff-filter=A --format=%H --"
        " migrations/analytics/0007_squashed.sql)~1`, then `glacierbase migrate --to 0007`; then return to this commit",
        (
            "Check out the commit before the squash with the `git` command of the message.",
            "Run `glacierbase migrate --to 0007` there: it applies the rest of the replaced files.",
            "If a version failed or is unknown, settle it there first: `glacierbase repair` shows how.",
            "If a version was applied from a file with another checksum, that file was edited. "
            "Accept it there: `glacierbase repair 0003 --as edited --reason 'only a comment'`.",
            "Return to the commit with the squash: `glacierbase pending` shows what is left.",
            "If the environment began with the squash, check out a commit that has it: the older files cannot continue it.",
        ),
    ),
    Entry(
        "SQUASH_REFUSED",
        (HistoryDisagrees,),
        "`squash` cannot write one file that creates the tables of the replaced files. "
        "The environment is not exactly at that version, or a table or statement is not supported. Nothing was written.",
        "error: SQUASH_REFUSED: environment prod is past 0007: 0009 is applied; nothing was written\n"
        "next: squash where 0007 is the last one, or `glacierbase squash --to 0009 --env prod`",
        (
            "Choose an environment that has applied the files up to the version, and none above: `glacierbase status` shows that.",
            "If a version is pending or failed there, apply it first: `glacierbase migrate --to 0007`.",
            "If files are not committed, commit them: after the squash, only git has them.",
            "If tables have changes that no migration made, settle them: `glacierbase drift` shows the ways out.",
            "If a statement is not understood, squash to a version below it: `glacierbase squash --to 0005`.",
            "If a table is no Iceberg table that PyIceberg can read, keep the files. A new environment runs them all.",
        ),
    ),
    Entry(
        "DRIFT_REFUSED",
        (HistoryDisagrees,),
        "`drift adopt`, `drift revert` or `drift ignore` cannot settle the differences between records and tables. "
        "Nothing was written.",
        "error: DRIFT_REFUSED: these versions are pending: 0008; nothing was written\n"
        "next: `glacierbase migrate --env prod` first",
        (
            "If versions are pending, apply them: `glacierbase migrate`.",
            "If a table cannot be read, or a file that touched it left no record, choose others: "
            "`glacierbase drift adopt --table 'lake.sleep.*' --reason 'WHY'`.",
            "If no statement makes the change, such as a type that becomes narrower, repair the table by hand, "
            "or ignore the difference: `glacierbase drift ignore --reason 'WHY'`.",
        ),
    ),
    Entry(
        "ENVIRONMENT_MISMATCH",
        (HistoryDisagrees,),
        "The history, or the plan that is to be applied, belongs to another environment than the chosen one. "
        "Two environments must not share a history. Nothing ran.",
        "error: ENVIRONMENT_MISMATCH: catalog analytics: the history belongs to environment prod, this run to"
        " environment dev; nothing ran\n"
        "next: use --env prod, or correct the catalog file: two environments must not share a store",
        (
            "If the wrong environment was chosen, correct `--env`, `GLACIERBASE_ENV` or `defaultEnvironment`.",
            "If both environments lead to the same store, give each its own, under `environments:`: "
            "another warehouse, database or `store.namespace`.",
            "If the environment was renamed, or its tables were cloned from another one: "
            "`glacierbase repair --environment-was prod --env dev --reason 'cloned for the load test'`.",
        ),
    ),
    Entry(
        "PLAN_OUTDATED",
        (HistoryDisagrees,),
        "Files, variables, the history or the place of the tables have changed since the plan was made. "
        "The plan is that of `migrate --plan`, or the one that was confirmed on a terminal. Nothing of it ran.",
        "error: PLAN_OUTDATED: catalog analytics: 3 changes since the plan was made; nothing ran\n"
        "migrations/analytics/0008_add_device.sql: it renders differently: a variable changed\n"
        "migrations/analytics/0009_add_scores.sql: the file was added\n"
        "run 4f1c0a6be2d94d0f of ana@laptop at 2026-11-20 09:14:03 UTC: 0007 applied\n"
        "next: `glacierbase plan --output plan.json` makes the plan again",
        (
            "Read what changed, and make the plan again with the command of the message.",
            "Have the new plan reviewed, and apply it: `glacierbase migrate --plan plan.json`.",
            "After a run that failed, the plan of that run is outdated too: the next one resumes, and needs a plan of its own.",
        ),
    ),
    Entry(
        "CATALOG_RENAMED",
        (HistoryDisagrees,),
        "The catalog has no history, but its files are applied under another name in the same store. "
        "The catalog file was renamed. Nothing ran; the files would have run a second time.",
        "error: CATALOG_RENAMED: catalog analytics has no history, but its files are applied under the name events; nothing"
        " ran\n"
        "next: write `name: events` into the catalog file of analytics: the name is the identity in the history",
        (
            "Write the old name into the renamed catalog file, here `name: events`.",
            "If it is another catalog with copies of the files, give it another store, with another `store.namespace`.",
        ),
    ),
    Entry(
        "ENGINE_MAY_RUN",
        (NeedsRepair,),
        "`repair --as not-done` was refused because the engine of the lost run may still run the statement. "
        "It could take effect after it was recorded as not done. Nothing was recorded.",
        "error: ENGINE_MAY_RUN: version 0007: it may still be running: application_1700000000_0042; the statement could take"
        " effect after `--as not-done` was recorded; nothing was recorded\n"
        "next: stop it, or check that it has ended, and add --engine-stopped, which is recorded",
        (
            "Find the engine that the message names: a process on the host, an application of the cluster, or a query.",
            "End it: kill the process, `yarn application -kill ID`, or cancel the query.",
            "Look at the table again: the statement may have taken effect meanwhile. Then it is `--as done`.",
            "If it had no effect: "
            "`glacierbase repair 0007 --as not-done --engine-stopped --reason 'application killed by Ana'`.",
        ),
    ),
    Entry(
        "NOT_REPAIRABLE",
        (ConfigurationError,),
        "`repair` cannot record this for the version: its state does not allow it, or the history lacks the version. "
        "Nothing was recorded.",
        "error: NOT_REPAIRABLE: version 0007 is failed: --as not-done is not possible: the engine proved already that the"
        " statement had no effect; nothing was recorded\n"
        "next: `glacierbase repair 0007 --as done --reason '…'` or `glacierbase repair 0007 --as abandoned --reason '…'`",
        (
            "`glacierbase repair` lists all versions that need a decision, with the values of `--as` for each.",
            "`glacierbase repair --help` shows what is possible in each state, and what the version becomes.",
            "For all other states there is nothing to repair. `glacierbase status` shows the states.",
        ),
    ),
    Entry(
        "HISTORY_NOT_WRITTEN",
        (NeedsRepair,),
        "The history table did not accept an event, although the append was repeated. "
        "The run stopped. The message names the event, and whether the history lacks it for sure. "
        "If it is the outcome of a statement, that statement ran.",
        "error: HISTORY_NOT_WRITTEN: the history of analytics could not be written: permission denied; it lacks the event"
        " 'statement_done' of migrations/analytics/0007_add_device.sql, statement 2 of 3, run 5d0c2f1e\n"
        "next: restore access to the history table, then run `glacierbase repair 0007 --as done --reason 'run 5d0c2f1e could"
        " not write its history' --catalog analytics --env prod`",
        (
            "Restore access to the history table: `glacierbase doctor --catalog analytics` checks connection and rights.",
            "If the hint begins with `glacierbase show VERSION`, run that first: the event may have been written.",
            "Run the `repair` or `migrate` command of the message exactly once. It records what the run could not.",
            "Check the result: `glacierbase status --catalog analytics`.",
        ),
    ),
    Entry(
        "HISTORY_LOST",
        (NeedsRepair,),
        "The history ends before an event that was written for sure. "
        "Or there is none, and a table that the files create exists already. "
        "The history table was dropped or restored to an older state, or the catalog's database was emptied. Nothing ran.",
        "error: HISTORY_LOST: the history of analytics ends at event 40, but event 52 was acknowledged: the table was lost"
        " or restored to an older state; nothing ran\n"
        "next: restore the history table from a snapshot or backup that holds all events",
        (
            "Find out who dropped or restored the table `history_NAME`. Stop jobs that would do it again.",
            "Restore the newest state. On Iceberg: roll back to its newest snapshot, or register its newest metadata file. "
            "On Snowflake: `UNDROP TABLE`, or a clone by Time Travel.",
            "If user tables were restored to the same older state, restore the table `lock_NAME` to that state as well.",
            "If the tables were made without glacierbase and there never was a history, adopt them: "
            "run the `baseline` of the message.",
            "Only if no copy exists: drop `history_NAME` and `lock_NAME`, then adopt the tables: "
            "`glacierbase baseline --to VERSION --reason 'history lost on 22 November'`.",
        ),
    ),
    Entry(
        "HISTORY_DAMAGED",
        (NeedsRepair,),
        "The history is not as the runs wrote it. "
        "An event is missing between two others, or a column of an event has no value, or one that no run writes. "
        "Or the table lacks a column. "
        "Rows were deleted or changed, or the table was altered or restored in part. Nothing ran.",
        "error: HISTORY_DAMAGED: the history of analytics lacks event 17: the next one is event 18 of 2026-11-20"
        " 09:41:07+00:00\n"
        "next: restore the history table from a snapshot or backup that holds all events; nothing runs until then",
        (
            "Find the snapshot or backup of the table `history_NAME` that still holds the event as it was. Restore it whole.",
            "For a dropped or renamed column, rename it back, or register the table's newest metadata file that has it.",
            "Stop retention or cleaning jobs that delete rows of the table. Compacting and expiring snapshots is allowed.",
            "If events were appended since that snapshot, put the missing rows back instead of restoring: "
            "nothing may be lost.",
        ),
    ),
    Entry(
        "FORMAT_TOO_NEW",
        (ConfigurationError,),
        "The history was written by a newer glacierbase with another table format. "
        "This version could misread it. Nothing ran.",
        "error: FORMAT_TOO_NEW: the history of analytics has format 2; this glacierbase supports formats up to 1\n"
        "next: pip install --upgrade glacierbase\n"
        "state: nothing ran",
        (
            "Install the version that the other runs use: `pip install --upgrade glacierbase`.",
            "Pin one version in all jobs, images and on all machines that use this catalog.",
        ),
    ),
)
