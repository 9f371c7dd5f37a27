"""What one partition of an object store carries, by provider."""

from __future__ import annotations

import math

import pytest

from glacierbase import GlacierbaseError
from glacierbase.layout.providers import AWS, AWS_2012, provider_of


def test_the_limits_of_a_provider_are_those_of_its_source() -> None:
    """3,500 and 5,500 are documented today; the targets of 2012 are not."""
    assert (AWS.put_per_second, AWS.get_per_second, AWS.objects_per_prefix, AWS.documented) == (3500, 5500, None, True)
    assert (AWS_2012.put_per_second, AWS_2012.get_per_second) == (100, 100)
    assert (AWS_2012.objects_per_prefix, AWS_2012.documented) == (20_000_000, False)
    assert provider_of("aws") is AWS


def test_a_custom_provider_has_the_limits_that_the_caller_gives() -> None:
    """They are not documented."""
    provider = provider_of("custom", 1000, 2000)
    assert (provider.put_per_second, provider.get_per_second, provider.documented) == (1000, 2000, False)


@pytest.mark.parametrize(
    ("name", "limits", "code"),
    [
        ("was", (None, None), "INVALID_VALUE"),
        ("custom", (1000, None), "INVALID_VALUE"),
        ("custom", (None, None), "INVALID_VALUE"),
        ("custom", (0, 2000), "INVALID_VALUE"),
        ("custom", (1000, math.nan), "INVALID_VALUE"),
        ("custom", (math.inf, 2000), "INVALID_VALUE"),
        ("aws", (1000, 2000), "CONFLICTING_OPTIONS"),
    ],
)
def test_wrong_limits_are_refused(name: str, limits: tuple[float | None, float | None], code: str) -> None:
    """Each is one error with exit code 2."""
    with pytest.raises(GlacierbaseError) as caught:
        provider_of(name, *limits)
    assert (caught.value.code, caught.value.exit_code) == (code, 2)
