"""The rules of glacierbase. Each family has a module with the checks, and a Markdown file with their descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from glacierbase.prose import sections


def texts(family: str) -> Mapping[str, Mapping[str, str]]:
    """Return code, name, why, fix, examples and source of the rules of a module, by code."""
    rules = {}
    for heading, (why, fix, _, bad, _, good, source) in sections(Path(__file__).with_name(f"{family}.md")):
        code, name = heading.split()
        rules[code] = {
            "code": code,
            "name": name,
            "why": why.removeprefix("Why: "),
            "fix": fix.removeprefix("Fix: "),
            "bad": bad,
            "good": good,
            "source": source.removeprefix("Source: "),
        }
    return rules
