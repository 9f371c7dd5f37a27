"""All breaks."""

from __future__ import annotations

from tests.breaks import (
    of_adopting,
    of_applying,
    of_direct,
    of_dynamodb,
    of_engines,
    of_files,
    of_heat,
    of_listing,
    of_rekey,
    of_repeatables,
    of_rules,
    of_sharding,
    of_text,
)

BREAKS = (
    *of_adopting.BREAKS,
    *of_applying.BREAKS,
    *of_direct.BREAKS,
    *of_dynamodb.BREAKS,
    *of_engines.BREAKS,
    *of_files.BREAKS,
    *of_heat.BREAKS,
    *of_listing.BREAKS,
    *of_rekey.BREAKS,
    *of_repeatables.BREAKS,
    *of_rules.BREAKS,
    *of_sharding.BREAKS,
    *of_text.BREAKS,
)
