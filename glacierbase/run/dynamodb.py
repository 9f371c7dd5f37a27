"""The meaning of an error of DynamoDB: whether one partition or the whole table is at its limit, and whether the write took effect.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-diagnosing.html
"""

from __future__ import annotations

from enum import Enum
from typing import Any

# By the code of the error. Each proves that the request had no effect.
_THROTTLES = frozenset(
    ("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "Throttling")
)
# The limit of the account, not of a partition.
_OF_ACCOUNT = frozenset(("RequestLimitExceeded",))
# An on-demand table returns these, too, while a partition is split.
_INTERNAL = frozenset(("InternalServerError", "InternalFailure"))
# Another request changes the same item. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
_CONFLICTS = frozenset(("TransactionConflictException", "ReplicatedWriteConflictException"))
# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
_OF_PARTITION = ("TableReadKeyRangeThroughputExceeded", "TableWriteKeyRangeThroughputExceeded")


class Limit(Enum):
    """The resource that is at its limit."""

    PARTITION = "partition"
    TABLE = "table"


def limit_of(error: Any, *, is_on_demand: bool, table_is_exhausted: bool) -> Limit | None:
    """Return the resource whose limit an error reports; None for an error that is not about capacity.

    Args:
        error: of botocore: a `ClientError`, a `HTTPClientError` or a `ConnectionError`.
        is_on_demand: whether the table is billed by request.
        table_is_exhausted: whether the table consumes its capacity; it decides where the error gives no reason.
    """
    code = code_of(error)
    if code in _INTERNAL and is_on_demand:
        return Limit.TABLE if table_is_exhausted else Limit.PARTITION
    if not is_throttled(error):
        return None
    reasons = [reason.get("reason") for reason in error.response.get("ThrottlingReasons") or ()]
    if reasons:
        return Limit.PARTITION if any(reason in _OF_PARTITION for reason in reasons) else Limit.TABLE
    return Limit.TABLE if table_is_exhausted or code in _OF_ACCOUNT else Limit.PARTITION


def is_throttled(error: Any) -> bool:
    """Return whether a refusal is about capacity. It proves that the request had no effect."""
    return code_of(error) in _THROTTLES


def is_fault(error: Any) -> bool:
    """Return whether a repetition may succeed, and the error does not prove that the request had no effect."""
    code = code_of(error)
    if code is None or code in _INTERNAL or code in _CONFLICTS:
        return True
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) >= 500


def proves_no_effect(error: Any) -> bool:
    """Return whether a refused write had no effect, neither by this request nor by an earlier one that the client repeated."""
    return not is_fault(error) and not error.response.get("ResponseMetadata", {}).get("RetryAttempts")


def code_of(error: Any) -> str | None:
    """Return the code of the service's answer; None where there was no answer."""
    response = getattr(error, "response", None)
    return str(response["Error"]["Code"]) if response else None
