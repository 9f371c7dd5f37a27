"""Flyway projects: names, configuration, placeholders, and what has no counterpart."""

from __future__ import annotations

from pathlib import Path

import pytest

from glacierbase.capabilities.adopt.flyway import FLYWAY, read
from glacierbase.capabilities.adopt.foreign import ForeignFolder, ForeignProject
from glacierbase.errors import ConfigurationError
from tests.unit.capabilities.adopt.conftest import Written


def project(path: Path, dialect: str = "spark") -> ForeignProject:
    return read(ForeignFolder(path), dialect)


def listed(found: ForeignProject, path: Path) -> list[tuple[str, int, str]]:
    return sorted((part.path.removeprefix(f"{path}/"), part.line, part.what) for part in found.not_mapped)


def test_versioned_and_repeatable_scripts_are_read_in_the_order_of_their_versions(theirs: Written) -> None:
    """Versions are compared as numbers; scripts that run again are last."""
    path = theirs(
        {
            "sql/V2__second.sql": "SELECT 2;",
            "sql/a/V10__tenth_change.sql": "SELECT 10;",
            "sql/V1.5__between.sql": "SELECT 1.5;",
            "sql/R__A_view.sql": "CREATE VIEW v AS SELECT 1;",
            "README.md": "not a script",
        }
    )
    found = project(path)
    assert [(script.version, script.description, script.sql) for script in found.scripts] == [
        ("1.5", "between", "SELECT 1.5;"),
        ("2", "second", "SELECT 2;"),
        ("10", "tenth change", "SELECT 10;"),
        (None, "A view", "CREATE VIEW v AS SELECT 1;"),
    ]
    assert (found.not_mapped, found.history_table) == ((), None)


def test_what_has_no_counterpart_is_listed(theirs: Written) -> None:
    """Undo scripts, baselines, callbacks, code, other names, and options of a script."""
    path = theirs(
        {
            "V1__a.sql": "SELECT 1;",
            "V1__a.sql.conf": "# options\nexecuteInTransaction=false\n",
            "V3__c.sql": "SELECT 3;",
            "V3__c.sql.conf": "shouldExecute=false",
            "U1__a.sql": "SELECT 0;",
            "B2__base.sql": "SELECT 2;",
            "beforeMigrate.sql": "SELECT 0;",
            "afterEachMigrate__x.sql": "SELECT 0;",
            "V4__java.java": "class V4__java {}",
            "V5__run.py": "raise SystemExit",
            "V6_one_underscore.sql": "SELECT 6;",
            "V7__d.sql": "DELIMITER //\nSELECT 7//",
        }
    )
    found = project(path)
    assert [script.version for script in found.scripts] == ["1", "7"]
    assert [(name, line, what.partition(":")[0].partition(";")[0]) for name, line, what in listed(found, path)] == [
        ("B2__base.sql", 1, "baseline script of version 2"),
        ("U1__a.sql", 1, "undo script of version 1"),
        ("V1__a.sql.conf", 2, "option executeInTransaction=false of a script has no counterpart"),
        ("V3__c.sql", 1, "shouldExecute=false"),
        ("V4__java.java", 1, "a migration in code is not run and not imported"),
        ("V5__run.py", 1, "a migration in code is not run and not imported"),
        ("V6_one_underscore.sql", 1, "Flyway does not read a script of this name as a migration"),
        ("V7__d.sql", 1, "DELIMITER //"),
        ("afterEachMigrate__x.sql", 1, "callback"),
        ("beforeMigrate.sql", 1, "callback"),
    ]


def test_placeholders_become_variables(theirs: Written) -> None:
    """Names are compared without case; known values are offered, unknown ones listed at their first use."""
    path = theirs(
        {
            "flyway.conf": "flyway.placeholders.Schema=web\nflyway.placeholders.who=${USER_NAME}\nflyway.url=jdbc:x\n",
            "V1__a.sql": (
                "USE ${schema}; -- ${WHO}\n"
                "SELECT '${flyway:environment}', '${flyway:timestamp}',\n"
                " '${two words}', '{${schema}}', '{{ x }} {% y %} {# z #}', '$ {a} ${';"
            ),
            "V2__b.sql": "SELECT '${schema}'",
            "V2__b.sql.conf": "placeholderReplacement=false",
        }
    )
    found = project(path)
    assert found.scripts[0].sql == (
        "USE {{ variables.schema }}; -- {{ variables.who }}\n"
        "SELECT '{{ environment }}', '{{ variables.flyway_timestamp }}',\n"
        " '{{ variables.two_words }}', '{{ '{' }}{{ variables.schema }}}',"
        " '{{ '{' }}{ x }} {{ '{' }}% y %} {{ '{' }}# z #}', '$ {a} ${';"
    )
    assert found.scripts[1].sql == "SELECT '${schema}'"
    assert found.variables == {
        "schema": "web",
        "who": "${env:USER_NAME}",
        "flyway_timestamp": None,
        "two_words": None,
    }
    assert [(line, what.partition(":  ")[0][:30]) for _, line, what in listed(found, path)] == [
        (2, "placeholder flyway:timestamp: "),
        (3, "placeholder two words: its val"),
    ]


def test_placeholders_with_the_same_words_are_different_variables(theirs: Written) -> None:
    """A number at the end distinguishes them; a name never begins with a digit."""
    path = theirs({"V1__a.sql": "SELECT '${a-b}', '${a.b}', '${a_b}', '${1st}', '${é}'"})
    names = ["a_b", "a_b_2", "a_b_3", "_1st", "placeholder"]
    assert project(path).scripts[0].sql == "SELECT " + ", ".join(f"'{{{{ variables.{name} }}}}'" for name in names)


def test_the_configuration_in_toml_names_folders_prefixes_and_the_table(theirs: Written) -> None:
    """Lists may have several lines; values of one environment are listed."""
    path = theirs(
        {
            "flyway.toml": (
                "[flyway]\n"
                "locations = [  # two\n"
                '  "filesystem:one", # a comment\n'
                "  'filesystem:gone',\n"
                "]\n"
                'sqlMigrationPrefix = "M"\n'
                'sqlMigrationSeparator = "--"\n'
                'sqlMigrationSuffixes = [".sql", ".ddl"]\n'
                'placeholderPrefix = "@{"\n'
                'table = "applied"\n'
                'defaultSchema = "web"\n'
                "outOfOrder = true\n"
                "[flyway.placeholders]\n"
                'name = "a \\"b\\""\n'
                "[environments.prod.flyway.placeholders]\n"
                'name = "c"\n'
            ),
            "one/M1--first.ddl": "SELECT '@{name}', '${name}'",
            "one/V2__other.sql": "SELECT 2",
            "two/M3--third.sql": "SELECT 3",
        }
    )
    found = project(path)
    assert [(script.version, script.sql) for script in found.scripts] == [
        ("1", "SELECT '{{ variables.name }}', '${name}'")
    ]
    assert (found.variables, found.history_table) == ({"name": 'a "b"'}, "`web`.`applied`")
    assert project(path, "snowflake").history_table == '"web"."applied"'
    assert [(name, line) for name, line, _ in listed(found, path)] == [
        ("flyway.toml", 2),
        ("flyway.toml", 12),
        ("flyway.toml", 16),
        ("one/V2__other.sql", 1),
    ]


def test_the_usual_folders_are_read_where_no_location_is_configured(theirs: Written) -> None:
    """Compiled copies of the scripts are not read."""
    path = theirs(
        {
            "src/main/resources/db/migration/V1__a.sql": "SELECT 1",
            "target/classes/db/migration/V1__a.sql": "SELECT 1",
            "other/V2__b.sql": "SELECT 2",
        }
    )
    assert [script.version for script in project(path).scripts] == ["1"]
    theirs({"flyway.conf": "flyway.locations=classpath:db/migration, \\\n  filesystem:other\n"})
    assert [script.version for script in project(path).scripts] == ["1", "2"]


def test_the_checksum_is_the_one_that_flyway_records(theirs: Written) -> None:
    """The checksum is the CRC-32 of the lines in UTF-8 without their ends, as a signed number of 32 bits."""
    tutorial = "create table PERSON (\n    ID int not null,\n    NAME varchar(100) not null\n);\n"
    texts = (tutorial, "\ufeff" + tutorial.replace("\n", "\r\n"), "SELECT 1;\nSELECT 'é';", "123456789")
    path = theirs({f"V{number}__a.sql": text for number, text in enumerate(texts)})
    # The first is what Flyway's tutorial shows in its history table. The last is the check value of CRC-32, 0xcbf43926.
    expected = ["1715188512", "1715188512", "98625550", "-873187034"]
    assert [script.checksum for script in project(path).scripts] == expected


@pytest.mark.parametrize("value", ["false", "False", "FALSE"])
def test_a_script_that_flyway_does_not_run_is_not_imported(value: str, theirs: Written) -> None:
    """Java reads `false` in any case, and any other text than `true` as such."""
    path = theirs({"V1__a.sql": "SELECT 1", "V1__a.sql.conf": f"shouldExecute={value}", "V2__b.sql": "SELECT 2"})
    found = project(path)
    assert [script.version for script in found.scripts] == ["2"]
    assert listed(found, path) == [("V1__a.sql", 1, "shouldExecute=false: Flyway does not run it; not imported")]


@pytest.mark.parametrize(
    ("row", "meaning"),
    [
        (("1.0", "a", "SQL", "V1.0__a.sql", 7, "ann", True), {"key": ((1,),), "checksum": "7", "author": "ann"}),
        (("1", "a", "SQL", "V1__a.sql", 7, "ann", 0), {"is_failed": True}),
        (("2", "x", "BASELINE", "<< x >>", None, "ann", True), {"covers": True, "checksum": None}),
        (("2", "x", "SQL_BASELINE", "B2__x.sql", 8, "ann", True), {"covers": True, "checksum": None}),
        (("1", "a", "UNDO_SQL", "U1__a.sql", 7, "ann", True), {"is_applied": False}),
        (("1", "a", "DELETE", "V1__a.sql", 7, "ann", True), {"is_applied": False}),
        ((None, "A view", "SQL", "R__A_view.sql", 7, "ann", True), {"key": ("a view",), "is_repeatable": True}),
    ],
)
def test_a_row_of_the_history_table_has_a_meaning(row: tuple[object, ...], meaning: dict[str, object]) -> None:
    """Baselines cover the versions below them; undone and deleted scripts are not applied."""
    found = FLYWAY.history.row(*row, None)
    assert found is not None
    assert {name: getattr(found, name) for name in meaning} == meaning
    assert FLYWAY.history.row(None, "s", "SCHEMA", '"web"', None, "ann", True, None) is None


def test_a_strangers_files_are_read_with_limits(theirs: Written, tmp_path: Path) -> None:
    """A link that leads out, bytes that are not text, and an unknown encoding are refused."""
    (tmp_path / "secret.sql").write_text("SELECT 'secret'")
    path = theirs({"V1__a.sql": "SELECT 1"})
    (path / "V2__b.sql").symlink_to(tmp_path / "secret.sql")
    with pytest.raises(ConfigurationError) as caught:
        project(path)
    assert caught.value.code == "OUTSIDE_PROJECT"
    (path / "V2__b.sql").unlink()
    (path / "V2__b.sql").write_bytes(b"SELECT '\xe9'")
    with pytest.raises(ConfigurationError, match="V2__b") as caught:
        project(path)
    assert caught.value.code == "UNREADABLE_FILE"
    theirs({"flyway.conf": "flyway.encoding=ISO-8859-1\nflyway.locations=filesystem:../theirs"})
    assert [part.line for part in project(path).not_mapped] == [2]
    theirs({"flyway.conf": "flyway.encoding=ISO-8859-1"})
    assert project(path).scripts[1].sql == "SELECT 'é'"
    theirs({"flyway.conf": "flyway.encoding=zlib"})
    with pytest.raises(ConfigurationError, match="zlib"):
        project(path)


def test_folders_that_are_not_read_are_listed_and_none_leads_out(theirs: Written, tmp_path: Path) -> None:
    """A linked folder, and one of compiled copies; a location that is a file is no folder of scripts."""
    path = theirs({"V1__a.sql": "SELECT 1", "build/V2__b.sql": "SELECT 2", "flyway.conf": "flyway.table=t"})
    (path / "linked").symlink_to(tmp_path)
    found = project(path)
    assert [script.version for script in found.scripts] == ["1"]
    assert [name for name, _, _ in listed(found, path)] == ["build", "linked"]
    theirs({"flyway.conf": "flyway.locations=V1__a.sql"})
    assert [(name, line) for name, line, _ in listed(project(path), path)] == [("flyway.conf", 1)]
    theirs({"flyway.conf": "flyway.locations=linked"})
    with pytest.raises(ConfigurationError) as caught:
        project(path)
    assert caught.value.code == "OUTSIDE_PROJECT"


def test_an_empty_key_of_the_configuration_has_its_default(theirs: Written) -> None:
    """A prefix of names may be empty."""
    conf = "flyway.sqlMigrationSeparator=\nflyway.locations=\nflyway.placeholderPrefix=\n"
    path = theirs({"V1__a.sql": "SELECT '${x}'", "flyway.conf": conf})
    assert [script.sql for script in project(path).scripts] == ["SELECT '{{ variables.x }}'"]
    theirs({"2__b.sql": "SELECT 2", "flyway.conf": "flyway.sqlMigrationPrefix=\n"})
    assert [script.version for script in project(path).scripts] == ["2"]
