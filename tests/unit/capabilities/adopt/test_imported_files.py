"""What `import` writes of another tool passes `validate`; it names what `lint` finds, and stops at nothing else."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping

import pytest

from tests.corpus.cases import cases
from tests.support.catalog_files import LAKE
from tests.support.project_folder import Output, ProjectFolder
from tests.unit.capabilities.adopt.conftest import Written

SNOWFLAKE = "migrationExecutor: {type: snowflake, conf: {connection: {account: a, user: u, database: d}}}\n"
ENVIRONMENTS = "environments: {dev: {}, prod: {}}\ndefaultEnvironment: dev\n"


def flyway(texts: Mapping[str, str]) -> dict[str, str]:
    return {f"V{version}__a.sql": text for version, text in texts.items()}


def liquibase(texts: Mapping[str, str]) -> dict[str, str]:
    changesets = (f"--changeset ann:{version}\n{text}" for version, text in texts.items())
    return {"log.sql": "\n".join(("--liquibase formatted sql", *changesets))}


# Each has another syntax of placeholders.
TOOLS = {"flyway": flyway, "schemachange": flyway, "liquibase": liquibase}


def corpus(engine: str) -> dict[str, str]:
    """Return the files of a corpus, each with the version that the import gives it."""
    texts = (text for case in cases() if case.engine == engine for text in (case.base, case.branch) if text)
    return {f"{number:04}": text for number, text in enumerate(texts, 1)}


def files(project: ProjectFolder) -> list[str]:
    return sorted(path.name.partition("_")[0] for path in (project.root / "migrations").rglob("*.sql"))


class Importing:
    """Imports of one tool's project into a catalog of two environments, of which one has another value of a variable."""

    def __init__(self, project: ProjectFolder, theirs: Written, tool: str, engine: str) -> None:
        self.project, self._theirs, self._tool = project, theirs, tool
        self._catalog = SNOWFLAKE if engine == "snowflake" else LAKE
        project.catalog(f"{self._catalog}{ENVIRONMENTS}")

    def of(self, texts: Mapping[str, str], settings: Mapping[str, str] | None = None) -> Output:
        path = self._theirs({**TOOLS[self._tool](texts), **(settings or {})})
        source = str(path / "log.sql" if self._tool == "liquibase" else path)
        done = self.project.ask("import", self._tool, source, "--author", "Ann")
        shutil.rmtree(path)
        return done

    def errors_of_lint(self) -> set[str]:
        """Return the errors of `lint` in the files, as a warning of the import."""
        return {
            f"{finding['path']}: line {finding['line']}: {finding['code']} in dev, prod: {finding['message']}"
            for finding in self.project.ask("lint").entry()["findings"]
            if finding["severity"] == "error" and not finding["allowed"]
        }


@pytest.mark.parametrize(
    ("tool", "engine"),
    [
        ("flyway", "iceberg"), ("schemachange", "delta"), ("liquibase", "hudi"), ("flyway", "snowflake"),
        ("schemachange", "snowflake"), ("liquibase", "snowflake"),
    ],
)  # fmt: skip
def test_files_of_a_corpus_pass_validate_and_their_findings_are_named(
    tool: str, engine: str, project: ProjectFolder, theirs: Written
) -> None:
    """Scripts that `validate` would refuse are all named; the others are written, with the errors of `lint` as warnings."""
    importing, texts = Importing(project, theirs, tool, engine), corpus(engine)
    done = importing.of(texts)
    if engine == "snowflake":
        error = done.document["error"]
        assert (done.code, error["code"], files(project)) == (3, "NOT_WRITTEN", [])
        refused = {path.rpartition("/")[2][:4] for path in error["refusals"]}
        texts = {version: text for version, text in texts.items() if version not in refused}
        done = importing.of(texts)
    assert (done.code, len(files(project))) == (0, len(texts))
    assert project.run("validate").code == 0
    errors = importing.errors_of_lint()
    assert errors
    assert set(done.entry()["warnings"]) == errors


@pytest.mark.parametrize("tool", ["flyway", "liquibase"])
def test_values_of_placeholders_are_known_to_the_check(tool: str, project: ProjectFolder, theirs: Written) -> None:
    """A file without the value of a variable is named and not checked; a value of the catalog file counts before the tool's."""
    importing = Importing(project, theirs, tool, "iceberg")
    with (project.root / "catalogs/shop.yaml").open("a") as file:
        file.write("variables: {mine: orders}\n")
    texts = {
        "0001": "CREATE TABLE lake.a.${mine} (a ${theirs}) USING iceberg;",
        "0002": "CREATE TABLE lake.a.${nobody} (a INT) USING iceberg;",
        "0003": "CREATE TABLE lake.a.${elsewhere} (a INT) USING iceberg;",
    }
    values = {"mine": "a b", "theirs": "UUID", "elsewhere": "${NAME}"}
    if tool == "flyway":
        lines = "".join(f"flyway.placeholders.{name}={value}\n" for name, value in values.items())
        done = importing.of(texts, {"flyway.conf": lines})
    else:
        lines = "".join(f"parameter.{name}={value}\n" for name, value in values.items())
        done = importing.of(texts, {"liquibase.properties": lines})
    assert (done.code, files(project)) == (0, [*texts])
    found = [re.sub(r".*/(\d+)_\w+\.sql", r"\1", warning) for warning in done.entry()["warnings"]]
    assert [line[:4] for line in found] == ["0002", "0003", "0001"]
    assert "variables.nobody" in found[0]
    assert "variables.elsewhere" in found[1]
    assert "UUID" in found[2]


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["written", "dry run"])
def test_a_script_that_validate_would_refuse_stops_the_import(
    dry: tuple[str, ...], project: ProjectFolder, theirs: Written
) -> None:
    """Each is named with its reason, and nothing is written; the same is so in a dry run."""
    project.catalog(f"{LAKE}{ENVIRONMENTS}")
    joined = "DELETE FROM lake.a.t WHERE a = 1\nDROP TABLE lake.a.t"
    path = theirs(flyway({"1": "DROP TABLE lake.a.t;", "2": joined, "3": "SELECT 'a"}))
    done = project.ask("import", "flyway", str(path), "--author", "Ann", *dry)
    refusals = done.document["error"]["refusals"]
    assert (done.code, files(project)) == (3, [])
    assert [path.rpartition("/")[2] for path in refusals] == ["0002_a.sql", "0003_a.sql"]
    assert "`;` is missing" in refusals["migrations/shop/0002_a.sql"][0]


def test_a_file_that_exists_is_not_checked_again(project: ProjectFolder, theirs: Written) -> None:
    """The second import names nothing: it writes nothing."""
    project.catalog(f"{LAKE}{ENVIRONMENTS}")
    path = theirs(flyway({"1": "DROP TABLE lake.a.t;"}))
    first, second = (project.ask("import", "flyway", str(path), "--author", "Ann") for _ in range(2))
    assert first.entry()["warnings"]
    assert second.entry()["warnings"] == []
