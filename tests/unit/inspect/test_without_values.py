"""`validate` and `render` without any value: no environment variable is set, and no file of a secret exists."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import glacierbase
from glacierbase.catalogs.folder import load_catalog_files
from tests.support.project_folder import ProjectFolder

REFERENCES = ("${env:UNSET}", "${secret:UNSET}", "${file:nowhere/secret}")
# Around the reference, as in an address.
FORMS = ("REFERENCE", "a-REFERENCE-b", "x:REFERENCE/y")
SPARK = """\
migrationExecutor:
  type: spark
  conf:
    sparkConf:
      spark.sql.catalog.lake: org.apache.iceberg.spark.SparkCatalog
"""
SNOWFLAKE = "migrationExecutor: {type: snowflake, conf: {connection: {account: a, database: D}}}\n"
# Every place where a value may stand, with an engine beside it.
PLACES = {
    "type": SPARK.replace("spark\n", "VALUE\n", 1),
    "a catalog's address": SPARK + "      spark.sql.catalog.lake.uri: VALUE\n",
    "a catalog's class": SPARK.replace("org.apache.iceberg.spark.SparkCatalog", "VALUE"),
    "the default catalog": SPARK + "      spark.sql.defaultCatalog: VALUE\n",
    "a master": SPARK + "      spark.master: VALUE\n",
    "a server": SPARK + "      spark.remote: VALUE\n",
    "a repository": SPARK + "      spark.jars.repositories: VALUE\n",
    "a repository over http": SPARK
    + "      spark.jars.repositories: 'http://REFERENCE:8081/maven,https://u:REFERENCE@m'\n",
    "a package": SPARK + "      spark.jars.packages: VALUE\n",
    "a dependency": SPARK + "    dependencies: [VALUE]\n",
    "a version": SPARK + "    dependencies: ['org.example:lake:REFERENCE']\n",
    "a digest": SPARK + "    dependencies: [{coordinate: 'a:b:1', sha256: VALUE}]\n",
    "allowFloating": SPARK + "    allowFloating: VALUE\n",
    "protected": SPARK + "protected: VALUE\n",
    "outOfOrder": SPARK + "outOfOrder: VALUE\n",
    "the catalog of the store": SPARK + "store: {catalog: VALUE}\n",
    "the namespace of the store": SPARK + "store: {namespace: VALUE}\n",
    "the lease": SPARK + "store: {lockLease: VALUE}\n",
    "the type of the store": SPARK + "store: {type: VALUE}\n",
    "a variable": SPARK + "variables: {name: VALUE, list: [VALUE], inner: {name: VALUE}}\n",
    "a variable that another one refers to": SPARK + "variables: {name: VALUE, other: 'x${variables.name}'}\n",
    "an account": SNOWFLAKE.replace("account: a", "account: VALUE"),
    "a database": SNOWFLAKE.replace("database: D", "database: VALUE"),
    "a nested keyword": SNOWFLAKE.replace("account: a", "account: a, session_parameters: {A: VALUE}, roles: [VALUE]"),
    "the store on Snowflake": SNOWFLAKE + "store: {catalog: VALUE, namespace: VALUE}\n",
}
SECRETS_REFUSED = ("a variable", "a variable that another one refers to")
LAYERS = ("file", "environment", "shared", "shared environment")


def cases() -> list[tuple[str, str]]:
    """Return each place with each value that may stand there."""
    return [
        (place, form.replace("REFERENCE", reference))
        for place in PLACES
        for reference in REFERENCES
        for form in (FORMS if "VALUE" in PLACES[place] else FORMS[:1])
        if not (place in SECRETS_REFUSED and "env:" not in reference)
    ]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty the environment."""
    for name in os.environ:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_reference_needs_no_value_wherever_it_stands(layer: str, tmp_path: Path) -> None:
    """Every place of a catalog file, of its environments and of the shared file is read without the value."""
    failed = []
    for number, (place, value) in enumerate(cases()):
        project = ProjectFolder(tmp_path / str(number))
        write(project, layer, PLACES[place].replace("VALUE", f'"{value}"').replace("REFERENCE", value))
        try:
            [file] = load_catalog_files(project.root / "catalogs", project.root)
            file.for_environment(file.environments[0], project.root, resolve=False)
        except glacierbase.GlacierbaseError as error:
            failed.append((place, value, error.message))
    assert failed == []


@pytest.mark.parametrize("layer", LAYERS)
def test_validate_and_render_need_no_value(layer: str, project: ProjectFolder) -> None:
    """`validate` and `render` check all files of a project whose references are all unset."""
    text = PLACES["a catalog's address"] + "variables: {name: '${env:UNSET}'}\nstore: {lockLease: '${file:nowhere}'}\n"
    write(project, layer, text.replace("VALUE", '"${secret:UNSET}"'))
    project.file("0001_a.sql", "SELECT {{ variables.name | default(1) }}, '{{ environment }}'")
    [result] = glacierbase.Project.load(project.root).validate()
    assert (result.files, len(glacierbase.Project.load(project.root).render())) == (1, 1)


def write(project: ProjectFolder, layer: str, text: str) -> None:
    """Write the text of a catalog into a layer of the catalog `shop`."""
    inside = f"environments:\n  prod:\n{indented(text)}"
    shared = text if layer == "shared" else inside if layer == "shared environment" else None
    project.catalog("name: shop\n" if shared else text if layer == "file" else inside)
    if shared:
        (project.root / "catalogs/_shared.yaml").write_text(shared)


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def test_no_default_environment_is_needed(project: ProjectFolder) -> None:
    """All environments are checked where none is chosen, each with the references that only another one has."""
    project.catalog(
        SPARK + "environments:\n  dev: {variables: {a: '${env:A}'}}\n  prod: {variables: {a: '${env:B}'}}\n"
    )
    project.file("0001_a.sql", "SELECT '{{ variables.a }}'")
    told = project.ask("render", environ={"PATH": os.defpath, "PYTHONPATH": str(Path(glacierbase.__file__).parents[1])})
    found = {entry["environment"]: entry["files"][0]["sql"].split("\n")[-2] for entry in told.document["catalogs"]}
    assert found == {"dev": "SELECT 'env_A'", "prod": "SELECT 'env_B'"}


def test_a_chosen_environment_needs_the_values_of_no_other(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--resolve`, too, only the references of that environment are read."""
    project.catalog(
        SPARK + "environments:\n  dev: {variables: {a: '${env:A}'}}\n  prod: {variables: {a: '${env:B}'}}\n"
    )
    project.file("0001_a.sql", "SELECT '{{ variables.a }}'")
    monkeypatch.setenv("A", "value")
    [result] = glacierbase.Project.load(project.root, environment="dev").render(resolve=True)
    assert result.files[0].sql.endswith("SELECT 'value'\n")
