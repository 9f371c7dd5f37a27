"""`blame` names who made each change of generated histories, also where other clients act between and inside statements."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories.asked import Story


@pytest.mark.parametrize("seed", range(3))
def test_each_change_is_attributed_to_who_made_it(seed: int, tmp_path: Path) -> None:
    """The witness has read the tables after each statement and each act of another client."""
    answers = Story(seed, tmp_path).run()
    assert answers.asked > 0
    assert answers.wrong == []
