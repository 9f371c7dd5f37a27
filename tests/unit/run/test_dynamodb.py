"""What an error of DynamoDB says: a partition is at its limit, or the table, or neither; and whether the write took effect."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from glacierbase.run.dynamodb import Limit, is_fault, limit_of, proves_no_effect

PARTITION, TABLE = Limit.PARTITION, Limit.TABLE
# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html, by resource, operation and limit.
LIMITS = ("ProvisionedThroughput", "AccountLimit", "KeyRangeThroughput", "MaxOnDemandThroughput")
REASONS = [
    f"{resource}{operation}{limit}Exceeded"
    for resource in ("Table", "Index")
    for operation in ("Read", "Write")
    for limit in LIMITS
]


def error(code: str, *reasons: str, retries: int = 0, status: int = 400) -> ClientError:
    metadata = {"RetryAttempts": retries, "HTTPStatusCode": status}
    answer: dict[str, Any] = {"Error": {"Code": code}, "ResponseMetadata": metadata}
    if reasons:
        answer["ThrottlingReasons"] = [{"reason": reason, "resource": "arn"} for reason in reasons]
    return ClientError(answer, "PutItem")  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "ThrottlingException"])
def test_the_reason_decides(code: str, reason: str) -> None:
    """A hot range of keys of the table itself is a partition; more shards help no index, no account and no table."""
    expected = PARTITION if reason.startswith("Table") and "KeyRange" in reason else TABLE
    for exhausted in (False, True):
        assert limit_of(error(code, reason), is_on_demand=True, table_is_exhausted=exhausted) is expected


@pytest.mark.parametrize(
    ("code", "on_demand", "exhausted", "expected"),
    [
        ("ProvisionedThroughputExceededException", False, False, PARTITION),
        ("ProvisionedThroughputExceededException", False, True, TABLE),
        ("ThrottlingException", True, False, PARTITION),
        ("RequestLimitExceeded", False, False, TABLE),
        ("InternalServerError", True, False, PARTITION),
        ("InternalServerError", False, False, None),
        ("ServiceUnavailable", True, False, None),
        ("TransactionConflictException", True, False, None),
        ("ConditionalCheckFailedException", True, False, None),
        ("ValidationException", True, True, None),
        ("AccessDeniedException", True, False, None),
        ("ResourceNotFoundException", True, False, None),
    ],
)
def test_without_a_reason_the_code_and_the_table_decide(
    code: str, on_demand: bool, exhausted: bool, expected: Limit | None
) -> None:
    """An on-demand table returns an internal error where a partition is at its limit; an outage is no limit."""
    assert limit_of(error(code), is_on_demand=on_demand, table_is_exhausted=exhausted) is expected


@pytest.mark.parametrize(
    ("raised", "fault", "proof"),
    [
        (error("ProvisionedThroughputExceededException"), False, True),
        (error("ProvisionedThroughputExceededException", retries=2), False, False),
        (error("InternalServerError"), True, False),
        (error("ServiceUnavailable", status=503), True, False),
        (error("502", status=502), True, False),
        (error("TransactionConflictException"), True, False),
        (error("ReplicatedWriteConflictException"), True, False),
        (error("ValidationException"), False, True),
        (ReadTimeoutError(endpoint_url="http://x"), True, False),
        (EndpointConnectionError(endpoint_url="http://x"), True, False),
    ],
)
def test_a_write_without_an_answer_may_have_taken_effect(raised: Any, fault: bool, proof: bool) -> None:
    """A write that the client has repeated may have, too, whatever the last answer is."""
    assert (is_fault(raised), proves_no_effect(raised)) == (fault, proof)
