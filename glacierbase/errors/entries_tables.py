"""Reference entries: questions about tables and columns, and points in a history."""

from __future__ import annotations

from glacierbase.errors import ConfigurationError, EngineUnavailable
from glacierbase.errors.entry import Entry

ENTRIES = (
    Entry(
        "UNKNOWN_TABLE",
        (ConfigurationError,),
        "No migration in the history of the chosen catalogs touched a table of that name. Nothing was changed. "
        "The table itself is not looked up: `schema`, `blame`, `history --table` and `drift --table` start from the record of "
        "migrations.",
        "error: UNKNOWN_TABLE: no migration in the history touched a table sleep.event\nnext: did you mean sleep.events?\n"
        "state: nothing ran",
        (
            "Correct the name. Its first parts may be left out, such as the name of the catalog in Spark. "
            "A pattern of `drift --table` is compared with the whole name: `glacierbase drift --table '*.events'`.",
            "Check that `--env` and `--catalog` choose the history that you mean. `glacierbase history` lists what ran there.",
            "A table that no migration ever touched is not in the history.",
        ),
    ),
    Entry(
        "AMBIGUOUS_TABLE",
        (ConfigurationError,),
        "Several tables of the history may be meant. The first parts of the name were left out, or only the case of letters "
        "differs. Nothing was changed.",
        "error: AMBIGUOUS_TABLE: events may be lake.sleep.events or lake.web.events\n"
        "next: write the whole name, as it is in this list\nstate: nothing ran",
        ("Write the name as the message has it: `glacierbase blame lake.web.events`.",),
    ),
    Entry(
        "UNKNOWN_COLUMN",
        (ConfigurationError,),
        "The table has no column of that name by the records of its migrations. Nothing was changed. "
        "`blame` accepts a former name where no column has it now. `history --column` also finds columns that were dropped.",
        "error: UNKNOWN_COLUMN: lake.sleep.events has no column devices\nnext: did you mean device?\nstate: nothing ran",
        (
            "List the columns: `glacierbase schema lake.sleep.events`.",
            "A field inside a column is written with its path: `glacierbase blame lake.sleep.events.device.model`.",
        ),
    ),
    Entry(
        "INVALID_TIME",
        (ConfigurationError,),
        "A point in the history is neither a version nor a time. Nothing was contacted and nothing was changed.",
        "error: INVALID_TIME: yesterday is neither a version nor a time\n"
        "next: write a date or a time in ISO 8601: 2026-11-20, or 2026-11-20T10:30:00Z\nstate: nothing ran",
        (
            "Write a version: `glacierbase schema events --at 0003`.",
            "Write a date or a time: `glacierbase schema events --at 2026-11-20`. A time without a zone is in UTC.",
            "Write two of them for a comparison: `glacierbase schema events --diff 0003..2026-11-20`.",
            "With `--since`, a duration is possible: `glacierbase history --since 7d`.",
        ),
    ),
    Entry(
        "NO_STATEMENTS",
        (ConfigurationError,),
        "`schema --format sql` has no statements that create the table as it is. It was dropped, or its schema is not recorded. "
        "Or it is in another format than Iceberg, or Spark SQL has no words for a part of it. Or a text of it held a secret and "
        "was masked. Nothing was changed.",
        "error: NO_STATEMENTS: lake.sleep.events cannot be written as Spark SQL: id is of type uuid\n"
        "next: leave out `--format sql`: the other formats show what is known\nstate: nothing ran",
        (
            "Show the shape itself: `glacierbase schema lake.sleep.events --format json`.",
            "If it was dropped, ask for a point before that: `glacierbase schema lake.sleep.events --at 0003 --format sql`.",
            "If it is not recorded, the next migration that touches the table records it.",
        ),
    ),
    Entry(
        "TABLES_NOT_READ",
        (EngineUnavailable,),
        "`drift` could not read a table that the history records. The other tables were compared, and their differences are "
        "printed, but the exit code is 5 in any case. Nothing was changed.",
        "error: TABLES_NOT_READ: catalog shop: 1 of 2 tables not compared with the record\n"
        "    | lake.a.broken: the bucket is gone\n"
        "next: remove the cause, and run `glacierbase drift` again; --table chooses other tables",
        (
            "Read the reason of each table: `glacierbase drift` prints it, and `unread` of the JSON document has it.",
            "If the catalog or the storage refuses the login, give it the right to read the tables.",
            "If a metadata file is gone or broken, restore it, or register the table with its last metadata file that can be read.",
            "To watch the other tables meanwhile, choose them: `glacierbase drift --table 'lake.sleep.*'`.",
        ),
    ),
)
