"""Secrets that are written out: refused in catalog files, variables and migrations before anything is shown or recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import BinaryIO

import pytest

from glacierbase.errors import GlacierbaseError
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.pyiceberg.rest import RestCatalog
from glacierbase.secrets import is_written_out, mask, register_answer
from tests.support.hostileserver import hostile_server
from tests.support.lakes import Lakes
from tests.support.program import run_here
from tests.support.project_folder import ProjectFolder
from tests.unit.catalogs.yamlfolder import LAKE, Folder, with_conf

CANARY = "hunter2-canary"
WORDS = (
    "password", "jdbc.password", "passwd", "pwd", "passphrase", "secret", "client.secret", "s3.secret-access-key", "token",
    "s3.session-token", "credential", "credentials", "private_key", "header.Authorization", "api-key", "account.key",
    "adls.sas-token",
)  # fmt: skip
REFERENCES = ("${secret:ONE}", "${env:ONE}", "${file:one}", "x:${secret:ONE}", "${variables.outside}")
HARMLESS = {
    "token-refresh-enabled": "true", "token-expires-in-ms": "3600000", "oauth2.token.type": "bearer-token",
    "token_file_path": "/a/b",
    "fs.s3a.aws.credentials.provider": "com.amazonaws.auth.InstanceProfileCredentialsProvider", "token": "none",
    "oauth_token_request_url": "https://login.example.com/token", "s3.sse.key": "arn:aws:kms:eu-west-1:1:key/a",
    "s3.access-key-id": "minio",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A project without files."""
    return Folder(tmp_path)


@pytest.mark.parametrize("word", WORDS)
def test_a_secret_in_a_catalog_file_is_refused(word: str, folder: Folder) -> None:
    """Under each secret key, in sparkConf and in a keyword of a connection; a variable of the file is as written out."""
    snowflake = f"migrationExecutor: {{type: snowflake, conf: {{connection: {{account: a, database: d, k: {{{word}: VALUE}}}}}}}}\n"
    for text in (with_conf(**{word: "VALUE"}), snowflake):
        for quoted in (CANARY, "'${variables.inside}'"):
            folder.write(f"{text.replace('VALUE', quoted)}variables: {{inside: {CANARY}}}\n")
            error = folder.error()
            assert error.code == "SECRET_IN_CATALOG_FILE"
            assert word.replace("_", ".") in error.message.replace("_", ".")
            assert CANARY not in error.message + error.hint


@pytest.mark.parametrize("value", REFERENCES)
def test_a_reference_to_a_secret_is_no_secret(value: str, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference may be a part of the value, or a variable whose value comes from outside of the file."""
    monkeypatch.setenv("ONE", CANARY)
    (folder.root / "one").write_text(CANARY)
    folder.write(f"{with_conf(**{'a.token': value, 'b.token': value})}variables: {{outside: '${{env:ONE}}'}}\n")
    catalog = folder.catalog()
    assert CANARY in catalog.spark_conf["a.token"]
    assert catalog.spark_conf["a.token"] == catalog.spark_conf["b.token"]


@pytest.mark.parametrize(("key", "value"), HARMLESS.items())
def test_what_describes_a_secret_is_none(key: str, value: str) -> None:
    """Classes, addresses, switches, durations and paths stand under keys that sound secret."""
    assert not is_written_out(key, value)


@pytest.mark.parametrize("value", ["http://me:hunter2@host/a", "sc://host/;token=hunter2", "AKIA" + "A1" * 8])
def test_a_secret_inside_a_value_is_refused_under_any_key(value: str) -> None:
    """The password of an address, a parameter, and a key of a cloud provider."""
    assert is_written_out("uri", value)


@pytest.mark.parametrize(
    ("path", "value", "is_refused"),
    [
        *(
            (f"db.{word}", CANARY, True)
            for word in ("password", "PASSWORD", "api_token", "clientSecret", "private_key")
        ),
        ("db.note", "AKIA" + "A1" * 8, True),
        ("db.password", "${env:ONE}", True),
        ("db.token_table", "lake.a.tokens", False),
        ("db.password", "", False),
        ("db.secret", "false", False),
    ],
)
def test_a_secret_in_variables_is_refused(
    path: str, value: str, is_refused: bool, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, or by its look; a name that ends otherwise is that of a table or a column."""
    monkeypatch.setenv("ONE", CANARY)
    first, _, second = path.partition(".")
    folder.write(f"{LAKE}variables: {{{first}: {{{second}: '{value}'}}}}\n")
    if not is_refused:
        assert folder.catalog().variables == {first: {second: value}}
        return
    error = folder.error()
    assert error.code == "SECRET_IN_VARIABLES"
    assert value not in error.message or value.startswith("${")


STATEMENTS = [
    *(f"ALTER TABLE lake.a.t SET TBLPROPERTIES ('{word}' = '{CANARY}')" for word in WORDS),
    *(
        f"CREATE TABLE lake.a.u (id INT) USING iceberg TBLPROPERTIES ({word} '{CANARY}')"
        for word in ("jdbc.password", "a.token")
    ),
    f'CREATE TABLE lake.a.u (id INT) USING iceberg OPTIONS (x=\'1\', "s3.session-token"="{CANARY}")',
    f"CREATE USER ana PASSWORD = {CANARY}",
    f"CREATE OR REPLACE USER ana DEFAULT_ROLE = r PASSWORD={CANARY} COMMENT = 'x'",
    f"ALTER USER ana SET PASSWORD = {CANARY}",
]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_secret_in_a_statement_is_refused_by_validate(sql: str, project: ProjectFolder) -> None:
    """The message does not repeat it; `lint` has its rule."""
    project.catalog(LAKE)
    project.file("0001_a.sql", f"SELECT 1;\n{sql}")
    for command in ("validate", "render"):
        refused = run_here(project, command)
        assert (refused.code, "SECRET_IN_SQL: migrations/shop/0001_a.sql, line 5" in refused.stderr) == (3, True)
        assert CANARY not in refused.stdout + refused.stderr
    assert "FL113" in run_here(project, "lint").stdout
    project.file("0001_a.sql", f"SELECT 1;\n-- GLACIERBASE_ALLOW: FL113 an example\n{sql}")
    assert run_here(project, "validate").code == 0
    project.file("0001_a.sql", f"SELECT 1;\n-- GLACIERBASE_ALLOW: FL113\n{sql}")
    assert run_here(project, "validate").code == 3


@pytest.mark.parametrize("sql", [
    "UPDATE t SET token = other.token", "SELECT * FROM t WHERE password = hash(x)", "CREATE USER ana DEFAULT_ROLE = r",
    "CREATE TABLE lake.a.t (token STRING, secret STRING) USING iceberg TBLPROPERTIES ('write.token-bucket.enabled' = 'true')",
    "CREATE TABLE lake.a.t (id INT COMMENT 'the token') USING iceberg TBLPROPERTIES ('comment' = 'a secret')",
])  # fmt: skip
def test_a_statement_about_secrets_is_accepted(sql: str, project: ProjectFolder) -> None:
    """Columns may be called as secrets are."""
    project.catalog(LAKE)
    project.file("0001_a.sql", sql)
    assert run_here(project, "validate").code == 0


def test_nothing_of_a_file_with_a_secret_is_recorded_or_printed(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`plan`, `migrate` and `baseline` stop before the first statement and before the first event."""
    lakes = Lakes(project, monkeypatch)
    sql = f"CREATE TABLE z (id INT) TBLPROPERTIES ('a.token' = '{CANARY}')"
    lakes.project.file("0009_z.sql", sql)
    before = lakes.run("history --events").stdout
    for command in ("plan", "migrate --yes", "baseline --to 0009 --reason adopted"):
        refused = lakes.run(command)
        assert (refused.code, "SECRET_IN_SQL" in refused.stderr) == (3, True), refused.stderr
        assert CANARY not in refused.stdout + refused.stderr
    assert lakes.run("history --events").stdout == before


ISSUED = "issued-canary/of+a=server"
KEYS = (
    "access_token",
    "refresh_token",
    "token",
    "s3.secret-access-key",
    "s3.session-token",
    "gcs.oauth2.token",
    "credential",
    "db.password",
)


@pytest.mark.parametrize("key", KEYS)
def test_what_a_server_issues_is_masked(key: str) -> None:
    """In an answer of any shape, unchanged and as in a URL; what an answer says about a token is not masked."""
    about = {
        "token_type": "bearer",
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "token-expires-at": "1234567890",
    }
    register_answer(json.dumps({"config": {key: ISSUED, **about}}).encode())
    assert mask(f"it is {ISSUED} or issued-canary%2Fof%2Ba%3Dserver") == "it is *** or ***"
    assert mask(str(about)) == str(about)


def test_any_number_of_issued_tokens_can_be_masked() -> None:
    """A run of days gets thousands of them; the last ones are masked."""
    for number in range(2_000):
        register_answer(json.dumps({"token": f"token-{number}-{'x' * 1_000}"}).encode())
    assert mask(f"token-1999-{'x' * 1_000}") == "***"


def test_an_error_that_repeats_the_token_of_a_server_does_not_show_it() -> None:
    """The server's configuration has a token, and its error about the next request repeats it."""
    refusal = json.dumps(
        {"error": {"message": f"{ISSUED} has expired", "type": "BadRequestException", "code": 400}}
    ).encode()

    def refuse(request: str, socket: BinaryIO) -> bool:
        if request == "GET /v1/namespaces":
            socket.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n" + refusal)
        return request == "GET /v1/namespaces"

    with hostile_server() as server:
        server.config, server.writes = {"token": ISSUED}, refuse
        catalog = RestCatalog("lake", uri=server.address)
        with pytest.raises(GlacierbaseError) as caught, mapped():
            catalog.list_namespaces()
    assert catalog.properties["token"] == ISSUED
    assert "*** has expired" in caught.value.message
