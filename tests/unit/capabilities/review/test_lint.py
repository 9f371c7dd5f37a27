"""`lint`: which files it checks, what it prints, how it exits, and what a catalog file and a comment change."""

from __future__ import annotations

import os
import re

import pytest

from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all

CATALOG = """\
migrationExecutor:
  type: spark
  conf: {sparkConf: {spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog}}
environments: {dev: {}, prod: {}}
"""
DROP = "ALTER TABLE lake.a.t DROP COLUMN legacy"
COMMENT = "ALTER TABLE lake.a.t ALTER COLUMN id COMMENT 'the key'"
FAILED = 3
NO_EFFECT = "the comment has no effect where it is, or as it is written"


@pytest.fixture
def shop(project: ProjectFolder) -> ProjectFolder:
    """A project with one migration that no rule objects to."""
    project.catalog(CATALOG)
    project.file("1_a.sql", COMMENT)
    return project


def found(project: ProjectFolder, *arguments: str) -> list[dict[str, object]]:
    """Return the findings as JSON."""
    return list(ask_here(project, "lint", *arguments).entry()["findings"])


def test_a_file_that_no_rule_objects_to_passes(shop: ProjectFolder) -> None:
    """The exit code is 0, and the text says how many files were checked."""
    done = shop.run("lint")
    assert (done.code, done.stderr) == (0, "")
    assert "no findings in 1 migration" in done.stdout


def test_an_error_fails_with_its_place_the_reason_and_a_fix(shop: ProjectFolder) -> None:
    """Line and column are those of the clause in the file."""
    shop.file("2_b.sql", f"{COMMENT};\n\nALTER TABLE lake.a.t\n  DROP COLUMN legacy")
    done = shop.ask("lint")
    assert done.code == FAILED
    assert done.document["error"]["code"] == "LINT_FAILED"
    [finding] = done.entry()["findings"]
    assert finding.pop("why")
    assert finding.pop("fix")
    assert finding == {
        "code": "DS103",
        "severity": "error",
        "message": "DROP COLUMN legacy",
        "path": "migrations/shop/2_b.sql",
        "line": 7,
        "column": 15,
        "statement_index": 2,
        "table": "lake.a.t",
        "environments": ["dev", "prod"],
        "allowed": None,
    }
    text = shop.run("lint")
    assert "migrations/shop/2_b.sql:7:15: error DS103: lake.a.t: DROP COLUMN legacy" in text.stdout
    assert "next: `glacierbase rules DS103`" in text.stderr


def test_the_seeds_own_property_is_an_error_with_the_key_that_is_meant(shop: ProjectFolder) -> None:
    """A misspelt key and a value that is no number are both found before anything runs."""
    values = "'commit.retry.num-retries'='ten', 'commit.retry.num-retires'='10'"
    shop.file("2_b.sql", f"ALTER TABLE lake.a.t SET TBLPROPERTIES ({values})")
    wrong = {finding["code"]: finding["fix"] for finding in found(shop)}
    assert wrong == {"PR102": "write a whole number", "PR101": "did you mean commit.retry.num-retries?"}


def test_a_value_that_lint_does_not_read_is_not_refused(shop: ProjectFolder) -> None:
    """A placeholder is no wrong width, number or type; other words are, and a DROP of a column of that name is found."""
    shop.catalog(f"{CATALOG}variables: {{x: '${{env:X}}'}}\n")
    sql = "ALTER TABLE lake.a.t ADD PARTITION FIELD bucket({0}, id);\nALTER TABLE lake.a.t ADD COLUMN c {0};\n"
    sql += "ALTER TABLE lake.a.t SET TBLPROPERTIES ('commit.retry.num-retries'='{0}')"
    shop.file("2_b.sql", sql.format("env_Y"))
    shop.file("3_c.sql", f"{sql.format('{{ variables.x }}')};\nALTER TABLE lake.a.t DROP COLUMN {{{{ variables.x }}}}")
    codes = {(finding["path"][-8:], finding["code"]) for finding in found(shop) if finding["code"] != "PA101"}
    assert codes == {("/2_b.sql", "PA107"), ("/2_b.sql", "PR102"), ("/2_b.sql", "TY110"), ("/3_c.sql", "DS103")}


@pytest.mark.parametrize(("version", "codes"), [("1.10.0", ["PR101"]), ("1.9.2", ["PR101"]), ("1.12.0", [])])
def test_a_property_of_a_later_version_is_an_error(version: str, codes: list[str], shop: ProjectFolder) -> None:
    """The version is that of the jar which the catalog file names."""
    jars = f"dependencies: [org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:{version}]"
    shop.catalog(CATALOG.replace("SparkCatalog}}", f"SparkCatalog}}, {jars}}}"))
    shop.file("2_b.sql", "ALTER TABLE lake.a.t SET TBLPROPERTIES ('write.manifest.compression-codec'='gzip')")
    assert [finding["code"] for finding in found(shop)] == codes


def test_an_allow_with_a_reason_is_kept_and_does_not_fail(shop: ProjectFolder) -> None:
    """The finding is listed with the reason."""
    shop.file("2_b.sql", f"-- GLACIERBASE_ALLOW: DS103 no readers since 2026-10-01 (#912)\n{DROP}")
    done = shop.ask("lint")
    assert done.code == 0
    [finding] = done.entry()["findings"]
    assert (finding["code"], finding["allowed"]) == ("DS103", "no readers since 2026-10-01 (#912)")


@pytest.mark.parametrize(
    ("comment", "messages"),
    [
        ("-- GLACIERBASE_ALLOW: DS103", {"FL120": "the comment allows DS103 without a reason"}),
        ("-- GLACIERBASE_ALLOW: DS130 no readers", {"FL122": "the comment names DS130, which is no rule"}),
        ("-- GLACIERBASE_ALLOW:", {"FL122": "the comment names no rule"}),
        ("-- GLACIERBASE_ALLOW: REPLAY_REFUSED only on the copy", {}),  # A finding of `review`.
        ("-- GLACIERBASE_ALLOW: REPLAY_REFUSED", {"FL120": "the comment allows REPLAY_REFUSED without a reason"}),
        ("-- GLACIERBASE_ALLOW: REPLAY_TIMEOUT slow", {"FL122": "the comment names REPLAY_TIMEOUT, which is no rule"}),
        (
            "-- GLACIERBASE_ALLOW: DS101 no readers",
            {"FL121": "the comment allows DS101, which the statement does not raise"},
        ),
        ("/* -- GLACIERBASE_ALLOW: DS103 no readers */", {"FL123": NO_EFFECT}),
        ("-- GLACIERBASE_ALLOW DS103 no readers", {"FL123": NO_EFFECT}),
        ("-- GLACIERBASE_ALLOWS: DS103 no readers", {}),
    ],
)
def test_a_comment_that_allows_nothing_says_so(comment: str, messages: dict[str, str], shop: ProjectFolder) -> None:
    """The finding stays an error."""
    shop.file("2_b.sql", f"{comment}\n{DROP}")
    done = shop.ask("lint")
    assert done.code == FAILED
    about = {finding["code"]: finding["message"] for finding in done.entry()["findings"]}
    assert about.pop("DS103")
    assert about == messages


def test_an_allow_without_a_reason_allows_nothing_where_it_is_no_finding(shop: ProjectFolder) -> None:
    """With FL120 off, what it is meant to allow is what fails."""
    shop.catalog(CATALOG + "lint: {rules: {FL120: off}}\n")
    shop.file("2_b.sql", f"-- GLACIERBASE_ALLOW: DS103\n{DROP}")
    done = ask_here(shop, "lint")
    assert done.code == FAILED
    assert [(finding["code"], finding["allowed"]) for finding in done.entry()["findings"]] == [("DS103", None)]


def test_the_nearest_code_is_the_fix_of_an_unknown_one(shop: ProjectFolder) -> None:
    """A typing error in the code of an allow is found."""
    shop.file("2_b.sql", f"-- GLACIERBASE_ALLOW: DSI03 no readers\n{COMMENT}")
    [finding] = found(shop)
    assert finding["fix"] == "did you mean DS103?"


def test_an_allow_counts_for_the_statement_below_it_only(shop: ProjectFolder) -> None:
    """A comment behind the statement before it, or above another one, allows nothing."""
    allow = "-- GLACIERBASE_ALLOW: DS103 no readers"
    shop.file("2_b.sql", f"{allow}\n{COMMENT};\n{DROP};")
    shop.file("3_c.sql", f"{COMMENT}; {allow}\n{DROP};\n{allow}")
    codes = [(finding["path"], finding["code"], finding["allowed"]) for finding in found(shop)]
    assert sorted(codes) == [
        ("migrations/shop/2_b.sql", "DS103", None),
        ("migrations/shop/2_b.sql", "FL121", None),
        ("migrations/shop/3_c.sql", "DS103", None),
        ("migrations/shop/3_c.sql", "FL123", None),
    ]


def test_with_a_base_only_new_files_are_checked(shop: ProjectFolder) -> None:
    """A file of the base cannot change any more, and fails nothing."""
    shop.file("2_b.sql", DROP)
    commit_all(shop.root)
    shop.file("3_c.sql", "DROP TABLE lake.a.t")
    assert shop.run("lint", "--base", "main").code == FAILED
    assert [finding["code"] for finding in found(shop, "--base", "main")] == ["DS101"]
    assert {finding["code"] for finding in found(shop)} == {"DS101", "DS103"}


def test_a_table_that_the_new_files_create_is_spared(shop: ProjectFolder) -> None:
    """Nobody reads it yet, and the summary says that findings were left out."""
    commit_all(shop.root)
    shop.file("2_b.sql", "CREATE TABLE lake.a.new (id bigint, legacy string) USING iceberg")
    shop.file("3_c.sql", "ALTER TABLE lake.a.new DROP COLUMN legacy;\nALTER TABLE lake.a.t DROP COLUMN legacy")
    done = shop.ask("lint", "--base", "main")
    assert [finding["table"] for finding in done.entry()["findings"]] == ["lake.a.t"]
    assert done.entry()["spared"] == 1
    assert "1 left out about tables that these files create" in shop.run("lint", "--base", "main").stdout


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("CREATE OR REPLACE TABLE lake.a.t (id bigint) USING iceberg", "DS106"),
        ("DROP TABLE lake.a.t; CREATE TABLE lake.a.t (id bigint) USING iceberg", "DS101"),
    ],
)
def test_a_table_that_the_new_files_replace_is_not_spared(sql: str, code: str, shop: ProjectFolder) -> None:
    """The table had rows and readers before, so that the loss is an error also with `--base`."""
    commit_all(shop.root)
    shop.file("2_b.sql", sql)
    assert code in [finding["code"] for finding in found(shop, "--base", "main")]


def test_severities_are_those_of_the_catalog_file(shop: ProjectFolder) -> None:
    """An environment may differ from the others, and the finding names those that have it."""
    shop.catalog(
        f"{CATALOG.replace('dev: {}', 'dev: {lint: {rules: {DS103: off}}}')}lint: {{rules: {{DS103: warning}}}}\n"
    )
    shop.file("2_b.sql", DROP)
    done = shop.ask("lint")
    assert done.code == 0
    [finding] = done.entry()["findings"]
    assert (finding["severity"], finding["environments"]) == ("warning", ["prod"])
    assert "(in prod)" in shop.run("lint").stdout


def test_a_note_is_counted_after_the_warnings_and_fails_nothing(shop: ProjectFolder) -> None:
    """The list and the summary name errors, warnings and notes in this order."""
    shop.catalog(f"{CATALOG}lint: {{rules: {{DS103: note, BC101: warning}}}}\n")
    shop.file("2_b.sql", f"{DROP};\nALTER TABLE lake.a.t RENAME COLUMN b TO c")
    assert [(finding["code"], finding["severity"]) for finding in found(shop)] == [
        ("BC101", "warning"),
        ("DS103", "note"),
    ]
    done = shop.run("lint")
    assert done.code == 0
    assert "1 warning, 1 note in 2 migrations" in done.stdout


def test_the_declared_peak_of_an_environment_decides_how_severe_a_hot_key_is(shop: ProjectFolder) -> None:
    """An environment without a declaration has a note; an error fails the command, until a later file ends its cause."""
    prod = "prod: {layout: {tables: [{table: lake.a.*, peakPutPerSecond: 4000}]}}"
    shop.catalog(CATALOG.replace("prod: {}", prod))
    shop.file("2_b.sql", "CREATE TABLE lake.a.b (id bigint, at timestamp) USING iceberg PARTITIONED BY (days(at))")
    done = shop.ask("lint")
    assert done.code == FAILED
    findings = [(item["code"], item["severity"], item["environments"]) for item in done.entry()["findings"]]
    assert findings == [("KL101", "error", ["prod"]), ("KL101", "note", ["dev"])]
    shop.file("3_c.sql", "ALTER TABLE lake.a.b SET TBLPROPERTIES ('write.object-storage.enabled'='true')")
    assert [finding["code"] for finding in found(shop)] == ["PR120"]


def test_a_finding_about_a_table_that_streams_use_can_be_an_error(shop: ProjectFolder) -> None:
    """Patterns are compared with the qualified name, in any case of letters."""
    shop.file("2_b.sql", "ALTER TABLE lake.Events.t RENAME COLUMN a TO b;\nALTER TABLE lake.a.t RENAME COLUMN a TO b")
    shop.catalog(CATALOG + 'lint: {streaming: ["lake.events.*"]}\n')
    severities = {finding["table"]: finding["severity"] for finding in found(shop)}
    assert severities == {"lake.Events.t": "error", "lake.a.t": "warning"}


def _in_regions(shop: ProjectFolder, key: str = "region") -> None:
    """Give each environment its own value of a variable, and both the same one of another."""
    values = {"dev": "west", "prod": "east"}
    each = ", ".join(f"{name}: {{variables: {{{key}: {value}-1, team: platform}}}}" for name, value in values.items())
    shop.catalog(CATALOG.replace("dev: {}, prod: {}", each))


def test_a_value_of_another_environment_is_not_written_out(shop: ProjectFolder) -> None:
    """The fix names the variable; comments, longer names and values that are the same everywhere are left alone."""
    _in_regions(shop)
    create = "CREATE TABLE lake.a.{} (id bigint) USING iceberg LOCATION 's3://{}/platform/{}'"
    shop.file("2_b.sql", f"-- not east-1\n{create.format('b', '{{ variables.region }}', 'east-1-2')}")
    assert found(shop) == []
    shop.file("3_c.sql", create.format("c", "{{ variables.team }}", "c") + ";\n\n" + create.format("d", "east-1", "d"))
    [finding] = found(shop)
    assert (finding["code"], finding["severity"], finding["path"]) == ("FL106", "warning", "migrations/shop/3_c.sql")
    assert (finding["line"], finding["column"]) == (6, 58)
    assert finding["fix"] == "write {{ variables.region }}"


@pytest.mark.parametrize(
    ("sql", "is_found"),
    [
        ("SELECT * FROM lake.a.t WHERE coast = 'east-1'", False),
        ("SELECT 'east-1' AS region FROM lake.a.t", False),
        ("ALTER TABLE lake.a.t ADD COLUMN `east-1` int", False),
        ("ALTER TABLE lake.a.t ALTER COLUMN a COMMENT 'of east-1 only'", False),
        ("INSERT INTO lake.a.t /* east-1 */ VALUES ('east-1')", False),
        ("ALTER TABLE lake.a.t SET TBLPROPERTIES ('owner'='east-1')", False),
        ("ALTER TABLE lake.a.t SET TBLPROPERTIES ('write.data.path'='s3://b/east-1/t')", True),
        ("ALTER TABLE lake.a.t SET LOCATION '/data/east-1/t'", True),
        ("INSERT INTO lake.a.t SELECT * FROM lake.`east-1`.u", True),
        ("CREATE NAMESPACE lake.`east-1`", True),
        ("USE lake.`east-1`", True),
        ("CALL lake.system.expire_snapshots('a.t')", False),
        ("{% if environment == 'prod' %}CREATE NAMESPACE lake.`east-1`{% endif %}", False),
        ("CREATE NAMESPACE lake.`{{ variables.region }}`", False),
    ],
)
def test_only_a_place_that_means_an_environment_counts(shop: ProjectFolder, sql: str, is_found: bool) -> None:
    """A literal of a query or a comment equals a variable's value by chance; the variable would change what it means."""
    _in_regions(shop)
    shop.file("2_b.sql", sql)
    assert ["FL106"] * is_found == [finding["code"] for finding in found(shop) if finding["code"] == "FL106"]


def test_what_differs_only_in_the_name_of_a_table_is_one_finding(shop: ProjectFolder) -> None:
    """The table has another name in each environment; the place and the code are the same."""
    _in_regions(shop)
    shop.file("2_b.sql", "ALTER TABLE lake.`{{ variables.region }}`.t DROP COLUMN a")
    [finding] = [finding for finding in found(shop) if finding["code"] == "DS103"]
    assert (finding["table"], finding["environments"]) == ("lake.west-1.t", ["dev", "prod"])


def test_two_findings_of_one_environment_at_one_place_stay_two(shop: ProjectFolder) -> None:
    """A statement that names two tables with too few parts has two, in each environment and together."""
    _in_regions(shop)
    shop.file("2_b.sql", "INSERT INTO x SELECT 1 FROM y")
    assert [finding["table"] for finding in found(shop) if finding["code"] == "FL110"] == ["x", "y"]


@pytest.mark.parametrize(("before", "is_found"), [("", False), ("CREATE TABLE lake.a.x (a INT) USING iceberg", True)])
def test_create_if_not_exists_is_found_where_a_file_before_creates_the_table(
    shop: ProjectFolder, before: str, is_found: bool
) -> None:
    """Elsewhere it says what to do where the table is absent; a file that dropped the table made it absent again."""
    shop.file("2_b.sql", before or "SELECT 1")
    path = shop.file("3_c.sql", "CREATE TABLE IF NOT EXISTS lake.a.x (a INT) USING iceberg")
    codes = [finding["code"] for finding in found(shop) if finding["path"].endswith("3_c.sql")]
    assert codes.count("FL112") == is_found
    path.write_text(path.read_text().replace("CREATE", "DROP TABLE lake.a.x; CREATE"))
    assert "FL112" not in [finding["code"] for finding in found(shop)]


def test_an_unknown_rule_in_a_catalog_file_is_an_error_with_its_line(shop: ProjectFolder) -> None:
    """A typing error would otherwise leave the rule as it is."""
    shop.catalog(CATALOG + "lint:\n  rules:\n    SD103: off\n")
    done = shop.run("lint")
    assert done.code == 2
    assert "error: UNKNOWN_RULE: catalogs/shop.yaml, line 7: lint.rules: there is no rule SD103" in done.stderr
    assert "did you mean DS103?" in done.stderr


@pytest.mark.parametrize("text", ["{rules: {DS103: never}}", "{rules: {ds: off}}", "{rules: [DS103]}", "{rule: {}}"])
def test_a_wrong_value_of_lint_is_found_by_every_command(text: str, shop: ProjectFolder) -> None:
    """`validate` reads the same key."""
    shop.catalog(f"{CATALOG}lint: {text}\n")
    assert shop.run("validate").code == 2


def test_a_file_that_does_not_render_is_reported_beside_the_findings_in_others(shop: ProjectFolder) -> None:
    """The others are checked all the same."""
    shop.file("2_b.sql", "SELECT {{ variables.nope }}")
    shop.file("3_c.sql", DROP)
    done = shop.ask("lint")
    assert done.code == FAILED
    assert [each["code"] for each in done.document["error"]["errors"]] == ["UNDEFINED_VARIABLE", "LINT_FAILED"]
    assert [finding["code"] for finding in done.entry()["findings"]] == ["DS103"]


def test_what_is_not_understood_is_listed(shop: ProjectFolder) -> None:
    """No rule applies to it, and that is said."""
    shop.file("2_b.sql", "FROBNICATE lake.a.t")
    done = shop.ask("lint")
    assert done.entry()["not_understood"] == [
        {"path": "migrations/shop/2_b.sql", "line": 4, "sql": "FROBNICATE lake.a.t"}
    ]
    assert "not understood, no rule applies: FROBNICATE" in shop.run("lint").stdout


SCRIPTS = [
    ("spark", "BEGIN\n  DROP TABLE lake.a.t;\nEND", [("DS101", 5)], []),
    ("spark", "EXECUTE IMMEDIATE 'DROP TABLE lake.a.t'", [("DS101", 4)], []),
    ("spark", "BEGIN\n  EXECUTE IMMEDIATE q;\n  DROP TABLE lake.a.t;\nEND", [("DS101", 6)], [(5, "EXECUTE IMMEDIATE q")]),
    ("spark", "BEGIN IF a THEN CREATE TABLE lake.a.u (a INT); END IF;\nDROP TABLE lake.a.u; END", [("DS101", 5)], []),
    ("spark", "BEGIN CREATE TABLE lake.a.u (a INT);\nDROP TABLE lake.a.u; END", [], []),
    ("snowflake", "BEGIN\n  DROP TABLE lake.a.t;\nEND", [("DS101", 5)], []),
    ("snowflake", "EXECUTE IMMEDIATE $$\nBEGIN\n  DROP TABLE lake.a.t;\nEND\n$$", [("DS101", 6)], []),
    ("snowflake", "DECLARE q TEXT;\nBEGIN\n  EXECUTE IMMEDIATE :q;\nEND", [], [(6, "EXECUTE IMMEDIATE :q")]),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "sql", "codes", "unread"), SCRIPTS)
def test_the_statements_of_a_script_reach_the_rules(
    engine: str, sql: str, codes: list[tuple[str, int]], unread: list[tuple[int, str]], project: ProjectFolder
) -> None:
    """Each on its own line of the file; the ones that are not understood are listed. A table made under IF may not be new."""
    conf = "{type: snowflake, conf: {connection: {database: lake}}}" if engine == "snowflake" else None
    project.catalog(f"migrationExecutor: {conf}\n" if conf else CATALOG)
    project.file("1_a.sql", sql)
    entry = project.ask("lint").entry()
    assert [
        (finding["code"], finding["line"]) for finding in entry["findings"] if finding["code"].startswith("DS")
    ] == codes
    assert [(unknown["line"], unknown["sql"]) for unknown in entry["not_understood"]] == unread


def test_an_allow_above_a_script_is_for_every_statement_in_it(shop: ProjectFolder) -> None:
    """The script is one statement of the file."""
    shop.file(
        "2_b.sql", "-- GLACIERBASE_ALLOW: DS101 nobody reads it\nBEGIN DROP TABLE lake.a.t; DROP TABLE lake.a.u; END"
    )
    assert [finding["allowed"] for finding in found(shop)] == ["nobody reads it"] * 2


def test_values_of_a_hostile_file_are_shown_as_escapes(shop: ProjectFolder) -> None:
    """Neither a terminal nor a CI service executes the values, and no secret of the environment is printed."""
    name = "x\x1b[31m::set-env name=A::b"
    shop.file(
        "2_b.sql",
        f"-- GLACIERBASE_ALLOW: DS103 \x1b[2J ##[error]x ::warning::y\nALTER TABLE lake.a.t DROP COLUMN `{name}`",
    )
    done = shop.run("lint", environ={"AWS_SECRET_ACCESS_KEY": "canary-of-the-environment"})
    assert "\x1b" not in done.stdout + done.stderr
    assert "##[error]" not in done.stdout
    assert not re.search(r"^\s*::", done.stdout, re.MULTILINE)
    assert "canary" not in done.stdout + done.stderr


FAMILY = "from glacierbase.capabilities.review.family import Family\nRULES = Family(__file__)\n"
PLUGIN = f"""\
{FAMILY}
from glacierbase.capabilities.review.rule import RuleFinding

@RULES.check("ACME001", "set_properties")
def no_owner(step, file):
    yield RuleFinding("no owner", step)
"""
ROW = "RULES.statement('ACME001', 'restore', 'a table is restored')\n"
SECTION = """\
## ACME001 team-missing

Severity: error. Formats: all. Proof: convention.

Why: W.

Fix: F.

Raises it:

```sql
SELECT 1
```

Does not:

```sql
SELECT 2
```

Source: S.
"""


def install(
    project: ProjectFolder, module: str, value: str = "acme_rules:RULES", described: str = SECTION
) -> dict[str, str | None]:
    """Install a package with an entry point; return the environment in which it is found.

    Args:
        described: the Markdown file beside its module.
    """
    folder = project.root.parent / "packages"
    info = folder / "acme_rules-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "acme_rules.py").write_text(module)
    (folder / "acme_rules.md").write_text(described)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[glacierbase.rules]\nacme = {value}\n")
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def test_a_package_adds_rules(shop: ProjectFolder) -> None:
    """The package's rule finds, is allowed by its code, and is listed."""
    environ = install(shop, PLUGIN)
    shop.file("2_b.sql", "ALTER TABLE lake.a.t SET TBLPROPERTIES ('a'='b')")
    done = shop.ask("lint", environ=environ)
    assert [finding["code"] for finding in done.entry()["findings"]] == ["ACME001"]
    assert "ACME001" in shop.run("rules", environ=environ).stdout


@pytest.mark.parametrize(
    ("module", "code", "why"),
    [
        ("1 / 0", "ACME001", "ZeroDivisionError: division by zero"),
        ("RULES = [1]", "ACME001", "1 is no rule"),
        ("", "ACME001", "AttributeError"),
        (PLUGIN.replace("ACME001", "DS103"), "DS103", "the code DS103 exists already"),
        (PLUGIN.replace("ACME001", "acme"), "acme", "'acme' is not the code of a rule"),
        (FAMILY, "ACME001", "the rule ACME001 has no check"),
        (FAMILY + 2 * ROW, "ACME001", "the rule ACME001 has two checks"),
    ],
)
def test_a_broken_package_is_one_message_that_names_it(module: str, code: str, why: str, shop: ProjectFolder) -> None:
    """There is no traceback, and the exit code is that of a configuration error."""
    done = shop.run("lint", environ=install(shop, module, described=SECTION.replace("ACME001", code)))
    assert done.code == 2
    assert (
        "error: BROKEN_RULES: the rules acme (acme_rules:RULES) of the package acme-rules cannot be used:"
        in done.stderr
    )
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_a_rule_of_a_package_that_fails_is_a_finding(shop: ProjectFolder) -> None:
    """The other rules are applied all the same."""
    environ = install(shop, PLUGIN.replace('yield RuleFinding("no owner", step)', "raise KeyError(1)"))
    shop.file("2_b.sql", "ALTER TABLE lake.a.t SET TBLPROPERTIES ('commit.retry.num-retries'='ten')")
    messages = {finding["code"]: finding["message"] for finding in found_with(shop, environ)}
    assert messages["ACME001"].startswith("the rule itself fails with KeyError")
    assert "PR102" in messages


def test_rules_run_inside_the_limits_of_the_process_that_renders(shop: ProjectFolder) -> None:
    """A file whose rules need too much memory is an error, and the next one is checked all the same."""
    environ = install(shop, PLUGIN.replace('yield RuleFinding("no owner", step)', "bytearray(2**40); yield"))
    shop.file("2_b.sql", "ALTER TABLE lake.a.t SET TBLPROPERTIES ('a'='b')")
    shop.file("3_c.sql", DROP)
    done = shop.ask("lint", environ=environ)
    assert [each["code"] for each in done.document["error"]["errors"]] == ["TEMPLATE_TOO_COSTLY", "LINT_FAILED"]
    assert [finding["code"] for finding in done.entry()["findings"]] == ["DS103"]


def found_with(project: ProjectFolder, environ: dict[str, str | None]) -> list[dict[str, str]]:
    return list(project.ask("lint", environ=environ).entry()["findings"])


def test_the_page_of_a_rule_is_printed_outside_of_a_project(project: ProjectFolder) -> None:
    """The page has the reason, the fix, both examples, the allow and the source."""
    done = run_here(project, "rules", "ds104")
    for part in ("DS104  replace-columns  (error; iceberg only)", "Why: ", "Fix: ", "REPLACE COLUMNS (", "ADD COLUMN device",
                 "-- GLACIERBASE_ALLOW: DS104", "Source: https://"):  # fmt: skip
        assert part in done.stdout
    unknown = run_here(project, "rules", "DSI04")
    assert (unknown.code, "did you mean DS104?" in unknown.stderr) == (2, True)
    assert {rule["code"] for rule in ask_here(project, "rules", "DS104", "TY101").document["rules"]} == {
        "DS104",
        "TY101",
    }


def dropped(project: ProjectFolder, *arguments: str) -> list[tuple[object, object]]:
    return [(each["path"], each["message"]) for each in found(project, *arguments) if each["code"] == "FL116"]


@pytest.mark.parametrize(
    ("made", "drop"),
    [
        ("CREATE OR REPLACE VIEW lake.a.daily AS SELECT 1", "DROP VIEW IF EXISTS lake.a.daily"),
        ("CREATE OR REPLACE VIEW lake.a.daily AS SELECT 1", "DROP VIEW `A`.`Daily`"),
        ("CREATE OR REPLACE FUNCTION daily(a INT) RETURNS INT RETURN a", "DROP FUNCTION daily"),
        ("CREATE VIEW IF NOT EXISTS {{ variables.view }} AS SELECT 1", "DROP VIEW {{ variables.view }}"),
    ],
)
def test_a_version_that_drops_what_a_repeatable_makes_is_a_finding(made: str, drop: str, shop: ProjectFolder) -> None:
    """The repeatable would not make it again. Nothing is found once its file is gone."""
    shop.catalog(CATALOG + "variables: {view: lake.a.totals}\n")
    path = shop.file("repeatable/daily.sql", made)
    shop.file("2_b.sql", drop)
    what = "this statement drops what the repeatable daily makes"
    assert dropped(shop) == [("migrations/shop/2_b.sql", what)]
    path.unlink()
    assert dropped(shop) == []


def test_a_repeatable_may_drop_what_it_makes(shop: ProjectFolder) -> None:
    """Where the engine has no CREATE OR REPLACE; neither is the drop of another object a finding."""
    shop.file("repeatable/daily.sql", "DROP VIEW IF EXISTS lake.a.daily; CREATE VIEW lake.a.daily AS SELECT 1")
    shop.file("2_b.sql", "DROP VIEW lake.b.daily; DROP VIEW lake.a.weekly; DROP FUNCTION lake.a.daily")
    assert dropped(shop) == []


def test_a_repeatable_may_do_what_only_a_file_that_runs_once_must_not(shop: ProjectFolder) -> None:
    """CREATE IF NOT EXISTS makes it repeatable, and where its session cannot be set again it begins again."""
    shop.file("1_a.sql", "CREATE TABLE lake.a.x (a INT) USING iceberg")
    sql = "CREATE TABLE IF NOT EXISTS lake.a.x (a INT) USING iceberg; SET VAR a = rand(); SELECT 1"
    codes = []
    for name in ("2_b.sql", "repeatable/daily.sql"):
        path = shop.file(name, sql)
        codes.append(
            {finding["code"] for finding in found(shop) if finding["path"].endswith(name)} & {"FL112", "FL114"}
        )
        path.unlink()
    assert codes == [{"FL112", "FL114"}, set()]


def test_with_a_base_the_drop_is_found_beside_an_unchanged_repeatable(shop: ProjectFolder) -> None:
    """The repeatable is not checked, but what it makes is known; one that does not render is no error of this branch."""
    shop.file("repeatable/daily.sql", "CREATE OR REPLACE VIEW lake.a.daily AS SELECT 1")
    shop.file("repeatable/broken.sql", "SELECT {{ variables.none }}")
    commit_all(shop.root)
    shop.file("2_b.sql", "DROP VIEW lake.a.daily")
    assert [path for path, _ in dropped(shop, "--base", "main")] == ["migrations/shop/2_b.sql"]


def test_with_a_base_only_repeatables_that_changed_are_checked(shop: ProjectFolder) -> None:
    """An edited repeatable counts as a new file."""
    path = shop.file("repeatable/daily.sql", "CREATE OR REPLACE TABLE lake.a.daily AS SELECT 1")
    commit_all(shop.root)
    assert found(shop, "--base", "main") == []
    path.write_text(path.read_text().replace("SELECT 1", "SELECT 2"))
    assert {each["path"] for each in found(shop, "--base", "main")} == {"migrations/shop/repeatable/daily.sql"}
