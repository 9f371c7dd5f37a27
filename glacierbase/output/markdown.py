"""The comment of a pull request: the effects, the findings and the statements of new migrations.

A bot finds the comment of an earlier run by its first line, and replaces it.

A value of a file is shown as code: in `<code>` with every punctuation mark as an entity, or in a fence that is longer than any run
of backticks in it. Neither is parsed as Markdown or HTML, and the services link no names, issues or addresses in code. Prose of
glacierbase has entities too, and a space of no width after characters that start a reference, because services link references
after they decode entities.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from itertools import accumulate, islice, zip_longest
from typing import Any

from glacierbase.model.escape import escaped, on_one_line
from glacierbase.model.text import counted, split_lines
from glacierbase.output.documents import CommandOutcome
from glacierbase.output.problems import Document, Problem, problems, shortened, summary

# GitHub's limit is 65,536.
_MOST = 65_000
_SIGNS = (("-", "before"), ("+", "after"))
Entry = Mapping[str, Any]
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_REFERENCE = re.compile(r"[@#!$%&~^*:]")
_NO_WIDTH = "&#8203;"
_BACKTICKS = re.compile("`+")
_LONGEST_VALUE = 300
_LONGEST_SQL = 4000
# For the line that counts the items that a block leaves out.
_RESERVED = 60


def render(outcome: CommandOutcome) -> str:
    """Return the comment, of at most 65,000 characters."""
    document = outcome.document()
    findings = problems(document)
    entries = document["catalogs"]
    blocks = [
        *_notes(entries),
        *_files(entries),
        *_findings(findings),
        *_tables(entries),
        *_views(entries),
        *_differences(entries),
        *_unread(entries),
        *_statements(entries),
    ]
    first = (
        f"<!-- glacierbase:{outcome.command} -->\n\n**glacierbase {outcome.command}**: {_verdict(document, findings)}"
    )
    return assembled(first, blocks, _command(entries), _MOST)


def _verdict(document: Document, findings: Sequence[Problem]) -> str:
    entries = document["catalogs"]
    if not entries:
        return summary(findings)
    if isinstance(entries[0]["files"], int):  # The count of `lint`.
        return f"{summary(findings)} in {counted(sum(entry['files'] for entry in entries), 'migration')}"
    files = {(entry["catalog"], file["path"]) for entry in entries for file in entry["files"]}
    tables = {(entry["catalog"], table["table"]) for entry in entries for table in entry["tables"]}
    if not files:
        return f"no new migrations{f', {summary(findings)}' if findings else ''}"
    parts = [counted(len(files), "new migration")]
    parts += [f"{counted(len(tables), 'table')} changed"] if tables else []
    return f"{', '.join([*parts, summary(findings)])}; {_how(entries)}"


def _how(entries: Sequence[Entry]) -> str:
    changed = [entry for entry in entries if entry["files"]]
    replayed = [entry for entry in changed if entry["replay"]]
    if not replayed:
        return "rendered and not replayed"
    only = "" if len(replayed) == len(changed) else "in part "
    return f"{only}replayed on a throw-away copy, no real table was changed"


def _title(entry: Entry) -> str:
    environments = f" ({', '.join(map(code, entry['environments']))})" if entry["environments"] else ""
    return f"{code(entry['catalog'])}{environments}"


def _notes(entries: Sequence[Entry]) -> Iterator[Block]:
    notes = [f"- {_title(entry)}: {code(text)}" for entry in entries for text in entry["warnings"]]
    notes += [f"- {_title(entry)}: skipped, {code(entry['skipped'])}" for entry in entries if entry["skipped"]]
    if notes:
        yield Block("note", tuple(notes))


def _files(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield a table of the new migrations of each catalog."""
    for catalog, groups in _by_catalog(entries).items():
        rows: dict[tuple[str, ...], list[str]] = {}
        for entry in groups:
            for file in entry["files"]:
                rows.setdefault(_row(file), []).extend(map(code, entry["environments"]))
        names = ["version", "file", "kind", "author", "description", *(["environments"] if len(groups) > 1 else [])]
        lines = (cells if len(groups) == 1 else (*cells, ", ".join(where)) for cells, where in rows.items())
        title = f"{code(catalog)} ({', '.join(code(environment) for entry in groups for environment in entry['environments'])})"
        head = f"### {title}\n\n{_cells(names)}\n{_cells(['---'] * len(names))}"
        yield Block("migration", tuple(map(_cells, lines)), head)


def _row(file: Entry) -> tuple[str, ...]:
    kind = prose(file["kind"] or "not replayed")
    name = file["path"].rpartition("/")[2]
    return (code(file["version"]), code(name), kind, code(file["author"]), code(file["description"]))


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _by_catalog(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Return the entries with new migrations by catalog; an entry is a group of environments that render them equally."""
    groups: dict[str, list[Entry]] = {}
    for entry in _reviewed(entries):
        groups.setdefault(entry["catalog"], []).append(entry)
    return groups


def _reviewed(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with new migrations; entries of `lint` have no list of migrations."""
    return [entry for entry in entries if isinstance(entry["files"], list) and entry["files"]]


def _findings(findings: Sequence[Problem]) -> Iterator[Block]:
    if findings:
        yield Block("finding", tuple(map(_finding, findings)), "### Findings\n")


def _finding(problem: Problem) -> str:
    word = problem.severity if problem.allowed is None else "allowed"
    place = f" {code(f'{problem.path}:{problem.line}')}" if problem.path else ""
    table = f" {code(problem.table)}" if problem.table else ""
    only = f" (in {', '.join(map(code, problem.environments))})" if problem.environments else ""
    lines = [f"- **{word} {prose(problem.code)}**{place}{table}{only}: {code(problem.message)}"]
    if problem.allowed is not None:
        return "\n".join([*lines, f"  - reason: {code(problem.allowed)}"])
    return "\n".join([*lines, *(f"  - {name}: {prose(text)}" for name, text in _advice(problem))])


def _advice(problem: Problem) -> Iterator[tuple[str, str]]:
    yield from ((name, text) for name, text in (("why", problem.why), ("fix", problem.fix)) if text)


def _tables(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the differences of each table; once for environments with equal differences."""
    for groups in _by_catalog(entries).values():
        changes: dict[tuple[str, ...], list[str]] = {}
        for entry in groups:
            for table in entry["tables"]:
                changed = (line for difference in table["diff"] for line in _changed(difference))
                changes.setdefault((table["table"], table["change"], *changed), []).extend(
                    map(code, entry["environments"])
                )
        everywhere = sum(len(entry["environments"]) for entry in groups)
        for (name, change, *lines), where in changes.items():
            only = f" (in {', '.join(where)})" if len(where) < everywhere else ""
            yield fenced("difference", lines, "diff", f"### {code(name)}: {change}{only}")


def _views(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the change of each view; once for environments with equal changes."""
    for groups in _by_catalog(entries).values():
        changes: dict[str, list[str]] = {}
        for entry in groups:
            for view in entry["views"]:
                changes.setdefault(f"- {code(view['view'])}: {view['change']}", []).extend(
                    map(code, entry["environments"])
                )
        everywhere = sum(len(entry["environments"]) for entry in groups)
        lines = (
            f"{line} (in {', '.join(where)})" if len(where) < everywhere else line for line, where in changes.items()
        )
        if changes:
            yield Block("view", tuple(lines), "### Views\n")


def _changed(difference: Entry) -> Iterator[str]:
    subject = f"{difference['what']} {difference['name']}".rstrip()
    for sign, side in _SIGNS:
        if difference[side] is not None:
            yield value(f"{sign} {subject}: {difference[side]}")


def _differences(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the rendered lines in which each group of environments differs from the first group of its catalog."""
    for first, *others in _by_catalog(entries).values():
        for other in others:
            lines = [line for path in _paths(first, other) for line in _rendered_differently(path, first, other)]
            names = " and ".join(", ".join(map(code, side["environments"])) for side in (first, other))
            if lines:
                yield fenced("line", lines, "diff", f"### Differs between {names}")


def _paths(first: Entry, other: Entry) -> list[str]:
    return list(dict.fromkeys(file["path"] for entry in (first, other) for file in entry["files"]))


def _rendered_differently(path: str, first: Entry, other: Entry) -> Iterator[str]:
    pairs = zip_longest(_texts(first, path), _texts(other, path), fillvalue="")
    for index, (before, after) in enumerate(pairs, start=1):
        if before != after:
            yield value(f"@@ {path}, statement {index} @@")
            changes = unified_diff(split_lines(sql(before)), split_lines(sql(after)), n=0, lineterm="")
            yield from (value(line) for line in islice(changes, 2, None) if not line.startswith("@@"))


def _texts(entry: Entry, path: str) -> list[str]:
    return [statement["sql"] for file in entry["files"] if file["path"] == path for statement in file["statements"]]


def _unread(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the statements that no rule checked, and the statements that were not replayed."""
    lines = [
        f"not understood, no rule applies: {_place(statement)}"
        for entry in entries
        for statement in entry.get("not_understood", ())
    ]
    skipped = [statement for entry in entries for statement in (entry.get("replay") or {}).get("skipped", ())]
    lines += [
        f"on the throw-away copy, not replayed: {_place(statement)} {code(statement['why'])}" for statement in skipped
    ]
    if lines:
        yield Block("unread statement", tuple(f"- {line}" for line in dict.fromkeys(lines)), "### Not checked\n")


def _place(statement: Entry) -> str:
    return code(f"{statement['path']}:{statement['line']}")


def _statements(entries: Sequence[Entry]) -> Iterator[Block]:
    """Yield the statements of each new migration, folded; if environments differ, the statements of the first."""
    for groups in _by_catalog(entries).values():
        shown: dict[str, tuple[Entry, Entry]] = {}
        for entry in groups:
            for file in entry["files"]:
                shown.setdefault(file["path"], (entry, file))
        for entry, file in shown.values():
            only = f" (in {', '.join(map(code, entry['environments']))})" if len(groups) > 1 else ""
            count = counted(len(file["statements"]), "statement")
            head = f"<details><summary>{count} of {code(file['path'])}{only}</summary>"
            yield fenced("statement", _with_ends(file["statements"]), "sql", head, "</details>")


def _with_ends(statements: Sequence[Entry]) -> Iterator[str]:
    for number, statement in enumerate(statements):
        yield f"{chr(10) if number else ''}{sql(statement['sql'])};"


def _command(entries: Sequence[Entry]) -> str:
    commands = dict.fromkeys(entry["origin"]["command"] for entry in entries)
    return (
        fenced("command", [sql(next(iter(commands), ""))], "sh", "To see this on your machine:").text
        if any(commands)
        else ""
    )


def code(text: str) -> str:
    """Return a value as code on one line, for Markdown, cells of tables and HTML."""
    return f"<code>{_PUNCTUATION.sub(_entity, on_one_line(shortened(text, _LONGEST_VALUE)))}</code>" if text else ""


def prose(text: str) -> str:
    """Return a sentence on one line, without Markdown, HTML and references in it."""
    line = on_one_line(shortened(text, _LONGEST_VALUE * 2))
    return _PUNCTUATION.sub(lambda match: _entity(match) + _NO_WIDTH * bool(_REFERENCE.match(match[0])), line)


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of Markdown that belong together.

    Attributes:
        noun: the noun for an item.
        items: some lines each; the last ones may be left out.
        head, tail: the text around the items.
    """

    noun: str
    items: tuple[str, ...]
    head: str = ""
    tail: str = ""

    @property
    def text(self) -> str:
        """The Markdown."""
        return "\n".join(filter(None, (self.head, *self.items, self.tail)))

    def limited(self, most: int) -> Block:
        """Return the block with as many items as `most` characters hold, and a line that counts the others."""
        if len(self.text) <= most:
            return self
        around = len(self.head) + len(self.tail) + 2 + _RESERVED
        sizes = accumulate((len(item) + 1 for item in self.items), initial=around)
        kept = self.items[: max(sum(size <= most for size in sizes) - 1, 0)]
        left = counted(len(self.items) - len(kept), f"more {self.noun}")
        return replace(self, items=kept, tail=f"{self.tail}\n\n… {left}".strip("\n") if kept else "")


def fenced(noun: str, items: Iterable[str], language: str, head: str = "", tail: str = "") -> Block:
    """Return a block of code; the lines of its items are escaped as on a terminal."""
    texts = tuple("\n".join(map(_inert, split_lines(item))) for item in items)
    longest = max((len(run) for text in texts for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Block(noun, texts, f"{head}\n\n{fence}{language}".strip("\n"), f"{fence}\n\n{tail}".strip("\n"))


def value(text: str) -> str:
    """Return a value for a line of code."""
    return on_one_line(shortened(text, _LONGEST_VALUE))


def sql(text: str) -> str:
    """Return SQL for a block of code."""
    return shortened(text, _LONGEST_SQL)


def _inert(line: str) -> str:
    """Return a line of code without the marker of glacierbase's comments."""
    return escaped(line).replace("<!-- glacierbase", r"<\x21-- glacierbase")


def assembled(first: str, blocks: Sequence[Block], last: str, most: int) -> str:
    """Return a comment of at most `most` characters, cut between items; the last line names what is left out.

    A block gets at most half of the remaining characters, so that many findings do not displace all tables; blocks of the last noun
    share the rest.
    """
    rest = most - len(first) - len(last) - 500
    left_out: Counter[str] = Counter()
    texts = []
    for block in blocks:
        shown = block.limited(rest if block.noun == blocks[-1].noun else rest // 2)
        left_out[block.noun] += len(block.items) - len(shown.items)
        if shown.items:
            texts.append(shown.text)
            rest -= len(shown.text) + 2
    missing = ", ".join(counted(count, noun) for noun, count in left_out.items() if count)
    end = f"Left out, because a comment holds at most 65,536 characters: {missing}." if missing else ""
    return "\n\n".join(filter(None, [first, *texts, last, end]))
