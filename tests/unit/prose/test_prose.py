"""The Markdown files of the package: how they are read, and that an installed package has them."""

from __future__ import annotations

from pathlib import Path

from glacierbase.prose import sections

ROOT = Path(__file__).parents[3]
TEXT = """\
# A title, which is not read

## FIRST a-name

Label: a paragraph
of two lines, with 2. inside.

```sql
SELECT 1;

-- ## no heading
1. no item
```

A paragraph before a list:
1. One.
2. Two, which
   goes on.

## SECOND

Last.
"""


def test_a_section_has_paragraphs_code_and_the_items_of_lists(tmp_path: Path) -> None:
    """Lines are joined, except those of code."""
    (tmp_path / "texts.md").write_text(TEXT, "utf-8")
    assert list(sections(tmp_path / "texts.md")) == [
        (
            "FIRST a-name",
            [
                "Label: a paragraph of two lines, with 2. inside.",
                "SELECT 1;\n\n-- ## no heading\n1. no item",
                "A paragraph before a list:",
                "One.",
                "Two, which goes on.",
            ],
        ),
        ("SECOND", ["Last."]),
    ]


def test_the_wheel_has_every_markdown_file_of_the_package() -> None:
    """`explain`, `rules` and `lint` read them."""
    from hatchling.builders.wheel import WheelBuilder

    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "glacierbase").rglob("*.md")}
    assert {
        "glacierbase/errors/lock.md",
        "glacierbase/capabilities/review/rules/files.md",
        "glacierbase/capabilities/review/replay.md",
    } <= files
    assert files <= {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
