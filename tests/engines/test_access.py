"""Who besides the migrator may change tables: `doctor` on Snowflake's bed and on a REST server behind an authorizing proxy."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from glacierbase.executors.pyiceberg.opened import open_catalog
from glacierbase.executors.pyiceberg.properties import opening
from glacierbase.model.access import Protection
from glacierbase.stores.iceberg import open_store
from glacierbase.stores.iceberg.probe import namespace_access
from tests.support.authorizing import Authorizer, authorizing_proxy
from tests.support.beds import SnowBed, WebBed
from tests.support.catalog_files import WEB_TOKEN
from tests.support.program import ask_here, run_here
from tests.support.project_folder import ProjectFolder

MIGRATOR, WRITER = "canary-of-the-migrator", "canary-of-the-writer"


@pytest.fixture
def authorizer(web: WebBed) -> Iterator[Authorizer]:
    """A server that lets only the migrator change tables."""
    authorizer = Authorizer({MIGRATOR: "migrator"}, {WRITER: "writer"})
    address = web.catalog.spark_conf["spark.sql.catalog.lake.uri"]
    with authorizing_proxy(authorizer, address, WEB_TOKEN):
        yield authorizer


@pytest.fixture
def namespace(web: WebBed) -> Iterator[str]:
    """A namespace that exists, and is empty at the end: nothing that was made there stays."""
    name = f"g{uuid.uuid4().hex[:8]}"
    with closing(open_catalog(opening(web.catalog))) as catalog:
        catalog.create_namespace(name)
        yield name
        assert catalog.list_tables(name) == []
        catalog.drop_namespace(name)


def probed(web: WebBed, authorizer: Authorizer, namespace: str, **login: str) -> tuple[Protection, str]:
    """Return the verdict about a namespace through the proxy, and its detail."""
    place = {"spark.sql.catalog.lake.uri": authorizer.address, "spark.sql.catalog.lake.token": MIGRATOR}
    catalog = replace(web.catalog, spark_conf={**web.catalog.spark_conf, **place}, probe_as=login)
    found = namespace_access(catalog, "lake", namespace)
    assert found.namespace == f"lake.{namespace}"
    assert "canary" not in found.detail
    return found.verdict, found.detail


def test_a_server_that_refuses_every_change_by_another_identity_prevents_it(
    web: WebBed, authorizer: Authorizer, namespace: str
) -> None:
    """Each change was tried, and refused by the server."""
    verdict, detail = probed(web, authorizer, namespace, token=WRITER)
    assert (verdict, detail) == (
        Protection.PREVENTED,
        "the identity of access.probeAs may not add a column, set a property, create a table, drop a table",
    )
    tried = [operation for identity, operation in authorizer.refused if identity == "writer"]
    assert tried[:3] == ["add-schema", "set-current-schema", "set-properties"]
    assert [operation.partition(" ")[0] for operation in tried[3:]] == ["POST", "DELETE"]


def test_the_other_identity_may_log_in_with_a_credential(web: WebBed, authorizer: Authorizer, namespace: str) -> None:
    """The migrator's token is not sent with it."""
    assert probed(web, authorizer, namespace, credential=f"etl:{WRITER}")[0] is Protection.PREVENTED


def test_a_server_that_lets_another_change_tables_only_detects(
    web: WebBed, authorizer: Authorizer, namespace: str
) -> None:
    """One right is enough; what the other identity made is dropped."""
    authorizer.changers[WRITER] = "writer"
    assert probed(web, authorizer, namespace, token=WRITER) == (
        Protection.DETECTED,
        "the identity of access.probeAs may add a column, set a property, create a table, drop a table",
    )


def test_without_a_second_identity_it_is_unknown_and_nothing_is_made(
    web: WebBed, authorizer: Authorizer, namespace: str
) -> None:
    """The detail says what to give."""
    web.server.requests.clear()
    verdict, detail = probed(web, authorizer, namespace)
    assert verdict is Protection.UNKNOWN
    assert "access: {probeAs:" in detail
    assert web.server.requests == []


def test_an_identity_that_the_login_does_not_choose_is_not_tried(web: WebBed, authorizer: Authorizer) -> None:
    """Requests that this machine's AWS credentials sign would be the migrator's again."""
    place = {"spark.sql.catalog.lake.uri": authorizer.address, "spark.sql.catalog.lake.rest.sigv4-enabled": "true"}
    catalog = replace(web.catalog, spark_conf={**web.catalog.spark_conf, **place}, probe_as={"token": WRITER})
    web.server.requests.clear()
    found = namespace_access(catalog, "lake", "web")
    assert (found.verdict, web.server.requests) == (Protection.UNKNOWN, [])
    assert "AWS credentials" in found.detail


@pytest.mark.parametrize("problem", ["login", "namespace", "error"])
def test_what_was_not_shown_is_unknown(problem: str, web: WebBed, authorizer: Authorizer, namespace: str) -> None:
    """An identity that cannot log in was refused nothing; a server's error is no refusal."""
    if problem == "error":
        authorizer.refusal = (  # type: ignore[method-assign]
            lambda token, method, *_: (503, "the database is away") if token == WRITER and method != "GET" else None
        )
    where = "nowhere" if problem == "namespace" else namespace
    token = "canary-of-nobody" if problem == "login" else WRITER
    assert probed(web, authorizer, where, token=token)[0] is Protection.UNKNOWN


def test_on_snowflake_doctor_names_the_roles_that_may_change_tables(emulated: SnowBed, project: ProjectFolder) -> None:
    """The bed emulates SHOW GRANTS by Snowflake's documentation. A granted right is shown, a revoked one is not."""
    schema = emulated.schema()
    project.catalog(emulated.catalog_file())
    project.file("1_a.sql", f"CREATE TABLE {schema}.t (a INT)")
    assert run_here(project, "migrate").code == 0
    execute = emulated.executor.open_session().execute
    execute(f"GRANT SELECT, INSERT ON TABLE {schema}.T TO ROLE ANALYST")
    assert access_to(project, schema) == ("prevented", "only role ENGINEER may change tables")
    execute(f"GRANT CREATE TABLE ON SCHEMA {schema} TO ROLE ANALYST")
    execute(f"GRANT EVOLVE SCHEMA ON TABLE {schema}.T TO ROLE LOADER")
    verdict, detail = access_to(project, schema)
    assert verdict == "only detected"
    assert "role ANALYST (CREATE TABLE on schema)" in detail
    assert "role LOADER (EVOLVE SCHEMA on " in detail
    execute(f"REVOKE CREATE TABLE ON SCHEMA {schema} FROM ROLE ANALYST")
    execute(f"REVOKE EVOLVE SCHEMA ON TABLE {schema}.T FROM ROLE LOADER")
    execute("GRANT ROLE ENGINEER TO ROLE BREAK_GLASS")
    assert access_to(project, schema) == (
        "prevented",
        "only role ENGINEER may change tables; granted to role break_glass",
    )


def test_on_snowflake_the_planned_grants_prevent_changes(emulated: SnowBed, project: ProjectFolder) -> None:
    """Another role owned the schema and its tables; an administrator runs what `access plan` prints."""
    schema = emulated.schema()
    project.catalog(emulated.catalog_file())
    project.file("1_a.sql", f"CREATE TABLE {schema}.t (a INT)")
    assert run_here(project, "migrate").code == 0
    execute = emulated.executor.open_session().execute
    for grant in ("OWNERSHIP ON SCHEMA", "OWNERSHIP ON ALL TABLES IN SCHEMA", "CREATE TABLE ON SCHEMA"):
        execute(f"GRANT {grant} {schema} TO ROLE ETL")
    assert access_to(project, schema)[0] == "only detected"
    planned = ask_here(project, "access", "plan", "--migrator", "engineer", "--writers", "etl")
    for grant in planned.entry()["grants"]:
        execute(grant["statement"])
    assert access_to(project, schema)[0] == "prevented"


def access_to(project: ProjectFolder, schema: str) -> tuple[str, str]:
    """Return the verdict of `doctor` about a schema, and its detail."""
    done = ask_here(project, "doctor")
    assert done.code == 0, done.stdout
    [found] = [access for access in done.entry()["access"] if access["namespace"].upper() == schema]
    return found["verdict"], found["detail"]


def test_the_store_of_the_migrator_works_where_writers_may_only_read(
    web: WebBed, authorizer: Authorizer, namespace: str
) -> None:
    """The proxy forwards all that history and lock require."""
    place = {"spark.sql.catalog.lake.uri": authorizer.address, "spark.sql.catalog.lake.token": MIGRATOR}
    catalog = replace(
        web.catalog,
        spark_conf={**web.catalog.spark_conf, **place},
        store=replace(web.catalog.store, namespace=namespace),
    )
    with closing(open_store(catalog)) as store:
        assert store.read_history() == ()
        assert store.has_namespace()
