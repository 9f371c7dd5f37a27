"""SF: rules for Snowflake on grants, roles and policies. The claims are from Snowflake's documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from glacierbase.capabilities.review.rule import File, RuleFinding, Step
from glacierbase.capabilities.review.rules.snowflake import SnowflakeFamily
from glacierbase.model.text import first_of
from glacierbase.sql.dialects import SNOWFLAKE
from glacierbase.sql.statement import Subject
from glacierbase.sql.tokens import texts

RULES = SnowflakeFamily(__file__)


_ADMINS = ("ACCOUNTADMIN", "SECURITYADMIN", "ORGADMIN", "GLOBALORGADMIN")


def _widely(subject: Subject) -> str:
    """Return what makes a GRANT too wide; empty for other statements."""
    if subject.verb != "GRANT":
        return ""
    if subject.words[:1] == ("ALL",):
        return "ALL"
    if subject.has("TO", "ROLE", "PUBLIC") or subject.words[-2:] == ("TO", "PUBLIC"):
        return "to PUBLIC, which every user has"
    if subject.has("TO", "SHARE"):
        return "to a share, which other accounts read"
    return next((f"the role {admin}" for admin in _ADMINS if subject.words[:2] == ("ROLE", admin)), "") or (
        "MANAGE GRANTS" if subject.has("MANAGE", "GRANTS") else ""
    )


def _takes_ownership(subject: Subject) -> bool:
    is_copied = subject.has("COPY", "CURRENT", "GRANTS") or subject.has("FUTURE")
    return subject.verb == "GRANT" and subject.words[:1] == ("OWNERSHIP",) and not is_copied


RULES.about("SF104", (
    "REVOKE: queries and jobs that work with the privilege fail from then on",
    lambda subject: subject.verb == "REVOKE",
), (
    "GRANT … WITH GRANT OPTION: the role may give the privilege to any other role",
    lambda subject: subject.verb == "GRANT" and subject.has("WITH", "GRANT", "OPTION") and not _widely(subject),
))  # fmt: skip
RULES.about("SF125", (
    "GRANT OWNERSHIP with REVOKE CURRENT GRANTS: every other role loses its access",
    lambda subject: _takes_ownership(subject) and subject.has("REVOKE", "CURRENT", "GRANTS"),
), (
    "GRANT OWNERSHIP without COPY CURRENT GRANTS: it is refused if other roles have grants",
    _takes_ownership,
))  # fmt: skip
RULES.about("SF129", (
    "USE ROLE {subject.words[1]}",
    lambda subject: subject.verb == "USE" and subject.words[:1] == ("ROLE",) and subject.words[1:2] and subject.words[1] in _ADMINS,
))  # fmt: skip


@RULES.check_subject("SF126")
def wide_grant(subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find GRANT of everything, to everybody, or of an administrator's role."""
    if wide := _widely(subject):
        yield RuleFinding(f"GRANT {wide}", step)


class _Future(NamedTuple):
    """A GRANT on future objects.

    Attributes:
        objects: their kind in the plural: `TABLES`.
        kind: `SCHEMA` or `DATABASE`.
        place: the parts of its name.
    """

    objects: str
    kind: str
    place: tuple[str, ...]
    privileges: frozenset[str]
    grantee: str


def _future(subject: Subject) -> _Future | None:
    words = subject.words
    if not subject.grants_future or "IN" not in words or "TO" not in words:
        return None
    on, inside, to = words.index("ON"), words.index("IN"), words.index("TO")
    privileges = frozenset(word for word in words[:on] if word != ",")
    place = tuple(word for word in words[inside + 2 : to] if word != ".")
    return _Future(" ".join(words[on + 2 : inside]), words[inside + 1], place, privileges, " ".join(words[to + 1 :]))


@RULES.check_subject("SF142")
def future_grants_switched_off(subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find the first future grants in a schema after earlier ones in its database, unless the file repeats those in the schema."""
    new = _future(subject)
    if new is None or new.kind != "SCHEMA":
        return
    declared = (_future(made) for made in file.tables.objects(step, "future"))
    before = [known for known in declared if known and known.objects == new.objects]
    if any(known.place[-1:] == new.place[-1:] for known in before if known.kind == "SCHEMA"):
        return
    others = [_future(other.parsed.subject) for other in file.steps if other.parsed.subject]
    repeated = [known for known in others if known and (known.objects, known.kind, known.place) == new[:3]]
    around = (known for known in before if _is_around(known, new))
    lost = [known for known in around if not any(_covers(again, known) for again in repeated)]
    if lost:
        whose = first_of([known.grantee for known in lost], 3)
        what = f"future {new.objects.lower()} of {'.'.join(new.place)}"
        yield RuleFinding(f"the grants on {what} in the database no longer apply: {whose} cannot use new ones", step)


def _is_around(known: _Future, schema: _Future) -> bool:
    return known.kind == "DATABASE" and (len(schema.place) == 1 or known.place[-1:] == schema.place[:1])


def _covers(grant: _Future, known: _Future) -> bool:
    return grant.grantee == known.grantee and known.privileges <= grant.privileges


# Functions whose result is the name of an object, which is stored in capitals unless it was created in quotes.
_CONTEXT = frozenset(
    {"CURRENT_ROLE", "INVOKER_ROLE", "CURRENT_USER", "CURRENT_DATABASE", "CURRENT_SCHEMA", "CURRENT_WAREHOUSE"}
)
_IN_SESSION = frozenset({"IS_ROLE_IN_SESSION", "IS_GRANTED_TO_INVOKER_ROLE", "IS_DATABASE_ROLE_IN_SESSION"})
_COMPARES = frozenset({"NOT", "=", "<", ">", "!", "IN", "LIKE", "ANY", "(", "WHEN"})
# Names of users that were created in quotes are often addresses.
_NAME = re.compile(r"'(?=[^']*[a-z])[\w$]+'")


@RULES.check_subject("SF140")
def name_in_lower_case(_subject: Subject, step: Step, file: File) -> Iterator[RuleFinding]:
    """Find names in lower case that are compared with the present role, user, schema and the like."""
    for function, value in _compared(texts(step.statement.text, SNOWFLAKE.name)):
        made = (made.name for made in file.tables.objects(step, value))
        if not any(name and name.key[-1] == value for name in made):
            why = "names of roles and the like are in upper case, so that they are never equal"
            yield RuleFinding(f"{function}() with '{value}': {why}", step)
            return


def _compared(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the function and the string of each comparison that the case of the string decides."""
    for at, word in enumerate(words):
        if word in _IN_SESSION:
            values = words[at + 2 : at + 3]
        elif word in _CONTEXT and words[at + 1 : at + 3] == ("(", ")"):
            start = next((n for n in range(at + 3, len(words)) if words[n] not in _COMPARES), len(words))
            end = next((n for n in range(start, len(words)) if words[n] != "," and words[n][0] != "'"), len(words))
            values = words[start:end] if start > at + 3 else ()
            values += words[at - 2 : at - 1] if words[at - 1 : at] == ("=",) else ()
        else:
            continue
        yield from ((word, value.strip("'")) for value in values if _NAME.fullmatch(value))


_HIDES = ("MASKING POLICY", "ROW ACCESS POLICY")


@RULES.check_subject("SF141")
def policy_open_by_default(subject: Subject, step: Step, _file: File) -> Iterator[RuleFinding]:
    """Find new policies that hide nothing, and masking policies that show the value to every role that they do not list."""
    words = texts(step.statement.text, SNOWFLAKE.name) if subject.kind in _HIDES and not subject.replaces else ()
    body = words[words.index(">") :] if ">" in words else ()
    if subject.kind == "ROW ACCESS POLICY":
        if subject.verb == "CREATE" and body[:2] == (">", "TRUE") and body[2:3] in ((), (";",), ("COMMENT",)):
            yield RuleFinding("the row access policy shows all rows to every role", step)
        return
    if not body or any(word in body for word in ("NOT", "!", "<")) or any(_compared(body)):
        return
    is_by_role = not (_CONTEXT | _IN_SESSION).isdisjoint(body)
    rest = body[-2:] if body[-1] == "END" else ()
    if is_by_role and rest and body[-3] == "ELSE" and re.fullmatch(r"(?!NULL$)[A-Z_]\w*", rest[0]):
        what = f"the masking policy ends with ELSE {rest[0].lower()}"
        yield RuleFinding(f"{what}: a role that it does not list reads the value", step)
