"""Reference entries: names, headers and versions of migration files, and `validate --base`."""

from __future__ import annotations

from glacierbase.errors import ConfigurationError, HistoryDisagrees, MigrationFileError
from glacierbase.errors.entry import Entry

ENTRIES = (
    Entry(
        "MISNAMED_FILE",
        (ConfigurationError, MigrationFileError),
        "The name of a file does not fit. "
        "A migration is digits, an underscore, lower-case words and `.sql`; a catalog file ends in `.yaml`. "
        "Nothing was contacted. Exit code 2 for a catalog file, 3 for a migration.",
        "error: MISNAMED_FILE: migrations/analytics/add device.sql, line 1: a migration's file name is digits,"
        " an underscore, lower-case words and .sql\n"
        "next: rename it as in 0042_add_device.sql; the command `new` writes such names\n"
        "state: nothing ran",
        (
            "Rename it with `git mv`, for example to `0042_add_device.sql`. Choose a version above all others.",
            "For the next file: `glacierbase new 'add the device column'` writes a name that fits.",
            "If the `.sql` file is not a migration, move it out of `migrations/`.",
        ),
    ),
    Entry(
        "DUPLICATE_VERSION",
        (MigrationFileError,),
        "Two files of one catalog have the same version. Leading zeros do not count: 7 and 0007 are the same. "
        "With `--base`, one of the two may be in the base branch only. Nothing was contacted.",
        "error: DUPLICATE_VERSION: migrations/analytics/0007_b.sql, line 1: has the same version as"
        " migrations/analytics/0007_a.sql\n"
        "next: rename the one of the two that no environment has applied to a version above all others; in a git branch,"
        " `glacierbase rebase` does that\n"
        "state: nothing ran",
        (
            "If one of the two came from the branch that yours is merged into: `glacierbase rebase` renames the other one.",
            "The hint names the newer file where git shows which one that is: the one that git does not track, or that the base "
            "branch lacks or got later. An environment may have applied it nevertheless.",
            "Otherwise find out which of the two is applied: `glacierbase status` on a checkout without the newer file. "
            "Rename the one that is not applied anywhere: `git mv OLD NEW`, with a version above all others.",
            "To avoid it: `glacierbase new 'add the device column'` uses the UTC time, which two branches rarely share.",
        ),
    ),
    Entry(
        "NOT_UTF8",
        (MigrationFileError,),
        "A migration file holds bytes that are not UTF-8. Nothing was contacted.",
        "error: NOT_UTF8: migrations/analytics/0007_add_device.sql, line 4: byte 0xe9 is not UTF-8\n"
        "next: save the file as UTF-8\n"
        "state: nothing ran",
        (
            "Save the file as UTF-8 in your editor, or convert it: `iconv -f LATIN1 -t UTF-8 OLD.sql > NEW.sql`.",
            "Check the letters with accents at the line of the message afterwards.",
        ),
    ),
    Entry(
        "MISSING_HEADER",
        (MigrationFileError,),
        "A migration file lacks its description, its author or a header that the catalog file requires. "
        "An empty header counts as missing. "
        "A header that the catalog file requires is required of files that were never started. Nothing ran.",
        "error: MISSING_HEADER: migrations/analytics/0007_add_device.sql, line 1: the header MIGRATION_DESCRIPTION is"
        " missing\n"
        "next: write above the SQL: -- MIGRATION_DESCRIPTION: why this change is made\n"
        "state: nothing ran",
        (
            "Write both headers as comments above the first statement: "
            "`-- MIGRATION_DESCRIPTION: TEXT` and `-- MIGRATION_AUTHOR: NAME`.",
            "A header below the first line of SQL does not count.",
            "If another environment has applied a file without a header that became required, do not edit it: "
            "list the header as `optional` until this environment has applied it too.",
        ),
    ),
    Entry(
        "DUPLICATE_HEADER",
        (MigrationFileError,),
        "A migration file has the same header twice. Nothing was contacted.",
        "error: DUPLICATE_HEADER: migrations/analytics/0007_add_device.sql, line 3: duplicate header"
        " MIGRATION_AUTHOR\n"
        "next: keep one of them\n"
        "state: nothing ran",
        ("Keep one of the two lines. Several authors go into one line.",),
    ),
    Entry(
        "UNKNOWN_HEADER",
        (MigrationFileError,),
        "A comment above the SQL has the form of a header, but its name does not exist. "
        "A required header that is misspelt is this error only, and not `MISSING_HEADER` as well. Nothing was contacted.",
        "error: UNKNOWN_HEADER: migrations/analytics/0007_add_device.sql, line 1: unknown header"
        " MIGRATION_DESCRIPTON\n"
        "next: did you mean MIGRATION_DESCRIPTION?\n"
        "state: nothing ran",
        (
            "Correct the spelling: `MIGRATION_DESCRIPTION`, `MIGRATION_AUTHOR`, or a header that the catalog file lists.",
            "If it is a header of your own, list it in the catalog file: `headers: {TICKET: optional}`.",
            "If it is meant as a comment, do not begin it with `MIGRATION_` and a colon.",
        ),
    ),
    Entry(
        "INVALID_SQUASH",
        (MigrationFileError,),
        "The list of replaced files in a squash is not as `squash` wrote it. "
        "Its last entry must be the version of the file itself, and one that the base of `validate --base` has. "
        "Nothing was contacted.",
        "error: INVALID_SQUASH: migrations/analytics/0007_squashed.sql, line 3: the header MIGRATION_SQUASHES is not a version and"
        " a checksum\n"
        "next: restore the file as `squash` wrote it\n"
        "state: nothing ran",
        (
            "Restore the file from git.",
            "If the file was renamed, give it its version again: a squash stands for the files up to exactly that one.",
        ),
    ),
    Entry(
        "BELOW_SQUASH",
        (MigrationFileError,),
        "A migration file is below a squash, which replaces all files up to its version. "
        "A new environment would run it before the tables exist. Nothing was contacted.",
        "error: BELOW_SQUASH: migrations/analytics/0006_add_device.sql, line 1: its version is below that of"
        " migrations/analytics/0007_squashed.sql, a squash of all files up to its own\n"
        "next: give it a version above all others; in a git branch, `glacierbase rebase` does that\n"
        "state: nothing ran",
        (
            "If the file is new, give it a version above all others: `glacierbase rebase`.",
            "If the squash replaces it, delete it: a merge or a checkout brought it back.",
        ),
    ),
    Entry(
        "NOT_INVERTIBLE",
        (ConfigurationError,),
        "`new --reverting` found no statement in the migration that it can invert. Nothing was written. "
        "It inverts renames, added columns, partition fields, and table properties that no file before sets. "
        "A file with template blocks is not inverted.",
        "error: NOT_INVERTIBLE: migrations/analytics/0007_add_device.sql: none of its statements has an inverse; nothing"
        " was written\n"
        "next: write the change that you want: `glacierbase new 'why it is undone'`",
        ("Write the change that you want into a new file: `glacierbase new 'restore the device column'`.",),
    ),
    Entry(
        "BASE_FILE_EDITED",
        (HistoryDisagrees,),
        "A migration of the base branch was edited on this branch. "
        "Other environments may have applied it, and would then fail with `CHECKSUM_MISMATCH`. "
        "`validate --base` contacts nothing.",
        "error: BASE_FILE_EDITED: migrations/analytics/0007_add_scores.sql: differs from origin/main, where"
        " other environments may have applied it\n"
        "next: restore it (git checkout origin/main -- migrations/analytics/0007_add_scores.sql), and put the"
        " change into a new migration\n"
        "state: nothing ran",
        (
            "Run the `git checkout` command of the message.",
            "Put the change into a new file: `glacierbase new 'correct the device column'`.",
            "If the file failed and is applied nowhere, its remaining statements may be corrected. "
            "Merge that without this check, after a review.",
        ),
    ),
    Entry(
        "BASE_FILE_DELETED",
        (HistoryDisagrees,),
        "This branch deleted a migration, or a whole catalog, that the base branch has. "
        "Files that the base got since the branch left it do not count. "
        "Environments that applied it would then fail with `MIGRATION_MISSING`. `validate --base` contacts nothing.",
        "error: BASE_FILE_DELETED: migrations/analytics/0001_create.sql: exists in origin/main, but is deleted"
        " in this branch\n"
        "next: restore it: git checkout origin/main -- migrations/analytics/0001_create.sql\n"
        "state: nothing ran",
        (
            "Run the `git` command of the message.",
            "If a catalog file was renamed, keep its identity: write `name: OLD` into the renamed file.",
        ),
    ),
    Entry(
        "VERSION_BELOW_BASE",
        (HistoryDisagrees,),
        "A new migration of this branch has a version below the highest one at the tip of the base branch. "
        "It would be `OUT_OF_ORDER` where the base is applied. `validate --base` contacts nothing.",
        "error: VERSION_BELOW_BASE: migrations/analytics/0006_add_device.sql: its version is not above"
        " 0007_add_scores.sql, the highest of origin/main\n"
        "next: `glacierbase rebase --base origin/main` gives it a version above\n"
        "state: nothing ran",
        (
            "Run the command of the message: it renames the new files in their order. Commit, and merge the base.",
            "If an environment applied the file under the old version, settle that version there: "
            "`glacierbase repair 0006 --as removed --reason 'renamed to 0008'`. "
            "The file then runs there again, under its new version. "
            "If a statement fails because it took effect before, settle it with `--as done`.",
        ),
    ),
    Entry(
        "REVIEW_FAILED",
        (MigrationFileError,),
        "A new migration fails on the throw-away copy, or loses a table or a column. "
        "Spark refuses one of its statements, or the statement loads code or reaches out. No real table was touched.",
        "error: REVIEW_FAILED: catalog analytics: 1 error on the throw-away copy: DS103\n"
        "next: correct the statements; `glacierbase rules DS103` explains them, and how to allow one\n"
        "state: no real table was touched",
        (
            "Read the findings: each has a file, a line and a message. `REPLAY_REFUSED`: Spark refuses the statement. "
            "`REPLAY_NOT_RUN`: it loads code, or reaches files, programs or the network. `REPLAY_UNKNOWN_TABLE`: no file makes "
            "the table; correct its name, or create it in the file of the key `review.fixtures`. `REPLAY_TIMEOUT`: the replay took "
            "more than 30 minutes. `DS101`, `DS103` and `DS106`: a table, a column or the rows of a replaced table are lost.",
            "Correct the file and run the same command again.",
            "If a loss is intended, allow it above its statement: `-- GLACIERBASE_ALLOW: DS103 no readers since October (#912)`.",
        ),
    ),
)
