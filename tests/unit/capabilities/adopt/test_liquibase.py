"""Liquibase projects: formatted SQL, the changelogs that include it, and what has no counterpart."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.capabilities.adopt.foreign import ForeignFolder, ForeignProject
from glacierbase.capabilities.adopt.liquibase import LIQUIBASE, read, same_changeset
from glacierbase.errors import ConfigurationError
from tests.unit.capabilities.adopt.conftest import Written

HEAD = "--liquibase formatted sql\n"


def project(path: Path, dialect: str = "snowflake") -> ForeignProject:
    return read(ForeignFolder(path), dialect)


def one(theirs: Written, changeset: str, dialect: str = "snowflake") -> ForeignProject:
    """Return the project of a changelog, which begins on line 2."""
    return project(theirs({"log.sql": HEAD + changeset}) / "log.sql", dialect)


def listed(found: ForeignProject) -> list[tuple[int, str]]:
    return sorted((part.line, part.what) for part in found.not_mapped)


def test_each_changeset_is_a_script_with_its_author(theirs: Written) -> None:
    """The description is the comment, else the words of the id, else the name of the file and the id."""
    found = one(
        theirs,
        "\n--changeset ann:1\n--comment: the first table\nCREATE TABLE a (x INT);\n\n\n"
        '-- changeset "Data Team":add-column stripComments:false\nALTER TABLE a ADD COLUMN y INT;\n'
        "--changeset Two Words:3\n-- a comment of SQL\nSELECT 1\n",
    )
    assert [(s.version, s.line, s.author, s.description, s.sql) for s in found.scripts] == [
        ("1", 3, "ann", "the first table", "CREATE TABLE a (x INT);"),
        ("add-column", 8, "Data Team", "add column", "ALTER TABLE a ADD COLUMN y INT;"),
        ("3", 10, "Two Words", "log 3", "-- a comment of SQL\nSELECT 1"),
    ]
    assert found.not_mapped == ()
    assert found.scripts[1].key == ("add-column", "Data Team", "log.sql")


def test_comments_without_a_counterpart_are_listed(theirs: Written) -> None:
    """Rollbacks, preconditions, checksums, ignored lines, and lines outside of changesets."""
    found = one(
        theirs,
        "SELECT 'above';\n"
        "--changeset ann:1\n"
        "--preconditions onFail:MARK_RAN\n"
        "--precondition-sql-check expectedResult:0 SELECT COUNT(*) FROM a\n"
        "--validCheckSum: 8:abc\n"
        "CREATE TABLE a (x INT);\n"
        "--rollback DROP TABLE a;\n"
        "/* liquibase rollback\n"
        "DROP TABLE b;\n"
        "*/\n"
        "--ignoreLines:start\n"
        "SELECT 'never';\n"
        "--ignoreLines:end\n"
        "--ignoreLines:1\n"
        "SELECT 'never';\n"
        "SELECT 1;\n"
        "--changset ann:2\n"
        "--changeset broken\n",
    )
    [script] = found.scripts
    assert script.sql == "CREATE TABLE a (x INT);\nSELECT 1;\n--changset ann:2"
    assert [(line, what.partition(": ")[0]) for line, what in listed(found)] == [
        (2, "left out"),
        (4, "preconditions onFail:MARK_RAN"),
        (5, "precondition-sql-check expectedResult:0 SELECT COUNT(*) FROM a"),
        (6, "validCheckSum"),
        (8, "rollback"),
        (9, "rollback"),
        (12, "left out"),
        (15, "left out"),
        (19, "left out"),
    ]


@pytest.mark.parametrize(
    ("attributes", "dialect", "is_imported", "what"),
    [
        ("dbms:snowflake,h2", "snowflake", True, ""),
        ("dbms:databricks", "spark", True, ""),
        ("dbms:!h2", "spark", True, ""),
        ("dbms:all", "spark", True, ""),
        ("dbms:postgresql", "snowflake", False, "it is for dbms postgresql only"),
        ("dbms:!snowflake", "snowflake", False, "it is for dbms !snowflake only"),
        ("ignore:true", "snowflake", False, "ignore:true"),
        ("runWith:sqlplus", "snowflake", False, "runWith:sqlplus"),
        ("labels:a,b", "snowflake", True, "labels:a,b"),
        ("failOnError:false", "snowflake", True, "failonerror:false has no counterpart"),
        ("failOnError:true runInTransaction:false", "snowflake", True, ""),
        ("splitStatements:false", "snowflake", True, "runs as 2 statements"),
        ("endDelimiter:GO", "snowflake", True, "endDelimiter:GO"),
        ("later:thing", "snowflake", True, "later:thing has no counterpart"),
    ],
)
def test_attributes_decide_whether_a_changeset_is_imported(
    theirs: Written, attributes: str, dialect: str, is_imported: bool, what: str
) -> None:
    """What changes nothing here is not listed."""
    found = one(theirs, f"--changeset ann:1 {attributes}\nSELECT 1;\nSELECT 2;\n", dialect)
    assert [script.version for script in found.scripts] == (["1"] if is_imported else [])
    assert [(line, what in text) for line, text in listed(found)] == ([(2, True)] if what else [])


@pytest.mark.parametrize(
    ("context", "condition"),
    [
        ("test", "variables.context_test"),
        ('"test and !prod"', "variables.context_test and not variables.context_prod"),
        ("a,b-c", "variables.context_a or variables.context_b_c"),
        ('"(a or b) and c"', "( variables.context_a or variables.context_b ) and variables.context_c"),
    ],
)
def test_a_context_is_a_condition_of_variables(theirs: Written, context: str, condition: str) -> None:
    """The variables have no value, so that no environment runs it before somebody decides."""
    found = one(theirs, f"--changeset ann:1 contextFilter:{context}\nSELECT 1;\n")
    assert found.scripts[0].sql == f"{{% if {condition} %}}\nSELECT 1;\n{{% endif %}}"
    assert set(found.variables.values()) == {None}
    assert len(found.not_mapped) == len(found.variables)


def test_a_changeset_that_runs_again_is_repeatable(theirs: Written) -> None:
    """A changeset that always runs is listed: here it runs again when it changes."""
    found = one(
        theirs,
        "--changeset ann:v runOnChange:true\nCREATE VIEW v AS SELECT 1;\n"
        "--changeset ann:t\nCREATE TABLE t (x INT);\n"
        "--changeset ann:g runAlways:true\nGRANT SELECT ON t TO r;\n",
    )
    assert [(script.version, script.author) for script in found.scripts] == [("t", "ann"), (None, "ann"), (None, "ann")]
    assert [line for line, _ in listed(found)] == [6]


def test_properties_are_the_values_of_placeholders(theirs: Written) -> None:
    """The first definition counts; those of another database or context, and unknown placeholders, are listed."""
    found = one(
        theirs,
        "--property name:schema value:web\n"
        "--property name:schema value:late\n"
        "--property name:size value:1 dbms:h2\n"
        "--property name:size value:2 dbms:snowflake\n"
        "--property name:who value:x context:dev\n"
        "--changeset ann:1\n"
        "SELECT '${schema}.${size}.${who}.${other}.${:schema}.$ {x}.{{ y }}';\n",
    )
    assert found.scripts[0].sql == (
        "SELECT '{{ variables.schema }}.{{ variables.size }}.{{ variables.who }}.{{ variables.other }}."
        "{{ '${schema}' }}.$ {x}.{{ '{' }}{ y }}';"
    )
    assert found.variables == {"schema": "web", "size": "2", "who": None, "other": None}
    assert [(line, what.partition(":")[0]) for line, what in listed(found)] == [
        (4, "property size"),
        (6, "property who"),
        (8, "placeholder other"),
    ]


def test_another_delimiter_becomes_a_semicolon(theirs: Written) -> None:
    """The delimiter counts at the end of a line, not inside a word or a text."""
    found = one(theirs, "--changeset ann:1 endDelimiter:/\nSELECT 4 / 2\n/\nSELECT 'a/b' /\n")
    assert found.scripts[0].sql == "SELECT 4 / 2\n;\nSELECT 'a/b' ;"


@pytest.mark.parametrize("form", ["yaml", "xml"])
def test_a_master_changelog_includes_others_in_order(theirs: Written, form: str) -> None:
    """Paths are relative to the changelog, or to a folder at or above the one that was named; other changes are listed."""
    yaml = (
        "databaseChangeLog:\n"
        "  - property: {name: schema, value: web}\n"
        "  - include: {file: app/db/first.sql}\n"
        "  - includeAll: {path: more, relativeToChangelogFile: true}\n"
        "  - changeSet: {id: 9, author: ann, changes: []}\n"
        "  - include: {file: gone.sql}\n"
    )
    xml = (
        '<?xml version="1.0"?>\n'
        '<databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog"><property name="schema" value="web"/>\n'
        '<include file="classpath:app/db/first.sql"/><includeAll path="more" relativeToChangelogFile="true"/>\n'
        '<changeSet id="9" author="ann">\n<createTable tableName="t"/></changeSet>\n'
        '<include file="gone.sql"/></databaseChangeLog>\n'
    )
    path = theirs(
        {
            f"db/changelog-master.{form}": yaml if form == "yaml" else xml,
            "db/first.sql": f"{HEAD}--changeset ann:1\nUSE ${{schema}};\n",
            "db/more/b.sql": f"{HEAD.strip()} logicalFilePath:old/b.sql\n--changeset ann:2\nSELECT 2;\n",
            "db/more/a.sql": "CREATE TABLE a (x INT);\n",
            "db/more/c.csv": "1,2\n",
        }
    )
    found = project(path)
    assert [(script.version, script.author, script.key[2]) for script in found.scripts] == [
        ("1", "ann", "db/first.sql"),
        ("raw", "includeAll", "db/more/a.sql"),
        ("2", "ann", "old/b.sql"),
    ]
    assert (found.variables, found.scripts[0].sql) == ({"schema": "web"}, "USE {{ variables.schema }};")
    change, gone = (5, 6) if form == "yaml" else (4, 6)
    assert sorted((part.path.rpartition("/")[2], part.line) for part in found.not_mapped) == [
        ("c.csv", 1),
        (f"changelog-master.{form}", change),
        (f"changelog-master.{form}", gone),
    ]


def test_the_changelog_that_the_properties_name_is_read(theirs: Written) -> None:
    """Parameters in that file are values of placeholders; changelogs that include each other are read once."""
    path = theirs(
        {
            "liquibase.properties": "# x\nchangeLogFile = classpath:log.yaml\nparameter.The-Size: 4\npassword: canary\n",
            "log.yaml": "databaseChangeLog: [{include: {file: log.yaml}}, {include: {file: a.sql}}]",
            "a.sql": f"{HEAD}--changeset ann:1\nSELECT ${{The-Size}};\n",
        }
    )
    found = project(path)
    assert (len(found.scripts), found.variables, found.not_mapped) == (1, {"The_Size": "4"}, ())
    theirs({"liquibase.properties": "changeLogFile = gone.yaml\n"})
    assert [part.what.partition(":")[0] for part in project(path).not_mapped] == [
        "changelogFile gone.yaml",
        "placeholder The-Size",
    ]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("master.xml", '<!DOCTYPE a [<!ENTITY b "c">]>\n<databaseChangeLog/>', 1),
        ("master.xml", "<databaseChangeLog>\n<include", 2),
        ("master.yaml", "databaseChangeLog: [\n", 2),
    ],
)
def test_a_changelog_that_cannot_be_read_is_listed(theirs: Written, name: str, text: str, line: int) -> None:
    """A document type may define entities without end, and is refused."""
    found = project(theirs({name: text}))
    assert [(part.line, "not read" in part.what) for part in found.not_mapped] == [(line, True)]


def test_a_path_out_of_the_folder_is_not_read(theirs: Written, tmp_path: Path) -> None:
    """An include of such a path is listed as missing."""
    (tmp_path / "secret.sql").write_text(f"{HEAD}--changeset a:1\nSELECT 1;\n")
    for place in ("../secret.sql", str(tmp_path / "secret.sql")):
        path = theirs(
            {"master.yaml": f"databaseChangeLog: [{{include: {{file: {place}, relativeToChangelogFile: true}}}}]"}
        )
        found = project(path)
        assert (found.scripts, len(found.not_mapped)) == ((), 1)


def test_changelogs_that_include_each_other_without_end_are_refused(theirs: Written) -> None:
    """The message names the changelog at which reading stopped."""
    names = [f"c{number}.yaml" for number in range(100)]
    files = dict(
        zip(names, (f"databaseChangeLog: [{{include: {{file: {name}}}}}]" for name in names[1:]), strict=False)
    )
    with pytest.raises(ConfigurationError, match="c50") as caught:
        project(theirs(files) / "c0.yaml")
    assert caught.value.code == "UNREADABLE_FILE"


def test_a_folder_without_a_changelog_has_nothing_to_import(theirs: Written) -> None:
    """The message says what to name."""
    with pytest.raises(ConfigurationError) as caught:
        project(theirs({"a.sql": "SELECT 1"}))
    assert caught.value.code == "NOTHING_TO_IMPORT"


def test_keys_of_one_changeset_may_have_paths_below_different_folders() -> None:
    """Author and id are compared exactly."""
    key = ("1", "ann", "db/a.sql")
    assert same_changeset(key, ("1", "ann", "classpath:app/db/a.sql"))
    assert same_changeset(key, ("1", "ann", "a.sql"))
    assert not same_changeset(key, ("1", "ann", "db/ba.sql"))
    assert not same_changeset(key, ("2", "ann", "db/a.sql"))


def test_rows_of_the_history_table_have_a_meaning() -> None:
    """A changeset that a precondition marked as run counts as applied for Liquibase, and here."""
    kinds = ("EXECUTED", "MARK_RAN", "RERAN", "FAILED", "SKIPPED")
    rows = [LIQUIBASE.history.row("1", "ann", "a.sql", kind, None) for kind in kinds]
    assert [row.is_failed for row in rows if row] == [False, False, False, True, True]
