"""Every code block of the README and the site: commands parse, migrations render and split, catalogs load, Python compiles."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import glacierbase
from glacierbase.model.migration import Event
from tests.docs.pages import PAGES, REPOSITORY, Block, all_blocks, blocks, build

LANGUAGES = {"sh", "sql", "yaml", "json", "python", "text", "mermaid", "dockerfile", "markdown"}
_HEREDOC = re.compile(r"<<'?(\w+)'?([^\n]*)\n.*?^\1$", re.DOTALL | re.MULTILINE)
_CATALOG_KEYS = {
    "migrationExecutor",
    "environments",
    "variables",
    "unmanaged",
    "store",
    "hooks",
    "headers",
    "lint",
    "review",
    "drift",
    "access",
}
# What the templates on the pages read.
_VARIABLES = """\
variables:
  sleep: {events: {bucketSize: 4, fileSize: 134217728}}
  events: {buckets: 4}
  database: LAKE
  retentionDays: 1
"""
_EXECUTOR = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.extensions: org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
      spark.sql.catalog.lake.type: hive
"""


def test_every_block_names_its_language() -> None:
    """A block without one would be checked by nothing."""
    found = {str(block): block.language for page in PAGES for block in blocks(page)}
    assert {place: language for place, language in found.items() if language not in LANGUAGES} == {}
    assert len(found) > 60


def commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each simple command of a shell script."""
    script = _HEREDOC.sub(r"\2", script).replace("\\\n", " ")
    for line in script.splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, ";"]:
            if word and set(word) <= set(";&|()"):
                yield command
                command = []
            elif command or not re.match(r"[A-Z_]+=", word):
                command.append(word)


def check_command(words: list[str], *, whole: bool = True) -> None:
    """Parse a command of glacierbase as the program would; one that is not `whole` may lack what is required."""
    words = words[: next((index for index, word in enumerate(words) if set(word) <= set("<>")), len(words))]
    arguments = words[1:]
    if arguments and arguments[0].startswith("-"):
        assert arguments in (["--version"], ["--help"]), arguments
        return
    commands = build.cli.by_words()
    name = next(name for name in (" ".join(arguments[:2]), arguments[0]) if name in commands)
    try:
        commands[name].make_context(name.split()[-1], arguments[len(name.split()) :])
    except click.exceptions.Exit:
        pass
    except click.MissingParameter:
        assert not whole, words
    except click.ClickException as error:
        pytest.fail(f"{' '.join(words)}: {error.format_message()}")


def is_glacierbase(words: list[str]) -> bool:
    return bool(words) and (words[0] == "glacierbase" or words[0].endswith("/glacierbase"))


@pytest.mark.parametrize("block", all_blocks("sh"), ids=str)
def test_every_command_in_a_shell_block_exists_with_its_options(block: Block) -> None:
    """`glacierbase COMMAND` parses, and the extras of `pip install` are extras of this package."""
    extras = (REPOSITORY / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2]
    for words in commands(block.text):
        if is_glacierbase(words):
            check_command(words)
        for word in words:
            if found := re.fullmatch(r"(?:\.|glacierbase)\[([a-z,]+)\]", word):
                assert all(re.search(rf"^{extra} = \[", extras, re.MULTILINE) for extra in found[1].split(",")), word


def test_every_command_in_running_text_exists() -> None:
    """Inline code that begins with `glacierbase` is a command; words in capitals are values."""
    found = {
        (page.name, code)
        for page in PAGES
        for code in re.findall(r"`(glacierbase [^`…]+)`", page.read_text("utf-8"))
        if not re.search(r"COMMAND|TEXT|\[", code) and page.name != "contributing.md"
    }
    assert len(found) > 10
    for _, code in found:
        words = shlex.split(code)
        if words[1] != "explain" or "explain" in build.cli.commands:
            check_command(words, whole=False)


@pytest.mark.parametrize("block", all_blocks("dockerfile"), ids=str)
def test_every_command_in_a_dockerfile_exists(block: Block) -> None:
    """Each `glacierbase` command in a `RUN` line exists with its options."""
    for line in re.findall(r"^RUN (.*)$", block.text, re.MULTILINE):
        for words in commands(line):
            if is_glacierbase(words):
                check_command(words)


def scripts(node: Any) -> Iterator[str]:
    """Yield what a CI file runs."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "run":
                yield value
            elif key == "args":
                yield shlex.join(["glacierbase", *map(str, value)])
            else:
                yield from scripts(value)
    elif isinstance(node, list):
        for item in node:
            yield from scripts(item)


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=str)
def test_every_yaml_block_is_a_catalog_that_loads_or_a_file_whose_commands_exist(block: Block, tmp_path: Path) -> None:
    """A block with a catalog's keys is validated for all its environments, without reading secrets; hooks exist."""
    content = yaml.safe_load(block.text)
    if "repos" in content:
        known = {hook["id"] for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text("utf-8"))}
        assert {hook["id"] for repository in content["repos"] for hook in repository["hooks"]} <= known
        assert {repository["rev"] for repository in content["repos"]} == {f"v{glacierbase.__version__}"}
        return
    if not _CATALOG_KEYS & content.keys():
        ran = [words for script in scripts(content) for words in commands(script) if is_glacierbase(words)]
        assert ran or "/glacierbase@" in block.text  # The action runs it.
        for words in ran:
            check_command(words)
        return
    make_project(tmp_path, block.text if "migrationExecutor" in content else _EXECUTOR + block.text, [])
    results = glacierbase.Project.load(tmp_path).validate()
    assert {result.environment for result in results} == set(content.get("environments", {"default": {}}))


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name
)
def test_every_command_in_a_workflow_exists(path: Path) -> None:
    """Every command of glacierbase in a step of a workflow exists, and the workflow is YAML."""
    content = yaml.safe_load(path.read_text("utf-8"))
    assert content["jobs"]
    for script in scripts(content):
        for words in commands(script):
            if is_glacierbase(words):
                check_command(words)


def make_project(root: Path, catalog: str, migrations: list[str]) -> None:
    (root / "catalogs").mkdir()
    (root / "catalogs" / "web.yaml").write_text(catalog)
    (root / "migrations" / "web").mkdir(parents=True)
    for number, text in enumerate(migrations, start=1):
        (root / "migrations" / "web" / f"{number:04}_block.sql").write_text(text)


def test_every_migration_on_the_pages_renders_and_splits(tmp_path: Path) -> None:
    """Blocks with headers, those of Snowflake's page aside: they run in its own test."""
    found = [
        block.text
        for block in all_blocks("sql")
        if "MIGRATION_DESCRIPTION" in block.text and "snowflake" not in block.page
    ]
    make_project(tmp_path, _EXECUTOR + _VARIABLES + "headers: {TICKET: optional}\n", found)
    [result] = glacierbase.Project.load(tmp_path).validate()
    assert result.files == len(found) > 5


def test_every_query_of_the_history_names_columns_that_exist() -> None:
    """Blocks without headers: standard SQL, so another engine with the same columns can explain them.

    The examples on the pages of rules are the rules' own tests.
    """
    pages = (block for block in all_blocks("sql") if "/rules/" not in block.page)
    queries = [block.text for block in pages if "MIGRATION_" not in block.text]
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE history_web ({', '.join(field.name for field in fields(Event))})")
    for query in queries:
        database.execute("EXPLAIN " + query.strip().removesuffix(";").replace("lake.glacierbase.", ""))
    database.close()
    assert len(queries) >= 2


@pytest.mark.parametrize("block", all_blocks("json"), ids=str)
def test_every_json_block_is_json(block: Block) -> None:
    """A JSON block is a whole document without ellipses."""
    json.loads(block.text)


@pytest.mark.parametrize(
    "block", [each for each in all_blocks("python") if re.search(r"\bimport\b", each.text)], ids=str
)
def test_every_python_block_compiles_and_calls_what_exists(block: Block) -> None:
    """Imported names, methods of a project and their arguments exist."""
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and node.module == "glacierbase":
            assert all(hasattr(glacierbase, alias.name) for alias in node.names)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id in ("project", "Project"):
                signature = inspect.signature(getattr(glacierbase.Project, node.func.attr))
                names = {keyword.arg or "": None for keyword in node.keywords}
                signature.bind(*([None] * (len(node.args) + (owner.id == "project"))), **names)
