"""History and lock as items of one table: a conditional put for the lock, a conditional transaction for an append.

Every read is consistent: it returns what was written before it began. The table belongs to one region: a condition of a write does
not hold in the replicas that a global table has in other regions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from itertools import groupby
from typing import Any

from glacierbase.errors import (
    CommitConflict,
    ConfigurationError,
    NeedsRepair,
    OutcomeUnknown,
    StatementRefused,
    TableNotFound,
)
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.model.migration import Event
from glacierbase.run.clock import seconds
from glacierbase.stores import LockRow
from glacierbase.stores.dynamodb.definition import KEYS, definition
from glacierbase.stores.dynamodb.items import (
    CATALOG,
    ENTRY,
    EVENT,
    LOCK,
    ORIGIN,
    Item,
    history,
    is_partial,
    item_key,
    lock_item,
    lock_row,
    origin,
    origin_item,
    transactions,
)
from glacierbase.stores.dynamodb.requests import TRANSACTION, Requests
from glacierbase.stores.tables import ensure, settle, the_row

# How long a new or changed table may take, and the pause between two reads of its state, or of a history that lacked an item.
_CHANGED_SECONDS, _POLL_SECONDS = 120.0, 0.5
_NAMES = {"#catalog": CATALOG, "#entry": ENTRY}
# The values that a compare-and-set of the lock compares.
_CLAIM = ("owner", "fence", "beat")


def open_store(catalog: Catalog) -> DynamoDbStore:
    """Return the store of `catalog`. Contacts nothing."""
    return DynamoDbStore(catalog)


class DynamoDbStore:
    """The `Store` over one table of DynamoDB."""

    compacts_every = 1_000_000  # Events are items: there is nothing to compact.
    proves_by_lease = False

    def __init__(self, catalog: Catalog) -> None:
        self._name = catalog.name
        self._table = catalog.store.namespace
        self._requests = Requests(catalog)
        self._exists = False  # Whether the lock was read or written.
        self._made_in: str | None = None  # The table that was read last as the origin of the history.

    @property
    def has_clock(self) -> bool:
        return self._requests.clock is not None

    def now(self) -> datetime:
        """Return the time in the last answer of the service, which signs requests by it, and what has passed since."""
        if self._requests.clock is None:
            return datetime.now(timezone.utc)
        server, at = self._requests.clock
        return server + timedelta(seconds=seconds() - at)

    def read_history(self) -> tuple[Event, ...]:
        with suppress(NeedsRepair):
            events = self._read_events()
            if not is_partial(events):
                return events
        time.sleep(_POLL_SECONDS)
        return self._read_events()

    def _read_events(self) -> tuple[Event, ...]:
        items = self._events(ORIGIN)
        self._made_in = origin(items)
        return tuple(history(items))

    def read_other_histories(self) -> dict[str, tuple[Event, ...]]:
        names, values = {"#entry": ENTRY}, {":event": {"S": EVENT}}
        request = {"FilterExpression": "begins_with(#entry, :event)", "ConsistentRead": True}
        items = self._pages("scan", ExpressionAttributeNames=names, ExpressionAttributeValues=values, **request)
        ordered = sorted(items, key=lambda item: (item[CATALOG]["S"], item[ENTRY]["S"]))
        catalogs = groupby(ordered, lambda item: item[CATALOG]["S"])
        return {name: tuple(history(list(group))) for name, group in catalogs if name != self._name}

    def read_lock(self) -> LockRow | None:
        item = self._lock()
        return the_row(() if item is None else (lock_row(item),), self._place)

    def read_lock_and_history(self) -> tuple[LockRow | None, tuple[Event, ...]]:
        return self.read_lock(), self.read_history()

    def lock_rows(self) -> tuple[LockRow, ...] | None:
        item = self._lock()
        if item is not None:
            return (lock_row(item),)
        return () if self._events(Limit=1) else None

    def _lock(self) -> Item | None:
        """Return the item of the lock; None without one."""
        try:
            item = self._requests.send("get_item", Key=item_key(self._name, LOCK), ConsistentRead=True).get("Item")
        except TableNotFound:
            return None
        self._exists = item is not None
        return item

    def _events(self, low: str = EVENT, high: str = f"{EVENT}~", **options: Any) -> list[Item]:
        """Return the items of events between two sort keys, in order."""
        values = {":catalog": {"S": self._name}, ":low": {"S": low}, ":high": {"S": high}}
        condition = "#catalog = :catalog AND #entry BETWEEN :low AND :high"
        request = {"KeyConditionExpression": condition, "ConsistentRead": True, **options}
        return self._pages("query", ExpressionAttributeNames=_NAMES, ExpressionAttributeValues=values, **request)

    def _pages(self, operation: str, **request: Any) -> list[Item]:
        """Return the items of all pages; of one page with a `Limit`; none if there is no table."""
        items: list[Item] = []
        try:
            while True:
                answer = self._requests.send(operation, **request)
                items += answer["Items"]
                if "LastEvaluatedKey" not in answer or "Limit" in request:
                    return items
                request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        except TableNotFound:
            return []

    def other_catalog(self) -> str | None:
        """Return the table in which the history was made, if it is another one: this one was restored from it, or is a copy."""
        return None if self._made_in in (None, self._table) else f"the DynamoDB table {self._made_in}"

    def own_files(self) -> None:
        """Make this table the origin of the history."""
        self._requests.send("put_item", Item=origin_item(self._name, self._table))

    def has_namespace(self) -> bool:
        return self._described() is not None

    def create(self, free: LockRow) -> None:
        if self._exists:
            return
        if not self.has_namespace():
            ensure(self._create_table, self.has_namespace)
        self._wait_while("CREATING")
        ensure(lambda: self._put([origin_item(self._name, self._table)]), lambda: bool(self._events(ORIGIN, ORIGIN)))
        ensure(lambda: self.replace_rows((), free), lambda: self._lock() is not None)

    def _wait_while(self, status: str) -> None:
        """Wait while the table has this status, or is not known yet."""
        deadline = time.monotonic() + _CHANGED_SECONDS
        while (self._described() or {}).get("TableStatus", status) == status:
            if time.monotonic() > deadline:
                raise OutcomeUnknown("NotActive", f"{self._place} is {status} after {_CHANGED_SECONDS:.0f} s")
            time.sleep(_POLL_SECONDS)

    def _create_table(self) -> None:
        try:
            self._requests.send("create_table", **definition(self._table))
        except StatementRefused as error:
            if error.error_class != "AccessDeniedException":
                raise
            hint = f"let a role that may create it run the output of `{command('doctor', '--print-ddl')}`"
            raise StatementRefused(error.error_class, error.message, hint=hint) from error

    def _described(self) -> Mapping[str, Any] | None:
        """Return the description of the table; None if it does not exist.

        Raises:
            ConfigurationError: its keys are others, or replicas in other regions are written to.
        """
        try:
            description: Mapping[str, Any] = self._requests.send("describe_table")["Table"]
        except TableNotFound:
            return None
        is_global = description.get("Replicas") and description.get("MultiRegionConsistency") != "STRONG"
        keys = sorted((key["AttributeName"], key["KeyType"]) for key in description["KeySchema"])
        if is_global or keys != sorted((key["AttributeName"], key["KeyType"]) for key in KEYS):
            what = "has replicas, in which two runs could both acquire the lock" if is_global else "has other keys"
            hint = f"name another table in `store.table`; `{command('doctor', '--print-ddl')}` prints its definition"
            raise ConfigurationError("STORE_PROPERTIES", f"{self._place} {what}", hint)
        return description

    def drop(self, *, namespace: bool) -> None:
        if namespace:
            self._requests.send("update_table", DeletionProtectionEnabled=False)
            self._wait_while("UPDATING")
            self._requests.send("delete_table")
            return
        for item in [*self._events(ORIGIN), item_key(self._name, LOCK)]:
            self._requests.send("delete_item", Key={key: item[key] for key in (CATALOG, ENTRY)})

    def append(self, events: Sequence[Event]) -> None:
        for part in transactions(self._name, events):
            try:
                self._put(part)
            except CommitConflict as error:
                if lacking := self._lacking(part, error):
                    self._put(lacking)

    def _put(self, items: Iterable[Item]) -> None:
        """Put new items, all or none."""
        condition = {"TableName": self._table, "ConditionExpression": "attribute_not_exists(#entry)"}
        names = {"ExpressionAttributeNames": {"#entry": ENTRY}}
        puts = [{"Put": {"Item": item, **condition, **names}} for item in items]
        self._requests.send(TRANSACTION, TransactItems=puts)

    def _lacking(self, part: Sequence[Item], conflict: CommitConflict) -> list[Item]:
        """Return the items that an earlier attempt of this run, whose answer was lost, did not write.

        Raises:
            CommitConflict: another run wrote an event with the same fence and sequence.
        """
        stored = {item[ENTRY]["S"]: item for item in self._events(part[0][ENTRY]["S"], part[-1][ENTRY]["S"])}
        written = [item for item in part if item[ENTRY]["S"] in stored]
        if any(stored[item[ENTRY]["S"]].get("run_id") != item.get("run_id") for item in written):
            raise conflict
        return [item for item in part if item[ENTRY]["S"] not in stored]

    def compact(self) -> None:
        """Do nothing: an event is an item."""

    def compare_and_set(self, expected: LockRow, new: LockRow) -> bool:
        before = lock_item(self._name, expected)
        return settle(lambda: self._set(before, new), self.read_lock, expected, new)

    def replace_rows(self, expected: Sequence[LockRow], new: LockRow) -> bool:
        before = self._lock()
        if tuple(() if before is None else (lock_row(before),)) != tuple(expected):
            return False
        try:
            return self._set(before, new)
        except CommitConflict:
            return self.lock_rows() == (new,)
        except OutcomeUnknown:
            if self.lock_rows() != (new,):
                raise
            return True

    def _set(self, before: Item | None, new: LockRow) -> bool:
        """Put the lock if its owner, fence and beat are as in `before`; if it is None, only where there is no lock."""
        names: dict[str, str] = {}
        values: dict[str, Any] = {}
        conditions = []
        for name in _CLAIM if before else (ENTRY,):
            names[f"#{name}"] = name
            if before and name in before:
                values[f":{name}"] = before[name]
            conditions.append(f"#{name} = :{name}" if f":{name}" in values else f"attribute_not_exists(#{name})")
        given: dict[str, Any] = {"ExpressionAttributeValues": values} if values else {}
        self._requests.send(
            "put_item",
            Item=lock_item(self._name, new),
            ConditionExpression=" AND ".join(conditions),
            ExpressionAttributeNames=names,
            **given,
        )
        self._exists = True
        return True

    def close(self) -> None:
        """Close the connections. Never raises."""
        self._requests.close()

    @property
    def _place(self) -> str:
        return f"the DynamoDB table {self._table}"
