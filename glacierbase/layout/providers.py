"""What one partition of an object store carries, by provider."""

from __future__ import annotations

import math
from dataclasses import dataclass

from glacierbase.errors import ConfigurationError
from glacierbase.model.arguments import check_one_of

# Requests a second below which AWS advised in 2012 to leave keys as they are.
QUIET = 50


@dataclass(frozen=True, slots=True)
class Provider:
    """The limits of one partition of an object store.

    A store splits its keys into partitions by their first characters, and answers requests above a limit with 503 Slow Down.

    Attributes:
        put_per_second: of PUT, COPY, POST and DELETE.
        get_per_second: of GET and HEAD.
        objects_per_prefix: the number of keys that a partition holds; None where no limit is known.
        source: of the limits.
        documented: whether the vendor documents the limits today.
        utilisation: the share of a limit that a load is planned with: the other half is for bursts and uneven keys.
    """

    name: str
    put_per_second: float
    get_per_second: float
    objects_per_prefix: int | None
    source: str
    documented: bool
    utilisation: float = 0.5


AWS = Provider(
    "aws",
    put_per_second=3500,
    get_per_second=5500,
    objects_per_prefix=None,
    source="https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html",
    documented=True,
)
AWS_2012 = Provider(
    "aws-2012",
    put_per_second=100,
    get_per_second=100,
    objects_per_prefix=20_000_000,
    source="performance tips of S3 of 2012, which AWS withdrew in 2018: targets for a partition, not limits",
    documented=False,
    utilisation=1.0,
)
PROVIDERS = {provider.name: provider for provider in (AWS, AWS_2012)}
CUSTOM = "custom"


def provider_of(name: str | None, put_limit: float | None = None, get_limit: float | None = None) -> Provider:
    """Return the provider of this name; default `AWS`.

    Args:
        put_limit, get_limit: requests per second that one partition carries; for `custom`, and required there.

    Raises:
        ConfigurationError: `INVALID_VALUE`, `CONFLICTING_OPTIONS`.
    """
    name = name or AWS.name
    check_one_of("provider", name, (*PROVIDERS, CUSTOM))
    if name != CUSTOM:
        if put_limit is not None or get_limit is not None:
            what = f"--put-limit and --get-limit are for --provider {CUSTOM}: {name} has its own limits"
            raise ConfigurationError("CONFLICTING_OPTIONS", what, f"use --provider {CUSTOM}, or leave the limits out")
        return PROVIDERS[name]
    if put_limit is None or get_limit is None:
        what = f"--provider {CUSTOM} requires --put-limit and --get-limit: what one partition carries"
        raise ConfigurationError("INVALID_VALUE", what, "add both: --put-limit 1000 --get-limit 2000")
    for option, limit in (("--put-limit", put_limit), ("--get-limit", get_limit)):
        if not (math.isfinite(limit) and limit > 0):
            raise ConfigurationError("INVALID_VALUE", f"{option} {limit:g} is not a number above 0", f"{option} 1000")
    return Provider(CUSTOM, put_limit, get_limit, None, "given by the caller", documented=False)
