"""`blame` names who made each change of generated histories, and `compare` what people changed in one of two environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories.asked import Story
from tests.histories.pairs import Pair


@pytest.mark.parametrize("seed", range(3))
def test_each_change_is_attributed_to_who_made_it(seed: int, tmp_path: Path) -> None:
    """The witness has read the tables after each statement and each act of another client."""
    answers = Story(seed, tmp_path).run()
    assert answers.asked > 0
    assert answers.wrong == []


@pytest.mark.parametrize("seed", [25, 152, 197])
def test_compare_reports_what_people_changed_and_nothing_else(seed: int, tmp_path: Path) -> None:
    """Files swap columns that an environment lacks, rename a column around a field that somebody has added, and publish a table."""
    by_hand, wrong = Pair(seed, tmp_path).compared()
    assert by_hand > 0
    assert wrong == []
