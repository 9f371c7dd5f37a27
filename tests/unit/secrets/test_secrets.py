"""Masking: which values are secrets, in which forms they are found, and that documents stay valid."""

from __future__ import annotations

import base64
import html
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glacierbase import secrets
from glacierbase.apply.results import PlannedFile, PlannedStatement, PlanResult
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import ConfigurationError, GlacierbaseError, MigrationFailed, SeveralErrors, StatementRefused
from glacierbase.executors.pyiceberg.errors import mapped
from glacierbase.executors.spark.errors import map_error
from glacierbase.history.details import details_of
from glacierbase.inspect.history import HistoryResult
from glacierbase.model.catalog import Catalog
from glacierbase.model.migration import Event
from glacierbase.output.documents import json_document, text_document
from glacierbase.secrets import Secrets, address, is_secret, mask, register, register_setting
from tests.support.project_folder import ProjectFolder
from tests.support.world import World

# Characters that every escaping changes, and one outside of the first Unicode plane.
AWKWARD = "pa:s/s \"w\\o'r+d& <ä😀>\n%41"
PEM = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(
    base64.b64encode(bytes([number]) * 48).decode() for number in range(1, 9)
)
CONNECTION = "migrationExecutor: {type: snowflake, conf: {connection: {database: D, CONF}}}\n"
SPARK = "migrationExecutor: {type: spark, conf: {sparkConf: {CONF}}}\nstore: {catalog: lake}\n"


SECRET_KEYS = """\
spark.my.PassWord my_passwd ssl.passphrase connection.passcode private_key_file_pwd oauth_client_secret token fs.credential
private_key header.Authorization header.X-Api-Key apikey API_KEY header.Cookie header.X-Auth-Token
spark.hadoop.fs.azure.account.key.acc.dfs.core.windows.net account_key accountKey fs.s3a.access.key s3.access-key-id access_key
fs.azure.sas.container.account adls.sas-token s3.sse.key client.encryption-key
"""
OTHER_KEYS = """\
authenticator rest.auth.type spark.sql.catalog.lake.oauth2-server-uri spark.cassandra.connection.host hive.metastore.sasl.qop
spark.sql.catalog.lake.warehouse author spark.sql.shuffle.partitions header.X-Iceberg-Access-Delegation user account
private_key_file private_key_path token_file_path aws.web-identity-token-file fs.azure.account.oauth2.token.file
privateKeyFile keyfile
"""


@pytest.mark.parametrize("key", SECRET_KEYS.split())
def test_a_value_under_such_a_key_is_a_secret(key: str) -> None:
    """The spellings of the engines and file systems are recognised."""
    assert is_secret(key)


@pytest.mark.parametrize("key", OTHER_KEYS.split())
def test_a_value_under_another_key_is_not_a_secret(key: str) -> None:
    """Masking their values would make the output useless. The path of a file is no secret: a wrong one must be readable."""
    assert not is_secret(key)


@pytest.mark.parametrize("value", ["-----BEGIN PRIVATE KEY-----\nCANARYcanary\n", "CANARYcanary" * 100])
def test_a_key_in_place_of_its_path_is_masked(value: str) -> None:
    """A variable that holds the key itself is a likely mistake, and the message about the file would print it."""
    register_setting("private_key_file", value)
    register_setting("private_key_file", "/run/keys/snow.p8")
    assert "CANARY" not in mask(f"[Errno 36] File name too long: {value!r}")
    assert mask("/run/keys/snow.p8") == "/run/keys/snow.p8"


def loaded(project: ProjectFolder, text: str) -> Catalog:
    """The catalog of this text, as a command would load it."""
    project.catalog(text)
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    return file.for_environment("default", project.root)


@pytest.mark.parametrize(
    "form",
    [
        AWKWARD,
        json.dumps(AWKWARD),
        json.dumps(AWKWARD, ensure_ascii=False),
        json.dumps(json.dumps(AWKWARD)),
        repr(AWKWARD),
        ascii(AWKWARD),
        repr(AWKWARD.encode()),
        repr(f"{AWKWARD}'\""),
        quote(AWKWARD),
        quote(AWKWARD, safe=""),
        quote(AWKWARD, safe="").replace("%3A", "%3a").replace("%C3%A4", "%c3%a4"),
        quote_plus(AWKWARD),
        html.escape(AWKWARD),
        " ".join(AWKWARD.split()),
        AWKWARD.replace("\n", "\r\n    "),
    ],
)
def test_a_secret_is_found_in_every_escaped_form(form: str) -> None:
    """No character of the secret remains."""
    register(f"  {AWKWARD}\n")
    assert mask(form).strip("b\"'\\") == "***"


@pytest.mark.parametrize("user", ["a", "al", "ali", "alice"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_is_found_in_base64(user: str, encode: Any) -> None:
    """A secret is masked at all three offsets of base64, as in `Authorization: Basic`; only bits of neighbours remain."""
    secret = "\xff\xfe?>canary~~~of-the-header"
    register(secret)
    sent = encode(f"{user}:{secret}".encode()).decode()
    left = mask(f"Authorization: Basic {sent}").split()[-1]
    assert left.count("***") == 1
    assert len(left) <= 4 * len(user) / 3 + 8


def test_each_line_of_a_secret_is_one() -> None:
    """Each line is masked, because a log is written line by line; a line of a few characters is not."""
    register(f"{PEM}\nQ=\n")
    for line in PEM.splitlines():
        assert mask(f"INFO {line}") == "INFO ***"
    assert mask(PEM) == "***\n" * 8 + "***"
    assert mask("Q= {") == "Q= {"


def test_the_secrets_inside_a_key_file_are_secrets() -> None:
    """A library may print the key without the escapes of JSON."""
    register(json.dumps({"type": "service_account", "private_key": PEM, "client_email": "a@b.example"}, indent=2))
    assert mask(f"the key {PEM.splitlines()[3]} of service_account a@b.example") == (
        "the key *** of service_account a@b.example"
    )
    register("{" * 100_000)  # No JSON, and deep.


def test_a_short_secret_is_a_whole_word_and_a_harmless_value_is_none() -> None:
    """Short secrets are masked as whole words, and common values such as `true` not at all."""
    for value in ("ok", "true", "None", "8080", " ", ""):
        register(value)
    assert mask("ok book true None 8080") == "*** book true None 8080"


def test_hostile_text_does_not_hold_up_the_masking() -> None:
    """The time to mask a hostile text grows only with its length."""
    for secret in ('"\\"quoted\\\\', "a b c", "\\\\\\\\ab", AWKWARD, PEM):
        register(secret)
    for text in ("\\" * 200_000, "a " * 100_000, " " * 200_000, "://a:b" * 40_000, "%5c" * 70_000):
        began = time.process_time()
        mask(text)
        assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("uri", "secret"),
    [
        ("sc://host:15002/;token=canary-1;user_id=alice", "canary-1"),
        ("sc://host:15002/;user_id=alice;x-api-key=canary%2F1", "canary/1"),
        ("https://alice:canary-1@catalog.example/v1", "canary-1"),
        ("jdbc:postgresql://alice:can%40ry-1@db.example/lake", "can@ry-1"),
        ("jdbc:postgresql://db.example/lake?user=alice&password=canary-1", "canary-1"),
        ("jdbc:sqlserver://db.example:1433;user=alice;password=canary-1;encrypt=true", "canary-1"),
        ("https://one.example/maven,https://alice:canary-1@two.example/maven", "canary-1"),
        ("-Dspark.x=1 -Djavax.net.ssl.trustStorePassword=canary-1", "canary-1"),
        ("LoginModule required username='alice' password='canary-1';", "canary-1"),
    ],
)
def test_what_a_setting_keeps_secret_inside_is_masked(uri: str, secret: str) -> None:
    """Passwords of users and parameters with secret names are masked; the rest stays readable."""
    register_setting("spark.some.address", uri)
    assert mask(f"refused {secret} by alice at host catalog.example") == "refused *** by alice at host catalog.example"
    assert "canary" not in mask(uri)
    assert mask(uri) != "***"


def test_the_password_of_any_uri_is_masked() -> None:
    """The password is masked without registration. The container of a storage account is not a user."""
    assert mask("git at https://bot:s3cr3t@git.example/x failed") == "git at https://bot:***@git.example/x failed"
    for text in (
        "abfss://container@account.dfs.core.windows.net/x",
        "http://[::1]:8080/a@b",
        '{"uri":"http://a.example:8080","to":"me@b"}',
        "see https://a.example: me@b",
    ):
        assert mask(text) == text


@pytest.mark.parametrize(
    ("uri", "recorded"),
    [
        ("sc://host:15002/;token=abc;user_id=x", "sc://host:15002"),
        ("sc://alice:pw@host:15002", "sc://host:15002"),
        ("sc://[::1]:15002;token=a@b", "sc://[::1]:15002"),
        ("sc://host?token=a#b@c", "sc://host"),
        ("local[2]", "local[2]"),
    ],
)
def test_an_address_is_host_and_port(uri: str, recorded: str) -> None:
    """The lock and the history record an address without user and parameters."""
    assert address(uri) == recorded


def test_secrets_are_found_wherever_a_catalog_file_holds_them(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists, nested mappings, values below a secret key and addresses are searched."""
    for number, value in enumerate(
        ("12345678", "canary-1", "canary-2", "canary-3", "canary-4", " canary-5 ", "canary-6")
    ):
        monkeypatch.setenv(f"V{number}", value)
    conf = "credentials: {user: '${env:V1}'}, tokens: ['${env:V2}', ['${env:V3}']], session_parameters: {A_TOKEN: '${env:V4}'}"
    conf += ", passcode: '${env:V0}', token: '${env:V5}', proxy: 'http://bob:${env:V6}@proxy.example'"
    conf += ", authenticator: SNOWFLAKE_JWT"
    catalog = loaded(project, CONNECTION.replace("CONF", conf))
    assert catalog.connection["token"] == " canary-5 "
    told = "12345678 canary-1 canary-2 canary-3 canary-4 canary-5 canary-6 SNOWFLAKE_JWT bob"
    assert mask(told) == "*** *** *** *** *** *** *** SNOWFLAKE_JWT bob"


@pytest.mark.parametrize("reference", ["${secret:PLANTED}", "${file:secret.txt}"])
@pytest.mark.parametrize(
    "key",
    [
        "spark.driver.extraJavaOptions",
        "spark.driver.defaultJavaOptions",
        "spark.executor.extraJavaOptions",
        "spark.yarn.am.extraJavaOptions",
        "spark.driver.extraClassPath",
        "spark.driver.extraLibraryPath",
    ],
)
def test_a_secret_on_a_command_line_of_java_is_refused(
    key: str, reference: str, project: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark passes these settings only on the command line. Other values are allowed there."""
    monkeypatch.setenv("PLANTED", "canary-1")
    (project.root / "secret.txt").write_text("canary-2")
    with pytest.raises(ConfigurationError) as caught:
        loaded(project, SPARK.replace("CONF", f'"{key}": "-Da.b={reference}"'))
    assert (caught.value.code, caught.value.data["line"]) == ("INVALID_VALUE", 1)
    assert f"{key}: {reference} would be on a command line" in caught.value.message
    allowed = loaded(project, SPARK.replace("CONF", f'"{key}": "-Da.b=${{env:PLANTED}} $${{secret:PLANTED}}"'))
    assert allowed.spark_conf[key] == "-Da.b=canary-1 ${secret:PLANTED}"


CUT = "canary-" + "x1" * 200


def test_a_message_of_pyiceberg_is_masked_before_it_is_cut() -> None:
    """A part of a secret would not be found after the cut."""
    register(CUT)
    with pytest.raises(GlacierbaseError) as caught, mapped():
        raise ValueError(f"{'y' * 250} {CUT}")
    assert caught.value.message == f"{'y' * 250} ***"
    with pytest.raises(GlacierbaseError) as caught, mapped():
        raise ValueError("no such table: iceberg_tables")
    assert type(caught.value).__name__ == "TableNotFound"


def test_a_secret_does_not_change_what_an_error_proves() -> None:
    """Errors are classified by their unmasked text."""
    register("iceberg_tables")
    with pytest.raises(GlacierbaseError) as caught, mapped():
        raise ValueError("no such table: iceberg_tables")
    assert (type(caught.value).__name__, caught.value.message) == ("TableNotFound", "no such table: ***")


def test_a_message_of_spark_is_masked_before_it_is_cut() -> None:
    """The plan and the stack of an error are removed after masking, so no part of a secret remains."""
    secret = "canary-first\n== second-canary"
    register(secret)
    assert map_error(RuntimeError(f"it is {secret} here"), "SELECT 1").message == "it is *** here"


def test_a_quoted_statement_is_masked_before_it_is_cut(project: ProjectFolder) -> None:
    """The message shows ten lines of the statement; a secret may begin in the last one."""
    world = World(project)
    secret = "x9 y8\nz7"  # Its lines are too short to be secrets by themselves.
    register(secret)
    world.file("1_a.sql", "SELECT\n" + "1,\n" * 8 + f"'{secret}'")
    world.break_at("SELECT", lambda sql: refused())
    with pytest.raises(MigrationFailed) as caught:
        world.migrate()
    assert "    | '***'" in caught.value.message
    assert "x9" not in caught.value.message


def refused() -> None:
    raise StatementRefused("SOME_CLASS", "no")


def test_a_cell_of_a_table_is_masked_though_its_white_space_is_folded() -> None:
    """A table shows a message of several lines on one line."""
    register("ab1\n  cd2")
    event = Event(1, 1, "run", "shop", "default", "failed", error_message="it is ab1\n  cd2 here")
    assert "it is *** here" in text_document(
        [HistoryResult("shop", "default", events=(event,))], HistoryResult.event_lines
    )


def document(secret: str, around: str) -> str:
    """A document that holds the secret wherever a value can."""
    text = f"{around}{secret}{around}"
    error = GlacierbaseError(
        "STATEMENT_FAILED", text, text, path=text, nested={text: [text, (text,)], "at": Path(text)}
    )
    event = Event(1, 1, text, "shop", text, "failed", error_message=text, details=json.dumps({"a": text}))
    results = [
        HistoryResult(text, text, warnings=(text,), events=(event,), error=error),
        PlanResult("shop", "default", plan=(planned_file(text),)),
    ]
    return json_document("history", results, error)


def planned_file(text: str) -> PlannedFile:
    return PlannedFile(text, text, text, text, 1, (PlannedStatement(1, 1, text, text),), text, text)


def texts(value: Any) -> list[str]:
    """All texts of a document, and all keys that are data."""
    if isinstance(value, dict):
        keys = [key for key in value if not key.isidentifier()]
        return keys + [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


# Secrets without stars: the mask consists of stars.
SECRETS = st.text(st.characters(exclude_characters="*"), min_size=4).map(str.strip).filter(lambda text: len(text) >= 4)


@settings(max_examples=150, deadline=None)
@given(
    SECRETS | st.sampled_from(['",\n"', '{"a": 1}', "true,", "null}", "catalogs", PEM]),
    st.sampled_from(["", " ", '"', "\\", "é\n"]),
)
def test_a_document_is_valid_json_without_the_secret_for_any_secret(secret: str, around: str) -> None:
    """Values and data keys are masked before serialisation; the names of the format are kept."""
    with Secrets().in_use():
        register(secret)
        found = json.loads(document(secret, around))
    assert {"schema", "ok", "error", "catalogs"} == set(found)
    assert {"catalog", "environment", "events"} <= set(found["catalogs"][0])
    harmless = secrets._HARMLESS.fullmatch(secret)
    assert harmless or [text for text in texts([found["error"], found["catalogs"]]) if secret in text] == []


NASTY = ['"', "{", "}", ",\n", "true", "ok", ":", "[", "\\", "1", "process", "statement_checksums", "a"]


@pytest.mark.parametrize("secret", NASTY)
def test_no_secret_breaks_a_document(secret: str) -> None:
    """A secret may equal a part of JSON's syntax or the name of a key."""
    register(secret)
    found = json.loads(document(secret, " "))
    assert (found["ok"], found["error"]["exit_code"], len(found["catalogs"])) == (False, 70, 2)


@pytest.mark.parametrize("secret", NASTY)
def test_no_secret_breaks_the_history_or_the_lock(secret: str, project: ProjectFolder) -> None:
    """The next run reads their JSON and resumes at the failed statement."""
    world = World(project)
    register(secret)
    world.file("1_a.sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    world.break_at("INSERT", lambda sql: refused())
    with pytest.raises(MigrationFailed):
        world.migrate()
    assert [file.resumed_at for file in world.migrate().applied] == [2]
    started = next(event for event in world.events if event.event == "started")
    assert isinstance(details_of(started).process["pid"], int)
    assert len(details_of(started).statement_checksums or ()) == 2
    assert {type(json.loads(event.tables)) for event in world.events if event.tables} == {list}


def test_secrets_that_would_take_hours_to_mask_are_refused(
    monkeypatch: pytest.MonkeyPatch, project: ProjectFolder
) -> None:
    """A branch of a few kilobytes may hold millions of characters of secrets, even without references."""
    monkeypatch.setattr(secrets, "_MOST_CHARACTERS", 100_000)
    names = ", ".join(f'k{number}.token.id: "{number}${{variables.v}}"' for number in range(50))
    project.catalog(SPARK.replace("CONF", names) + f"variables: {{v: '{'-+' * 50}'}}\n")
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    with pytest.raises(SeveralErrors) as caught:
        file.for_environment("default", project.root, resolve=False)
    errors = caught.value.errors
    assert {error.code for error in errors} == {"INVALID_VALUE"}
    assert len(errors) < 50  # The first ones are masked.
    assert "too many or too long to be masked" in errors[0].message
    assert "-+-+" not in "".join(error.message for error in errors)


def test_a_secret_that_is_read_and_cannot_be_masked_is_refused(
    monkeypatch: pytest.MonkeyPatch, project: ProjectFolder
) -> None:
    """The error has the code INVALID_VALUE and names the limit."""
    monkeypatch.setattr(secrets, "_MOST_CHARACTERS", 1_000)
    monkeypatch.setenv("LONG", "-+" * 500)
    project.catalog(SPARK.replace("CONF", 'a: "${secret:LONG}"'))
    [file] = load_catalog_files(project.root / "catalogs", project.root)
    with pytest.raises(ConfigurationError, match="too many or too long to be masked") as caught:
        file.for_environment("default", project.root)
    assert caught.value.code == "INVALID_VALUE"
