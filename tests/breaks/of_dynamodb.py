"""Breaks of the store in DynamoDB."""

from __future__ import annotations

from tests.breaks.running import Break

_CONTRACT = "engines/contract/test_store_contract.py::"
_STORE = "engines/test_dynamodb_store.py::"

BREAKS = (
    Break(
        "the lock is put whoever holds it",
        "stores/dynamodb/store.py",
        """            ConditionExpression=" AND ".join(conditions),
            ExpressionAttributeNames=names,
            **given,
""",
        "",
        f"{_CONTRACT}test_compare_and_set_changes_nothing_when_the_row_is_another[dynamodb]",
    ),
    Break(
        "an event replaces one with the same fence and sequence",
        "stores/dynamodb/store.py",
        '"attribute_not_exists(#entry)"}',
        '"attribute_not_exists(#entry) OR attribute_exists(#entry)"}',
        f"{_STORE}test_two_runs_with_one_fence_do_not_write_one_event",
    ),
    Break(
        "events are read from a replica that may be behind",
        "stores/dynamodb/store.py",
        '"KeyConditionExpression": condition, "ConsistentRead": True',
        '"KeyConditionExpression": condition, "ConsistentRead": False',
        f"{_STORE}test_every_read_is_consistent",
    ),
    Break(
        "the lock is read from a replica that may be behind",
        "stores/dynamodb/store.py",
        "Key=item_key(self._name, LOCK), ConsistentRead=True",
        "Key=item_key(self._name, LOCK), ConsistentRead=False",
        f"{_STORE}test_every_read_is_consistent",
    ),
    Break(
        "an append that an earlier attempt wrote is a conflict",
        "stores/dynamodb/store.py",
        "if lacking := self._lacking(part, error):",
        "raise error\n                if lacking := self._lacking(part, error):",
        f"{_STORE}test_a_write_that_arrives_after_its_time_limit_counts_once",
    ),
    Break(
        "a part of an append counts before the rest is written",
        "stores/dynamodb/items.py",
        "if entry != ORIGIN and (until == entry or until in whole):",
        "if entry != ORIGIN:",
        f"{_STORE}test_an_append_of_several_transactions_is_there_whole_or_not_at_all",
    ),
    Break(
        "a history in which a transaction is there in part is not read again",
        "stores/dynamodb/store.py",
        "if not is_partial(events):",
        "if True:",
        f"{_STORE}test_a_transaction_that_a_query_returns_in_part_is_read_again",
    ),
    Break(
        "a restored table is taken for the one in which the history was made",
        "stores/dynamodb/store.py",
        "return None if self._made_in in (None, self._table) else",
        "return None if True else",
        f"{_STORE}test_a_restored_table_is_named_until_it_is_accepted",
    ),
)
