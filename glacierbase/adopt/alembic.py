"""Read what `alembic upgrade --sql` prints: one SQL script in which comments separate the revisions.

https://alembic.sqlalchemy.org/en/latest/offline.html
"""

from __future__ import annotations

import re

from glacierbase.adopt.folder import ForeignFolder
from glacierbase.adopt.foreign import ForeignProject, HistoryRow, HistoryTable, NotMapped, Script, Tool
from glacierbase.errors import ConfigurationError
from glacierbase.migrations.new_files import as_template
from glacierbase.model.text import first_of
from glacierbase.sql.tokens import Source

_MARK = re.compile(r"--\s*Running\s+(?P<what>upgrade|downgrade|stamp_revision)\b[^>]*->\s*(?P<after>\S*)(?P<words>.*)")
_TABLE = r'(?:[\w`"\[\].]+\.)?[`"\[]?alembic_version[`"\]]?'
# Statements on the history table of alembic, and on the transaction around the script.
_OWN = re.compile(
    rf"(?im)^(?:CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?|INSERT\s+INTO\s+|UPDATE\s+|DELETE\s+FROM\s+){_TABLE}(?=[\s(])"
    r"[^;]{0,2000};[ \t]*$"
)
_TRANSACTION = re.compile(r"(?im)^(?:BEGIN(?:\s+TRANSACTION)?|START\s+TRANSACTION|COMMIT)\s*;[ \t]*$")


def read(folder: ForeignFolder, dialect: str) -> ForeignProject:  # noqa: ARG001 (the port's)
    """Return the revisions of a script.

    Raises:
        ConfigurationError: a folder was named, or the file is no such script.
    """
    if folder.start is None:
        what = f"{folder.shown('')} is a folder"
        raise ConfigurationError(
            "NOTHING_TO_IMPORT", what, "write the script: alembic upgrade head --sql > upgrade.sql"
        )
    path, text = folder.shown(folder.start), folder.text(folder.start)
    lines = text.split("\n")
    marks = [(number, found) for number, line in enumerate(lines, start=1) if (found := _MARK.match(line))]
    upgrades = [(number, found) for number, found in marks if found["what"] == "upgrade"]
    if not upgrades:
        what = f"{path} has no line `-- Running upgrade A -> B`"
        raise ConfigurationError(
            "NOTHING_TO_IMPORT", what, "write the script: alembic upgrade head --sql > upgrade.sql"
        )
    not_mapped: list[NotMapped] = []
    own: list[int] = []
    scripts: list[Script] = []
    _check_above("\n".join(lines[: marks[0][0] - 1]), path, own, not_mapped)
    for index, (number, found) in enumerate(marks):
        end = marks[index + 1][0] - 1 if index + 1 < len(marks) else len(lines)
        body = "\n".join(lines[number:end])
        if found["what"] != "upgrade":
            not_mapped.append(NotMapped(path, number, f"{found['what']}: only upgrades are imported"))
            continue
        sql = _without_own(body, number + 1, own)
        scripts.append(_script(path, number, found, sql))
    if own:
        what = f"left out on lines {first_of(list(map(str, own)), 12)}: the statements on alembic_version and the transaction"
        not_mapped.append(NotMapped(path, own[0], f"{what}, which the history of glacierbase replaces"))
    return ForeignProject(tuple(scripts), tuple(not_mapped))


def _script(path: str, line: int, found: re.Match[str], sql: str) -> Script:
    words = found["words"].strip(" ,")
    revision = found["after"].strip(",")
    return Script(path, line, revision, words or f"revision {revision}", None, as_template(sql.strip()), (revision,))


def _check_above(text: str, path: str, own: list[int], not_mapped: list[NotMapped]) -> None:
    """List the first other statement above the first revision."""
    for number, line in enumerate(_without_own(text, 1, own).split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("--"):
            not_mapped.append(NotMapped(path, number, f"above the first revision, not imported: {line.strip()}"))
            return


def _without_own(text: str, first: int, own: list[int]) -> str:
    """Return SQL without the statements on alembic's own table and transaction; the line of each is added to `own`.

    Args:
        first: the line of its first line.
    """

    places = Source(text)

    def blank(found: re.Match[str]) -> str:
        own.append(first + places.place(found.start())[0] - 1)
        return re.sub(r"[^\n]", " ", found[0])

    kept = _TRANSACTION.sub(blank, _OWN.sub(blank, text))
    own.sort()
    return kept


def _row(revision: str) -> HistoryRow:
    """Return what the row of a revision means: it and all before it are applied."""
    return HistoryRow(key=(revision,), name=revision, covers=True)


ALEMBIC = Tool(
    name="Alembic",
    read=read,
    history=HistoryTable(name="alembic_version", columns=("version_num",), order=None, row=_row),
)
