"""Read what `alembic upgrade --sql` prints: one SQL script in which comments separate the revisions.

https://alembic.sqlalchemy.org/en/latest/offline.html
"""

from __future__ import annotations

import re

from glacierbase.capabilities.adopt.foreign import (
    ForeignFolder,
    ForeignProject,
    ForeignScript,
    HistoryRow,
    HistoryTable,
    Tool,
)
from glacierbase.errors import ConfigurationError
from glacierbase.migrations.new_files import as_template
from glacierbase.model.text import first_of
from glacierbase.sql.tokens import Source

_MARK = re.compile(
    r"(?m)^--[ \t]*Running[ \t]+(?P<what>upgrade|downgrade|stamp_revision)\b[^>\n]*->[ \t]*(?P<after>\S*)(?P<words>.*)"
)
_TABLE = r'(?:[\w`"\[\].]+\.)?[`"\[]?alembic_version[`"\]]?'
# Statements on the history table of Alembic, and on the transaction around the script.
_OWN = re.compile(
    rf"(?im)^(?:(?:CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?|INSERT\s+INTO\s+|UPDATE\s+|DELETE\s+FROM\s+){_TABLE}(?=[\s(])"
    r"[^;]{0,2000};|(?:BEGIN(?:\s+TRANSACTION)?|START\s+TRANSACTION|COMMIT)\s*;)[ \t]*$"
)


def read(folder: ForeignFolder, dialect: str) -> ForeignProject:  # noqa: ARG001 (the port's)
    """Return the revisions of a script.

    Raises:
        ConfigurationError: a folder was named, or the file is no such script.
    """
    path = folder.start or ""
    text = folder.text(path) if path else ""
    marks = list(_MARK.finditer(text))
    if all(mark["what"] != "upgrade" for mark in marks):
        what = f"{folder.shown(path)} {'has no line `-- Running upgrade A -> B`' if path else 'is a folder'}"
        hint = "write the script: alembic upgrade head --sql > upgrade.sql"
        raise ConfigurationError("NOTHING_TO_IMPORT", what, hint)
    lines, own = Source(text), list[int]()

    def blank(match: re.Match[str]) -> str:
        own.append(lines.place(match.start())[0])
        return re.sub(r"[^\n]", " ", match[0])

    kept = _OWN.sub(blank, text)
    above = kept[: marks[0].start()].split("\n")
    line = next((line for line, sql in enumerate(above, 1) if sql.strip() and not sql.lstrip().startswith("--")), 0)
    if line:
        folder.note(path, line, f"above the first revision, not imported: {above[line - 1].strip()}")
    scripts: list[ForeignScript] = []
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=True):
        line = lines.place(mark.start())[0]
        revision, words = mark["after"].strip(","), mark["words"].strip(" ,")
        sql = as_template(kept[mark.end() : end].strip())
        if mark["what"] == "upgrade":
            description = words or f"revision {revision}"
            scripts.append(ForeignScript(folder.shown(path), line, revision, description, None, sql, (revision,)))
        else:
            folder.note(path, line, f"{mark['what']}: only upgrades are imported")
    if own:
        what = f"left out on lines {first_of(list(map(str, own)), 12)}: the statements on alembic_version and the transaction"
        folder.note(path, own[0], f"{what}, which the history of glacierbase replaces")
    return ForeignProject(tuple(scripts), tuple(folder.not_mapped))


def _row(revision: str) -> HistoryRow:
    """Return what the row of a revision means: it and all before it are applied."""
    return HistoryRow(key=(revision,), name=revision, covers=True)


ALEMBIC = Tool(
    name="Alembic",
    read=read,
    history=HistoryTable(name="alembic_version", columns=("version_num",), row=_row),
)
