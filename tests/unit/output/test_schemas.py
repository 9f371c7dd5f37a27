"""The JSON Schemas, against the documents of every command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from glacierbase import GlacierbaseError
from glacierbase.cli import main
from glacierbase.cli.group import cli
from glacierbase.errors import SeveralErrors
from glacierbase.executors import Executor
from glacierbase.model.codec import document_fields, key_of
from glacierbase.output.documents import json_document
from glacierbase.output.schemas import WITHOUT_CATALOGS, json_schema
from glacierbase.project.commands import COMMANDS
from tests.support.accesslogs import record
from tests.support.documents import checked
from tests.support.project_folder import ProjectFolder
from tests.support.repository import commit_all
from tests.support.s3server import s3_server
from tests.support.world import World
from tests.unit.output.planted import planted

SEVERAL = SeveralErrors([GlacierbaseError("ONE", "a", path="x.sql", line=3), GlacierbaseError("TWO", "b")])
# The types of results by command.
RESULTS = {name: command.result_type() for name, command in COMMANDS.items() if command.result}
# Commands on the fakes, in this order: whether each succeeds.
CALLS = [
    ("validate", True),
    ("lint", False),
    ("check", False),
    ("check --base main", True),
    ("review --base main", True),
    ("review --base nope", False),
    ("render", True),
    ("render 99", False),
    ("access plan --migrator a --writers b --flavour polaris", True),
    ("access plan --migrator a --writers b", False),
    ("rekey plan lake.a.t --to object-storage --author Ada", False),
    ("rekey approve s3://shop/events/ --yes --manifest sha256:1", False),
    ("pending", True),
    ("plan --to 1", True),
    ("status", True),
    ("show 1", True),
    ("show 7", False),
    ("baseline --to 2 --reason here --yes", False),
    ("baseline --to 1 --reason here --yes", False),
    ("migrate", False),
    ("migrate --to 9", False),
    ("repair", True),
    ("repair 2 --as removed --reason here --yes", False),
    ("repair 2 --as abandoned --reason here --yes", True),
    ("migrate", True),
    ("migrate", True),
    ("show 2", True),
    ("status", True),
    ("history", True),
    ("history --table t", True),
    ("history --table nope", False),
    ("history --column a", False),
    ("schema t", True),
    ("schema t --diff 1..2", True),
    ("schema t --at yesterday", False),
    ("schema nope", False),
    ("layout explain t", True),
    ("layout explain 1", True),
    ("layout explain nope", False),
    ("blame t", True),
    ("blame nope.a", False),
    ("export-state -o a.json", True),
    ("export-state -o b.json", True),
    ("export-state -o nowhere/a.json", False),
    ("report -o a.html", True),
    ("report -o nowhere/a.html", False),
    ("compare a.json b.json", True),
    ("compare a.json", False),
    ("drift", True),
    ("drift adopt --reason why --author me --yes", True),
    ("drift revert --reason why --author me --yes", True),
    ("drift ignore --reason why", True),
    ("layout advise --objects 600M --objects-per-prefix 2.5M", True),
    ("layout advise --put-per-second 0", False),
    ("sharding advise --put-per-second 3500", True),
    ("sharding advise --put-per-second 0", False),
    ("import tables --list", True),
    ("import tables --list nope.*", False),
    ("unlock --yes", True),
    ("env", True),
    ("env --clean", True),
    ("env --check --clean", False),
    ("doctor --print-ddl", True),
    ("doctor", False),
    ("new 'as wanted' --author me --to-match wanted.json --table u", True),
    ("new 'as wanted' --author me --to-match absent.json --table u", False),
    ("new 'add a column' --author me", True),
    ("new ''", False),
    ("new ...", False),
    ("rebase --base nope", False),
    ("rebase --base main --dry-run", True),
    ("squash --to 2 --author me", False),
    ("import flyway theirs --author me", True),
    ("import flyway nowhere --author me", False),
    ("init web", True),
    ("init web", False),
    ("status --catalog nope", False),
    ("explain lock_held", True),
    ("explain", True),
    ("help --all", True),
    ("explain nope", False),
    ("rules", True),
    ("rules ds103", True),
    ("rules nope", False),
    ("layout simulate --days 1 --scheme hash", True),
    ("layout simulate --days 0", False),
    ("layout simulate --trace access.log --output a.svg", True),
    ("layout simulate --trace access.log --days 1", False),
    ("schemas", True),
    ("schemas catalog-file", True),
    ("schemas nope", False),
    ("completion zsh", True),
    ("layout profile ids.csv --column id", True),
    ("layout profile ids.csv --column nope", False),
    ("layout ls shop", False),
    ("status --nope", False),
    ("migrate --to", False),
]

# What an argument of `drift` or `import` chooses has a document of its own.
ACTIONS = {"new-matching", "drift-adopt", "drift-revert", "drift-ignore", "import-tables"}


@pytest.mark.parametrize("command", RESULTS)
def test_a_schema_is_valid_and_requires_every_field_of_the_result(command: str) -> None:
    """Documents may have more properties than the schema lists."""
    schema = json_schema(command)
    Draft202012Validator.check_schema(schema)
    assert '"additionalProperties": false' not in json.dumps(schema)
    entry = schema["$defs"][RESULTS[command].__name__]
    assert entry["required"] == [key_of(field) for field in document_fields(RESULTS[command])]


def test_every_command_of_the_program_has_a_schema() -> None:
    """A new command gets its schema from its type of result; the others print a document about no catalog."""
    assert set(COMMANDS) == {*cli.commands, *ACTIONS, *(words.replace(" ", "-") for words in cli.by_words())}
    documents = {name for name, row in COMMANDS.items() if not row.is_group and not row.answer}
    assert set(RESULTS) | set(WITHOUT_CATALOGS) == {*documents, "usage"}


@pytest.mark.parametrize("command", RESULTS)
def test_a_document_with_every_value_fits_its_schema(command: str) -> None:
    """With all optional values and without, with an error, with several and with none."""
    kind = RESULTS[command]
    whole = planted(kind)
    for error in (None, whole.error, SEVERAL):
        checked(json.loads(json_document(command, [replace(whole, error=error), kind("shop", "dev")], error)))


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("ok"),
        lambda document: document["catalogs"][0].pop("warnings"),
        lambda document: document["catalogs"][0]["migrations"][0].pop("note"),
        lambda document: document["catalogs"][0]["migrations"][0].update(statements_done="1"),
        lambda document: document["catalogs"][0]["migrations"][0].update(state="no such state"),
        lambda document: document.update(error={"code": "A_CODE"}),
        lambda document: document.update(schema="glacierbase/status/2"),
    ],
)
def test_a_document_that_lacks_a_field_or_has_another_type_does_not_fit(change: Any) -> None:
    """A schema that accepts anything would test nothing."""
    document = json.loads(json_document("status", [replace(planted(RESULTS["status"]), error=None)], None))
    validator = Draft202012Validator(json_schema("status"))
    assert validator.is_valid(document)
    change(document)
    assert not validator.is_valid(document)


def test_documents_of_the_program_fit_their_schemas(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command except `warm`, which starts an engine, is run with success and with failure."""
    world = World(project)
    world.target()  # Writes the catalog file.
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES ({{ variables.size }})")
    world.file("2_b.sql", "INSERT INTO nowhere VALUES (1)")
    without_engine = {"open_executor": refuse}
    monkeypatch.setattr(
        "glacierbase.project.each.load_targets",
        lambda *_: [replace(world.target(), **(without_engine if command == "doctor" else {}))],
    )
    (project.root / "theirs").mkdir()
    (project.root / "theirs" / "V30__c.sql").write_text("SELECT '${size}'")
    (project.root / "ids.csv").write_text("id\n1\n")
    (project.root / "wanted.json").write_text('{"properties": {"a": {"type": "integer"}}}')
    (project.root / "access.log").write_text(f"{record('a')}damaged\n")
    commit_all(project.root)
    monkeypatch.chdir(project.root)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    seen = set()
    with s3_server() as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.address)
        for call, succeeds in CALLS:
            command, *arguments = re.findall(r"'[^']*'|\S+", call)
            with pytest.raises(SystemExit) as caught:
                main([command, *(argument.strip("'") for argument in arguments), "--format", "json"])
            document = json.loads(capsys.readouterr().out)
            checked(document)
            assert (caught.value.code == 0, document["ok"]) == (succeeds, succeeds), (call, document["error"])
            seen.update((command, document["schema"].split("/")[1]))
    groups = {name for name, row in COMMANDS.items() if row.is_group}
    assert seen - groups == {*COMMANDS, "usage"} - groups - {"warm"}


def refuse(*_: object) -> Executor:
    raise GlacierbaseError("AN_ENGINE_IS_MISSING", "it does not start")


def test_a_document_of_a_wrong_command_line_has_the_shape_of_all_documents(project: ProjectFolder) -> None:
    """The document's schema is that of any command, with another name, and is shipped as well."""
    document = project.ask("status", "--nope").document
    checked(document)
    assert document.pop("schema") == "glacierbase/usage/1"
    checked({"schema": "glacierbase/status/1", **document})
