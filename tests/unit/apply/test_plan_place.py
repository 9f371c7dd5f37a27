"""A plan belongs to one place, and has what its statements allow."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from glacierbase.apply.preview import place
from tests.support.lakes import Lakes
from tests.unit.apply.plans import MIGRATE, PLAN, applied, refused
from tests.unit.catalogs.yamlfolder import Folder

ALLOW = "-- GLACIERBASE_ALLOW: DS103 no readers since 2026-10-01 (#912)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def replaced(lakes: Lakes, old: str, new: str, catalog: str = "shop") -> None:
    """Change a text of a catalog file."""
    path = lakes.project.root / f"catalogs/{catalog}.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("file:///nowhere/tables", "s3://other/tables", "spark.sql.catalog.lake.warehouse"),
        ("jdbc:sqlite:/nowhere/catalog.db", "jdbc:sqlite:/other/catalog.db", "spark.sql.catalog.lake.uri"),
        ("variables:", "store: {namespace: other}\nvariables:", "store.namespace"),
    ],
)
def test_a_plan_for_an_empty_history_applies_to_its_own_place_only(old: str, new: str, key: str, lakes: Lakes) -> None:
    """Names, files and the empty history are the same in both places; the refusal names the key that leads elsewhere."""
    assert lakes.run(f"{PLAN} --env dev").code == 0
    replaced(lakes, old, new)
    output = lakes.run(f"{MIGRATE} --env dev", "--format", "json")
    assert (output.code, output.document["error"]["code"]) == (3, "PLAN_OUTDATED"), output
    assert output.document["error"]["changes"] == [f"the catalog file leads to another place: {key} changed"]
    assert lakes.place("dev").content()[0] == {}


def test_a_plan_is_applied_with_another_login(lakes: Lakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that reads makes the plan, another one applies it: users, passwords and tokens do not belong to the place."""
    address = "jdbc:sqlite:/nowhere/catalog.db"
    for name, value in (("ONE", "s3cr3t-one"), ("TWO", "s3cr3t-two"), ("OTHER", "s3cr3t-other")):
        monkeypatch.setenv(name, value)
    reader = "reader:${env:ONE}@db/lake?user=reader&password=${env:TWO}"
    replaced(lakes, address, f"jdbc:postgresql://{reader}")
    assert lakes.run(f"{PLAN} --env dev").code == 0
    assert "s3cr3t" not in Path("plan.json").read_text()
    replaced(lakes, reader, "writer:${env:OTHER}@db/lake?user=writer")
    assert applied(lakes.run(f"{MIGRATE} --env dev", "--format", "json")) == ["0001", "0002", "0003"]


def test_an_address_that_is_no_unicode_has_a_digest(lakes: Lakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable of the environment may hold any bytes; the plan is written and applied."""
    monkeypatch.setenv("PLACE", os.fsdecode(b"/nowhere/\xff.db"))
    replaced(lakes, "/nowhere/catalog.db", "${env:PLACE}")
    assert lakes.run(f"{PLAN} --env dev").code == 0
    assert lakes.run(f"{MIGRATE} --env dev").code == 0


def test_the_place_holds_no_secret(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A digest of a secret would let everybody who has the file test guesses, so that a secret is left out of it."""
    text = (
        "migrationExecutor:\n  type: spark\n  conf:\n    sparkConf:\n"
        "      spark.remote: 'sc://host:15002/;token=${env:ONE};user_id=canary-2'\n"
        "      spark.sql.catalog.lake: x.SparkCatalog\n"
        "      spark.sql.catalog.lake.uri: ${secret:WHOLE}\n"
        "      spark.sql.catalog.lake.credential: ${env:THREE}\n"
    )
    for name, value in (("ONE", "canary-1"), ("THREE", "canary-3"), ("WHOLE", "canary-4")):
        monkeypatch.setenv(name, value)
    folder.write(text)
    found = place(folder.catalog())
    assert "canary" not in str(found)
    assert found == {
        "store.catalog": "lake",
        "store.namespace": "glacierbase",
        "spark.remote": "sc://host:15002/",
        "spark.sql.catalog.lake": "x.SparkCatalog",
        "spark.sql.catalog.lake.uri": "***",
    }


def test_snowflakes_place_is_its_account_and_database(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """User, role and warehouse are not part of it."""
    connection = "{account: acme, user: u, password: '${env:PLACE}', role: r, warehouse: w, database: shop, schema: s}"
    monkeypatch.setenv("PLACE", "p4ssw0rd")
    folder.write(f"migrationExecutor: {{type: snowflake, conf: {{connection: {connection}}}}}\n")
    found = place(folder.catalog())
    assert {key: value for key, value in found.items() if key.startswith("connection.")} == {
        "connection.account": "acme", "connection.database": "shop", "connection.schema": "s",
    }  # fmt: skip


def allowing(lakes: Lakes) -> dict[str, Any]:
    """Plan a statement with an allow above it, and return the document."""
    lakes.project.file("0003_c.sql", f"{ALLOW}INSERT INTO t VALUES (6)")
    assert lakes.run(PLAN).code == 0
    return dict(json.loads(Path("plan.json").read_text()))


def test_a_plan_has_the_findings_that_its_statements_allow(lakes: Lakes) -> None:
    """Whoever approves the plan reads what is allowed and why, in the file and on the terminal."""
    [entry] = allowing(lakes)["catalogs"]
    [first, second], [third] = ([each["allows"] for each in file["statements"]] for file in entry["plan"])
    assert first == second == []
    assert third == [{"statement_index": 1, "code": "DS103", "reason": "no readers since 2026-10-01 (#912)"}]
    assert "-- statement 1, line 5, allows DS103: no readers since 2026-10-01 (#912)\n" in lakes.run(PLAN).stdout


@pytest.mark.parametrize("change", [lambda allows: allows.clear(), lambda allows: allows[0].update(reason="other")])
def test_an_allow_that_differs_from_the_approved_one_is_refused(change: Any, lakes: Lakes) -> None:
    """What a reviewer reads of an allow is what the file says."""
    document = allowing(lakes)
    change(document["catalogs"][0]["plan"][1]["statements"][0]["allows"])
    Path("plan.json").write_text(json.dumps(document))
    refused(lakes)


def test_a_plan_without_a_place_is_no_plan(planned: Lakes) -> None:
    """A file that does not say for which tables it was made is not applied to any."""
    document = json.loads(Path("plan.json").read_text())
    del document["catalogs"][0]["place"]
    Path("plan.json").write_text(json.dumps(document))
    assert "missing required field `place`" in refused(planned, code="PLAN_INVALID", exit_code=2)["message"]
