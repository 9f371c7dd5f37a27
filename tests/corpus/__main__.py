"""Print what `lint` finds in each case: `python -m tests.corpus [ENGINE]`."""

from __future__ import annotations

import sys
from collections import Counter

import click

from tests.corpus.cases import cases

counts: Counter[tuple[str, str]] = Counter()
for case in cases():
    if sys.argv[1:] and case.engine not in sys.argv[1:]:
        continue
    found = case.linted()
    is_alarm = any(not finding.is_note for finding in found)
    verdict = ("missed", "found")[case.is_found(found)] if case.is_hazard else ("silent", "false alarm")[is_alarm]
    counts[case.engine, verdict] += 1
    counts[case.engine, "with a note"] += any(finding.is_note for finding in found)
    click.echo(f"{case.engine:9} {verdict:11} {case.found_by:8} {case.name}")
    if verdict != "silent":
        for finding in found:
            click.echo(
                f"{'':21} {finding.code} ({finding.severity}) statement {finding.statement_index}: {finding.message}"
            )
for (engine, verdict), count in sorted(counts.items()):
    click.echo(f"{engine:9} {verdict:11} {count}")
