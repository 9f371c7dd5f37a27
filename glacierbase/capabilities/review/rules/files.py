"""FL: the file as a whole, its header, and the names that it uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, RuleFinding, Step
from glacierbase.errors import MigrationFileError
from glacierbase.model.catalog import Management, UnmanagedTables
from glacierbase.model.names import completed_like
from glacierbase.model.text import did_you_mean, nearest, suggestion
from glacierbase.secrets import resembles_secret
from glacierbase.sql.cursor import Cursor, UnsupportedClause
from glacierbase.sql.dialects import SPARK, dialect_of
from glacierbase.sql.operations import CREATES_TABLE, ROWS
from glacierbase.sql.statement import Name, Place, SessionEffect
from glacierbase.sql.tokens import Source, tokens

RULES = Family(__file__)
_SHORTEST_DESCRIPTION = 10
# Changes of a table with rows that its readers and writers notice. Comments, properties, grants, new objects and new columns
# belong with the rows that the file writes.
_SCHEMA = frozenset({"alter_column_type", "replace_columns", "drop_column", "rename_column", "rename_table", "cluster_by",
                     "add_partition_field", "drop_partition_field", "replace_partition_field", "set_write_order",
                     "set_distribution"})  # fmt: skip
_PARTS = 3
# The words before a name or a path that belongs to an environment.
_NAMED_BY = frozenset(
    {"LOCATION", "ROLE", "WAREHOUSE", "DATABASE", "SCHEMA", "CATALOG", "NAMESPACE", "EXTERNAL_VOLUME"}
)


@RULES.check_file("FL102")
def short_description(file: File) -> Iterator[RuleFinding]:
    """Find descriptions that are too short."""
    if len(file.migration.description) < _SHORTEST_DESCRIPTION:
        yield RuleFinding(f"the description is {file.migration.description!r}")


@RULES.check_file("FL106")
def hard_coded_environment(file: File) -> Iterator[RuleFinding]:
    """Find the values that variables have in other environments, in names and places of a statement."""
    patterns = {value: rf"(?<![\w-]){re.escape(value)}(?![\w-])" for value in file.facts.varying}
    written = {value for value, pattern in patterns.items() if re.search(pattern, file.migration.text)}
    for step in file.steps if written else ():
        places: dict[str, Place] = {}
        for text, place in _of_environments(step, file.facts.engine):
            for value in written - places.keys():
                if re.search(patterns[value], text):
                    places[value] = place
        for value, place in places.items():
            fix = f"write {{{{ {file.facts.varying[value]} }}}}"
            yield RuleFinding(f"{value!r} is written out", step, place, fix=fix)


def _of_environments(step: Step, engine: str) -> Iterator[tuple[str, Place]]:
    """Yield the parts of names, the paths, and the words after ROLE and the like of a statement, with their places."""
    parsed, source = step.parsed, Source(step.statement.text)
    names = [*parsed.targets, *(parsed.sources or ()), parsed.namespace, parsed.selected]
    names += [parsed.subject.name] if parsed.subject else []
    parts = {part for name in names if name for part in name.parts}
    before = ""
    for token in tokens(dialect_of(engine), source):
        text = source.sql[token.start : token.end]
        if before in _NAMED_BY or "://" in text or text.strip('`"') in parts:
            yield text, _within(step, Place(*source.place(token.start)))
        if token.word != "=":
            before = token.word


def _within(step: Step, place: Place) -> Place:
    """Return a place in the text of a statement as one in the script that contains it."""
    if step.place is None:
        return place
    return Place(place.line + step.place.line - 1, place.column + (step.place.column - 1 if place.line == 1 else 0))


@RULES.check_file("FL109")
def mixed_statements(file: File) -> Iterator[RuleFinding]:
    """Find the first statement that changes data in a file that also changes the schema of an existing table."""
    permanent = (step for step in file.steps if not step.parsed.options.temporary)
    existing = [step for step in permanent if not file.creates(step.target, step)]
    data = [step for step in existing if step.parsed.operation in ROWS]
    altered = any(
        step.parsed.operation not in CREATES_TABLE and not _SCHEMA.isdisjoint(step.operations) for step in existing
    )
    if data and altered:
        yield RuleFinding("this statement changes data, others of the file change the schema", data[0])


@RULES.check_file("FL110")
def unqualified_table(file: File) -> Iterator[RuleFinding]:
    """Find names with too few parts."""
    local = {step.target.key for step in file.steps if step.target and step.parsed.options.temporary}
    if any(step.parsed.operation == "use" for step in file.steps):
        return
    for step, name in _names(file):
        if len(name.parts) + file.facts.given_parts < _PARTS and name.key not in local:
            yield RuleFinding(f"the name {name} has {len(name.parts)} of {_PARTS} parts", step, name=name)


@RULES.check_file("FL111")
def undeclared_catalog(file: File) -> Iterator[RuleFinding]:
    """Find names whose first part is not a catalog in the catalog file. Spark compares names of catalogs with their case."""
    declared = {*file.facts.formats, "spark_catalog"}
    if file.facts.engine != SPARK.name or not file.facts.formats:
        return
    for step, name in _names(file):
        if len(name.parts) >= _PARTS and name.parts[0] not in declared:
            fix = did_you_mean(name.parts[0], declared, f"declared: {', '.join(sorted(declared))}")
            yield RuleFinding(f"there is no catalog {name.parts[0]}", step, name=name, fix=fix)


def _names(file: File) -> Iterator[tuple[Step, Name]]:
    """Yield the tables that each statement changes or reads."""
    for step in file.steps:
        # The new name in a rename has no catalog, and the catalog of a call is that of the procedure.
        changed = step.parsed.targets[:1] if step.parsed.operation.startswith("rename_") else step.parsed.targets
        for name in () if step.parsed.operation == "call" else (*changed, *(step.parsed.sources or ())):
            yield step, name


@RULES.check("FL112", *CREATES_TABLE)
def create_if_not_exists(step: Step, file: File) -> Iterator[RuleFinding]:
    """Find CREATE TABLE IF NOT EXISTS of a table that an earlier statement creates. A repeatable runs again."""
    if step.parsed.options.if_not_exists and not file.migration.is_repeatable:
        known = file.tables.before(step)
        if known and not known.is_dropped:
            yield RuleFinding("CREATE TABLE IF NOT EXISTS of a table that an earlier statement creates", step)


@RULES.check_file("FL113")
def secret_in_sql(file: File) -> Iterator[RuleFinding]:
    """Find texts that resemble secrets; the message does not repeat them."""
    for step in file.steps:
        if resembles_secret(step.statement.text):
            yield RuleFinding("this looks like a secret", step)


@RULES.check_file("FL114")
def session_cannot_be_restored(file: File) -> Iterator[RuleFinding]:
    """Find the first statement after which the file cannot be resumed, unless it is the last. A repeatable begins again."""
    if file.migration.is_repeatable or _one_statement_lasts(file):
        return
    last = file.steps[-1].statement.index if file.steps else 0
    steps = (step for step in file.steps if step.statement.index != last)
    unclear = [step for step in steps if step.parsed.session is SessionEffect.UNKNOWN]
    if unclear:
        yield RuleFinding("this statement may change the session in a way that cannot be repeated", unclear[0])


def _one_statement_lasts(file: File) -> bool:
    """Return whether at most one statement changes something, and the others only make and fill temporary tables that it reads.

    If it fails, nothing has changed.
    """
    temporary = {step.target.key for step in file.steps if step.target and step.parsed.options.temporary}
    others = [step for step in file.steps if not step.target or step.target.key not in temporary]
    return bool(temporary) and len(others) <= 1 and all(step.parsed.session is SessionEffect.NONE for step in others)


@RULES.check_file("FL115")
def unmanaged_table(file: File) -> Iterator[RuleFinding]:
    """Find changes of tables that the catalog file leaves to others; after USE, only of those with qualified names."""
    rules = tuple(UnmanagedTables(*rule) for rule in file.facts.unmanaged)
    management = Management(tuple(file.facts.managed), rules)
    uses = any(step.parsed.operation == "use" for step in file.steps)
    for step in file.steps:
        for name in () if step.parsed.options.temporary or step.parsed.operation == "call" else step.parsed.targets:
            whole = completed_like(name.recorded, file.facts.beginning)
            is_whole = len(name.parts) >= _PARTS or not uses
            if is_whole and (why := management.why_unmanaged(whole)):
                yield RuleFinding(f"the table is unmanaged: {why}", step, name=name)


@RULES.check_file("FL116")
def drop_of_a_repeatable(file: File) -> Iterator[RuleFinding]:
    """Find statements of a versioned file that drop what a repeatable makes."""
    for step in file.steps if not file.migration.is_repeatable else ():
        for name in file.repeatables_dropped(step):
            yield RuleFinding(f"this statement drops what the repeatable {name} makes", step)


# The first words of statements of Snowflake. https://docs.snowflake.com/en/sql-reference/sql-all
_SNOWFLAKE_HEADS = frozenset(
    {
        "ALTER", "BEGIN", "CALL", "COMMENT", "COMMIT", "COPY", "CREATE", "DECLARE", "DELETE", "DESC", "DESCRIBE", "DROP",
        "EXECUTE", "EXPLAIN", "FROM", "GET", "GRANT", "INSERT", "LET", "LIST", "LS", "MERGE", "PUT", "REMOVE", "RETURN",
        "REVOKE", "RM", "ROLLBACK", "SELECT", "SET", "SHOW", "START", "TRUNCATE", "UNDROP", "UNSET", "UPDATE", "USE",
        "VALUES", "WITH", "(", "FOR", "IF", "CASE", "WHILE", "REPEAT", "LOOP", "ASYNC", "AWAIT", "OPEN", "CLOSE", "FETCH",
    }
)  # fmt: skip
_LONGEST_HEAD = 24
# First words in which a slip of the keys is recognized, and the kinds of objects after some of them. Real words of either engine
# are less similar to them.
_WITH_KIND = ("ALTER", "CREATE", "DROP")
_COMMON_HEADS = (*_WITH_KIND, "DELETE", "INSERT", "MERGE", "SELECT", "TRUNCATE", "UPDATE")
_KINDS = ("DATABASE", "FUNCTION", "NAMESPACE", "SCHEMA", "TABLE", "VIEW")
_LIKENESS = 0.75
# Statements of Spark whose text is computed, or that are scripts: `FL114` is about them.
_COMPUTED = ("EXECUTE", "BEGIN", "DECLARE")
# Statements that Spark refuses, by their first words: some of every table, some of tables of Iceberg.
_LACKING = (
    (r"(?:GRANT|REVOKE)\b", "Grant in the catalog's own tool."),
    (r"CREATE (?:OR REPLACE )?(?:ROLE|USER|SEQUENCE|TRIGGER|PROCEDURE|STAGE|STREAM|TASK|PIPE|WAREHOUSE|DOMAIN|UNIQUE)\b", ""),
    (r"CREATE OR ALTER\b", "Write CREATE TABLE, and ALTER TABLE for each change."),
    (r"(?:CREATE|DROP) INDEX\b", "Write WRITE ORDERED BY, or a partition field."),
    (r"UNDROP\b", "Register the table again by system.register_table."),
    (r"COPY INTO\b", "Write INSERT INTO … SELECT … FROM parquet.`path`."),
    (r"(?:COMMIT|ROLLBACK|(?:START|BEGIN) TRANSACTION|LOCK TABLE)\b", "Leave it out: each statement is one commit."),
    (r"ALTER TABLE [^ ]+(?: \. [^ ]+)* (?:MODIFY|SWAP|OWNER|SET OWNER|ADD INDEX|DROP INDEX|SET PROPERTIES)\b", ""),
    (r"ALTER TABLE [^ ]+(?: \. [^ ]+)* ALTER (?:COLUMN )?[^ ]+(?: \. [^ ]+)* SET DATA TYPE\b", "Write ALTER COLUMN … TYPE."),
    (r"ALTER TABLE [^ ]+(?: \. [^ ]+)* ADD (?:IF NOT EXISTS )?PARTITION \(", "Leave it out: rows bring their partitions."),
    (r"(?:MSCK )?REPAIR TABLE\b", "Leave it out: rows bring their partitions."),
    (r"COMMENT ON COLUMN\b", "Write ALTER TABLE … ALTER COLUMN … COMMENT."),
    (r"INSERT (?:IGNORE|OR)\b|REPLACE INTO\b|UPSERT\b", "Write MERGE INTO."),
    (r"DELETE (?!FROM\b)", "Write DELETE FROM."),
    (r"TRUNCATE (?!TABLE\b)", "Write TRUNCATE TABLE."),
    (r"DROP TABLE [^;]*\b(?:CASCADE|RESTRICT)$", "Leave the last word out."),
    (r"EXEC\b", "Write CALL."),
    (r"(?:OPTIMIZE|VACUUM)\b", "Call rewrite_data_files or expire_snapshots."),
    (r"RESTORE TABLE\b", "Call rollback_to_snapshot."),
    (r"ANALYZE TABLE\b", "Call compute_table_stats."),
    (r"CREATE TABLE (?:IF NOT EXISTS )?[^ ]+(?: \. [^ ]+)* (?:LIKE|(?:SHALLOW |DEEP )?CLONE)\b",
     "List the columns."),
)  # fmt: skip
_REFUSED = tuple((re.compile(pattern), fix) for pattern, fix in _LACKING)


@RULES.check_file("FL117")
def statement_not_understood(file: File) -> Iterator[RuleFinding]:
    """Find statements that no rule reads; on Snowflake, only those with a first word that it does not have."""
    of_engine = _COMPUTED if file.facts.engine == SPARK.name else {"", *_SNOWFLAKE_HEADS}
    for step in file.steps:
        if step.parsed.understood or next(iter(_words(step, file)), "") in of_engine:
            continue
        if not (_refused_by_engine(step, file) or _misspelt(step, file)):
            yield RuleFinding(f"not understood: {step.parsed.why}", step)


@RULES.check_file("FL119")
def misspelt_statement(file: File) -> Iterator[RuleFinding]:
    """Find statements that no rule reads, and whose first words are nearly those of a statement."""
    for step in file.steps:
        if misspelt := _misspelt(step, file):
            word, meant = misspelt
            yield RuleFinding(f"{word} is no word of a statement; {suggestion(meant)}", step)


def _misspelt(step: Step, file: File) -> tuple[str, str] | None:
    """Return the misspelt one of the first words of a statement, and the word that it resembles."""
    if step.parsed.understood:
        return None
    head, kind, *_ = [*_words(step, file), "", ""]
    word, known = (kind, _KINDS) if head in _WITH_KIND else (head, _COMMON_HEADS)
    meant = nearest(word, known, _LIKENESS) if word not in known else None
    return (word, meant) if meant else None


@RULES.check_file("FL118")
def statement_of_another_engine(file: File) -> Iterator[RuleFinding]:
    """Find statements of other engines, which Spark refuses for tables of Iceberg."""
    for step in file.steps:
        if refused := _refused_by_engine(step, file):
            words, fix = refused
            yield RuleFinding(f"Spark does not run {words} for tables of Iceberg", step, fix=fix)


def _refused_by_engine(step: Step, file: File) -> tuple[str, str] | None:
    """Return the words of a statement that Spark refuses, and what to write instead. Other formats add statements."""
    is_iceberg = {*file.facts.formats.values()} == {"iceberg"} and file.format_of(step) == "iceberg"
    is_elsewhere = step.parsed.options.temporary or step.catalog == "spark_catalog"
    if file.facts.engine != SPARK.name or not is_iceberg or is_elsewhere:
        return None
    words = " ".join(_words(step, file))
    for pattern, fix in _REFUSED:
        if match := pattern.match(words):
            first, *rest = match[0].split()
            return (f"{first} {rest[0]} … {rest[-1]}" if len(rest) > 1 else match[0].strip()), fix
    return None


def _words(step: Step, file: File) -> list[str]:
    """Return the first words of a statement in capitals."""
    try:
        cursor = Cursor(step.statement.text, file.facts.engine)
        words = [cursor.next() for _ in range(_LONGEST_HEAD)]
    except (UnsupportedClause, MigrationFileError):
        return []
    return [word.upper() for word in words if word]
