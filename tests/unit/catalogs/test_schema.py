"""The JSON Schema of catalog files: it accepts the files of this project and its pages, and refuses what the loader refuses."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from jsonschema import Draft7Validator

from glacierbase.capabilities.authoring.init import TYPES
from glacierbase.catalogs.folder import load_catalog_files
from glacierbase.catalogs.keys import FILE_KEYS, KEYS
from glacierbase.catalogs.schema import catalog_file_schema
from glacierbase.errors import GlacierbaseError, SeveralErrors
from glacierbase.model.keys import DURATION, Key, Kind
from tests.docs.pages import REPOSITORY, all_blocks
from tests.support.catalog_files import LAKE, POSTGRES, REMOTE, WEB

ENVIRONMENT_KEYS = KEYS["environments"].keys
SCHEMA = catalog_file_schema()
VALIDATOR = Draft7Validator(SCHEMA)
TEMPLATES = REPOSITORY / "glacierbase" / "capabilities" / "authoring" / "templates" / "catalogs"
ON_PAGES = [block.text for block in all_blocks("yaml") if "migrationExecutor" in block.text]
EXECUTOR = "migrationExecutor: {type: spark, conf: {sparkConf: {spark.sql.catalog.lake: x.Y}}}\n"


def load(folder: Path, text: str) -> None:
    """Load a catalog file and each of its environments, references to the environment unread."""
    (folder / "catalogs").mkdir(exist_ok=True)
    (folder / "catalogs" / "shop.yaml").write_text(text)
    for file in load_catalog_files(folder / "catalogs", folder):
        for environment in file.environments:
            file.for_environment(environment, folder, resolve=False)


def test_the_schema_is_one() -> None:
    """Editors support draft 7."""
    Draft7Validator.check_schema(SCHEMA)
    assert len(json.dumps(SCHEMA)) < 35_000


@pytest.mark.parametrize(
    "text",
    [
        *[pytest.param((REPOSITORY / "catalogs" / "analytics.yaml").read_text(), id="sample")],
        *[pytest.param(path.read_text(), id=path.stem) for path in sorted(TEMPLATES.glob("*.yaml"))],
        *[pytest.param(text, id=f"page {number}") for number, text in enumerate(ON_PAGES)],
        *[pytest.param(text, id=text.split()[-1]) for text in (LAKE, WEB, POSTGRES, REMOTE)],
        "",
        "environments: {dev: {protected: true}, prod: }\n",
        f"{EXECUTOR}store: {{lockLease: 1.5m, namespace: a.b, type: null}}\nvariables: {{a: [1, {{b: null}}, '$${{x}}']}}\n",
        f"{EXECUTOR}protected: 'true'\noutOfOrder: ${{env:ORDER}}\nstore: {{catalog: '\"a b\"'}}\n",
    ],
)
def test_a_catalog_file_that_loads_fits_the_schema(text: str) -> None:
    """The files of the sample project, of `init`, of all pages and of the tests' engines fit the schema."""
    assert [error.message for error in VALIDATOR.iter_errors(yaml.safe_load(text))] == []


def test_there_is_a_template_for_each_type() -> None:
    """Every template is offered by `init`."""
    assert {path.stem for path in TEMPLATES.glob("*.yaml")} == set(TYPES)


@pytest.mark.parametrize(
    "text",
    [
        "nam: shop\n",
        "name: Shop\n",
        "name: ${env:NAME}\n",
        "name: 'shop\n\n  '\n",
        "- a\n",
        "migrationExecutor: spark\n",
        "migrationExecutor: {type: trino}\n",
        "migrationExecutor: {type: spark, conf: {sparkconf: {}}}\n",
        "migrationExecutor: {type: spark, conf: {sparkConf: {a: [1]}}}\n",
        "migrationExecutor: {type: spark, conf: {sparkConf: {a: '${enf:X}'}}}\n",
        "migrationExecutor: {type: spark, conf: {sparkConf: {a: '$${x} ${nope}'}}}\n",
        "migrationExecutor: {type: spark, dependencies: org.a:b:1}\n",
        "migrationExecutor: {type: spark, dependencies: [org.a:b]}\n",
        "migrationExecutor: {type: spark, dependencies: [null]}\n",
        "migrationExecutor: {type: spark, dependencies: [{coordinate: 'org.a:b:1', sha: x}]}\n",
        "migrationExecutor: {type: spark, dependencies: [{coordinate: 'org.a:b:1', sha256: abc}]}\n",
        "migrationExecutor: {type: spark, dependencies: [{sha256: null}]}\n",
        "migrationExecutor: {type: spark, conf: {allowFloating: maybe}}\n",
        "variables: [a]\n",
        "variables: {a: '${secret:X}'}\n",
        "variables: {a: {b: ['${file:/etc/x}']}}\n",
        "protected: 1\n",
        "outOfOrder: allowed\n",
        "store: {lockLease: 60}\n",
        "store: {lockLease: 1 hour}\n",
        "store: {namespace: a..b}\n",
        'store: {namespace: "a\\n"}\n',
        "store: {type: iceberg2}\n",
        "environments: [dev]\n",
        "environments: {-dev: {}}\n",
        "environments: {dev: {environments: {}}}\n",
        "environments: {dev: {protected: 3}}\n",
        "defaultEnvironment: [dev]\n",
        "headers: {ticket: required}\n",
        "headers: {AUTHOR: required}\n",
        "headers: {MIGRATION_TICKET: required}\n",
        "headers: {TICKET: maybe}\n",
        "headers: {TICKET: '${env:X}'}\n",
        "hooks: {onFailure: notify.sh}\n",
        "recover: never\n",
        "layout: {peakPutPerSecond: -1}\n",
        "layout: {peakGetPerSecond: many}\n",
        "layout: {tables: [{peakPutPerSecond: 5}]}\n",
        "layout: {tables: [{table: a, peakPutPerSecond: '5/s'}]}\n",
        "layout: {tables: [lake.a.t]}\n",
    ],
)
def test_a_wrong_file_is_refused_by_schema_and_loader(text: str, tmp_path: Path) -> None:
    """Values that the loader requires besides are added, so that it refuses the wrong key and nothing else."""
    assert not VALIDATOR.is_valid(yaml.safe_load(text))
    besides = "store: {catalog: lake}\n" if "migrationExecutor" in text else EXECUTOR
    error = refusal(tmp_path, text if text[0] == "-" else text + besides)
    assert error
    assert not is_across(error), error.message


def test_every_key_of_the_table_is_in_the_schema_with_its_meaning_and_default() -> None:
    """A key that is added to the table is in the schema, and in each environment."""
    for path, key in KEYS.items():
        described = SCHEMA
        for name in path.split("."):
            name, in_list = name.removesuffix("[]"), name.endswith("[]")
            described = described["properties"][name]
            if in_list:
                [described] = [each for each in described["items"]["anyOf"] if "properties" in each]
        assert described["description"].startswith(key.meaning)
        assert str(described.get("default", "")).lower() == (key.default or "")
    assert set(SCHEMA["properties"]) == {key.name for key in FILE_KEYS}
    assert set(SCHEMA["definitions"]["environment"]["properties"]) == {key.name for key in ENVIRONMENT_KEYS}


def test_every_mapping_of_named_keys_refuses_others() -> None:
    """A misspelt key is marked in the editor, wherever it is."""

    def mappings(schema: Any) -> Any:
        if isinstance(schema, dict):
            named = schema.get("properties", {})
            if named:
                yield schema
            schema = [*named.values(), *(value for key, value in schema.items() if key != "properties")]
        elif not isinstance(schema, list):
            return
        for inner in schema:
            yield from mappings(inner)

    found = list(mappings(SCHEMA))
    assert len(found) > 5
    assert all(each["additionalProperties"] is False for each in found)


# What the loader checks across keys, files and the environment, or in values that the schema leaves open.
ACROSS = {
    "STORE_CATALOG_UNCLEAR", "EMBEDDED_PROTECTED", "SECRET_IN_CATALOG_FILE",
    "UNSET_REFERENCE", "CYCLIC_REFERENCE", "DUPLICATE_KEY", "FLOATING_DEPENDENCY",
}  # fmt: skip
TEXTS = st.text(string.ascii_letters + string.digits + "${}:._- ", max_size=8)
REFERENCES = st.sampled_from(
    [
        "${env:A}",
        "x${env:A_B}y",
        "${secret:S}",
        "$${a}",
        "${projectRoot}",
        "${variables.a.b}",
        "${nope}",
        "${enf:A}",
        "$",
        "{}",
    ]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXTS, REFERENCES)
NAMES = st.sampled_from(["a", "b", "dev", "x.y", "Prod-1", "TICKET", "AUTHOR", "MIGRATION_X", "A_B", "A\n"])


def single(key: Key) -> st.SearchStrategy[Any]:
    """Values that are likely to be of a key's type, and any others."""
    likely: list[st.SearchStrategy[Any]] = []
    if "enum" in key.type.schema:
        likely.append(st.sampled_from(key.type.schema["enum"]))
    if "pattern" in key.type.schema:
        likely.append(
            st.from_regex(key.type.schema["pattern"].replace(r"(?![\s\S])", r"\Z"), alphabet=string.printable)
        )
    return st.one_of(*likely, SCALARS)


def values(key: Key) -> st.SearchStrategy[Any]:
    """Values of a key's kind."""
    if key.kind is Kind.VALUE:
        return single(key)
    if key.kind is Kind.VALUES:
        return st.dictionaries(NAMES, single(key), max_size=2)
    if key.kind is Kind.KEYS:
        nested = st.recursive(
            SCALARS, lambda inside: st.lists(inside, max_size=2) | st.dictionaries(NAMES, inside, max_size=2)
        )
        return st.dictionaries(NAMES, nested, max_size=2)
    if key.kind is Kind.LIST:
        return st.lists(single(key) | (mapping(key.keys) if key.keys else st.nothing()), max_size=2)
    if key.kind is Kind.ENVIRONMENTS:
        return st.dictionaries(NAMES, mapping(ENVIRONMENT_KEYS), max_size=2)
    return mapping(key.keys)


def mapping(keys: tuple[Key, ...]) -> st.SearchStrategy[Any]:
    """Mappings with some of the keys, and null."""
    return st.none() | st.fixed_dictionaries({}, optional={key.name: values(key) for key in keys})


def is_across(error: GlacierbaseError) -> bool:
    """Return whether the error is one that no schema of a single file states."""
    if isinstance(error, SeveralErrors):
        return all(map(is_across, error.errors))
    return (
        error.code in ACROSS
        or "migrationExecutor.type is missing" in error.message  # It may be in `_shared.yaml`.
        or (error.code == "UNKNOWN_KEY" and "for type" in error.message)  # A key of another engine.
        or re.search(rf"'{DURATION}' is not a duration from", error.message) is not None  # Its range.
        or ": properties." in error.message  # Which ones are required depends on the type of the catalog.
        or "there is no environment" in error.message
        or "is not the name of a schema" in error.message  # Snowflake's namespaces are more restricted.
        or "would be on a command line" in error.message
        # A reference that is resolved to another type than the key's.
        or (error.code == "INVALID_VALUE" and "${" in error.message)
    )


def refusal(folder: Path, text: str) -> GlacierbaseError | None:
    """Return the error with which a catalog file does not load."""
    try:
        load(folder, text)
    except GlacierbaseError as error:
        return error
    return None


def test_a_generated_file_that_fits_the_schema_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apart from what depends on other keys, files or the environment."""
    # Hypothesis takes values from the constants of all imported modules, so that its examples depend on which tests ran before.
    monkeypatch.setattr(providers, "_get_local_constants", providers.Constants)
    monkeypatch.setattr(providers, "CONSTANTS_CACHE", type(providers.CONSTANTS_CACHE)(1024))
    fitting = 0

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(st.fixed_dictionaries({}, optional={key.name: values(key) for key in FILE_KEYS}))
    def check(content: Any) -> None:
        nonlocal fitting
        if VALIDATOR.is_valid(content):
            fitting += 1
            error = refusal(tmp_path, json.dumps(content))
            assert error is None or is_across(error), (content, error.message)

    check()
    assert fitting > 20
