"""Projects of schemachange: names, configuration, Jinja, and what has no counterpart."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from glacierbase.capabilities.adopt.foreign import ForeignFolder, ForeignProject
from glacierbase.capabilities.adopt.schemachange import SCHEMACHANGE, read
from tests.unit.capabilities.adopt.conftest import Written

SECRET = "canary-of-schemachange"


def project(path: Path) -> ForeignProject:
    return read(ForeignFolder(path), "snowflake")


def sql_of(theirs: Written, text: str) -> tuple[str, ForeignProject]:
    """Return the template that a script becomes, and its project."""
    found = project(theirs({"V1__a.sql": text}))
    return (found.scripts[0].sql if found.scripts else ""), found


def test_scripts_are_read_in_the_order_in_which_they_run(theirs: Written) -> None:
    """Versioned ones by number, then repeatable ones, then those that always run, which are listed."""
    path = theirs(
        {
            "V1.10.0__ten.sql": "SELECT 10",
            "a/v1.9.0__nine.SQL": "SELECT 9",
            "V1.11.0__eleven.sql.jinja": "SELECT 11",
            "R__b.sql": "SELECT 'r'",
            "A__a.sql": "SELECT 'a'",
            "V1.1.1__run.cli.yml": "steps: []",
            "V__none.sql": "SELECT 0",
            "notes.sql": "SELECT 0",
            "README.md": "",
        }
    )
    found = project(path)
    assert [(script.version, script.description) for script in found.scripts] == [
        ("1.9.0", "nine"),
        ("1.10.0", "ten"),
        ("1.11.0", "eleven"),
        (None, "b"),
        (None, "a"),
    ]
    assert found.scripts[2].key == ("v1.11.0__eleven.sql",)
    assert sorted((part.path.removeprefix(f"{path}/"), part.what.partition(":")[0]) for part in found.not_mapped) == [
        ("A__a.sql", "an always script"),
        ("V1.1.1__run.cli.yml", "a script of commands is not run and not imported"),
        ("V__none.sql", "schemachange does not read a script of this name; not imported"),
        ("notes.sql", "schemachange does not read a script of this name; not imported"),
    ]


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("USE {{ db }}.{{-schema}};", "USE {{ variables.db }}.{{-variables.schema}};"),
        ("{{ db.name | default(x) }}", "{{ variables.db.name | default(variables.x) }}"),
        ("{% if a or b is not defined %}{% endif %}", "{% if variables.a or variables.b is not defined %}{% endif %}"),
        ("{% for t in ts %}{{ t }}{{ loop.index }}{% endfor %}", "{% for t in variables.ts %}{{ t }}{{ loop.index }}{% endfor %}"),
        ("{% set a = b %}{{ a }}", "{% set a = variables.b %}{{ a }}"),
        ("{% macro m(x, y=z) %}{{ x }}{% endmacro %}", "{% macro m(x, y=variables.z) %}{{ x }}{% endmacro %}"),
        ("{% macro m(x) %}{% endmacro %}{{ m(x=x) }}", "{% macro m(x) %}{% endmacro %}{{ m(x=x) }}"),
        ("{{ dict(a=b, c = d) }}", "{{ dict(a=variables.b, c = variables.d) }}"),
        ("{{ {'a': b}['a'] }}", "{{ {'a': variables.b}['a'] }}"),
        ("{% raw %}{{ a }}{% endraw %} {{ a }}", "{% raw %}{{ a }}{% endraw %} {{ variables.a }}"),
        ("{{ range(n) | join(',') }} ${x}", "{{ range(variables.n) | join(',') }} ${x}"),
        ("a  {%- if b -%}  c  {%- endif %}\r\nd\n", "a  {%- if variables.b -%}  c  {%- endif %}\nd\n"),
        ("{{ a }}\r{{ b }}", "{{ variables.a }}\n{{ variables.b }}"),
    ],
)  # fmt: skip
def test_names_of_a_template_become_variables(theirs: Written, given: str, becomes: str) -> None:
    """Names that the template defines, attributes, filters, tests and names of arguments stay."""
    assert sql_of(theirs, given)[0] == becomes


def test_environment_variables_become_variables(theirs: Written) -> None:
    """A default has no counterpart and is listed."""
    sql, found = sql_of(theirs, "USE {{ env_var('A_B') }};\nUSE {{ env_var(\"C\", 'd') | upper }};")
    assert sql == "USE {{ variables.env_a_b }};\nUSE {{ variables.env_c | upper }};"
    assert found.variables == {"env_a_b": "${env:A_B}", "env_c": "${env:C}"}
    assert [(part.line, part.what) for part in found.not_mapped] == [
        (2, "env_var of C: its default 'd' has no counterpart")
    ]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("SELECT 1;\n{% from 'modules/m.j2' import m %}", 2, "{% from … import %} reads another file"),
        ("{% include 'x.sql' %}", 1, "{% include %} reads another file"),
        ("\n{% if %}", 2, "Jinja cannot parse it"),
        ("{{ env_var(name) }}", 1, "env_var with arguments that are not texts"),
        ("{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", 1, "nested too deeply"),
    ],
)
def test_a_template_that_cannot_be_a_migration_is_listed(theirs: Written, text: str, line: int, what: str) -> None:
    """The script is not imported; the list has the file, the line and the reason."""
    _, found = sql_of(theirs, text)
    assert found.scripts == ()
    [part] = found.not_mapped
    assert (part.line, what in part.what) == (line, True)


def test_a_comment_of_jinja_is_left_out_and_listed(theirs: Written) -> None:
    """Comments of SQL stay."""
    sql, found = sql_of(theirs, "SELECT 1;\n{# a\nb #}-- c\nSELECT {{ x }}")
    assert sql == "SELECT 1;\n-- c\nSELECT {{ variables.x }}"
    assert [part.line for part in found.not_mapped if "comment" in part.what] == [2]


@pytest.mark.parametrize("version", [1, 2])
def test_the_configuration_has_folder_table_and_values(theirs: Written, version: int) -> None:
    """Both versions of the file; secrets are not read, and names of their keys are kept."""
    keys = (
        "root-folder: ./project/sql\n"
        "modules-folder: ./modules\n"
        "change-history-table: META.SC.HISTORY\n"
        "vars:\n"
        "  db: \"{{ env_var('DB', 'dev') }}_x\"\n"
        "  size: 4\n"
        "  cost: 'a ${b}'\n"
        "  tables: [a, b]\n"
        f"  secrets: {{key: {SECRET}}}\n"
        f"  my_secret: {SECRET}\n"
    )
    indented = "".join(f"  {line}\n" for line in keys.splitlines())
    text = f"config-version: 1\n{keys}" if version == 1 else f"config-version: 2\nschemachange:\n{indented}"
    path = theirs(
        {"schemachange-config.yml": text, "sql/V1__a.sql": "{{ secrets.key }}{{ db }}", "other/V2__b.sql": "SELECT 1"}
    )
    found = project(path)
    assert [(script.version, script.sql) for script in found.scripts] == [
        ("1", "{{ variables.secrets.key }}{{ variables.db }}")
    ]
    assert found.variables == {
        "db": "${env:DB}_x",
        "size": 4,
        "cost": "a $${b}",
        "tables": ["a", "b"],
        "secrets": {"key": None},
        "my_secret": None,
    }
    assert found.history_table == "META.SC.HISTORY"
    assert SECRET not in repr(found)
    assert sorted(part.what.partition(":")[0] for part in found.not_mapped) == [
        "env_var of DB",
        "modules-folder ./modules",
        "my_secret",
        "secrets.key",
    ]


def test_a_configuration_that_is_no_yaml_is_listed(theirs: Written) -> None:
    """The scripts are read without it."""
    found = project(theirs({"schemachange-config.yml": "a: [\n", "V1__a.sql": "SELECT 1"}))
    assert [script.version for script in found.scripts] == ["1"]
    assert "the configuration" in found.not_mapped[0].what


def test_the_checksum_is_that_of_a_script_without_a_template(theirs: Written) -> None:
    """Of a template it depends on values, and is not compared."""
    [plain, template] = project(theirs({"V1__a.sql": " SELECT 1;\n", "V2__b.sql": "SELECT {{ x }}"})).scripts
    assert (plain.checksum, template.checksum) == (hashlib.sha224(b"SELECT 1").hexdigest(), None)


def test_rows_of_the_history_table_have_a_meaning() -> None:
    """A row whose status is another than success is of a failed run."""
    row = SCHEMACHANGE.history.row("V1.0__A.sql", "V", "abc", "Success", "ann", None)
    assert row is not None
    assert (row.key, row.is_failed, row.author, row.is_repeatable) == (("v1.0__a.sql",), False, "ann", False)
    failed = SCHEMACHANGE.history.row("R__b.sql", "R", "abc", "Failed", "ann", None)
    assert failed is not None
    assert (failed.is_failed, failed.is_repeatable) == (True, True)


def test_a_digit_that_is_no_decimal_is_text_of_a_version(theirs: Written) -> None:
    """Such a version has no numbers, so that the scripts are numbered in their order."""
    found = project(theirs({"V1²2__a.sql": "SELECT 1", "V1__b.sql": "SELECT 2"}))
    assert {script.version for script in found.scripts} == {"1", "1²2"}
