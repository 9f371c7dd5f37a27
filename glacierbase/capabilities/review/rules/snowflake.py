"""SF: rules for Snowflake only. The claims are from Snowflake's documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from glacierbase.capabilities.review.family import Family
from glacierbase.capabilities.review.rule import File, Rule, RuleFinding, Step, is_same_table, of
from glacierbase.sql.cursor import UnsupportedClause
from glacierbase.sql.dialects import SNOWFLAKE
from glacierbase.sql.statement import AlterColumn, ColumnClause, DropColumn, Fields, Subject
from glacierbase.sql.types import types_of

CheckSubject = Callable[[Subject, Step, File], Iterable[RuleFinding]]


class SnowflakeFamily(Family):
    """A family whose rules check a statement of Snowflake and what it names."""

    def check_subject(self, code: str) -> Callable[[CheckSubject], Rule]:
        """Add a rule of a function that checks a statement and what it names."""

        def decorate(function: CheckSubject) -> Rule:
            @self.check(code)
            def check(step: Step, file: File) -> Iterable[RuleFinding]:
                return function(step.parsed.subject, step, file) if step.parsed.subject else ()

            return check

        return decorate

    def about(self, code: str, *cases: tuple[str, Callable[[Subject], object]]) -> None:
        """Add a rule about what a statement names.

        Args:
            cases: message and condition; the first that holds is the finding. `{subject.kind}` and the like are replaced by
                attributes, and `{name}` by a space and the name of the object, if it has one.
        """

        @self.check_subject(code)
        def check(subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
            message = next((message for message, holds in cases if holds(subject)), None)
            if message:
                yield RuleFinding(message.format(subject=subject, name=_named(subject)), step)


def _named(subject: Subject) -> str:
    return f" {subject.name}" if subject.name else ""


RULES = SnowflakeFamily(__file__)


def finding_about(step: Step, what: str, consequence: str) -> Iterator[RuleFinding]:
    named = _named(step.parsed.subject) if step.parsed.subject else ""
    yield RuleFinding(f"{what}{named}: {consequence}", step)


_RETENTION = "DATA_RETENTION_TIME_IN_DAYS"
_PROTECTION = (
    *(("UNSET", kind, "POLICY") for kind in (
        "MASKING", "PROJECTION", "AGGREGATION", "JOIN", "PRIVACY", "PASSWORD", "SESSION", "AUTHENTICATION", "NETWORK",
    )),
    ("UNSET", "NETWORK_POLICY"), ("DROP", "ROW", "ACCESS", "POLICY"), ("DROP", "ALL", "ROW", "ACCESS", "POLICIES"),
)  # fmt: skip
# Objects of an account that a file creates.
_OF_ACCOUNT = ("USER", "NETWORK POLICY", "SHARE", "INTEGRATION")


def is_described(subject: Subject) -> bool:
    """Return whether ALTER changes only the comment, the tags or the name."""
    is_comment = subject.words[:2] in (("SET", "COMMENT"), ("SET", "TAG"), ("UNSET", "COMMENT"), ("UNSET", "TAG"))
    return is_comment or subject.words[:1] == ("RENAME",)


def _acts_on_account(subject: Subject) -> bool:
    """Return whether a statement creates or changes the account, users, integrations, shares and network policies."""
    kind = "INTEGRATION" if subject.kind.endswith("INTEGRATION") else subject.kind
    is_created = subject.verb == "CREATE" and kind in _OF_ACCOUNT and not subject.replaces
    is_altered = subject.verb == "ALTER" and kind in (*_OF_ACCOUNT, "ACCOUNT", "NETWORK RULE")
    is_unset = any(subject.has(*words) for words in _PROTECTION) or subject.setting(_RETENTION) == "0"
    return (is_altered or is_created) and not is_unset and not is_described(subject)


def _copies(subject: Subject, key: str) -> bool:
    """Return whether a statement is a COPY INTO that sets an option to TRUE."""
    return subject.verb == "COPY" and subject.has("INTO") and subject.setting(key) == "TRUE"


def _is_altered(subject: Subject, *kinds: str) -> bool:
    """Return whether a statement alters an object of one of the kinds; without kinds, of any."""
    return subject.verb == "ALTER" and (not kinds or subject.kind in kinds)


RULES.statement(
    "SF102", "replace_view", "CREATE OR REPLACE VIEW without COPY GRANTS",
    where=lambda step: not step.parsed.options.copy_grants,
)  # fmt: skip
RULES.about("SF109", (
    "SWAP of{name}: readers get the other rows at once; grants, streams, policies and tags go with the rows, not the name",
    lambda subject: _is_altered(subject) and subject.has("SWAP", "WITH"),
))  # fmt: skip
RULES.about("SF112", (
    "CHANGE_TRACKING = FALSE of{name}: its streams become stale, and dynamic tables on it fail",
    lambda subject: _is_altered(subject)
    and (subject.setting("CHANGE_TRACKING") == "FALSE" or subject.has("UNSET", "CHANGE_TRACKING")),
), (
    "MAX_DATA_EXTENSION_TIME_IN_DAYS = 0 of{name}: its streams become stale as soon as they are not read within its retention",
    lambda subject: _is_altered(subject) and subject.setting("MAX_DATA_EXTENSION_TIME_IN_DAYS") == "0",
))  # fmt: skip
RULES.clause(
    "SF116", "add_column", ColumnClause, "ADD COLUMN {clause.column} NOT NULL without DEFAULT",
    where=lambda clause: not clause.nullable and clause.default is None,
)  # fmt: skip
RULES.about("SF122", (
    "COPY INTO … FORCE = TRUE: files that are loaded already are loaded again, and rows double",
    lambda subject: _copies(subject, "FORCE"),
))  # fmt: skip
RULES.about("SF123", (
    "COPY INTO … PURGE = TRUE: the files are deleted from the stage after the load",
    lambda subject: _copies(subject, "PURGE"),
), (
    "{subject.verb}: the files are deleted from the stage",
    lambda subject: subject.verb in ("REMOVE", "RM"),
))  # fmt: skip
RULES.about("SF128", (
    "{subject.verb} {subject.kind}{name}: it acts on the whole account, beyond this catalog",
    _acts_on_account,
))  # fmt: skip
RULES.about("SF130", (
    "EXECUTE {subject.kind}{name}: it runs after this statement, and its errors are not reported here",
    lambda subject: subject.verb == "EXECUTE" and subject.kind in ("TASK", "ALERT"),
), (
    "ALTER PIPE … REFRESH{name}: it queues all files that were staged in the last 7 days and not loaded",
    lambda subject: _is_altered(subject, "PIPE") and subject.has("REFRESH"),
))  # fmt: skip
RULES.about("SF133", (
    "UNSET TAG on {subject.kind}{name}: a masking policy of the tag no longer applies",
    lambda subject: _is_altered(subject) and subject.has("UNSET", "TAG"),
))  # fmt: skip
RULES.about("SF135", (
    "CLONE of a past state, for{name}: it fails where the state is older than the retention",
    lambda subject: subject.verb == "CREATE" and subject.has("CLONE") and (subject.has("AT", "(") or subject.has("BEFORE", "(")),
))  # fmt: skip
RULES.about("SF137", (
    "ALTER {subject.kind} … RENAME{name}: views, tasks, pipes and jobs that write the old name fail, for every object inside",
    lambda subject: _is_altered(subject, "SCHEMA", "DATABASE") and subject.has("RENAME", "TO"),
))  # fmt: skip
RULES.about("SF138", (
    "SET URL of the stage{name}: loads from it read other files, whether these were loaded or not",
    lambda subject: _is_altered(subject, "STAGE") and subject.setting("URL") is not None,
))  # fmt: skip
RULES.about("SF139", (
    "ADD SEARCH OPTIMIZATION of{name}: its structures are built and kept in the background, for credits",
    lambda subject: _is_altered(subject) and subject.has("ADD", "SEARCH", "OPTIMIZATION"),
))  # fmt: skip


@RULES.check_subject("SF101")
def create_or_replace_table(subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find CREATE OR REPLACE TABLE."""
    is_table = step.parsed.operation == "replace_table" and subject.kind not in _REPLACED_TABLES
    if is_table and not subject.is_temporary:
        transient = " TRANSIENT" if "TRANSIENT" in subject.modifiers else ""
        yield RuleFinding(f"CREATE OR REPLACE{transient} TABLE", step)


# What is lost with an object that no UNDROP restores. https://docs.snowflake.com/en/sql-reference/sql/undrop
LOST_STATE: Mapping[str, str] = {
    "STREAM": "its offset is lost, and with it the changes that no consumer has read; there is no UNDROP",
    "PIPE": "its load history of 14 days is lost, so that a new pipe may load files twice; there is no UNDROP",
    "STAGE": "the files of an internal stage are deleted; there is no UNDROP",
    "TASK": "its schedule, state and place in a task graph are lost; there is no UNDROP",
    "SEQUENCE": "its next value is lost: a new one starts again, and returns numbers twice; there is no UNDROP",
    "ALERT": "its schedule and state are lost; there is no UNDROP",
    "FILE FORMAT": "stages, pipes and COPY statements that use it fail; there is no UNDROP",
}
# What is lost with a table of another kind that is replaced; other rules find its DROP.
_REPLACED_TABLES: Mapping[str, str] = {
    "EXTERNAL TABLE": "its registered files and its grants are lost; there is no UNDROP",
    "DYNAMIC TABLE": "its rows and grants are lost, all rows are computed again, and its streams are stale",
}
# Objects without much state. They are replaced if an earlier file creates them.
_LIGHT = ("FILE FORMAT", "ALERT", "TASK")


def _removes(subject: Subject, step: Step, file: File) -> str:
    """Return how a statement removes an object: `DROP` or `CREATE OR REPLACE`; empty if it does not.

    Objects of the session, and those that an earlier statement of the file creates, do not count.
    """
    before = (other.parsed.subject for other in file.before(step))
    created = (other for other in before if other and other.verb == "CREATE")
    if subject.is_temporary or any(other.is_same_object(subject) for other in created):
        return ""
    return "CREATE OR REPLACE" if subject.replaces else "DROP" if subject.verb == "DROP" else ""


@RULES.check_subject("SF105")
def drop_object_with_state(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find DROP of objects that no UNDROP restores."""
    lost = LOST_STATE.get(subject.kind)
    if lost and _removes(subject, step, file) == "DROP":
        yield from finding_about(step, f"DROP {subject.kind}", lost)


@RULES.check_subject("SF106")
def replace_object_with_state(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find CREATE OR REPLACE of objects with state."""
    lost = LOST_STATE.get(subject.kind) or _REPLACED_TABLES.get(subject.kind)
    if lost is None or _removes(subject, step, file) != "CREATE OR REPLACE":
        return
    # An external stage has no files, and a task begins suspended, which SF131 finds.
    is_light = subject.kind in _LIGHT or (subject.kind == "STAGE" and subject.setting("URL") is not None)
    if not is_light or (subject.kind != "TASK" and file.tables.made(step)):
        yield from finding_about(step, f"CREATE OR REPLACE {subject.kind}", lost)


# What is lost with an object that others depend on, and that no file of a table shows.
_ACCESS: Mapping[str, str] = {
    "ROLE": "its grants are lost, and every user who works with it loses access",
    "DATABASE ROLE": "its grants are lost, and every role that it is granted to loses access",
    "USER": "its grants, keys and settings are lost, and its sessions fail",
    "SHARE": "every consumer loses access at once, and must create its database again",
    "WAREHOUSE": "its running statements fail, and tasks and users that name it too",
    "RESOURCE MONITOR": "its limit no longer stops any warehouse",
    "INTEGRATION": "stages, pipes, tasks and functions that use it fail, and the trust with the other side is made again",
    "EXTERNAL ACCESS INTEGRATION": "functions and procedures that use it fail",
    "EXTERNAL VOLUME": "Iceberg tables that use it fail; UNDROP EXTERNAL VOLUME restores it within its retention",
    "NETWORK POLICY": "which addresses may connect changes",
    "NETWORK RULE": "network policies and integrations that use it change",
    "SECRET": "functions, integrations and repositories that use it fail",
    "TAG": "its values on all objects are lost, and masking by this tag ends; UNDROP TAG restores it within 24 hours",
    "CONNECTION": "clients that use it fail",
    "FAILOVER GROUP": "its replicas are no longer refreshed",
    "REPLICATION GROUP": "its replicas are no longer refreshed",
}
_POLICY = "it is refused while a table, column or account uses the policy; else its rules and grants are lost"


@RULES.check_subject("SF107")
def drop_or_replace_access(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find DROP and CREATE OR REPLACE of roles, users, shares, warehouses, integrations, policies, tags and the like."""
    general = "INTEGRATION" if subject.kind.endswith("INTEGRATION") else subject.kind
    consequence = _ACCESS.get(subject.kind) or _ACCESS.get(general, _POLICY if general.endswith("POLICY") else "")
    if consequence and (verb := _removes(subject, step, file)):
        yield from finding_about(step, f"{verb} {subject.kind}", consequence)


@RULES.check_subject("SF108")
def drop_or_replace_namespace(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find DROP and CREATE OR REPLACE of schemas and databases. RESTRICT is only about foreign keys."""
    if subject.kind in ("SCHEMA", "DATABASE") and (verb := _removes(subject, step, file)):
        lost = "all its tables, views, streams, pipes, stages, tasks and grants are dropped with it"
        back = f"UNDROP {subject.kind} restores it within its retention, after the new one is renamed or dropped"
        yield from finding_about(step, f"{verb} {subject.kind}", f"{lost}; {back}")


_HIDES = ("MASKING POLICY", "ROW ACCESS POLICY")
# `SET BODY -> val` has the words SET, BODY, -, > and val.
_ONE_WORD = 5


@RULES.check_subject("SF110")
def protection_removed(subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find policies that are detached, unless the same statement attaches another one, and policies that hide nothing."""
    if subject.verb == "ALTER" and subject.kind in _HIDES and subject.words[:2] == ("SET", "BODY"):
        body = subject.words[-1]
        if len(subject.words) == _ONE_WORD and re.fullmatch(r"(?!NULL$)[A-Z_]\w*", body):
            yield from finding_about(step, subject.kind, f"the body {body} hides nothing")
        return
    for words in _PROTECTION if subject.verb == "ALTER" else ():
        is_exchanged = words[-1] == "POLICY" and (subject.has("ADD", *words[1:]) or subject.has("SET", *words[1:]))
        if subject.has(*words) and not is_exchanged:
            consequence = "values or rows that it hides are visible to every role with SELECT"
            if words[-1] == "NETWORK_POLICY" or words[1] in ("PASSWORD", "SESSION", "AUTHENTICATION", "NETWORK"):
                consequence = "its limit on who may connect no longer holds"
            yield from finding_about(step, f"{' '.join(words)} on {subject.kind}", consequence)


@RULES.check_subject("SF111")
def time_travel_reduced(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find a retention of 0, and one lower than earlier statements declare."""
    days, before = subject.setting(_RETENTION), file.properties(step).get(_RETENTION)
    if subject.has("UNSET", _RETENTION):
        days = "1"  # The default of an account.
    if not (days or "").isdigit() or not {"TRANSIENT", "TEMPORARY", "TEMP"}.isdisjoint(subject.modifiers):
        return
    if days == "0" or (subject.verb == "ALTER" and before and before.isdigit() and int(days or 0) < int(before)):
        how_long = "" if days == "0" else " as long"
        lost = f"older states can no longer be queried, cloned or restored by UNDROP{how_long}"
        yield from finding_about(step, f"{_RETENTION} = {days}" + (f" after {before}, of" if before else " of"), lost)


# Words in names of tables and schemas whose rows can be loaded again.
_FLEETING = re.compile(
    r"(?i)(?:^|_)(?:te?mp|stage?|stg|staging|landing|raw|scratch|work|wrk|cache|transient|swap|load)(?:_|$)"
)


@RULES.check_subject("SF113")
def no_fail_safe(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find transient tables, schemas and databases, unless the name or the file says that the rows are temporary."""
    around = _transient_around(subject, step, file)
    is_new = subject.verb == "CREATE" and not subject.replaces  # SF101 and SF108 find CREATE OR REPLACE.
    if not is_new or subject.name is None or not ("TRANSIENT" in subject.modifiers or around):
        return
    days = subject.setting(_RETENTION) or ""
    is_long = days.isdigit() and int(days) > 1
    is_fleeting = any(map(_FLEETING.search, subject.name.parts))
    if (is_long or not is_fleeting) and not _is_dropped_later(subject, step, file):
        what = subject.kind if around else f"TRANSIENT {subject.kind}"
        refused = f"; Snowflake refuses a retention of {days} days" if is_long else ""
        yield from finding_about(step, what, f"{around}no fail-safe, and at most one day of time travel{refused}")


def _transient_around(subject: Subject, step: Step, file: File) -> str:
    """Return the words for a new table in a schema or database that is declared transient; else an empty text."""
    if subject.kind != "TABLE" or subject.name is None or subject.is_temporary or "TRANSIENT" in subject.modifiers:
        return ""
    around = dict(zip(("SCHEMA", "DATABASE"), reversed(subject.name.key[:-1]), strict=False))
    for made in file.tables.objects(step, "transient") if around and subject.verb == "CREATE" else ():
        if "TRANSIENT" in made.modifiers and made.name and made.name.key[-1] == around.get(made.kind):
            return f"it is transient, as the {made.kind.lower()} {made.name} is: "
    return ""


def _is_dropped_later(subject: Subject, step: Step, file: File) -> bool:
    later = (other.parsed.subject for other in file.after(step))
    return any(other.verb == "DROP" and other.is_same_object(subject) for other in later if other)


@RULES.check_subject("SF114")
def temporary_table(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find temporary tables that no later statement of the file names, or that have the name of a declared table."""
    if subject.verb != "CREATE" or subject.kind != "TABLE" or not subject.is_temporary or not step.target:
        return
    made = file.tables.made(step)
    if made and not made.is_temporary:
        hides = "it hides the permanent table of this name: later statements of the file change only the temporary one"
        yield from finding_about(step, "TEMPORARY TABLE", hides)
    elif not any(_may_use(other, step.target.key) for other in file.after(step)):
        gone = "it is gone when the session of this file ends, with its rows"
        yield from finding_about(step, "TEMPORARY TABLE", gone)


def _may_use(step: Step, key: tuple[str, ...]) -> bool:
    names = (*step.parsed.targets, *(step.parsed.sources or ()))
    return step.parsed.sources is None or any(name.key[-1] == key[-1] for name in names)


@RULES.check_subject("SF115")
def clustering_changed(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find CLUSTER BY, DROP CLUSTERING KEY and RECLUSTER of an existing table; RECLUSTER after CLUSTER BY adds nothing."""
    fields = next(of(step, Fields), None)
    if subject.verb != "ALTER":
        return
    if subject.has("RECLUSTER") and not subject.has("SUSPEND"):
        if not any("cluster_by" in other.operations and is_same_table(other, step) for other in file.before(step)):
            cost = "it rewrites micro-partitions, which costs credits in the background"
            yield from finding_about(step, "RECLUSTER of", cost)
    elif fields and fields.operation == "cluster_by" and fields.fields:
        cost = "automatic clustering rewrites the table in the background, which costs credits until it is clustered"
        yield from finding_about(step, "CLUSTER BY of", cost)
    elif fields and fields.operation == "cluster_by":
        lost = "the table is no longer clustered, and queries that prune by the key scan more"
        yield from finding_about(step, "DROP CLUSTERING KEY of", lost)


_CONSTANT = re.compile(
    r"(?is)[-+]?[\d.]+(?:e[-+]?\d+)?|'(?:[^']|'')*'|true|false|null|(?:date|timestamp)\s*'[^']*'|'[^']*'::\w+"
)


@RULES.check_subject("SF117")
def default_refused(subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find defaults that Snowflake refuses for the columns of an existing table."""
    if "add_column" in step.operations and (subject.has("AUTOINCREMENT") or subject.has("IDENTITY")):
        yield RuleFinding("ADD COLUMN with AUTOINCREMENT, whose values are not constant", step)
    for new in of(step, ColumnClause, "add_column"):
        if new.default is not None and not _CONSTANT.fullmatch(new.default.strip()):
            yield RuleFinding(f"ADD COLUMN {new.column} DEFAULT {new.default}, which is not constant", step, new.place)
    for old in of(step, AlterColumn, "alter_column_default"):
        if old.default is not None and not old.default.upper().endswith("NEXTVAL"):
            change = f"ALTER COLUMN {old.column} SET DEFAULT {old.default}"
            yield RuleFinding(f"{change}, which is no sequence", step, old.place)


@RULES.check_subject("SF118")
def set_not_null(_subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find SET NOT NULL of columns that may hold NULL."""
    for part in of(step, AlterColumn, "alter_column_nullability"):
        column = file.column(step, part.key)
        if part.nullable is False and not (column and column.required):
            yield RuleFinding(f"SET NOT NULL of {part.column}, where a row with NULL fails it", step, part.place)


class _Type(NamedTuple):
    name: str
    parameters: tuple[int, ...]


@RULES.check_subject("SF119")
def type_change_refused(_subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find new types of declared columns that Snowflake refuses."""
    for part, old, new in _retyped(step, file):
        why = _refused(old, new)
        if why:
            yield RuleFinding(f"{part.column} from {_spelled(old)} to {_spelled(new)}: {why}", step, part.place)


@RULES.check_subject("SF120")
def fewer_digits(_subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find declared numbers that get fewer digits."""
    for part, old, new in _retyped(step, file):
        if not _refused(old, new) and old.name == "NUMBER" and new.parameters < old.parameters:
            change = f"{part.column} from {_spelled(old)} to {_spelled(new)}"
            yield RuleFinding(f"{change}: a longer number fails it, and time travel before it fails", step, part.place)


def _retyped(step: Step, file: File) -> Iterator[tuple[AlterColumn, _Type, _Type]]:
    """Yield the clauses that change the type of a declared column, with the old and the new type."""
    for part in of(step, AlterColumn, "alter_column_type"):
        column = file.column(step, part.key)
        old, new = _type(column.spelling) if column else None, _type(part.type)
        if old and new:
            yield part, old, new


def _type(text: str | None) -> _Type | None:
    """Return a type of Snowflake; None where it is not supported, or a parameter of the account decides its meaning."""
    try:
        spellings = types_of(text or "", SNOWFLAKE.name)
    except UnsupportedClause:
        return None
    name, _, rest = spellings[0].partition("(")
    numbers = rest.rstrip(")").split(",") if rest else []
    if len(spellings) > 2 or not all(number.strip().isdigit() for number in numbers):
        return None
    return _Type(name, tuple(map(int, numbers)))


def _refused(old: _Type, new: _Type) -> str:
    """Return why Snowflake refuses a new type. https://docs.snowflake.com/en/sql-reference/sql/alter-table-column"""
    if old.name != new.name:
        is_text = {old.name, new.name} <= {"TEXT", "VARCHAR"}
        return "" if is_text else "Snowflake does not change a type into another one"
    if old.name in ("VARCHAR", "BINARY") and new.parameters and new.parameters < (old.parameters or (10**9,)):
        return "Snowflake does not shorten a column"
    if old.name == "NUMBER" and old.parameters[1:] != new.parameters[1:]:
        return "Snowflake does not change the scale of a number"
    return ""


def _spelled(type_: _Type) -> str:
    return f"{type_.name}({', '.join(map(str, type_.parameters))})" if type_.parameters else type_.name


@RULES.check_subject("SF121")
def secure_view_lost(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find secure views that are replaced by others, and UNSET SECURE."""
    made = file.tables.made(step) if subject.replaces and subject.kind.endswith("VIEW") else None
    if made and "SECURE" in made.modifiers and "SECURE" not in subject.modifiers:
        yield from finding_about(step, f"CREATE OR REPLACE {subject.kind} without SECURE", "it was a secure view")
    elif subject.kind.endswith("VIEW") and subject.has("UNSET", "SECURE"):
        lost = "its definition and hidden rows can be inferred"
        yield from finding_about(step, f"UNSET SECURE of {subject.kind}", lost)


@RULES.check_subject("SF131")
def stays_stopped(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find tasks, pipes, alerts and dynamic tables that a file stops and does not start again."""
    paused = _is_altered(subject, "PIPE") and subject.setting("PIPE_EXECUTION_PAUSED") == "TRUE"
    suspended = _is_altered(subject, "TASK", "ALERT", "DYNAMIC TABLE") and subject.words[:1] == ("SUSPEND",)
    replaced = subject.replaces and subject.kind in ("TASK", "ALERT") and file.tables.made(step) is not None
    if not (paused or suspended or replaced) or _is_started_later(subject, step, file):
        return
    altered = f"ALTER {subject.kind} … {'PAUSED' if paused else 'SUSPEND'}"
    stopped = "it does not run until it is resumed, and no later statement of the file does that"
    yield from finding_about(step, f"CREATE OR REPLACE {subject.kind}" if replaced else altered, stopped)


def _is_started_later(subject: Subject, step: Step, file: File) -> bool:
    later = (other.parsed.subject for other in file.after(step))
    same = (other for other in later if other and other.is_same_object(subject))
    return any(
        other.words[:1] == ("RESUME",) or other.setting("PIPE_EXECUTION_PAUSED") == "FALSE" or other.verb == "DROP"
        for other in same
    ) or any("SYSTEM$TASK_DEPENDENTS_ENABLE" in other.statement.text.upper() for other in file.steps)


@RULES.check_subject("SF132")
def drop_clustering_column(_subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find dropped columns of the clustering key."""
    known = file.known(step) if "drop_column" in step.operations else None
    for part in of(step, DropColumn):
        if known and part.key[-1] in known.clustering:
            yield RuleFinding(f"DROP COLUMN {part.column}: the clustering key uses it", step, part.place)


@RULES.check_subject("SF124")
def copy_skips_rows(subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find COPY INTO that loads a file in part, or shortens values."""
    on_error = subject.setting("ON_ERROR") or ""
    if subject.verb == "COPY" and subject.has("INTO") and on_error.startswith(("CONTINUE", "SKIP_FILE")):
        lost = "rows with errors are missing, and the statement succeeds"
        yield RuleFinding(f"COPY INTO … ON_ERROR = {on_error}: {lost}", step)
    elif _copies(subject, "TRUNCATECOLUMNS"):
        yield RuleFinding("COPY INTO … TRUNCATECOLUMNS = TRUE: longer strings are cut without an error", step)


# Settings of a session that change the result of later statements.
_SETTINGS = {
    ("AUTOCOMMIT", "FALSE"): "statements on rows are undone if nothing commits them",
    ("ERROR_ON_NONDETERMINISTIC_MERGE", "FALSE"): "MERGE picks any of several matching rows without an error",
    ("ERROR_ON_NONDETERMINISTIC_UPDATE", "FALSE"): "UPDATE picks any of several matching rows without an error",
    ("QUOTED_IDENTIFIERS_IGNORE_CASE", "TRUE"): "quoted names are created in capitals, and names in other case are not found",
}  # fmt: skip


@RULES.check_subject("SF134")
def setting_of_session(subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find settings of the session that change what later statements do."""
    for (key, value), consequence in _SETTINGS.items() if subject.kind == "SESSION" else ():
        if subject.setting(key) == value:
            yield RuleFinding(f"ALTER SESSION SET {key} = {value}: {consequence}", step)


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
# Words that are names only in quotes. https://docs.snowflake.com/en/sql-reference/reserved-keywords
_RESERVED = frozenset(
    {
        "ALL", "ALTER", "AND", "ANY", "AS", "BETWEEN", "BY", "CASE", "CAST", "CHECK", "COLUMN", "CONNECT", "CONSTRAINT", "CREATE",
        "CROSS", "CURRENT", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "DELETE", "DISTINCT", "DROP",
        "ELSE", "EXISTS", "FALSE", "FOLLOWING", "FOR", "FROM", "FULL", "GRANT", "GROUP", "HAVING", "ILIKE", "IN", "INCREMENT",
        "INNER", "INSERT", "INTERSECT", "INTO", "IS", "JOIN", "LATERAL", "LEFT", "LIKE", "LOCALTIME", "LOCALTIMESTAMP", "MINUS",
        "NATURAL", "NOT", "NULL", "OF", "ON", "OR", "ORDER", "QUALIFY", "REGEXP", "REVOKE", "RIGHT", "RLIKE", "ROW", "ROWS",
        "SAMPLE", "SCHEMA", "SELECT", "SET", "SOME", "START", "TABLE", "TABLESAMPLE", "THEN", "TO", "TRIGGER", "TRUE", "TRY_CAST",
        "UNION", "UNIQUE", "UPDATE", "USING", "VALUES", "VIEW", "WHEN", "WHENEVER", "WHERE", "WITH",
    }
)  # fmt: skip


@RULES.check_subject("SF136")
def case_sensitive_name(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find new tables, views and columns with a quoted name in lower or mixed case. Iceberg's other engines need such names."""
    names = [subject.name] if subject.verb == "CREATE" and subject.kind in ("TABLE", "VIEW") and subject.name else []
    for name in names if not subject.replaces else ():
        if _needs_quotes(name.parts[-1], name.key[-1]):
            yield RuleFinding(f'the name "{name.parts[-1]}" is found only in quotes, in this case', step)
    known = file.known(step) if "add_column" in step.operations else None
    if "ICEBERG TABLE" in subject.kind or (known and any(key != key.upper() for key in known.columns or ())):
        return
    for part in of(step, ColumnClause, "add_column"):
        if part.key and _needs_quotes(part.path[-1], part.key[-1]):
            yield RuleFinding(f'the column "{part.path[-1]}" is found only in quotes, in this case', step, part.place)


def _needs_quotes(text: str, key: str) -> bool:
    """Return whether a name was quoted only for its case."""
    return bool(_PLAIN.fullmatch(text)) and text == key != key.upper() and text.upper() not in _RESERVED
