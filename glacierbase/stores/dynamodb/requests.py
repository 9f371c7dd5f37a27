"""The client of DynamoDB: requests within a time limit, retries that double nothing, and errors that state what they prove."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import Any

from glacierbase.errors import (
    CommitConflict,
    ConfigurationError,
    EngineError,
    OutcomeUnknown,
    StatementRefused,
    TableNotFound,
)
from glacierbase.model.catalog import Catalog
from glacierbase.model.command import command
from glacierbase.run.clock import seconds
from glacierbase.run.dynamodb import code_of, is_fault, is_throttled
from glacierbase.run.installed import pip_install

# The limit of the waits of one request, and of the wait for an answer: a third of the default lease.
_WAIT_SECONDS = 20.0
_CONNECT_SECONDS = 5.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 2.0
# How often a read is sent that fails without an answer.
_READ_ATTEMPTS = 3
_READS = frozenset(("get_item", "query", "scan", "describe_table"))
# What the answer of a read always has; one of get_item has nothing where there is no item.
_HAS = {"query": "Items", "scan": "Items", "describe_table": "Table"}
TRANSACTION = "transact_write_items"
# The condition of a write did not hold.
CONDITION = "ConditionalCheckFailed"
# Why a transaction was cancelled, where it may be sent again. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
_PASSING = frozenset(("TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"))
_WRONG_LOGIN = frozenset(
    ("UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "IncompleteSignatureException",
     "MissingAuthenticationTokenException", "InvalidClientTokenId")
)  # fmt: skip
# Errors of botocore before a request is sent, by name: older versions lack some.
_NO_LOGIN = frozenset(
    ("CredentialRetrievalError", "NoCredentialsError", "PartialCredentialsError", "SSOError", "TokenRetrievalError",
     "LoginError", "RefreshWithMFAUnsupportedError")
)  # fmt: skip
_LOGIN_HINT = (
    "`aws sts get-caller-identity` shows the login; `aws configure`, AWS_PROFILE or `store.profile` chooses it"
)
# The server's time is cut to a second in its answers.
_HALF_A_SECOND = timedelta(seconds=0.5)


class Requests:
    """Sends requests about one table.

    Attributes:
        clock: the time of the service in its last answer, and `seconds()` at that moment; None before.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._table = catalog.store.namespace
        self._wait_seconds = min(_WAIT_SECONDS, max(1.0, catalog.store.lease_seconds / 3))
        self.clock: tuple[datetime, float] | None = None

    def send(self, operation: str, **parameters: Any) -> Mapping[str, Any]:
        """Send a request, and return the answer. A request that is throttled is repeated with back-off for a third of the lease.

        A write is repeated only after an answer that proves that it had no effect.

        Args:
            operation: the name of a method of the client.

        Raises:
            CommitConflict: the condition of a write did not hold.
            TableNotFound: there is no such table.
            StatementRefused: the service refused the request; it had no effect.
            OutcomeUnknown: there is no answer that proves the outcome.
            ConfigurationError: region, endpoint or profile is wrong.
        """
        call = getattr(self._client, operation)
        if operation != TRANSACTION:  # Each part of it names its table.
            parameters["TableName"] = self._table
        deadline = time.monotonic() + self._wait_seconds
        pause, attempt = _FIRST_PAUSE_SECONDS, 1
        while True:
            sent = seconds()
            try:
                answer: Mapping[str, Any] = call(**parameters)
                answer[_HAS.get(operation, "ResponseMetadata")]
            except Exception as error:  # Of botocore, and of others where the answer is not one of DynamoDB.
                wait = random.uniform(pause / 2, pause)
                repeats = _may_pass(error) or (operation in _READS and is_fault(error) and attempt < _READ_ATTEMPTS)
                if not repeats or time.monotonic() + wait > deadline:
                    raise self._mapped(error) from error
                time.sleep(wait)
                pause, attempt = min(2 * pause, _LONGEST_PAUSE_SECONDS), attempt + 1
                continue
            self._set_clock(answer, sent)
            return answer

    def close(self) -> None:
        """Close the connections."""
        if "_client" in vars(self):
            self._client.close()

    @cached_property
    def _client(self) -> Any:
        """The client. It repeats no request: which one may be repeated is decided here."""
        try:
            import botocore.session
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError
        except ImportError as error:
            raise ConfigurationError(
                "DYNAMODB_NOT_INSTALLED", "botocore is not installed in this Python", pip_install("dynamodb")
            ) from error
        aws = self._catalog.store.aws
        assert aws
        settings = Config(
            retries={"mode": "standard", "total_max_attempts": 1},
            connect_timeout=min(_CONNECT_SECONDS, self._wait_seconds),
            read_timeout=self._wait_seconds,
            parameter_validation=False,
        )
        try:
            session = botocore.session.Session(profile=aws.profile)
            return session.create_client("dynamodb", region_name=aws.region, endpoint_url=aws.endpoint, config=settings)
        except (BotoCoreError, ValueError) as error:
            location = f"catalogs/{self._catalog.file.name}"
            hint = "set `store.region`, `store.endpoint` and `store.profile`, or AWS_DEFAULT_REGION and AWS_PROFILE"
            raise ConfigurationError("INVALID_VALUE", f"{location}: store: {error}", hint, path=location) from error

    def _set_clock(self, answer: Mapping[str, Any], sent: float) -> None:
        date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", "")
        try:
            read = datetime.strptime(date, "%a, %d %b %Y %H:%M:%S %Z").replace(tzinfo=timezone.utc)
        except ValueError:  # A server that is not DynamoDB's may send none.
            return
        self.clock = (read + _HALF_A_SECOND, (sent + seconds()) / 2)

    def _mapped(self, error: Any) -> EngineError:
        """Return an error of the client as that of the port."""
        from botocore import exceptions

        kind, code, hint = type(error).__name__, code_of(error), ""
        where = f"the DynamoDB table {self._table} at {self._client.meta.endpoint_url}"
        meaning: type[EngineError] = StatementRefused
        if code in _WRONG_LOGIN or not _NO_LOGIN.isdisjoint(base.__name__ for base in type(error).__mro__):
            hint = _LOGIN_HINT
        elif code == f"{CONDITION}Exception" or CONDITION in _reasons(error):
            meaning = CommitConflict
        elif code == "ResourceNotFoundException":
            meaning = TableNotFound
        elif code == "AccessDeniedException":
            hint = f"grant the right: `{command('doctor', '--print-ddl')}` prints the policy of the role that migrates"
        elif code == "ValidationException":
            hint = f"check that the table has the keys which `{command('doctor', '--print-ddl')}` prints"
        elif isinstance(error, (exceptions.EndpointConnectionError, exceptions.ConnectTimeoutError)):
            hint = "check the network, `store.region` and `store.endpoint`"
        elif is_fault(error):
            meaning = OutcomeUnknown
            if not isinstance(error, exceptions.BotoCoreError) and code is None:
                hint = "check `store.endpoint`: the answer is not one of DynamoDB"
        message = str(error.response["Error"].get("Message") or "") if code else str(error)
        return meaning(code or kind, f"{where}: {f'{code}: ' if code else ''}{message}".rstrip(": "), hint=hint)


def _may_pass(error: Any) -> bool:
    """Return whether a request had no effect and may have one if it is sent again."""
    reasons = _reasons(error)
    if reasons:
        return CONDITION not in reasons and bool(_PASSING & reasons)
    return is_throttled(error) or code_of(error) == "TransactionConflictException"


def _reasons(error: Any) -> set[str]:
    """Return the codes by which a transaction was cancelled; none for another error."""
    reasons = (getattr(error, "response", None) or {}).get("CancellationReasons") or ()
    return {str(reason.get("Code")) for reason in reasons}
