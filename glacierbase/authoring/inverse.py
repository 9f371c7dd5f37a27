"""The inverse of a migration: statements that undo what can be undone, and a comment for each that cannot.

Statements are inverted as they are written in the file, so that expressions of its template stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from glacierbase.migrations.statements import split_statements
from glacierbase.model.names import QUOTED

_PART = rf"(?:{QUOTED}|\{{\{{[^{{}}]*\}}\}}|[\w$])+"
_NAME = rf"{_PART}(?:\s*\.\s*{_PART})*"
_STRING = r"'(?:[^'\\]|''|\\.)*'"
# A transform of a partition field; a bare name may also be that of a field with any transform.
_TRANSFORM = r"\w+\s*\([^()]*\)"
_ALTER = rf"ALTER\s+TABLE\s+(?P<table>{_NAME})\s+"
_PARTS = re.compile(_PART)
# What encloses commas that do not separate columns, and the commas that do.
_SIGN = re.compile(rf"{_STRING}|{QUOTED}|[(<]|[)>]|,")
_COLUMN = re.compile(rf"(?P<name>{_NAME})\s+(?P<type>\w.*)", re.DOTALL)
_PROPERTY = re.compile(rf"\s*(?P<key>{_STRING}|[\w.-]+)(?:\s*=\s*|\s+)(?:{_STRING}|[\w.-]+)\s*", re.DOTALL)
_TEMPLATE_START = re.compile(r"\{(?=[{%#])")
_LONGEST = 120


class NotInverted(Exception):
    """A statement that cannot be inverted; the message is the reason."""


def inverse(text: str, dialect: str, earlier: Sequence[str]) -> tuple[str, bool]:
    """Return the SQL that undoes a migration, in reverse order, and whether it holds a statement.

    Args:
        text: of the migration file, a template.
        earlier: the texts of the migrations before it.

    Raises:
        MigrationFileError: the text cannot be split before it is rendered.
    """
    statements = [statement.text for statement in split_statements(text, dialect)]
    lines: list[str] = []
    for index in reversed(range(len(statements))):
        try:
            if "{%" in text:
                raise NotInverted("the file has template blocks")
            lines += [*_inverted(statements[index], (*earlier, *statements[:index])), ""]
        except NotInverted as why:
            lines += [_comment(statements[index], why), ""]
    return "\n".join(lines), any(line and not line.startswith("--") for line in lines)


def _inverted(statement: str, earlier: Sequence[str]) -> Iterator[str]:
    """Yield the lines that undo one statement."""
    for pattern, undo in _INVERSES:
        if found := pattern.fullmatch(statement):
            yield from undo(found, earlier)
            return
    raise NotInverted("no inverse is known")


def _rename_column(found: re.Match[str], _: Sequence[str]) -> Iterator[str]:
    *parents, old = _PARTS.findall(found["old"])
    yield f"ALTER TABLE {found['table']} RENAME COLUMN {'.'.join((*parents, found['new']))} TO {old};"


def _rename_table(found: re.Match[str], _: Sequence[str]) -> Iterator[str]:
    old, new = _PARTS.findall(found["table"]), _PARTS.findall(found["new"])
    # The new name may lack the first parts, such as the catalog.
    shared = len(old) - len(new)
    if shared < 0:
        raise NotInverted("the new name has more parts than the old one")
    yield f"ALTER TABLE {'.'.join((*old[:shared], *new))} RENAME TO {'.'.join(old[shared:])};"


def _add_columns(found: re.Match[str], _: Sequence[str]) -> Iterator[str]:
    text = found["columns"].strip()
    columns = list(_split(text[1:-1] if text.startswith("(") else text))
    matches = [_COLUMN.fullmatch(column.strip()) for column in columns]
    names = [match["name"] for match in matches if match]
    if len(names) < len(columns) or any(name.upper() in ("IF", "ADD", "COLUMN") for name in names):
        raise NotInverted("the columns are not understood")
    yield f"ALTER TABLE {found['table']} DROP COLUMN {', '.join(names)};"


def _add_field(found: re.Match[str], _: Sequence[str]) -> Iterator[str]:
    yield f"ALTER TABLE {found['table']} DROP PARTITION FIELD {found['name'] or found['field']};"


def _drop_field(found: re.Match[str], _: Sequence[str]) -> Iterator[str]:
    yield f"ALTER TABLE {found['table']} ADD PARTITION FIELD {found['field']};"


def _set_properties(found: re.Match[str], earlier: Sequence[str]) -> Iterator[str]:
    matches = [_PROPERTY.fullmatch(each) for each in _split(found["properties"])]
    keys = [match["key"] for match in matches if match]
    if len(keys) < len(matches):
        raise NotInverted("the properties are not understood")
    known = [key for key in keys if any(key.strip("'") in text for text in earlier)]
    if known:
        raise NotInverted(f"set {', '.join(known)} to the former value, see the files before")
    yield "-- no file before sets these keys; a value that was set in another way is not known"
    yield f"ALTER TABLE {found['table']} UNSET TBLPROPERTIES ({', '.join(keys)});"


def _split(text: str) -> Iterator[str]:
    """Yield the parts between the commas that are not enclosed.

    Raises:
        NotInverted: a bracket is not closed.
    """
    start = depth = 0
    for sign in _SIGN.finditer(text):
        depth += (sign[0] in "(<") - (sign[0] in ")>")
        if depth < 0:
            break
        if sign[0] == "," and not depth:
            yield text[start : sign.start()]
            start = sign.end()
    if depth:
        raise NotInverted("its brackets are not understood")
    yield text[start:]


def _comment(statement: str, why: NotInverted) -> str:
    """Return a comment on one line, with the beginning of the statement; expressions of the template are only text in it."""
    text = " ".join(statement.split())
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return _TEMPLATE_START.sub("{ ", f"-- not inverted: {text} ({' '.join(str(why).split())})")


_Undo = Callable[[re.Match[str], Sequence[str]], Iterator[str]]
_INVERSES: tuple[tuple[re.Pattern[str], _Undo], ...] = tuple(
    (re.compile(_ALTER + pattern, re.IGNORECASE | re.DOTALL), undo)
    for pattern, undo in (
        (rf"RENAME\s+COLUMN\s+(?P<old>{_NAME})\s+TO\s+(?P<new>{_PART})", _rename_column),
        (rf"RENAME\s+TO\s+(?P<new>{_NAME})", _rename_table),
        (r"ADD\s+COLUMNS?\b(?P<columns>.+)", _add_columns),
        (rf"ADD\s+PARTITION\s+FIELD\s+(?P<field>{_TRANSFORM}|{_PART})(?:\s+AS\s+(?P<name>{_PART}))?", _add_field),
        (rf"DROP\s+PARTITION\s+FIELD\s+(?P<field>{_TRANSFORM})", _drop_field),
        (r"SET\s+TBLPROPERTIES\s*\((?P<properties>.+)\)", _set_properties),
    )
)
