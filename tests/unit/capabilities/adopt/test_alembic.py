"""The script that `alembic upgrade --sql` prints."""

from __future__ import annotations

import pytest

from glacierbase.capabilities.adopt.alembic import read
from glacierbase.capabilities.adopt.foreign import ForeignFolder
from glacierbase.errors import ConfigurationError
from tests.unit.capabilities.adopt.conftest import Written

SCRIPT = """\
BEGIN;

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

-- Running upgrade  -> 1975ea83b712

CREATE TABLE account (
    id INTEGER NOT NULL
);

INSERT INTO alembic_version (version_num) VALUES ('1975ea83b712') RETURNING alembic_version.version_num;

-- Running upgrade 1975ea83b712 -> ae1027a6acf

ALTER TABLE account ADD COLUMN "{{ x }}" INTEGER;

UPDATE alembic_version SET version_num='ae1027a6acf' WHERE alembic_version.version_num = '1975ea83b712';

-- Running upgrade ae1027a6acf, b1 -> 27c6a30d7c24, Add the last login

ALTER TABLE account ADD COLUMN last_login DATE;

DELETE FROM alembic_version WHERE alembic_version.version_num = 'b1';

COMMIT;
"""


def test_each_revision_is_a_script(theirs: Written) -> None:
    """Without the statements on alembic's table and the transaction, which are listed with their lines."""
    path = theirs({"upgrade.sql": SCRIPT}) / "upgrade.sql"
    found = read(ForeignFolder(path), "snowflake")
    assert [(script.version, script.line, script.description, script.sql) for script in found.scripts] == [
        ("1975ea83b712", 8, "revision 1975ea83b712", "CREATE TABLE account (\n    id INTEGER NOT NULL\n);"),
        (
            "ae1027a6acf",
            16,
            "revision ae1027a6acf",
            "ALTER TABLE account ADD COLUMN \"{{ '{' }}{ x }}\" INTEGER;",
        ),
        ("27c6a30d7c24", 22, "Add the last login", "ALTER TABLE account ADD COLUMN last_login DATE;"),
    ]
    [part] = found.not_mapped
    assert (part.line, "lines 1, 3, 14, 20, 26, 28:" in part.what) == (1, True)


def test_what_is_no_upgrade_is_listed(theirs: Written) -> None:
    """Downgrades and statements above the first revision are not imported."""
    text = (
        "SET x = 1;\n-- Running downgrade b -> a\nDROP TABLE t;\n-- Running upgrade a -> b\nCREATE TABLE t (x INT);\n"
    )
    found = read(ForeignFolder(theirs({"u.sql": text}) / "u.sql"), "snowflake")
    assert [script.version for script in found.scripts] == ["b"]
    assert [part.line for part in found.not_mapped] == [1, 2]


def test_a_folder_and_another_file_are_refused(theirs: Written) -> None:
    """The message has the command that writes the script."""
    path = theirs({"a.sql": "SELECT 1;"})
    for place in (path, path / "a.sql"):
        with pytest.raises(ConfigurationError) as caught:
            read(ForeignFolder(place), "snowflake")
        assert (caught.value.code, "alembic upgrade head --sql" in caught.value.hint) == ("NOTHING_TO_IMPORT", True)
