"""The guide that re-keys objects on S3, run literally on a server of S3 on loopback."""

from __future__ import annotations

from pathlib import Path

from tests.docs.pages import DOCS
from tests.docs.test_tutorial import run_page
from tests.support.s3a import BUCKET, s3_of_moto


def test_the_guide_works_as_written(tmp_path: Path) -> None:
    """From the plan to the clean-up: each command exits with 0, and only objects with new keys are left."""
    with s3_of_moto() as (_, s3):
        assert run_page(DOCS / "guides" / "rekey-objects.md", tmp_path) == 2
        keys = [entry["Key"] for entry in s3.list_objects_v2(Bucket=BUCKET)["Contents"]]
    assert len(keys) > 12
    assert [key for key in keys if not key.startswith("events/id_reversed=")] == []
