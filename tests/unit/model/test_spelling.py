"""The hint for an unknown name has one wording."""

from __future__ import annotations

import re
from pathlib import Path

import glacierbase
from glacierbase.model import text
from glacierbase.model.text import did_you_mean


def test_the_nearest_known_name_is_proposed() -> None:
    """`form` is how the name is written; where no name is near, the other hint is returned."""
    assert did_you_mean("AUTOR", ["TICKET", "AUTHOR"], "x", "MIGRATION_{}") == "did you mean MIGRATION_AUTHOR?"
    assert did_you_mean("zzz", ["AUTHOR"], "allowed: AUTHOR") == "allowed: AUTHOR"


def test_one_module_finds_and_words_the_nearest_name() -> None:
    """No other module searches for similar names, or has a wording for them."""
    own = re.compile(r"get_close_matches|return f?\"[^\"]*did you mean|the nearest name is {")
    modules = Path(glacierbase.__file__).parent.rglob("*.py")
    assert [path.name for path in modules if own.search(path.read_text())] == [Path(text.__file__).name]
