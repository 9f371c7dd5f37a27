"""The definition of the table, and the policy of the role that migrates."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from glacierbase.model.catalog import StoreOptions
from glacierbase.stores.dynamodb.items import CATALOG, ENTRY

# What the key schema of the table must be.
KEYS = [{"AttributeName": CATALOG, "KeyType": "HASH"}, {"AttributeName": ENTRY, "KeyType": "RANGE"}]
# The prefix of the table that `doctor` makes, and drops, where there is none yet.
_SCRATCH = "doctor_*"
_ROWS = ("GetItem", "Query", "Scan", "PutItem", "DeleteItem", "DescribeTable")
_OF_SCRATCH = ("CreateTable", "UpdateTable", "DeleteTable")


def definition(table: str) -> dict[str, Any]:
    """Return the arguments of CreateTable: on-demand, and protected against deletion."""
    return {
        "TableName": table,
        "KeySchema": KEYS,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in (CATALOG, ENTRY)],
        "BillingMode": "PAY_PER_REQUEST",
        "DeletionProtectionEnabled": True,
    }


def policy(options: StoreOptions) -> Mapping[str, Any]:
    """Return the least rights of the role that migrates. A role for read-only commands needs the first three actions alone."""
    region = (options.aws and options.aws.region) or "*"

    def allowed(table: str, *actions: str) -> dict[str, Any]:
        resource = f"arn:{_partition(region)}:dynamodb:{region}:*:table/{table}"
        return {"Effect": "Allow", "Action": [f"dynamodb:{action}" for action in actions], "Resource": resource}

    statements = [
        allowed(options.namespace, *_ROWS, "CreateTable"),
        allowed(_SCRATCH, *_ROWS, *_OF_SCRATCH),
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _partition(region: str) -> str:
    """Return the part of AWS that a region belongs to. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html"""
    named = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}
    return next((partition for start, partition in named.items() if region.startswith(start)), "aws")


def commands(options: StoreOptions) -> str:
    """Return the commands that create the table with backups of the last 35 days, and the policy, as text."""
    return "\n".join((*_commands(options), "", json.dumps(policy(options), indent=2), ""))


def _commands(options: StoreOptions) -> Iterator[str]:
    aws, table = options.aws, ("--table-name", options.namespace)
    named = (("--region", aws and aws.region), ("--endpoint-url", aws and aws.endpoint))
    where = [word for name, value in named if value for word in (name, value)]
    yield "# the table; the first migrate creates it where it may"
    yield _aws("create-table", *where, "--cli-input-json", json.dumps(definition(options.namespace)))
    yield _aws("wait", "table-exists", *where, *table)
    yield "# backups to any second of the last 35 days"
    recovery = ("--point-in-time-recovery-specification", "PointInTimeRecoveryEnabled=true")
    yield _aws("update-continuous-backups", *where, *table, *recovery)
    yield "# the policy of the role that migrates"


def _aws(*words: str) -> str:
    return shlex.join(["aws", "dynamodb", *words])
