"""The command `schemas`: what it lists, and that what it prints is what `init` and the documentation ship."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from glacierbase.capabilities.authoring.init import SCHEMA, init
from glacierbase.cli.group import cli
from glacierbase.cli.program import main
from glacierbase.project.commands import COMMANDS
from tests.docs.pages import DOCS
from tests.support.documents import checked
from tests.support.project_folder import ProjectFolder

# A group of commands has no document.
DOCUMENTED = [name for name, row in COMMANDS.items() if not row.is_group]


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["schemas", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_it_lists_every_document_and_catalog_files() -> None:
    """Each line begins with the name that prints the schema."""
    names = [line.split()[0] for line in printed().splitlines()]
    assert names == sorted({*DOCUMENTED, "usage", "catalog-file"})
    for name in names:
        assert printed(name) == (DOCS / "reference" / "schemas" / f"{name}.json").read_text()


def test_the_schema_of_catalog_files_is_the_one_that_init_writes(project: ProjectFolder) -> None:
    """`schemas catalog-file` prints the schema that `init` writes, so that it refreshes the file after an upgrade."""
    init(str(project.root), "web", "spark")
    assert (project.root / "catalogs" / SCHEMA).read_text() == printed("catalog-file")


def test_its_own_document_holds_the_schemas() -> None:
    """The one that was named, or all of them."""
    document = checked(json.loads(printed("status", "--format", "json")))
    [found] = document["schemas"]
    assert found["name"] == "status"
    assert found["json_schema"] == json.loads(printed("status"))
    everything = checked(json.loads(printed("--format", "json")))["schemas"]
    assert {schema["name"] for schema in everything} == {*DOCUMENTED, "usage", "catalog-file"}


def test_an_unknown_name_has_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name is a usage error, in JSON too."""
    for arguments in (["schemas", "catalogfile"], ["schemas", "catalogfile", "--format", "json"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        output = capsys.readouterr()
        assert "did you mean catalog-file?" in output.out + output.err
    assert checked(json.loads(output.out))["schema"] == "glacierbase/usage/1"
