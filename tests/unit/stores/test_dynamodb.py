"""The store in DynamoDB without a server: its items, its keys in the catalog file, and what is missing on this machine."""

from __future__ import annotations

import socket
import sys
from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glacierbase.apply.preview import place
from glacierbase.errors import ConfigurationError, EngineError, GlacierbaseError, NeedsRepair, StatementRefused
from glacierbase.history.lockrow import LockTerms, free_row
from glacierbase.model.catalog import AwsPlace
from glacierbase.model.migration import Event
from glacierbase.stores import LockRow
from glacierbase.stores.choice import ddl, described, opens_without_engine, store_warnings
from glacierbase.stores.dynamodb import items, open_store
from glacierbase.stores.dynamodb.definition import policy
from glacierbase.stores.dynamodb.items import ENTRY, Item
from tests.support.catalog_files import LAKE
from tests.support.project_folder import ProjectFolder, only_catalog

TEXTS = st.text("aé€𝄞\n", max_size=40)
TIMES = st.datetimes(timezones=st.just(timezone(timedelta(hours=2)))) | st.none()
ROW = replace(
    free_row(LockTerms("shop", "dev", 60)), owner="a", fence=7, holder="{}", expires_at=datetime.now(timezone.utc)
)


def event(sequence: int, **values: Any) -> Event:
    return Event(7, sequence, "run", "shop", "dev", "started", **values)


def entries(parts: list[list[Item]]) -> list[str]:
    return [item[ENTRY]["S"] for part in parts for item in part]


@given(
    st.lists(
        st.builds(dict, rendered_sql=TEXTS, details=TEXTS, statement_index=st.integers(0, 9), at=TIMES), max_size=5
    )
)
def test_events_come_back_from_items_of_any_size(given_values: list[dict[str, Any]]) -> None:
    """Texts are cut between characters, also where an item holds a few bytes only; sort keys order them as the history does."""
    events = [
        event(number, **{key: value for key, value in values.items() if key != "at"}, recorded_at=values["at"])
        for number, values in enumerate(given_values, start=1)
    ]
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in (("_ITEM_BYTES", 60), ("_TRANSACTION_BYTES", 200), ("_TRANSACTION_ITEMS", 3)):
            patch.setattr(items, name, limit)
        parts = items.transactions("shop", events)
    assert entries(parts) == sorted(entries(parts))
    assert all(len(part) <= 3 for part in parts)
    stored = [item for part in parts for item in part]
    expected = [
        replace(each, recorded_at=each.recorded_at and each.recorded_at.astimezone(timezone.utc)) for each in events
    ]
    assert list(items.history(stored)) == expected
    for count in range(len(parts)):  # The run died after some of the transactions.
        assert list(items.history([item for part in parts[:count] for item in part])) == []


@pytest.mark.parametrize("value", [{"S": "7"}, {"N": "0.5"}, {"L": []}, {"BOOL": True}], ids=str)
def test_a_value_of_another_type_is_no_value_of_a_lock_and_an_error_in_a_history(value: Any) -> None:
    """The store then reports the lock as damaged; an event with such a value is not guessed at."""
    assert items.lock_row({**items.lock_item("shop", ROW), "fence": value}) == replace(ROW, fence=None)  # type: ignore[arg-type]
    [[item]] = items.transactions("shop", [event(1)])
    with pytest.raises(NeedsRepair, match="fence"):
        list(items.history([{**item, "fence": value}]))


def test_a_lock_comes_back_whole() -> None:
    """Every column has its attribute, and an absent value has none."""
    item = items.lock_item("shop", ROW)
    assert items.lock_row(item) == ROW
    assert {field.name for field in fields(LockRow)} - item.keys() == {"acquired_at"}


def configured(project: ProjectFolder, store: str, text: str = LAKE) -> Any:
    project.catalog(f"{text}store: {store}\n")
    return only_catalog(project.root)


def test_the_keys_of_the_store_are_read(project: ProjectFolder) -> None:
    """`catalog` and `namespace` are ignored; a plan is for this table, with whatever login."""
    text = "{type: dynamodb, table: locks.prod, region: eu-west-1, endpoint: 'http://localhost:8000', profile: p, namespace: n}"
    catalog = configured(project, text)
    assert catalog.store.aws == AwsPlace("eu-west-1", "http://localhost:8000", "p")
    assert described(catalog) == "the DynamoDB table locks.prod, without the engine"
    assert opens_without_engine(catalog)
    assert {key: value for key, value in place(catalog).items() if key.startswith("store.")} == {
        "store.catalog": "dynamodb",
        "store.type": "dynamodb",
        "store.region": "eu-west-1",
        "store.endpoint": "http://localhost:8000",
        "store.namespace": "locks.prod",
    }
    assert "arn:aws:dynamodb:eu-west-1:*:table/locks.prod" in ddl(catalog, free_row(LockTerms("shop", "dev", 60)))


@pytest.mark.parametrize(("region", "partition"), [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")])
def test_the_policy_names_the_part_of_aws_that_the_region_is_in(
    region: str, partition: str, project: ProjectFolder
) -> None:
    """A policy with another partition allows nothing there."""
    catalog = configured(project, f"{{type: dynamodb, table: locks, region: {region}}}")
    statements = policy(catalog.store)["Statement"]
    assert [statement["Resource"].split(":dynamodb:")[0] for statement in statements] == [f"arn:{partition}"] * 2


@pytest.mark.parametrize(
    ("endpoint", "is_warned"),
    [
        ("http://dynamodb.example:8000", True),
        ("http://10.0.0.7:8000", True),
        ("https://dynamodb.example", False),
        ("http://localhost:8000", False),
        ("http://[::1]:8000", False),
    ],
)
def test_a_server_on_another_machine_without_tls_is_a_warning(
    endpoint: str, is_warned: bool, project: ProjectFolder
) -> None:
    """Whoever is in between can say that the lock is free."""
    catalog = configured(project, f"{{type: dynamodb, table: locks, endpoint: '{endpoint}'}}")
    assert [f"at {endpoint}" in warning for warning in store_warnings(catalog)] == [True] * is_warned


@pytest.mark.parametrize(
    ("store", "code"),
    [
        ("{type: dynamodb}", "MISSING_KEY"),
        ("{table: locks}", "INVALID_VALUE"),
        ("{type: dynamodb, table: a b}", "INVALID_VALUE"),
        ("{type: dynamodb, table: ab}", "INVALID_VALUE"),
        ("{type: dynamodb, table: locks, endpoint: 'localhost:8000'}", "INVALID_VALUE"),
        ("{type: dynamodb, table: locks, endpoint: 'http://localhost/path'}", "INVALID_VALUE"),
    ],
)
def test_a_wrong_store_is_an_error_of_the_catalog_file(store: str, code: str, project: ProjectFolder) -> None:
    """A table without its type would leave the history elsewhere."""
    with pytest.raises(ConfigurationError) as caught:
        configured(project, store)
    assert caught.value.code == code


def test_an_environment_may_have_another_store(project: ProjectFolder) -> None:
    """The table of the others is then not used."""
    catalog = configured(project, "{type: embedded, table: locks}")
    assert catalog.store.aws is None


def error_of(project: ProjectFolder, **options: str) -> GlacierbaseError:
    given = {"type": "dynamodb", "table": "locks", "lockLease": "1s", **options}
    store = open_store(configured(project, f"{{{', '.join(f'{key}: {value!r}' for key, value in given.items())}}}"))
    with pytest.raises((EngineError, ConfigurationError)) as caught:
        store.read_lock()
    return caught.value


@pytest.fixture
def no_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """No login, no region and no file of AWS."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nowhere")


def test_what_is_missing_is_said(project: ProjectFolder, no_login: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A login, a profile, a region, a server and the package; nothing has taken effect."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    without = error_of(project, region="eu-west-1", endpoint=address)
    assert isinstance(without, StatementRefused)
    assert "aws configure" in without.hint
    for options, what in (({"profile": "nobody", "region": "eu-west-1"}, "nobody"), ({}, "region")):
        wrong = error_of(project, **options)
        assert (wrong.code, wrong.exit_code) == ("INVALID_VALUE", 2)
        assert what in wrong.message
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    unreachable = error_of(project, region="eu-west-1", endpoint=address)
    assert isinstance(unreachable, StatementRefused)
    assert address in unreachable.message
    assert "store.endpoint" in unreachable.hint
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    missing = error_of(project, region="eu-west-1", endpoint=address)
    assert missing.code == "DYNAMODB_NOT_INSTALLED"
    assert "dynamodb" in missing.hint
