"""What the reference says about key macros is what they render and what the functions return."""

from __future__ import annotations

from tests.docs.pages import DOCS, blocks
from tests.unit.layout.test_expressions import FROZEN

PAGE = DOCS / "reference" / "migration-file.md"


def test_the_reference_shows_the_exact_sql_of_every_macro() -> None:
    """In each dialect; the texts are those that the golden test holds."""
    [block] = [block.text for block in blocks(PAGE, "text") if block.text.startswith("spark\n")]
    for dialect, section in zip(("spark", "snowflake"), block.split("\n\n"), strict=True):
        lines = dict(line.split("  ", 1) for line in map(str.strip, section.splitlines()[1:]))
        expected = {f"{macro}('id'{''.join(f', {n}' for n in rest)})": sql.replace("customer_id", "id")
                    for name, macro, (_, *rest), sql in FROZEN if name == dialect}  # fmt: skip
        assert {call: sql.strip() for call, sql in lines.items()} == expected


def test_the_functions_return_what_the_reference_says() -> None:
    """The block asserts it."""
    [block] = [block.text for block in blocks(PAGE, "python") if "layout.keys" in block.text]
    exec(block, {})
    assert block.count("assert") == 2
