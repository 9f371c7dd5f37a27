"""What a refusal by DynamoDB says: whether one partition or the whole table is at its limit, and whether the write took effect.

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
# Errors of the service, after which the write may have taken effect. On-demand tables answer so, too, while a partition is split.
_FAULTS = frozenset(("InternalServerError", "InternalFailure", "ServiceUnavailable"))
# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
_OF_PARTITION = ("TableReadKeyRangeThroughputExceeded", "TableWriteKeyRangeThroughputExceeded")


class Limit(Enum):
    """What is at its limit."""

    PARTITION = "partition"
    TABLE = "table"


def limit_of(error: Any, *, is_on_demand: bool, table_is_exhausted: bool) -> Limit | None:
    """Return what an error says is at its limit; None for an error that is about no capacity.

    Args:
        error: a `botocore.exceptions.ClientError`, or a `HTTPClientError`.
        is_on_demand: whether the table is billed by request.
        table_is_exhausted: whether the table consumes what it has; it decides where the error gives no reason.
    """
    code = _code(error)
    if code in _FAULTS and is_on_demand:
        return Limit.TABLE if table_is_exhausted else Limit.PARTITION
    if code not in _THROTTLES:
        return None
    reasons = [reason.get("reason") for reason in error.response.get("ThrottlingReasons") or ()]
    if reasons:
        return Limit.PARTITION if any(reason in _OF_PARTITION for reason in reasons) else Limit.TABLE
    return Limit.TABLE if table_is_exhausted or code in _OF_ACCOUNT else Limit.PARTITION


def is_fault(error: Any) -> bool:
    """Return whether an error leaves open if the request took effect, and a repetition may succeed."""
    return _code(error) in (None, *_FAULTS)


def proves_no_effect(error: Any) -> bool:
    """Return whether a refused write had no effect, neither by this request nor by an earlier one that the client repeated."""
    return not is_fault(error) and not error.response.get("ResponseMetadata", {}).get("RetryAttempts")


def _code(error: Any) -> str | None:
    """Return the code of the service's answer; None where there was no answer."""
    response = getattr(error, "response", None)
    return str(response["Error"]["Code"]) if response else None
