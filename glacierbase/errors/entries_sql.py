"""Reference entries: rendering a migration's template, and splitting its SQL into statements."""

from __future__ import annotations

from glacierbase.errors import MigrationFileError
from glacierbase.errors.entry import Entry

ENTRIES = (
    Entry(
        "UNDEFINED_VARIABLE",
        (MigrationFileError,),
        "A template uses a name that has no value in this environment, or whose value is null. "
        "No statement ran. In `migrate` only the history was read.",
        "error: UNDEFINED_VARIABLE: migrations/analytics/0004_partition.sql, line 6: variables.sleep.bucketSise is not"
        " defined\n"
        "next: did you mean variables.sleep.bucketSize?\n"
        "state: nothing ran",
        (
            "If the name is misspelt in the file, correct it there. The hint has the nearest name.",
            "If this environment lacks the variable, define it in the catalog file under `variables`, "
            "or under the environment's own `variables`.",
            "If the value is optional, write `| default('…')` after the name in the template.",
            "In a file of the command `new` whose statements are not written yet: write them in place of the line.",
            "Check all environments at once: `glacierbase validate`.",
        ),
    ),
    Entry(
        "UNPRINTABLE_VALUE",
        (MigrationFileError,),
        "A template prints a mapping, a list or null, for which SQL has no text. No statement ran.",
        "error: UNPRINTABLE_VALUE: migrations/analytics/0004_partition.sql, line 6: variables.columns is a list,"
        " which has no text in SQL\n"
        "next: append | join(', ')\n"
        "state: nothing ran",
        (
            "For a list, write `{{ variables.columns | join(', ') }}`, or a `{% for %}` loop.",
            "For a mapping, name one of its keys.",
            "For null, write `NULL` into the SQL where SQL's null is meant.",
        ),
    ),
    Entry(
        "TEMPLATE_SYNTAX",
        (MigrationFileError,),
        "Jinja cannot parse a migration file. No statement ran.",
        "error: TEMPLATE_SYNTAX: migrations/analytics/0004_partition.sql, line 6: Expected an expression, got"
        " 'end of print statement'\n"
        "next: if the SQL itself contains {{ or {%, write it between {% raw %} and {% endraw %}\n"
        "state: nothing ran",
        (
            "Correct the template at the line of the message. Every `{% if %}` and `{% for %}` needs its end tag.",
            "If the SQL itself holds `{{` or `{%`, write it between `{% raw %}` and `{% endraw %}`.",
            "`include`, `import` and `extends` are not supported: the checksum covers one file.",
        ),
    ),
    Entry(
        "TEMPLATE_FAILED",
        (MigrationFileError,),
        "A template raised an error while it rendered. Typical causes are a division by zero or a wrong argument. "
        "No statement ran.",
        "error: TEMPLATE_FAILED: migrations/analytics/0004_partition.sql, line 6: the template fails with"
        " ZeroDivisionError: division by zero\n"
        "next: correct the expression on this line\n"
        "state: nothing ran",
        (
            "Look at the line of the message, with the variables of the environment that fails.",
            "If one environment fails only, its variables differ: compare them in the catalog file.",
            "Render the file alone: `glacierbase render 0004 --env dev`.",
        ),
    ),
    Entry(
        "TEMPLATE_TOO_COSTLY",
        (MigrationFileError,),
        "Rendering exceeded a limit of `validate` or `render`, or there was not enough memory. "
        "For one file, the limits are 5 s of processor time, 120 s by the clock, 1 GiB of memory and 48 MiB of text. "
        "The whole command has a limit of time, too. Nothing was contacted.",
        "error: TEMPLATE_TOO_COSTLY: migrations/analytics/0004_partition.sql, line 1: rendering and splitting it needs more"
        " than 5 s of processor time\n"
        "next: make its loops and values smaller\n"
        "state: nothing ran",
        (
            "Make the loops and values of the named file smaller, or split the file into several.",
            'If the message contains "not checked", the whole command exceeded its limit. '
            "Check fewer files at a time: `glacierbase validate --catalog analytics --env dev`.",
            "On a branch from somebody else, review the file before anything else: it may be an attack.",
        ),
    ),
    Entry(
        "UNTERMINATED_STRING",
        (MigrationFileError,),
        "A string in a migration has no closing quote, so the file cannot be split into statements. No statement ran.",
        "error: UNTERMINATED_STRING: migrations/analytics/0007_add_device.sql, line 5: the string that opens here with ' is"
        " never closed\n"
        "next: write ' where it ends, and \\' inside the text\n"
        "state: nothing ran",
        (
            "Close the string. The message has the line where it opens, which may be far above the mistake.",
            "Typical causes: an apostrophe inside a text, or one in a comment whose `--` is missing.",
            "On Snowflake, a body that opens with `$$` ends at the next `$$`.",
        ),
    ),
    Entry(
        "UNTERMINATED_IDENTIFIER",
        (MigrationFileError,),
        "A quoted name in a migration has no closing quote, so the file cannot be split into statements. No statement ran.",
        "error: UNTERMINATED_IDENTIFIER: migrations/analytics/0007_add_device.sql, line 5: the identifier that opens here"
        " with ` is never closed\n"
        "next: write ` where it ends, and `` inside the name\n"
        "state: nothing ran",
        (
            'Close the name: with a backtick on Spark, with `"` on Snowflake.',
            "If the quote is part of a text, put the text into a string.",
        ),
    ),
    Entry(
        "UNTERMINATED_COMMENT",
        (MigrationFileError,),
        "A block comment in a migration has no end, so the file cannot be split into statements. No statement ran.",
        "error: UNTERMINATED_COMMENT: migrations/analytics/0007_add_device.sql, line 5: the comment that opens here with /*"
        " is never closed\n"
        "next: write */ where it ends; comments nest, so each /* inside needs its own */\n"
        "state: nothing ran",
        (
            "Write `*/` where the comment ends.",
            "On Spark, comments nest: each `/*` inside, also one in a path such as `/*.parquet`, needs its own `*/`.",
        ),
    ),
    Entry(
        "UNTERMINATED_BLOCK",
        (MigrationFileError,),
        "A scripting block in a migration has no end, so the file cannot be split into statements. No statement ran.",
        "error: UNTERMINATED_BLOCK: migrations/analytics/0007_add_device.sql, line 5: the block that opens here with BEGIN"
        " is never closed\n"
        "next: write END where it ends, and quote BEGIN where it is a name\n"
        "state: nothing ran",
        (
            "Write the end that the hint names: `END`, `END IF`, `END LOOP` and so on.",
            "If the word is the name of a column or table, quote it.",
            "If a transaction is meant on Snowflake, write `BEGIN;` or `BEGIN TRANSACTION;`.",
        ),
    ),
    Entry(
        "MISREAD_COMMENT",
        (MigrationFileError,),
        "A line comment ends with a backslash, and Spark reads the next line as part of the comment. "
        "A statement in it would not run. No statement ran.",
        "error: MISREAD_COMMENT: migrations/analytics/0007_add_device.sql, line 5: the engine continues the"
        " comment that starts here on the next line\n"
        "next: write a space after the backslash that ends it\n"
        "state: nothing ran",
        ("Write a space after the backslash, or remove the backslash.",),
    ),
    Entry(
        "SPARK_SUBSTITUTION",
        (MigrationFileError,),
        "A statement of a Spark file holds `${…}`, or changes `spark.sql.variable.substitute`. "
        "Spark by default replaces `${…}`, everywhere in a statement, by environment variables, system properties and settings; "
        "the sessions of glacierbase do not, and other sessions may. No statement ran.",
        "error: SPARK_SUBSTITUTION: migrations/analytics/0007_add_device.sql, line 5, column 4: Spark may replace `${env:USER}`"
        " before it reads the statement\n"
        "next: write `\\u0024{env:USER}` for the same text in a string, or a variable of the catalog file;"
        " `glacierbase validate --base REF` accepts a file that REF has\n"
        "state: nothing ran",
        (
            "For the text itself in a string: `\\u0024{…}`, or `concat('$', '{…}')` in an expression.",
            "For a value that differs between environments: `{{ variables.NAME }}`, with the value in the catalog file.",
            "If the file is applied already, do not edit it: `glacierbase validate --base REF` accepts it, where REF is the branch "
            "that has it, and `migrate` does not run it again.",
            "If a run of the file stopped after such a statement, it is resumed: only the statements that are to run are refused.",
        ),
    ),
    Entry(
        "NUL_CHARACTER",
        (MigrationFileError,),
        "The SQL of a migration holds a NUL character, which engines treat differently. No statement ran.",
        "error: NUL_CHARACTER: migrations/analytics/0007_add_device.sql, line 5: NUL character\n"
        "next: remove it; if every letter has one, save the file as UTF-8\n"
        "state: nothing ran",
        (
            "If there is one beside every letter, the file is UTF-16: save it as UTF-8.",
            "Otherwise remove the character. In SQL text, write the engine's own escape for it.",
        ),
    ),
    Entry(
        "SURROGATE_CHARACTER",
        (MigrationFileError,),
        "The SQL of a migration holds half of a character, which no encoding can send. "
        "It comes from a `\\u` escape in a variable or template. No statement ran.",
        "error: SURROGATE_CHARACTER: migrations/analytics/0007_add_device.sql, line 5: half of a character (U+D83D)\n"
        "next: write the character itself instead of \\u escapes\n"
        "state: nothing ran",
        ("Write the character itself, as UTF-8, in place of its two `\\u` escapes.",),
    ),
    Entry(
        "TRANSACTION_BROKEN",
        (MigrationFileError,),
        "A Snowflake transaction holds a statement that commits the transaction before it runs, such as DDL. "
        "The statements would not take effect together. No statement ran.",
        "error: TRANSACTION_BROKEN: migrations/analytics/0007_backfill.sql, line 7: this statement commits the"
        " transaction of line 4 before it runs\n"
        "next: write COMMIT before it, or move it out of the transaction: only INSERT, UPDATE, DELETE, MERGE and"
        " queries take part in one\n"
        "state: nothing ran",
        (
            "Move the statement before `BEGIN` or after `COMMIT`.",
            "If the statements need not take effect together, remove `BEGIN` and `COMMIT`. "
            "Each statement is then one step, and a failed file resumes at the one that failed.",
        ),
    ),
    Entry(
        "TRANSACTION_NOT_ENDED",
        (MigrationFileError,),
        "A Snowflake transaction in a migration has no `COMMIT`, so nothing of it would stay. No statement ran.",
        "error: TRANSACTION_NOT_ENDED: migrations/analytics/0007_backfill.sql, line 4: the transaction that"
        " begins here is never ended, so its statements would have no effect\n"
        "next: write COMMIT after its last statement; a scripting block needs its END\n"
        "state: nothing ran",
        (
            "Write `COMMIT;` after the last statement of the transaction.",
            "If a scripting block is meant, remove the semicolon after `BEGIN`, and write `END;` where it ends.",
        ),
    ),
)
