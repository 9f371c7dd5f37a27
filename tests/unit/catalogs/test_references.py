"""References such as `${env:NAME}` in catalog files: read, unread and masked."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.secrets import mask
from tests.unit.catalogs.yamlfolder import LAKE, Folder, with_conf


def test_references_are_replaced_by_their_values(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """References are resolved anywhere in a string, but not in their values; `$${` is a literal `${`."""
    monkeypatch.setenv("HERE", "${env:THERE}")
    (folder.root / "key.pem").write_text("line\n")
    folder.write(
        with_conf(
            a="'<${env:HERE}>'", b="${projectRoot}/x", c="${environment}-${catalog}", d="$${HOME}", e="${file:key.pem}",
            f="${variables.n}${variables.deep.t}", g="'$1 $'",
        )
        + "variables: {n: 4, deep: {t: true, copy: '${variables.n}', env: 'e-${environment}'}}\n"
    )  # fmt: skip
    catalog = folder.catalog()
    values = {key: value for key, value in catalog.spark_conf.items() if len(key) == 1}
    assert values == {
        "a": "<${env:THERE}>", "b": f"{folder.root}/x", "c": "default-shop", "d": "${HOME}", "e": "line", "f": "4true", "g": "$1 $",
    }  # fmt: skip
    assert catalog.variables["deep"] == {"t": True, "copy": 4, "env": "e-default"}


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("outOfOrder: ${env:CANARY}", "outOfOrder: '${env:CANARY}' is not refuse or allow"),
        ("protected: a${file:canary}b", "protected: 'a${file:canary}b' is not true or false"),
        (
            "store: {type: '${variables.a}'}\nvariables: {a: '${env:CANARY}'}",
            "store.type: '${variables.a}' is not auto",
        ),
        ("store: {lockLease: '${env:CANARY}'}", "store.lockLease: '${env:CANARY}' is not a duration"),
        ("store: {namespace: '${env:CANARY}'}", "store.namespace: '${env:CANARY}' is not names"),
        ("store: {catalog: '${env:CANARY}'}", "store.catalog: '${env:CANARY}' is not the name"),
        ("migrationExecutor: {type: '${env:CANARY}'}", "migrationExecutor.type: '${env:CANARY}' is not spark"),
        ("migrationExecutor: {type: spark, dependencies: ['${env:CANARY}']}", "dependencies: '${env:CANARY}' is not"),
    ],
)
def test_a_message_shows_the_reference_and_not_its_value(
    option: str, says: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No message contains the value of a reference; a reference that is not read causes no error."""
    monkeypatch.setenv("CANARY", "canary of; the `environment")
    (folder.root / "canary").write_text("canary of a file\n")
    folder.write(option if "migrationExecutor" in option else LAKE + option)
    error = folder.error()
    assert says in error.message
    assert "canary of" not in error.message + error.hint + str(error.data)
    folder.write(option + "\nstore: {catalog: lake}" if "migrationExecutor" in option else LAKE + option)
    [file] = folder.files()
    assert file.for_environment("default", folder.root, resolve=False).store.lease_seconds == 60.0


def test_unread_references_are_words_that_sql_takes_for_names(folder: Folder) -> None:
    """A placeholder is a valid identifier; `${projectRoot}` and the like, which need no reading, are resolved."""
    folder.write(
        with_conf(a="${env:A.B-C}/${secret:NO_SUCH}", b="${file:../secrets/key.pem}", c="${projectRoot}/${environment}")
        + "variables: {n: '${env:N}', deep: {copy: 'x${variables.n}'}}\nstore: {namespace: '${env:N}'}\n"
    )
    [file] = folder.files()
    catalog = file.for_environment("default", folder.root, resolve=False)
    assert catalog.spark_conf["a"] == "env_A_B_C/secret_NO_SUCH"
    assert catalog.spark_conf["b"] == "file____secrets_key_pem"
    assert catalog.spark_conf["c"] == f"{folder.root}/default"
    assert catalog.variables == {"n": "env_N", "deep": {"copy": "xenv_N"}}
    assert catalog.store.namespace == "env_N"


@pytest.mark.parametrize(
    ("option", "code"),
    [
        ("variables: {a: '${secret:X}'}", "SECRET_IN_VARIABLES"),
        ("variables: {a: '${file:x}'}", "SECRET_IN_VARIABLES"),
        ("variables: {a: '${variables.a}'}", "CYCLIC_REFERENCE"),
        ("variables: {a: '${variables.b}'}", "UNSET_REFERENCE"),
        ("variables: {a: '${nope}'}", "UNKNOWN_REFERENCE"),
        ("outOfOrder: maybe", "INVALID_VALUE"),
        ("outOfOrder: '${environment}'", "INVALID_VALUE"),
    ],
)
def test_what_is_wrong_without_reading_stays_an_error_of_unread_files(option: str, code: str, folder: Folder) -> None:
    """An error that does not depend on the value of a reference is raised in spite of placeholders."""
    folder.write(LAKE + option)
    [file] = folder.files()
    with pytest.raises(GlacierbaseError) as caught:
        file.for_environment("default", folder.root, resolve=False)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("keys", "engine"),
    [("sparkConf: {spark.sql.catalog.lake: x}", "spark"), ("connection: {database: D}", "snowflake")],
)
def test_an_unread_engine_is_the_one_whose_keys_are_there(keys: str, engine: str, folder: Folder) -> None:
    """Where the engine is not known, migrations are split for the one whose keys are under `conf`."""
    folder.write(f"migrationExecutor: {{type: '${{env:ENGINE}}', conf: {{{keys}}}}}\n")
    [file] = folder.files()
    assert file.for_environment("default", folder.root, resolve=False).executor_type == engine


def test_only_the_chosen_environments_references_are_resolved(folder: Folder) -> None:
    """A developer without the production password can use the other environments."""
    folder.write(LAKE + "environments:\n  dev: {}\n  prod: {store: {namespace: '${env:NO_SUCH}'}}\n")
    assert folder.catalog("dev").environment == "dev"
    assert folder.error("prod").code == "UNSET_REFERENCE"


def test_an_empty_secret_is_not_set(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """CI services pass an empty value for a secret that does not exist; a variable that is no secret may be empty."""
    monkeypatch.setenv("EMPTY", "")
    folder.write(with_conf(a="${secret:EMPTY}"))
    error = folder.error()
    assert (error.code, error.data["references"]) == ("UNSET_REFERENCE", ("secret:EMPTY",))
    folder.write(with_conf(a="<${env:EMPTY}>"))
    assert folder.catalog().spark_conf["a"] == "<>"


def test_secrets_are_masked_wherever_they_come_from(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets from references, from files and under secret-sounding keys are masked; no repr shows the configuration."""
    monkeypatch.setenv("PLANTED", "canary-from-env")
    monkeypatch.setenv("PLAIN", "canary-literal")
    (folder.root / "token").write_text("canary-from-file\n")
    folder.write(with_conf(a="x:${secret:PLANTED}", b="${file:token}", spark_my_PassWord="${env:PLAIN}", c="visible"))
    catalog = folder.catalog()
    assert catalog.spark_conf["a"] == "x:canary-from-env"
    assert mask("canary-from-env canary-from-file canary-literal visible") == "*** *** *** visible"
    assert "canary" not in repr(catalog)
    assert "canary" not in repr(folder.files())


def test_an_expensive_chain_of_references_is_refused(folder: Folder) -> None:
    """A long chain of references, and one that doubles at every link, are refused quickly."""
    chain = "".join(f"  a{n}: x${{variables.a{n + 1}}}\n" for n in range(200))
    folder.write(f"{LAKE}variables:\n{chain}  a200: x\n")
    assert folder.error().code == "CYCLIC_REFERENCE"
    doubling = "".join(f"  a{n}: ${{variables.a{n + 1}}}${{variables.a{n + 1}}}\n" for n in range(40))
    folder.write(f"{LAKE}variables:\n{doubling}  a40: xx\n")
    assert folder.error().code == "INVALID_VALUE"


def test_an_environment_variable_that_is_not_utf_8_is_masked_too(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret whose bytes are not UTF-8, which Python reads as halves of characters, is masked."""
    monkeypatch.setenv("RAW", "canary\udcffsecret")
    folder.write(with_conf(a="${secret:RAW}"))
    folder.catalog()
    assert mask("it is canary\udcffsecret") == "it is ***"


def test_the_values_of_references_have_a_limit(tmp_path: Path) -> None:
    """A long variable that many others repeat is refused before all of them are made."""
    repeated = "".join(f"  b{number}: ['${{variables.a}}{'${variables.a}' * 99}']\n" for number in range(50))
    text = (
        "migrationExecutor: {type: spark, conf: {sparkConf: {spark.sql.catalog.lake: x}}}\nvariables:\n  a: "
        + "x" * 500_000
    )
    (tmp_path / "catalogs").mkdir()
    (tmp_path / "catalogs/shop.yaml").write_text(f"{text}\n{repeated}")
    [file] = load_catalog_files(tmp_path / "catalogs", tmp_path)
    tracemalloc.start()
    with pytest.raises(SeveralErrors, match="more than ten million characters"):
        file.for_environment("default", tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * 2**20
